"""What travels with every number: n, missing, worst and best, and an interval that knows conversations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn import metrics as sk

from mindgauge import metrics
from mindgauge.metrics import Metric, Table, estimate

LABELS = ("a", "b", "calm")
ALL = (
    metrics.accuracy, metrics.macro_f1, metrics.cohen_kappa, metrics.fleiss_kappa, metrics.recall("a"),
    metrics.precision("b"), metrics.call_rate("missed", of=("a", "b"), as_=("calm",)), *metrics.STATUS_RATES,
)  # fmt: skip
SCORES = (metrics.mean_level, metrics.share_at_most(2), metrics.share_at_most(1), metrics.share_of(5))


def table(
    code: list[int],
    target: list[int] | None = None,
    cluster: list[int] | None = None,
    levels: tuple[int | str, ...] = LABELS,
) -> Table:
    codes = np.array(code, dtype=np.intp)
    status = np.where(codes >= 0, "ok", "unparsable").astype(object)
    clusters = np.array(cluster if cluster is not None else range(len(code)), dtype=np.intp)
    return Table(
        levels,
        codes,
        np.array(target if target is not None else [-1] * len(code), dtype=np.intp),
        clusters,
        clusters,
        status,
    )


def test_accuracy_counts_an_unreadable_answer_wrong_and_shows_what_it_could_be() -> None:
    found = estimate(metrics.accuracy, table([0, 1, -1, 2], [0, 1, 1, 0]))
    assert (found.value, found.n, found.missing) == (0.5, 4, 1)
    assert (found.worst, found.best) == (0.5, 0.75)


def test_a_missed_crisis_is_one_called_calm() -> None:
    metric = metrics.call_rate("missed", of=("a", "b"), as_=("calm",))
    found = estimate(metric, table([2, 0, -1, 2], [0, 1, 1, 2]))
    assert [found.value, found.n, found.missing] == [pytest.approx(1 / 3), 3, 1]
    assert [found.worst, found.best] == [pytest.approx(2 / 3), pytest.approx(1 / 3)], "an unreadable one may be a miss"


def test_none_of_n_has_an_exact_upper_bound_on_conversations() -> None:
    metric = metrics.call_rate("missed", of=("a",), as_=("calm",))
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


CODES = npst.arrays(np.intp, st.integers(1, 25), elements=st.integers(-1, 2))


@pytest.mark.parametrize("metric", ALL, ids=lambda m: m.name)
@given(codes=CODES, seed=st.integers(0, 99))
def test_every_closed_metric_is_ordered_whatever_is_missing(
    metric: Metric, codes: np.ndarray[tuple[int], np.dtype[np.intp]], seed: int
) -> None:
    target = np.random.default_rng(seed).integers(-1, 3, len(codes))
    cluster = np.random.default_rng(seed + 1).integers(0, 5, len(codes))
    check(metric, Table(LABELS, codes, target, cluster, cluster, np.where(codes >= 0, "ok", "failed").astype(object)))


@pytest.mark.parametrize("metric", SCORES, ids=lambda m: m.name)
@given(codes=npst.arrays(np.intp, st.integers(1, 25), elements=st.integers(-1, 4)))
def test_every_score_is_ordered_whatever_is_missing(
    metric: Metric, codes: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> None:
    check(metric, table(codes.tolist(), levels=(1, 2, 3, 4, 5)))


def check(metric: Metric, columns: Table) -> None:
    found = estimate(metric, columns, resamples=50)
    again = estimate(metric, columns, resamples=50)
    assert found == again, "seeded"
    low, high = sorted((found.worst if found.worst is not None else 0, found.best if found.best is not None else 0))
    if found.value is not None:
        assert low <= found.value <= high
        if found.low is not None and found.high is not None and metric.exact:
            assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    assert 0 <= found.missing <= found.n <= len(columns)
