"""A judge across languages and systems: planted shifts are found, other levels are none, and little data cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from mindgauge.cli import cards as terminal
from tests.analysis.reliability.conftest import made

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import GroupShift, ReliabilityCard


def bilingual(
    n: int = 150, *, shift: float = 0.0, gap: float = 0.0, people: tuple[str, ...] = ("anna", "bea"), seed: int = 0,
    own: bool = False, chinese: str = "zh-CN",
) -> pl.DataFrame:  # fmt: skip
    """Draw n replies in each language; Chinese ones are `gap` better to people, and the judge adds `shift` there.

    With `own`, each language has people of its own.
    """
    random = np.random.default_rng(seed)
    rows = []
    for place in range(2 * n):
        is_chinese = place % 2
        level = 3 + random.normal() + gap * is_chinese
        raters = [(f"{name}{is_chinese}" if own else name, "person", 0.0) for name in people]
        for name, kind, bias in (*raters, ("judge", "model", shift * is_chinese)):
            value = int(np.clip(np.rint(level + bias + 0.5 * random.normal()), 1, 5))
            rows.append({
                "subject": f"r{place}", "criterion": "safety", "rater": name, "rater_kind": kind, "value": value,
                "language": chinese if is_chinese else "en",
            })  # fmt: skip
    return pl.DataFrame(rows)


def card(frame: pl.DataFrame) -> ReliabilityCard:
    [made_card] = made(frame).cards
    return made_card


def by_group(made_card: ReliabilityCard) -> dict[str, GroupShift]:
    return {shift.group: shift for shift in made_card.invariance}


def test_languages_stand_side_by_side_with_numbers_and_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    result = made(bilingual())
    groups = by_group(result.cards[0])
    assert set(groups) == {"en", "zh"}, "a region is no language of its own"
    for group in groups.values():
        assert group.n == group.conversations == 150 and group.limit == 0.5 and group.by == "language"
        for bound in (group.people_mean, group.judge_mean, group.bias, group.agreement, group.shift):
            assert bound.value is not None and bound.low is not None and bound.high is not None
    terminal.show(result, full=True)
    printed = capsys.readouterr().out
    assert "One level across languages and systems?" in printed and "on one level" in printed


def test_a_planted_shift_is_found_and_warned_of() -> None:
    made_card = card(bilingual(shift=1.0))
    group = by_group(made_card)["zh"]
    assert group.outcome == "shifted" and group.p is not None and group.p < 0.05
    assert group.shift.low is not None and group.shift.low > 0.3
    assert by_group(made_card)["en"].shift.value == pytest.approx(-(group.shift.value or 0), abs=0.3)
    assert any("not on one level across languages" in line for line in made_card.warnings)


@pytest.mark.parametrize("seed", range(4))
def test_a_group_that_people_rate_higher_is_no_shift(seed: int) -> None:
    groups = by_group(card(bilingual(gap=0.8, seed=seed)))
    gap = (groups["zh"].people_mean.value or 0) - (groups["en"].people_mean.value or 0)
    assert gap > 0.4
    assert groups["zh"].outcome == "on one level", "people's error is reckoned with"


def test_few_replies_cannot_tell() -> None:
    made_card = card(bilingual(8))
    assert {group.outcome for group in made_card.invariance} == {"cannot tell"}
    assert all("8 conversations" in group.reason for group in made_card.invariance)
    assert any("cannot be told" in line for line in made_card.warnings)
    assert all(group.reason for group in card(bilingual(14)).invariance if group.outcome == "cannot tell")


def test_no_shift_is_larger_than_the_scale() -> None:
    frame = bilingual(40).with_columns(value=pl.when(pl.col("value") > 3).then(5).otherwise(1))
    for group in card(frame).invariance:
        assert group.shift.low is None or (group.shift.low >= -4 and (group.shift.high or 0) <= 4)


def test_people_of_one_language_only_cannot_be_told_from_the_language() -> None:
    groups = by_group(card(bilingual(shift=1.0, own=True)))
    assert {group.outcome for group in groups.values()} == {"cannot tell"}
    assert all("nobody rated both" in group.reason for group in groups.values())


def test_systems_are_compared_too_and_one_alone_is_not() -> None:
    frame = bilingual(shift=1.0).with_columns(system=pl.col("language"))
    shifts = card(frame).invariance
    assert [(shift.by, shift.group) for shift in shifts] == [("language", "en"), ("language", "zh"), ("system", "en"), ("system", "zh-CN")]  # fmt: skip
    assert card(bilingual().drop("language")).invariance == []


def test_the_tests_of_one_kind_are_adjusted_for_each_other() -> None:
    random = np.random.default_rng(1)
    frame = bilingual(300, seed=2).drop("language")
    named = {f"r{place}": f"s{random.integers(0, 6)}" for place in range(600)}
    shifts = card(frame.with_columns(system=pl.col("subject").replace_strict(named))).invariance
    assert len(shifts) == 6 and all(shift.outcome != "shifted" for shift in shifts)
    assert min(shift.p or 0 for shift in shifts) > 0.05
