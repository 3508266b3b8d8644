"""What a reader of scores should know of replies: half a sentence, a model's thinking, a category that does not fit."""

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

_REPLIES = """
SELECT model, count(*), sum(finish_reason = ?), sum(instr(text, '</think>') > 0) FROM replies
WHERE benchmark = ? AND status = 'ok' GROUP BY 1"""

_MISFITS = """
SELECT rater, count(DISTINCT subject), count(DISTINCT iif(instr(own, '"misfit":true') > 0, subject, NULL))
FROM rated JOIN series ON series.id = rated.series WHERE benchmark = ? AND status = 'ok' GROUP BY 1"""


def notes(store: Store, benchmarks: Iterable[str]) -> list[str]:
    """Say of each model how many of its replies were cut off, or hold its thinking, if any; clients are not measured.

    Of each judge, say how often it finds that the category does not fit the message.

    Args:
        store: of the run.
        benchmarks: whose replies are counted together.
    """
    replies: Counter[str] = Counter()
    cut_off: Counter[str] = Counter()
    thinking: Counter[str] = Counter()
    misfits: Counter[str] = Counter()
    rated: Counter[str] = Counter()
    for name in benchmarks:
        for judge, n, misfit in store.select(_MISFITS, (name,)):
            rated[judge] += n
            misfits[judge] += misfit
        for model, n, ended_early, thought in store.select(_REPLIES, (CUT_OFF, name)):
            if re.search(CLIENT_NAME, model) or model.endswith(WHOLE):
                continue
            replies[model] += n
            cut_off[model] += ended_early or 0
            thinking[model] += thought or 0  # null where no text is kept
    return [
        *(_cut_off(model, n, replies[model]) for model, n in sorted(cut_off.items()) if n),
        *(_thinking(model, n, replies[model]) for model, n in sorted(thinking.items()) if n),
        *(
            f"{judge} finds that the category does not fit the message of {count(n)} of {plural(rated[judge], 'reply', 'replies')}; "
            "it rates them by the levels of that category all the same"
            for judge, n in sorted(misfits.items())
            if n
        ),
    ]


def _cut_off(model: str, number: int, n: int) -> str:
    verb = "was" if number == 1 else "were"
    return (
        f"{_amount(model, number, n)} {verb} cut off at the longest answer, which --max-tokens raises; {_fate(number)}"
    )


def _thinking(model: str, number: int, n: int) -> str:
    verb = "holds" if number == 1 else "hold"
    return (
        f"{_amount(model, number, n)} {verb} the model's thinking, which no person would be shown: its server can take it out; "
        f"{_fate(number)}"
    )


def _amount(model: str, number: int, n: int) -> str:
    return f"{count(number)} of {plural(n, 'reply', 'replies')} of {model}"


def _fate(number: int) -> str:
    return "it is judged as it stands" if number == 1 else "they are judged as they stand"
