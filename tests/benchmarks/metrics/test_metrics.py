"""What travels with every number: n, missing, worst and best, and an interval that knows conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn import metrics as sk

from mindgauge.benchmarks import metrics
from mindgauge.benchmarks.metrics import Metric, RatingTable, estimate
from tests.thinned import examples

if TYPE_CHECKING:
    from mindgauge.benchmarks.metrics.table import Floats

LABELS = ("a", "b", "calm")
AVERAGES = (
    metrics.weighted_precision, metrics.weighted_recall, metrics.weighted_f1, metrics.macro_precision,
    metrics.macro_recall, metrics.macro_f1,
)  # fmt: skip
BINARY = metrics.binary("alarm", safe=("calm",))
NODES = metrics.node_accuracy((("a",), ("b",)))
ALL = (
    metrics.accuracy, *AVERAGES, metrics.cohen_kappa, metrics.fleiss_kappa, metrics.repeat_stability,
    metrics.recall("a"), metrics.precision("b"), metrics.call_rate("missed", targets=("a", "b"), answers=("calm",)),
    *BINARY, *NODES, *metrics.STATUS_RATES,
)  # fmt: skip
SCORES = (metrics.mean_level, metrics.share_at_most(2), metrics.share_at_most(1), metrics.share_of(5))


def table(
    code: list[int],
    target: list[int] | None = None,
    cluster: list[int] | None = None,
    levels: tuple[int | str, ...] = LABELS,
    run: list[int] | None = None,
) -> RatingTable:
    codes = np.array(code, dtype=np.intp)
    status = np.where(codes >= 0, "ok", "unparsable").astype(object)
    clusters = np.array(cluster if cluster is not None else range(len(code)), dtype=np.intp)
    return RatingTable(
        levels,
        codes,
        np.array(target if target is not None else [-1] * len(code), dtype=np.intp),
        clusters,
        clusters,
        status,
        None if run is None else np.array(run, dtype=np.intp),
    )


def test_accuracy_counts_an_unreadable_answer_wrong_and_shows_what_it_could_be() -> None:
    found = estimate(metrics.accuracy, table([0, 1, -1, 2], [0, 1, 1, 0]))
    assert (found.value, found.n, found.missing) == (0.5, 4, 1)
    assert (found.worst, found.best) == (0.5, 0.75)


def test_a_missed_crisis_is_one_called_calm() -> None:
    metric = metrics.call_rate("missed", targets=("a", "b"), answers=("calm",))
    found = estimate(metric, table([2, 0, -1, 2], [0, 1, 1, 2]))
    assert [found.value, found.n, found.missing] == [pytest.approx(1 / 3), 3, 1]
    assert [found.worst, found.best] == [pytest.approx(2 / 3), pytest.approx(1 / 3)], "an unreadable one may be a miss"


def test_none_of_n_has_an_exact_upper_bound_on_conversations() -> None:
    metric = metrics.call_rate("missed", targets=("a",), answers=("calm",))
    found = estimate(metric, table([0] * 30, [0] * 30, [i // 3 for i in range(30)]))
    assert (found.value, found.n, found.clusters) == (0, 30, 10)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 10)), "three repeats of ten conversations are ten, not thirty"


def test_a_mean_travels_with_its_bounds() -> None:
    found = estimate(metrics.mean_level, table([4, 3, -1], levels=(1, 2, 3, 4, 5)))
    assert (found.value, found.n, found.missing) == (4.5, 3, 1)
    assert [found.worst, found.best] == [pytest.approx(10 / 3), pytest.approx(14 / 3)]


def test_all_missing_has_bounds_but_no_value() -> None:
    found = estimate(metrics.mean_level, table([-1, -1], levels=(1, 2, 3, 4, 5)))
    assert (found.value, found.low, found.worst, found.best) == (None, None, 1, 5)


def test_f1_and_kappa_equal_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    gold, said = generator.integers(0, 3, (2, 200))
    found = table(said.tolist(), gold.tolist())
    assert estimate(metrics.macro_f1, found).value == pytest.approx(sk.f1_score(gold, said, average="macro"))
    assert estimate(metrics.cohen_kappa, found).value == pytest.approx(sk.cohen_kappa_score(gold, said))
    assert estimate(metrics.recall("b"), found).value == pytest.approx(
        sk.recall_score(gold, said, labels=[1], average=None)[0]
    )
    assert estimate(metrics.precision("b"), found).value == pytest.approx(
        sk.precision_score(gold, said, labels=[1], average=None)[0]
    )


@pytest.mark.parametrize("metric", AVERAGES, ids=lambda m: m.name)
def test_averages_over_labels_equal_scikit_learn_with_unreadable_answers_in_n(metric: Metric) -> None:
    generator = np.random.default_rng(1)
    gold, said = generator.integers(0, 3, 150), generator.integers(-1, 3, 150)
    average, figure = metric.name.split("_")
    oracle = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}[figure]
    expected = oracle(gold, said, labels=[0, 1, 2], average=average, zero_division=0)
    found = estimate(metric, table(said.tolist(), gold.tolist()))
    assert found.value == pytest.approx(expected)
    assert found.low is not None
    assert found.high is not None
    assert found.low < expected < found.high


def test_weighted_recall_is_the_accuracy() -> None:
    generator = np.random.default_rng(2)
    found = table(generator.integers(-1, 3, 80).tolist(), generator.integers(0, 3, 80).tolist())
    assert estimate(metrics.weighted_recall, found) == estimate(metrics.accuracy, found)


def test_binary_figures_take_labels_together_and_an_unreadable_answer_raises_no_alarm() -> None:
    gold, said = [0, 1, 0, 2, 2, 1], [1, 1, -1, 2, 0, 2]
    alarm, raised = np.array(gold) < 2, np.isin(said, (0, 1))
    accuracy, precision, recall, f1 = (estimate(metric, table(said, gold)) for metric in BINARY)
    assert accuracy.value == pytest.approx(3 / 6), "a confused with b is right, the unreadable one is not"
    assert precision.value == pytest.approx(sk.precision_score(alarm, raised))
    assert recall.value == pytest.approx(sk.recall_score(alarm, raised))
    assert f1.value == pytest.approx(sk.f1_score(alarm, raised))
    assert [precision.n, recall.n, accuracy.n] == [3, 4, 6]
    assert [metric.name for metric in BINARY] == ["alarm_accuracy", "alarm_precision", "alarm_recall", "alarm_f1"]


def test_a_node_is_judged_where_the_target_reaches_it() -> None:
    gold = [0, 0, 1, 1, 2, 2, 2]
    said = [0, 1, 1, 2, 2, 0, -1]
    first, second = (estimate(metric, table(said, gold)) for metric in NODES)
    assert first.value == pytest.approx(4 / 7), "settled right once, passed on right three times"
    assert second.value == pytest.approx(2 / 5), "what was settled before is wrong here"
    assert [first.n, second.n] == [7, 5]


def test_a_node_of_several_labels_has_to_name_the_right_one() -> None:
    (node,) = metrics.node_accuracy((("a", "b"),))
    found = estimate(node, table([0, 0, 2, 1], [0, 1, 2, 2]))
    assert found.value == pytest.approx(2 / 4)


def test_stability_is_the_share_of_subjects_with_one_label_throughout() -> None:
    code = [0, 0, 1, 2, -1, 0, -1, -1, 2]
    found = table(code, [0] * 9, cluster=[0, 0, 1, 1, 2, 2, 3, 3, 4], run=[0, 1, 0, 1, 0, 1, 0, 1, 0])
    stability = estimate(metrics.repeat_stability, found)
    assert stability.value == pytest.approx(1 / 4), "no label is not the same label, and one answer is no repeat"
    assert (stability.sd, stability.mean_of_runs) == (None, None)
    assert estimate(metrics.repeat_stability, table([0, 1])).value is None


def right(runs: list[int], n: int) -> RatingTable:
    """So many of n answers right in each run."""
    code = [0 if i < k else 1 for k in runs for i in range(n)]
    run = [number for number in range(len(runs)) for _ in range(n)]
    return table(code, [0] * len(code), cluster=list(range(n)) * len(runs), run=run)


def test_repeats_give_the_published_mean_and_sample_sd() -> None:
    """Five runs of gpt-3.5-turbo-0301, few-shot: 50.375, 49.25, 47.25, 46.0 and 49.25 % of 800 (Dialogue Safety)."""
    found = estimate(metrics.accuracy, right([403, 394, 378, 368, 394], 800))
    assert found.runs == 5
    assert found.value == pytest.approx(0.48425)
    assert found.mean_of_runs == pytest.approx(0.48425), "of a share, the pooled value"
    assert found.sd == pytest.approx(0.01762, abs=5e-6), "with n - 1 below; n would give .01576"


def test_of_f1_the_mean_of_runs_is_not_the_pooled_value() -> None:
    gold, said = [0, 0, 1, 1] * 2, [0, 0, 0, 0, 1, 1, 1, 1]
    found = estimate(metrics.macro_f1, table(said, gold, cluster=[0, 1, 2, 3] * 2, run=[0] * 4 + [1] * 4))
    assert found.mean_of_runs == pytest.approx(1 / 3)
    assert found.value == pytest.approx(1 / 2)
    assert found.sd == pytest.approx(0)


@pytest.mark.parametrize("metric", [m for m in ALL if m.additive], ids=lambda m: m.name + m.label)
def test_many_repeats_are_read_off_the_kinds_of_their_rows(metric: Metric) -> None:
    random, runs, n = np.random.default_rng(1), 40, 25
    gold, rows = [i % 3 for i in range(n)] * runs, []
    said = random.integers(-1, 3, runs * n).tolist()
    run = [number for number in range(runs) for _ in range(n)]
    whole = table(said, gold, cluster=[*range(n)] * runs, run=run)
    alone = [table(said[k * n :][:n], gold[:n], cluster=[*range(n)]) for k in range(runs)]

    def compute(part: RatingTable, weights: Floats) -> Floats:
        rows.append(len(part) * len(weights))
        return metric.compute(part, weights)

    found = estimate(msgspec.structs.replace(metric, compute=compute), whole, resamples=10)
    values = [estimate(metric, each, resamples=10).value for each in alone]
    defined = [value for value in values if value is not None]
    if len(defined) < len(values):
        assert found.mean_of_runs is None
    else:
        assert found.mean_of_runs == np.mean(defined)
        assert found.sd == np.std(defined, ddof=1)
    assert max(rows) < runs * len(whole), "no weight for every rating in every repeat"


def test_repeats_that_do_not_hold_the_same_have_no_sd() -> None:
    found = estimate(metrics.accuracy, table([0, 0, 1], [0, 0, 0], cluster=[0, 1, 0], run=[0, 0, 1]))
    assert (found.runs, found.mean_of_runs, found.sd) == (2, None, None)
    once = estimate(metrics.accuracy, table([0, 1], [0, 0]))
    assert (once.runs, once.mean_of_runs, once.sd) == (1, 0.5, None)


CODES = npst.arrays(np.intp, st.integers(1, 25), elements=st.integers(-1, 2))


@pytest.mark.parametrize("metric", ALL, ids=lambda m: m.name)
@examples(40)
@given(codes=CODES, seed=st.integers(0, 99))
def test_every_closed_metric_is_ordered_whatever_is_missing(
    metric: Metric, codes: np.ndarray[tuple[int], np.dtype[np.intp]], seed: int
) -> None:
    target = np.random.default_rng(seed).integers(-1, 3, len(codes))
    cluster = np.random.default_rng(seed + 1).integers(0, 5, len(codes))
    check(
        metric,
        RatingTable(LABELS, codes, target, cluster, cluster, np.where(codes >= 0, "ok", "failed").astype(object)),
    )


@pytest.mark.parametrize("metric", SCORES, ids=lambda m: m.name)
@given(codes=npst.arrays(np.intp, st.integers(1, 25), elements=st.integers(-1, 4)))
def test_every_score_is_ordered_whatever_is_missing(
    metric: Metric, codes: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> None:
    check(metric, table(codes.tolist(), levels=(1, 2, 3, 4, 5)))


def check(metric: Metric, columns: RatingTable) -> None:
    check_bounds(metric, columns)
    check_worth(metric, columns)
    check_counts(metric, columns)


def check_worth(metric: Metric, columns: RatingTable) -> None:
    """Where a metric says what each rating is worth, it is the mean of that."""
    if metric.item_score is not None:
        worth = metric.item_score(columns)
        value = estimate(metric, columns, resamples=50).value
        assert value == (pytest.approx(np.nanmean(worth)) if np.isfinite(worth).any() else None)
        assert np.isfinite(worth[metric.applies_to(columns) & columns.ok]).all(), "an answer is worth something"


def check_counts(metric: Metric, columns: RatingTable) -> None:
    """Where equal ratings may be counted together, weights of clusters give what weights of ratings give."""
    concerned = columns.rows(metric.applies_to(columns))
    if metric.additive and len(concerned):
        kinds, counts = concerned.per_cluster(metric.tags)
        weights = np.random.default_rng(0).integers(0, 3, (4, len(counts))).astype(float)
        one_by_one = metric.compute(concerned, weights[:, concerned.cluster])
        np.testing.assert_allclose(metric.compute(kinds, weights @ counts), one_by_one)


def check_bounds(metric: Metric, columns: RatingTable) -> None:
    found = estimate(metric, columns, resamples=50)
    again = estimate(metric, columns, resamples=50)
    assert found == again, "seeded"
    low, high = sorted((found.worst if found.worst is not None else 0, found.best if found.best is not None else 0))
    if found.value is not None:
        assert low <= found.value <= high
        if found.low is not None and found.high is not None and metric.exact:
            assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    assert 0 <= found.missing <= found.n <= len(columns)


# -- levels with an order ---------------------------------------------------------------------------------------------

MILD_TO_SEVERE = ("supportive", "indicator", "ideation", "behaviour", "attempt")
ORDERED = (
    metrics.quadratic_kappa, metrics.levels_off, metrics.within_one, metrics.under_triage_rate, metrics.over_triage_rate,
)  # fmt: skip


def ordered(code: list[int], target: list[int]) -> list[float | None]:
    return [estimate(metric, table(code, target, levels=MILD_TO_SEVERE)).value for metric in ORDERED]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=60))
def test_figures_of_ordered_levels_are_those_of_others(pairs: list[tuple[int, int]]) -> None:
    code, target = ([pair[k] for pair in pairs] for k in (0, 1))
    kappa, off, near, under, over = ordered(code, target)
    if len({*code, *target}) > 1:
        assert kappa == pytest.approx(sk.cohen_kappa_score(target, code, labels=range(5), weights="quadratic"))
    assert off == pytest.approx(sk.mean_absolute_error(target, code))
    assert near == pytest.approx(np.mean([abs(a - b) <= 1 for a, b in pairs]))
    assert under == pytest.approx(np.mean([a < b for a, b in pairs]))
    assert over == pytest.approx(np.mean([a > b for a, b in pairs]))


def test_a_perfect_order_is_one_and_a_constant_answer_none() -> None:
    assert ordered([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]) == [1, 0, 1, 0, 0]
    assert ordered([2, 2, 2, 2, 2], [0, 1, 2, 3, 4])[0] == 0


def test_an_unreadable_answer_is_as_far_off_as_it_could_be() -> None:
    assert ordered([-1, -1, 2], [4, 1, 2]) == ordered([0, 4, 2], [4, 1, 2])
    found = table([-1, 4, 2], [0, 4, 2], levels=MILD_TO_SEVERE)
    assert estimate(metrics.levels_off, found).value == pytest.approx(4 / 3)
    assert estimate(metrics.levels_off_of_read, found).value == 0
    assert estimate(metrics.quadratic_kappa_of_read, found).value == 1
    assert (estimate(metrics.levels_off, found).n, estimate(metrics.levels_off, found).missing) == (3, 1)


def test_a_level_with_braces_stands_in_the_titles_of_its_shares() -> None:
    titles = [metrics.share_at("{name}").words.title, metrics.share_at("{name}", title="answers “{}”").words.title]
    assert [title.format("tone") for title in titles] == ["the share of tone at {name}", "answers “{name}”"]
