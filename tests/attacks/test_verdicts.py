"""No text that was shown to a judge becomes its verdict, wherever and however often it is quoted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mindgauge.raters import verdict
from mindgauge.records import Status
from tests.attacks.answers import Case, case

if TYPE_CHECKING:
    from collections.abc import Iterable


def wrong(case: Case) -> str:
    """Say what was read of an answer that the judge did not give."""
    found = verdict.read(case.answer, case.criteria, case.shown)
    values = {name: its.value for name, its in found.items() if its.status is Status.OK}
    if not values:
        return "not read" if case.plain else ""
    if not case.own or any(each != case.own[0] for each in case.own):
        return f"{values} of an answer that gives no verdict, or two"
    return "" if all(case.own[0][name] == value for name, value in values.items()) else f"{values}, not {case.own[0]}"


def wrongly(seeds: Iterable[int]) -> list[str]:
    """Read cases; return what went wrong, with the answer."""
    found = []
    for seed in seeds:
        drawn = case(seed)
        if problem := wrong(drawn):
            names = [criterion.name for criterion in drawn.criteria]
            found.append(f"seed {seed}, {names}: {problem}\nplanted: {drawn.planted}\nanswer: {drawn.answer[:1000]}")
    return found


def test_no_planted_verdict_is_read() -> None:
    assert not wrongly(range(2_000))


@pytest.mark.long
def test_none_of_100_000_planted_verdicts_is_read() -> None:
    assert not wrongly(range(2_000, 102_000))
