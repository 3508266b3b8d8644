"""What judges' verdicts took: the calls that stand in their provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.judging.result import JudgeCost
from mindgauge.records import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.store import Store


class _JudgeCalls(msgspec.Struct):
    calls: list[str] = []


def taken(store: Store, benchmark: str) -> Iterator[JudgeCost]:
    """Return what each judge took whose calls the run keeps. One call may give several verdicts, and counts once."""
    verdicts: dict[str, int] = {}
    keys: dict[str, set[str]] = {}
    query = "SELECT rater, provenance FROM ratings WHERE benchmark = ? AND rater_kind = 'model'"
    for rater, provenance in store.select(query, (benchmark,)):
        verdicts[rater] = verdicts.get(rater, 0) + 1
        keys.setdefault(rater, set()).update(msgspec.json.decode(provenance, type=_JudgeCalls).calls)
    query = "SELECT key, status, cost, seconds, prompt_tokens, cached_tokens, completion_tokens FROM calls WHERE benchmark = ?"
    calls = {row[0].hex(): row[1:] for row in store.select(query, (benchmark,))}
    for rater, n in verdicts.items():
        judge_calls = [calls[key] for key in keys[rater] if key in calls]
        if not judge_calls:
            continue
        status, cost, seconds, *tokens = zip(*judge_calls, strict=True)
        paid = [price for price, call_status in zip(cost, status, strict=True) if call_status != Status.FAILED]
        dollars = None if None in paid or not paid else 1000 * sum(paid) / n
        yield JudgeCost(
            rater, n, len(judge_calls), dollars, 1000 * sum(seconds) / n, *(sum(counts) / n for counts in tokens)
        )
