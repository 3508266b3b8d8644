"""What is missing counts as bad in the bound of a share: it never falls short of what is known to be possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge import benchmarks
from mindgauge.benchmarks import metrics
from mindgauge.benchmarks.metrics import Metric, RatingTable, estimate
from mindgauge.stats.proportion import clopper_pearson
from tests.benchmarks.metrics.test_metrics import table

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark

MISSED = metrics.call_rate("missed", targets=("a",), answers=("calm",))
SHARES = {
    (metric.name, metric.label): (metric, benchmarks.find_one(name))
    for name in benchmarks.names()
    for metric in benchmarks.find_one(name).metrics
    if metric.exact and metric.better
}


def test_a_missed_crisis_s_bound_counts_answers_that_cannot_be_read() -> None:
    """Two of 30 crises were missed and five answers cannot be read: seven may have been missed."""
    found = estimate(MISSED, table([2] * 2 + [-1] * 5 + [0] * 23, [0] * 30))
    assert found.value == pytest.approx(2 / 30)
    assert found.worst == pytest.approx(7 / 30)
    assert found.high == pytest.approx(clopper_pearson(7, 30).high)
    assert found.low == pytest.approx(clopper_pearson(2, 30).low)


def test_a_bad_share_s_bound_is_above_what_is_known_to_be_possible() -> None:
    """One of four verdicts is bad and six are missing: as many as seven of ten may be."""
    found = estimate(metrics.share_at_most(2), table([0, 4, 4, 4] + [-1] * 6, levels=(1, 2, 3, 4, 5)))
    assert (found.value, found.worst) == (0.25, 0.7)
    assert found.high == pytest.approx(clopper_pearson(7, 10).high)


def test_a_good_share_is_the_mirror() -> None:
    found = estimate(metrics.share_reaching("yes"), table([1, 1, 1, 0] + [-1] * 6, levels=("no", "yes")))
    assert (found.value, found.worst) == (0.75, 0.3)
    assert found.low == pytest.approx(clopper_pearson(3, 10).low)
    assert found.high == pytest.approx(clopper_pearson(3, 4).high)


def test_where_nothing_is_missing_nothing_changes() -> None:
    found = estimate(metrics.share_at_most(2), table([0, 4, 4, 4], levels=(1, 2, 3, 4, 5)))
    assert (found.low, found.high) == pytest.approx(clopper_pearson(1, 4)[1:3])


def test_a_person_who_wrote_most_of_what_was_rated_does_not_speak_for_many() -> None:
    """Nineteen people wrote once, one wrote 81 times: what that one was answered is nearly all that was seen."""
    once, often = [4] * 19, [4] * 81
    found = estimate(metrics.share_at_most(2), table([*once, *often], cluster=[*range(19), *[19] * 81], levels=(1, 2, 3, 4, 5)))  # fmt: skip
    conversations = 100**2 / (19 + 81**2)
    assert found.clusters == 20
    assert found.high == pytest.approx(clopper_pearson(0, conversations).high)


def test_bounds_hold_where_people_write_very_differently_much() -> None:
    """Each person is answered in one way throughout; a fifth are answered badly."""
    generator = np.random.default_rng(3)
    missed = 0
    for _ in range(200):
        sizes = np.maximum(np.exp(generator.normal(1, 1, 60)).round().astype(int), 1)
        bad = generator.random(60) < 0.2
        codes = np.repeat(np.where(bad, 0, 4), sizes).tolist()
        clusters = np.repeat(np.arange(60), sizes).tolist()
        found = estimate(metrics.share_at_most(2), table(codes, cluster=clusters, levels=(1, 2, 3, 4, 5)))
        missed += found.high is not None and found.high < 0.2
    assert missed <= 0.025 * 200


@given(
    st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 5)), min_size=1, max_size=30),
    st.sampled_from((metrics.share_at_most(2), metrics.share_reaching(5), metrics.rate_of(1))),
)
def test_no_bound_falls_short_of_what_missing_ratings_could_make_of_it(
    rows: list[tuple[int, int]], metric: Metric
) -> None:
    rows.sort(key=lambda row: row[1])
    found = estimate(metric, table([code for code, _ in rows], cluster=[cluster for _, cluster in rows], levels=(1, 2, 3, 4, 5)))  # fmt: skip
    if found.value is None or found.worst is None or found.low is None or found.high is None:
        return
    assert found.low <= found.value <= found.high
    assert found.worst <= found.high + 1e-12 if metric.better == "lower" else found.worst >= found.low - 1e-12


@pytest.mark.parametrize(
    ("metric", "task"), SHARES.values(), ids=lambda m: f"{m.name} {getattr(m, 'label', '')}".strip()
)
def test_it_holds_for_every_share_of_every_benchmark(metric: Metric, task: Benchmark) -> None:
    """Half of the ratings are missing; whatever the share says of the others, its bad bound is beyond the worst case."""
    for criterion in task.criteria:
        if not metric.supports(criterion.values) or (metric.label and metric.label not in map(str, criterion.values)):
            continue
        size = 4 * len(criterion.values)
        codes = np.tile(np.arange(len(criterion.values)), 4)
        codes[::2] = -1
        some = np.arange(size, dtype=np.intp)
        tags = {name: np.full(size, "", dtype=object) for name in task.metric_tags}
        rated = RatingTable(
            criterion.values, codes.astype(np.intp), np.zeros(size, dtype=np.intp), some, some,
            np.where(codes >= 0, "ok", "unparsable").astype(object), None, tags,
        )  # fmt: skip
        found = estimate(metric, rated)
        if found.value is None or found.worst is None:
            continue
        assert found.low is not None
        assert found.high is not None
        assert found.high >= found.worst - 1e-12 if metric.better == "lower" else found.low <= found.worst + 1e-12


def test_several_verdicts_on_one_reply_are_one_reply() -> None:
    levels = (1, 2, 3, 4, 5)
    code, target, place = (np.array(column, dtype=np.intp) for column in ([0, 1, 4, 4], [-1] * 4, [0, 0, 0, 1]))
    three = RatingTable(levels, code, target, place, place, np.array(["ok"] * 4))
    found = estimate(metrics.mean_level, three)
    assert (found.n, found.subjects, found.clusters) == (4, 2, 2)
    answers = table([0, 1, 1, 0], [0] * 4, [0, 0, 1, 1], run=[0, 1, 0, 1])
    assert estimate(metrics.accuracy, answers).subjects == 4, "a model's answers are its own, each of them"
