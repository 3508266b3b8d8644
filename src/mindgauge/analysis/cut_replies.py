"""Replies that were cut off at the longest answer: a judge sees half a sentence, and a reader of scores should know."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from mindgauge.benchmarks.persons.dialogues import CLIENT_NAME
from mindgauge.raters.window import WHOLE
from mindgauge.records import CUT_OFF
from mindgauge.records.rounding import count, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindgauge.store import Store

_ENDED = "SELECT model, finish_reason, count(*) FROM replies WHERE benchmark = ? AND status = 'ok' GROUP BY 1, 2"


def notes(store: Store, benchmarks: Iterable[str]) -> list[str]:
    """Say of each model how many of its replies were cut off, if any; clients are not measured.

    Args:
        store: of the run.
        benchmarks: whose replies are counted together.
    """
    came: Counter[str] = Counter()
    cut: Counter[str] = Counter()
    for name in benchmarks:
        for model, reason, n in store.select(_ENDED, (name,)):
            if re.search(CLIENT_NAME, model) or model.endswith(WHOLE):
                continue
            came[model] += n
            cut[model] += n * (reason == CUT_OFF)
    return [_sentence(model, number, came[model]) for model, number in sorted(cut.items()) if number]


def _sentence(model: str, number: int, n: int) -> str:
    verb, fate = ("was", "it is judged as it stands") if number == 1 else ("were", "they are judged as they stand")
    amount = f"{count(number)} of {plural(n, 'reply', 'replies')} of {model}"
    return f"{amount} {verb} cut off at the longest answer, which --max-tokens raises; {fate}"
