"""What a judge finds of what people call unsafe: counts by hand, bounds by another package, rules that hold for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.analysis.reliability.rule import MINDGAUGE, load
from mindgauge.analysis.reliability.scale import Unsafe, ValueScale, of_criterion
from mindgauge.analysis.reliability.slices import objection
from mindgauge.analysis.reliability.unsafe_levels import UnsafeByPeople, UnsafeRule, danger, together
from mindgauge.benchmarks import registry
from mindgauge.records.errors import UsageError
from mindgauge.records.rubric import Scale as Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.reliability.card import Danger

RULE = load(MINDGAUGE)
FIVE = ValueScale((1.0, 2.0, 3.0, 4.0, 5.0))
FIVE = FIVE._replace(unsafe=Unsafe.assumed(FIVE))


def rows(values: Mapping[str, Sequence[float | None]], cluster: list[str] | None = None) -> pl.DataFrame:
    n = len(next(iter(values.values())))
    parts = [
        pl.DataFrame(
            {
                "subject": [f"r{i}" for i in range(n)],
                "cluster": cluster or [f"c{i}" for i in range(n)],
                "category": ["a"] * n,
                "system": ["s"] * n,
                "rater": [rater] * n,
                "number": numbers,
            },
            schema_overrides={"number": pl.Float64},
        )
        for rater, numbers in values.items()
    ]
    return pl.concat(parts)


def end(
    people: Mapping[str, Sequence[float | None]],
    judge: Sequence[float | None],
    scale: ValueScale = FIVE,
    cluster: list[str] | None = None,
) -> Danger:
    rated = rows(people, cluster).filter(pl.col("number").is_not_null())
    of_judge = danger(rows({"judge": judge}, cluster), UnsafeByPeople.of(rated, scale, sorted(people)), scale, RULE)
    assert of_judge is not None
    return of_judge


def test_people_together_are_their_median_and_two_their_mean() -> None:
    people: dict[str, list[float | None]] = {"a": [1, 2, 1, 3], "b": [3, 3, None, 3], "c": [2, None, None, 1]}
    said = together(rows(people).filter(pl.col("number").is_not_null()), Unsafe(2.0)).collect()
    assert said["unsafe"].to_list() == [True, False, True, False], "1 3 2 is 2, 2 3 is 2.5, 1 is 1, 3 3 1 is 3"
    assert said["unsafe_to_any"].to_list() == [True, True, True, True]


def test_a_missing_verdict_has_found_nothing_and_passed_nothing() -> None:
    of_judge = end({"a": [1, 1, 2, 5, 5, 2]}, [1, None, 3, 4, None, 2])
    assert (of_judge.found.events, of_judge.found.n) == (2, 4)
    assert (of_judge.passed.events, of_judge.passed.n) == (1, 2)
    assert (of_judge.absent, of_judge.absent_unsafe) == (2, 1)


def test_a_reply_that_the_judge_was_not_given_counts_as_one_that_it_may_have_missed() -> None:
    rated = rows({"a": [1, 1, 2, 5, 5, 2], "b": [1, 2, 2, 5, 4, 1]})
    of_judge = danger(rows({"judge": [1, 2, None, 4]}), UnsafeByPeople.of(rated, FIVE, ["a", "b"]), FIVE, RULE)
    assert of_judge is not None
    assert (of_judge.found.events, of_judge.found.n) == (2, 3)
    assert (of_judge.found_any.n, of_judge.lowest.n if of_judge.lowest else None) == (3, 1)
    assert (of_judge.absent, of_judge.absent_unsafe, of_judge.rated) == (3, 2, 6)
    assert (of_judge.found_if_missed.events, of_judge.found_if_missed.n) == (2, 4)
    assert of_judge.unsafe_end is not None and of_judge.unsafe_if_missed is not None
    assert of_judge.unsafe_end.judge == pytest.approx(4 / 6)
    assert of_judge.unsafe_end.clinician == 1.0
    assert of_judge.unsafe_if_missed.judge == pytest.approx(4 / 8)


def test_bounds_are_exact_and_count_conversations() -> None:
    from statsmodels.stats.proportion import proportion_confint

    people = {"a": [1.0] * 36}
    judge = [1.0] * 34 + [4.0] * 2
    alone = end(people, judge).found
    assert (alone.low, alone.high) == pytest.approx(proportion_confint(34, 36, method="beta"))
    together_ = end(people, judge, cluster=[f"c{i // 2}" for i in range(36)]).found
    assert together_.conversations == pytest.approx(18)
    assert (together_.low, together_.high) == pytest.approx(proportion_confint(17, 18, method="beta"))
    assert alone.low is not None and alone.low >= 0.8


def test_what_one_person_calls_unsafe_another_finds_so_often() -> None:
    of_judge = end({"a": [1, 1, 5, 2], "b": [2, 5, 5, 1], "c": [4, 5, 5, 1]}, [1, 5, 5, 5])
    assert (of_judge.ceiling.events, of_judge.ceiling.n) == (2 + 0 + 6, 4 + 2 + 6)
    assert (of_judge.found_any.events, of_judge.found_any.n) == (1, 3)


def test_the_worst_level_is_looked_at_alone() -> None:
    of_judge = end({"a": [1, 1, 2, 2, 5]}, [1, 2, 1, 3, 5])
    assert of_judge.lowest is not None
    assert (of_judge.lowest.events, of_judge.lowest.n) == (1, 2)


def test_misses_that_gather_in_a_place_are_no_chance() -> None:
    people = [2.0] * 120
    blind = [*[4.0] * 5, *[2.0] * 115]
    rated, asked = rows({"a": people}), rows({"judge": blind})
    one_system = pl.when(pl.col("subject").str.slice(1).cast(pl.Int64) < 10).then(pl.lit("t")).otherwise(pl.lit("s"))
    of_judge = danger(asked, UnsafeByPeople.of(rated.with_columns(system=one_system), FIVE, ["a"]), FIVE, RULE)
    assert of_judge is not None
    assert of_judge.found.low is not None and of_judge.found.low > 0.8, "the share alone would pass"
    worst = (
        "it misses 5 of 10 unsafe replies in the slice “system: t”, more often than elsewhere (p < 0.001, adjusted for "
    )
    assert objection(of_judge, 0.05).startswith(worst)
    every_other = (
        pl.when(pl.col("subject").str.slice(1).cast(pl.Int64) % 2 == 0).then(pl.lit("t")).otherwise(pl.lit("s"))
    )
    spread = danger(asked, UnsafeByPeople.of(rated.with_columns(system=every_other), FIVE, ["a"]), FIVE, RULE)
    assert spread is not None
    assert not objection(spread, 0.05)


def test_what_is_missed_of_the_worst_level_counts_whatever_unsafe_level_it_is_given() -> None:
    of_judge = end({"a": [1, 1, 1, 2]}, [2, 3, None, 1])
    assert of_judge.lowest_unsafe is not None
    assert (of_judge.lowest_unsafe.events, of_judge.lowest_unsafe.n) == (1, 3)


def test_of_classes_more_than_half_of_people_must_call_it_unsafe() -> None:
    scale = ValueScale((0.0, 1.0, 2.0), ("complied", "redirect", "refused"), ordered=False)
    scale = scale._replace(unsafe=Unsafe.of(scale, [0.0]))
    of_judge = end({"a": [0, 0, 1], "b": [0, 1, 1]}, [0, 0, 2], scale)
    assert (of_judge.found.events, of_judge.found.n) == (1, 1)
    assert (of_judge.found_any.events, of_judge.found_any.n) == (2, 2)
    assert of_judge.lowest is None


@given(st.lists(st.tuples(st.integers(1, 5), st.one_of(st.none(), st.integers(1, 5))), min_size=1, max_size=40))
def test_order_counts_and_not_the_number(pairs: list[tuple[int, int | None]]) -> None:
    """A scale that is turned round, so that the highest number is the worst, gives the same shares."""
    people: list[float | None] = [float(p) for p, _ in pairs]
    judge = [None if j is None else float(j) for _, j in pairs]
    turned = ValueScale(FIVE.values)._replace(unsafe=Unsafe.of(ValueScale(FIVE.values), [4.0, 5.0]))
    other = end({"a": [6 - p for p in people if p]}, [None if j is None else 6 - j for j in judge], turned)
    same = end({"a": people}, judge)
    assert (other.found, other.passed, other.lowest) == (same.found, same.passed, same.lowest)


# -- which levels are unsafe ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "unsafe"),
    [
        (ValueScale((1.0, 2.0, 3.0, 4.0, 5.0)), [1, 2]),
        (ValueScale((1.0, 2.0, 2.5, 3.0, 4.0, 5.0)), [1, 2]),
        (ValueScale((0.0, 1.0)), [0]),
        (ValueScale((0.0, 1.0, 2.0, 3.0)), [0]),
        (ValueScale(tuple(map(float, range(1, 8)))), [1, 2]),
        (ValueScale(tuple(map(float, range(1, 11)))), [1, 2, 3, 4]),
        (ValueScale((0.0, 1.0, 2.0), ("none", "some", "full")), ["none"]),
        (ValueScale((0.0, 100.0), levels=False), [0, 40]),
    ],
)
def test_where_nothing_says_so_the_worst_two_fifths_are_unsafe(scale: ValueScale, unsafe: list[float | str]) -> None:
    assert Unsafe.assumed(scale).levels(scale) == unsafe


@pytest.mark.parametrize("name", registry.names())
def test_every_rubric_s_unsafe_levels_hold_its_worst_and_not_its_best(name: str) -> None:
    family = registry.find(name)
    for benchmark in family if isinstance(family, list | tuple) else [family]:
        for criterion in benchmark.rubric.criteria:
            scale = of_criterion(criterion)
            if criterion.scale is Kind.ORDINAL:
                assert scale.unsafe is not None
                assert scale.unsafe.has(scale.worst) and not scale.unsafe.has(scale.best)
                assert scale.place(str(criterion.worst_first[0])) == scale.worst
            if criterion.unsafe:
                assert scale.unsafe is not None
                assert {str(level) for level in scale.unsafe.levels(scale)} == set(map(str, criterion.unsafe))


@pytest.mark.parametrize(
    ("text", "levels"), [("safety<=2", [1, 2]), ("<=3", [1, 2, 3]), ("safety>=4", [4, 5]), ("safety=1,2", [1, 2])]
)
def test_a_user_says_which_levels_are_unsafe(text: str, levels: list[float]) -> None:
    rule = UnsafeRule.read(text)
    assert rule.about(["safety"]) == "safety"
    assert rule.on(FIVE).levels(FIVE) == levels


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("safety", "write CRITERION<=LEVEL"),
        ("safety<=9", "'9' is not on the scale"),
        ("safety<=5", "leave the best one out"),
        ("safety=2,4", "the first ones or the last ones"),
        ("safty<=2", "did you mean safety"),
    ],
)
def test_what_cannot_be_unsafe_is_one_line(text: str, why: str) -> None:
    def unsafe() -> Unsafe:
        rule = UnsafeRule.read(text)
        return rule._replace(criterion=rule.about(["safety"])).on(FIVE)

    with pytest.raises(UsageError, match=why):
        unsafe()


def test_a_scale_whose_worst_end_is_known_is_not_turned_round() -> None:
    known = ValueScale(FIVE.values)._replace(unsafe=Unsafe.of(ValueScale(FIVE.values), [4.0, 5.0]))
    with pytest.raises(UsageError, match="the worst level of toxicity is 5; write toxicity>=LEVEL"):
        UnsafeRule.read("toxicity<=2").on(known)
