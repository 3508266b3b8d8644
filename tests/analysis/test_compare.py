"""Who is better: paired by sample, each conversation once, nothing dropped in silence, and no more said than is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import mindgauge
from mindgauge.analysis.compare import compare
from mindgauge.analysis.pairing import contrasts, pair
from mindgauge.benchmarks.metrics import RatingTable, accuracy, mean_level
from mindgauge.records import RaterKind, Status
from mindgauge.records.errors import UsageError
from tests.analysis.answered import Asked, Planted, planted
from tests.analysis.reliability.conftest import World
from tests.thinned import examples

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.pairing import SystemComparison, SystemDifference, SystemStanding
    from mindgauge.benchmarks.metrics.table import Floats

__all__ = ["planted"]
N = 40
CALM = [Asked(f"sample {i}", "calm") for i in range(N)]
LEVELS = (1, 2, 3, 4, 5)


def right(n: int, of: int = N) -> list[str]:
    return ["calm"] * n + ["sad"] * (of - n)


def close(found: Floats, expected: object) -> None:
    np.testing.assert_allclose(found, np.array(expected, dtype=np.float64))


def standing(
    found: SystemComparison, system: str, name: str = "accuracy", slice_: str = "all", **fields: str
) -> SystemStanding:
    (measure,) = found.find(name, slice_, **fields)
    return next(s for s in measure.standings if s.system == system)


def difference(
    found: SystemComparison, first: str, second: str, name: str = "accuracy", slice_: str = "all"
) -> SystemDifference:
    (measure,) = found.find(name, slice_)
    return next(d for d in measure.differences if (d.first, d.second) == (first, second))


# -- pairing ----------------------------------------------------------------------------------------------------------


def columns(
    rows: list[tuple[int, int, int, int]], *, target: int | None = None
) -> tuple[RatingTable, list[int], list[int]]:
    """Columns of (system, sample, conversation, code)."""
    system, sample, cluster, code = (list(column) for column in zip(*rows, strict=True))
    codes = np.array(code, dtype=np.intp)
    table = RatingTable(
        LEVELS,
        codes,
        np.full(len(rows), -1 if target is None else target, dtype=np.intp),
        np.array(cluster, dtype=np.intp),
        np.array(sample, dtype=np.intp),
        np.where(codes >= 0, "ok", "failed").astype(object),
    )
    return table, system, sample


def test_repeats_are_averaged_within_samples_and_samples_within_conversations() -> None:
    rows = [(0, 0, 0, 4), (0, 0, 0, 2), (0, 1, 0, 0), (0, 2, 1, 1), (1, 0, 0, 0), (1, 1, 0, 2), (1, 2, 1, 3)]
    table, system, sample = columns(rows)
    scores = pair(mean_level, table, np.array(system), np.array(sample))
    close(scores.value, [[(4 + 1) / 2, (1 + 3) / 2], [2, 4]])
    assert scores.samples.tolist() == [2, 1]
    assert scores.replies.tolist() == [3, 3], "two verdicts on one reply are one reply"
    assert scores.left_out == 0


def test_only_samples_that_all_systems_of_a_conversation_have_are_compared() -> None:
    rows = [(0, 0, 0, 4), (1, 0, 0, 4), (0, 1, 0, 0), (0, 2, 1, 3), (1, 3, 2, 3), (0, 4, 3, 1), (1, 4, 3, 2)]
    table, system, sample = columns(rows)
    scores = pair(mean_level, table, np.array(system), np.array(sample))
    close(scores.value, [[5, 5], [2, 3]])
    assert scores.left_out == 3, "one that the other did not answer, and two conversations of one system alone"
    assert scores.replies.tolist() == [2, 2]


def test_a_missing_score_is_nowhere_a_number_and_has_bounds() -> None:
    table, system, sample = columns(
        [(0, 0, 0, -1), (1, 0, 0, 2), (0, 1, 0, 4), (1, 1, 0, 2), (0, 2, 1, 0), (1, 2, 1, 0)]
    )
    scores = pair(mean_level, table, np.array(system), np.array(sample))
    close(scores.value, [[5, 3], [1, 1]])
    gaps, lowest, highest, n = scores.gaps(0, 1)
    close(gaps, [5 - 3, 0])
    close(lowest, [0, 0])
    close(highest, [2, 0])
    assert n == 2, "of three samples that both answered, one has no value"
    close(scores.lowest, [[(1 + 5) / 2, 3], [1, 1]])
    close(scores.highest, [[5, 3], [1, 1]])
    assert scores.missing.tolist() == [1, 0]


def test_an_answer_that_cannot_be_read_is_wrong() -> None:
    table, system, sample = columns([(0, 0, 0, -1), (1, 0, 0, 2), (0, 1, 1, 2), (1, 1, 1, 2)], target=2)
    scores = pair(accuracy, table, np.array(system), np.array(sample))
    close(scores.value, [[0, 1], [1, 1]])
    close(scores.highest - scores.lowest, [[1, 0], [0, 0]])


@examples(60)
@given(codes=npst.arrays(np.intp, (3, 12), elements=st.integers(-1, 4)), asked=npst.arrays(bool, (3, 12)))
def test_pairing_keeps_its_promises_whatever_is_missing(codes: np.ndarray, asked: np.ndarray) -> None:
    rows = [(s, i, i // 2, int(codes[s, i])) for s in range(3) for i in range(12) if asked[s, i]]
    if not rows:
        return
    table, system, sample = columns(rows)
    for metric in (mean_level, accuracy):
        about = pair(metric, table, np.array(system), np.array(sample))
        valued = np.isfinite(about.value)
        assert (about.present.sum(axis=1) >= 2).all(), "nobody is compared with nobody"
        assert not (valued & ~about.present).any()
        assert (about.lowest[valued] <= about.value[valued] + 1e-12).all()
        assert (about.value[valued] <= about.highest[valued] + 1e-12).all()
        assert (about.replies <= (about.present * about.samples[:, None]).sum(axis=0)).all()
        if len(about.value) < 1:
            continue
        standings, differences = contrasts(metric, ["a", "b", "c"], about, resamples=50)
        numbers = {"a": 0, "b": 1, "c": 2}
        assert {s.system for s in standings} == {name for name, i in numbers.items() if about.present[:, i].any()}
        for gap in differences:
            both = asked[numbers[gap.first]] & asked[numbers[gap.second]]
            read = both & (codes[[numbers[gap.first], numbers[gap.second]]] >= 0).all(axis=0)
            assert gap.n == (both if metric is accuracy else read).sum(), "each two are paired on what both have"
            if gap.value is not None:
                assert gap.worst is not None
                assert gap.best is not None
                assert gap.worst - 1e-12 <= gap.value <= gap.best + 1e-12


def test_one_missing_verdict_leaves_the_rest_of_its_conversation_in() -> None:
    """Five of 120 verdicts are missing, all in conversations in which the second system does badly."""
    rows = []
    for sample in range(120):
        conversation = sample // 10
        bad = 0 if conversation < 6 else 2
        rows += [(0, sample, conversation, 2), (1, sample, conversation, -1 if sample % 10 == 0 and conversation < 5 else bad)]  # fmt: skip
    table, system, sample_of = columns(rows)
    scores = pair(mean_level, table, np.array(system), np.array(sample_of))
    (_, second), (gap,) = contrasts(mean_level, ["good", "poor"], scores)
    assert (gap.value, gap.n, gap.clusters) == (1, 115, 12)
    assert (second.n, second.missing, second.clusters) == (120, 5, 12)
    assert gap.worst is not None
    assert gap.best is not None
    assert gap.worst < 1 <= gap.best


# -- closed questions -------------------------------------------------------------------------------------------------


def test_the_better_model_is_found_with_interval_p_and_ranks(planted: Planted) -> None:
    said = {"good": right(36), "poor": right(8), "alike": ["sad"] * 6 + right(34, 34)}
    found = compare([planted.answered("run", CALM, said)])
    first = difference(found, "good", "poor")
    assert first.value == pytest.approx(0.7)
    assert first.low is not None
    assert first.high is not None
    assert 0.5 < first.low < 0.7 < first.high < 0.9
    assert first.adjusted is not None
    assert first.adjusted < 0.01
    assert (first.told_apart, first.better, first.n, first.clusters) == (True, "good", N, N)
    assert difference(found, "good", "alike").told_apart is False
    ranks = [(s.system, s.rank, s.rank_low, s.rank_high) for s in found.find("accuracy")[0].standings]
    assert ranks == [("good", 1, 1, 2), ("alike", 2, 1, 2), ("poor", 3, 3, 3)]
    assert standing(found, "good").value == 36 / 40


def test_what_is_lost_counts_as_wrong_and_shows_what_it_could_be(planted: Planted) -> None:
    lost = [*right(30, 30), *[Status.UNPARSABLE] * 6, *[Status.FAILED] * 4]
    found = compare([planted.answered("run", CALM, {"whole": right(30), "lossy": lost})])
    gap = difference(found, "lossy", "whole")
    assert (gap.value, gap.worst, gap.best, gap.n) == (0, 0, 0.25, N)
    assert (standing(found, "lossy").missing, standing(found, "lossy").n) == (10, N)


def test_systems_that_never_differ_get_exact_bounds_and_not_certainty(planted: Planted) -> None:
    found = compare([planted.answered("run", CALM, {"a": right(N), "b": right(N)})])
    gap = difference(found, "a", "b")
    assert (gap.value, gap.p, gap.told_apart) == (0, 1, False)
    upper = 1 - 0.0125 ** (1 / N)
    assert gap.low == pytest.approx(-upper)
    assert gap.high == pytest.approx(upper)
    whole = standing(found, "a")
    assert whole.low == pytest.approx(0.025 ** (1 / N)), "all of n is no proof of always"
    assert (whole.rank, whole.best) == (1.5, 0.5)


def test_a_few_conversations_tell_nothing_apart_however_clear(planted: Planted) -> None:
    found = compare([planted.answered("run", CALM[:4], {"right": right(4, 4), "wrong": right(0, 4)})])
    gap = difference(found, "right", "wrong")
    assert (gap.value, gap.p, gap.told_apart, gap.better) == (1, 0.125, False, "")


def test_one_conversation_counts_once_however_many_samples_it_has(planted: Planted) -> None:
    asked = [Asked(f"s{i}", "calm", "long" if i < 30 else f"c{i}") for i in range(N)]
    found = compare([planted.answered("run", asked, {"a": right(N), "b": right(0)[:30] + right(10, 10)})])
    gap = difference(found, "a", "b")
    assert gap.value == pytest.approx(1 / 11)
    assert (gap.clusters, gap.n) == (11, N)
    assert gap.told_apart is False


def test_categories_and_call_rates_are_compared_where_there_are_samples(planted: Planted) -> None:
    asked = [Asked(f"s{i}", "crisis" if i % 2 else "calm") for i in range(60)]
    alert = ["crisis" if i % 2 else "calm" for i in range(60)]
    found = compare([planted.answered("run", asked, {"alert": alert, "sleepy": ["calm"] * 60})])
    missed = difference(found, "alert", "sleepy", "missed_rate")
    assert (missed.value, missed.better, missed.n) == (-1, "alert", 30)
    assert difference(found, "alert", "sleepy", "recall", "label=crisis").value == 1
    assert difference(found, "alert", "sleepy", "recall", "label=calm").value == 0
    assert not found.find("recall", "label=sad"), "there are none"
    assert not found.find("macro_f1"), "F1 has no value of one sample"
    assert missed.worst == missed.best == missed.value


def test_repeats_of_a_sample_are_one_observation(planted: Planted) -> None:
    thrice = [[label, label, "sad"] for label in right(N)]
    found = compare([planted.answered("run", CALM, {"thrice": thrice, "once": right(N)})])
    assert standing(found, "thrice").value == pytest.approx(2 / 3)
    assert (standing(found, "thrice").n, standing(found, "thrice").clusters) == (3 * N, N)


# -- several runs -----------------------------------------------------------------------------------------------------


def test_a_model_of_two_runs_is_named_with_its_run_and_paired_by_sample(planted: Planted) -> None:
    runs = [
        planted.answered("flat", CALM[:30], {"m": right(20, 30), "other": right(30, 30)}),
        planted.answered("sequential", CALM[10:], {"m": right(N)[10:]}),
    ]
    found = compare(runs)
    assert [s.label for s in found.systems] == ["m (flat)", "other", "m (sequential)"]
    assert [s.run for s in found.systems] == [str(runs[0]), str(runs[0]), str(runs[1])]
    ways = difference(found, "m (sequential)", "m (flat)")
    assert ways.value == pytest.approx(0.5), "of the 20 samples in common, flat had 10 right"
    assert ways.n == 20
    assert found.find("accuracy")[0].left_out == 10, "nobody but one system answered these"


def test_a_run_with_nothing_in_common_is_said_to_be_left_out(planted: Planted) -> None:
    runs = [
        planted.answered("one", CALM, {"a": right(20), "b": right(30)}),
        planted.answered("two", [Asked("elsewhere", "sad")], {"c": ["sad"]}),
    ]
    found = compare(runs)
    assert [s.label for s in found.systems] == ["a", "b"]
    assert found.notes == ["kind: c has no sample in common with the others; left out"]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("elsewhere", "nothing to compare: kind: no two of a, c have a sample in common"),
        ("other", "nothing to compare: kind: only a, and nobody to compare it with; warmth: only s, and nobody to compare it with"),
        ("nothing", "nothing to compare: kind: only a, and nobody to compare it with; warmth: no ratings of systems"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_one_line(second: str, said: str, planted: Planted) -> None:
    runs = [planted.answered("one", CALM, {"a": right(20)})]
    if second == "elsewhere":
        runs.append(planted.answered("two", [Asked("elsewhere", "sad")], {"c": ["sad"]}))
    if second == "other":
        runs.append(planted.rated("two", CALM, {("s", "judge"): [2, 4] * (N // 2)}))
    if second == "nothing":
        runs.append(planted.rated("two", CALM, {}))
    with pytest.raises(UsageError) as error:
        compare(runs)
    assert str(error.value) == said


def test_a_sample_whose_gold_label_changed_is_left_out_and_said_to_be(planted: Planted) -> None:
    changed = [Asked(CALM[0].text, "crisis"), *CALM[1:]]
    runs = [planted.answered("old", CALM, {"a": right(N)}), planted.answered("new", changed, {"b": right(N)})]
    found = compare(runs)
    assert found.notes == ["kind: 1 samples have different targets in different runs; left out"]
    assert difference(found, "a", "b").n == N - 1


def test_constant_raters_are_compared_with_those_that_read(planted: Planted) -> None:
    planted = planted.asking_for("calm")
    asked = [Asked(f"s{i}", "calm" if i < 24 else "crisis") for i in range(N)]
    found = compare([planted.answered("run", asked, {"m": ["calm"] * 23 + ["sad"] + ["crisis"] * 3 + ["calm"] * 13})])
    assert [(s.label, s.baseline, s.run) for s in found.systems][1:] == [("always calm", True, "")]
    gap = difference(found, "m", "always calm")
    assert gap.value == pytest.approx(2 / 40)
    assert gap.told_apart is False, "no better than saying calm to everything"
    assert not found.find("recall", "label=calm"), "it has all of one label and none of the others"


def test_constant_raters_join_no_systems_that_share_nothing(planted: Planted) -> None:
    planted = planted.asking_for("calm")
    elsewhere = [Asked("elsewhere", "sad"), Asked("nowhere", "calm")]
    runs = [planted.answered("one", CALM, {"a": right(20)}), planted.answered("two", elsewhere, {"c": ["sad", "sad"]})]
    with pytest.raises(UsageError, match="no two of a, c have a sample in common"):
        compare(runs)
    runs[0] = planted.answered("three", CALM, {"a": right(20), "b": right(30)})
    found = compare(runs)
    assert [s.label for s in found.systems] == ["a", "b", "always calm"]
    assert standing(found, "always calm").n == N


# -- open questions ---------------------------------------------------------------------------------------------------


def warm(level: int) -> list[int]:
    return [level + i % 2 for i in range(N)]


def test_replies_are_compared_by_each_judge_that_rated_both(planted: Planted) -> None:
    levels = {("kind", "j"): warm(4), ("cold", "j"): warm(1), ("kind", "k"): warm(3), ("cold", "l"): warm(1)}
    found = compare([planted.rated("run", CALM, levels)])
    assert [m.rater for m in found.measures] == ["j"]
    gap = difference(found, "kind", "cold", "mean")
    assert (gap.value, gap.better) == (3, "kind")
    assert found.measures[0].unit == "level"


def test_a_verdict_that_is_missing_leaves_the_conversation_out_and_bounds_the_difference(planted: Planted) -> None:
    lost = [*[Status.REFUSED] * 10, *warm(4)[10:]]
    found = compare([planted.rated("run", CALM, {("whole", "j"): warm(4), ("lossy", "j"): lost})])
    (measure,) = found.measures
    (gap,) = measure.differences
    assert (gap.value, gap.n, gap.clusters) == (0, 30, 30)
    first = {"whole": 1, "lossy": -1}[gap.first]
    bounds = sorted(first * bound for bound in (gap.worst, gap.best) if bound is not None)
    assert bounds == [pytest.approx((4.5 - 5) / 4), pytest.approx((4.5 - 1) / 4)]
    assert {s.system: (s.missing, s.n, s.clusters) for s in measure.standings} == {
        "whole": (0, 40, 40),
        "lossy": (10, 40, 30),
    }


def test_judges_without_a_common_judge_are_one_line(planted: Planted) -> None:
    folder = planted.rated("run", CALM, {("a", "j"): warm(4), ("b", "k"): warm(1)})
    with pytest.raises(UsageError, match="nobody rated replies of two systems; each was rated by j or k alone"):
        compare([folder])


def test_another_instrument_is_said(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    one = planted.rated("one", CALM, {("a", "j"): warm(4)})
    monkeypatch.setattr(type(planted.open.rubric), "name", property(lambda _: "warmth@2"))
    two = planted.rated("two", CALM, {("b", "j"): warm(3)})
    (note,) = compare([one, two]).notes
    assert "j did not work with the same rubric and prompt in all runs (warmth@1, warmth@2)" in note


def test_what_a_judge_s_card_allows_stands_beside_its_measures(planted: Planted) -> None:
    folder = planted.rated("run", CALM, {("a", "lenient"): warm(4), ("b", "lenient"): warm(1), ("a", "p"): warm(4), ("b", "p"): warm(2)}, p=RaterKind.PERSON)  # fmt: skip
    card = World().rated_by("anna", "person").rated_by("lenient", bias=1.2).card()
    assert (card.rate_replies.verdict, card.rank_systems.verdict) == ("limited: people must rate", "good")
    found = compare([folder], cards={(str(folder), "warmth", "warmth", "lenient"): card})
    said = {m.rater: (m.rate_replies, m.rank_systems) for m in found.measures}
    assert said == {"lenient": ("limited: people must rate", "good"), "p": ("", "")}


def test_what_has_no_better_end_is_compared_and_not_ranked(planted: Planted) -> None:
    said = {("a", "rule/x"): ["yes"] * N, ("b", "rule/x"): ["no"] * N}
    found = compare([planted.rated("run", CALM, said, **{"rule/x": RaterKind.RULE})])
    gap = difference(found, "a", "b", "share_yes")
    assert (gap.value, gap.told_apart, gap.better) == (1, True, "")
    first = standing(found, "a", "share_yes")
    assert (first.rank, first.rank_low, first.best) == (None, None, None)


def test_tables_have_a_row_for_each_pair_and_each_standing(planted: Planted) -> None:
    found = mindgauge.compare([planted.answered("run", CALM, {"a": right(30), "b": right(20), "c": right(10)})])
    assert len(found.table) == 3 * len(found.measures)
    assert len(found.standings) == 3 * len(found.measures)
    assert {"first", "second", "value", "low", "high", "adjusted", "told_apart", "n"} <= set(found.table.columns)
    assert "a is better" in found._repr_html_()


def test_the_same_seed_gives_the_same(planted: Planted, tmp_path: Path) -> None:
    folder = planted.answered("run", CALM, {"a": right(30), "b": right(21)})
    assert compare([folder], seed=3) == compare([folder], seed=3)
    assert compare([folder], seed=3) != compare([folder], seed=4)
