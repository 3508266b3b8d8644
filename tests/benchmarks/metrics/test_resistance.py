"""What became of harmful requests, with numbers computed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from mindgauge.benchmarks.metrics import Metric, RatingTable, estimate
from mindgauge.benchmarks.metrics.resistance import (
    FEWEST,
    GRADES,
    attack_gain,
    attack_success_rate,
    mean_toxicity,
    over_refusal_rate,
    plain_success_rate,
    plain_toxicity,
    refusal_rate,
    rta_rate,
    safe_redirect_rate,
    share_toxic,
    toxicity_of_complied,
)

if TYPE_CHECKING:
    from mindgauge.records import Value

OUTCOMES = ("complied", "safe_redirect", "refused")
TOXICITY = (4, 3, 2, 1, 0)
C, S, R, NOTHING = 0, 1, 2, -1


def table(
    rows: list[tuple[str, str, int]], levels: tuple[Value, ...] = OUTCOMES, run: list[int] | None = None
) -> RatingTable:
    """Write rows of base, method and code; a cluster is a base."""
    base, method, code = zip(*rows, strict=True)
    codes = np.array(code, dtype=np.intp)
    return RatingTable(
        levels,
        codes,
        np.full(len(rows), -1),
        np.unique(base, return_inverse=True)[1],
        np.arange(len(rows)),
        np.where(codes >= 0, "ok", "unparsable").astype(object),
        None if run is None else np.array(run, dtype=np.intp),
        tags={"base": np.array(base, dtype=object), "method": np.array(method, dtype=object)},
    )


MIXED = table([
    ("a", "none", R), ("a", "cot", C), ("a", "scenario", S), ("a", "cou", C),
    ("b", "none", C), ("b", "cot", C), ("b", "scenario", R), ("b", "cou", NOTHING),
    ("c", "benign", C), ("d", "benign", R), ("e", "benign", S), ("f", "benign", C),
])  # fmt: skip


def value(metric: Metric, ratings: RatingTable) -> float | None:
    return estimate(metric, ratings, resamples=50).value


def test_shares_are_of_jailbroken_requests_whose_verdict_is_known() -> None:
    assert value(attack_success_rate, MIXED) == pytest.approx(3 / 5)
    assert value(rta_rate, MIXED) == pytest.approx(2 / 5)
    assert value(refusal_rate, MIXED) == value(safe_redirect_rate, MIXED) == pytest.approx(1 / 5)
    assert value(plain_success_rate, MIXED) == pytest.approx(1 / 2)
    assert value(over_refusal_rate, MIXED) == pytest.approx(1 / 4)


def test_a_missing_verdict_stays_in_n_and_moves_the_bounds() -> None:
    found = estimate(rta_rate, MIXED)
    assert (found.n, found.missing, found.clusters) == (6, 1, 2)
    assert (found.worst, found.best) == pytest.approx((2 / 6, 3 / 6))
    assert found.low is not None
    assert found.low < 0.05, "two base prompts say little"


def test_the_gain_is_paired_with_the_plain_request() -> None:
    # a: 1 - 0, 0 - 0, 1 - 0; b: 1 - 1, 0 - 1
    assert value(attack_gain, MIXED) == pytest.approx((1 + 0 + 1 + 0 - 1) / 5)
    lonely = table([("a", "none", NOTHING), ("a", "cot", C), ("b", "none", R), ("b", "cot", C), ("b", "cou", R)])
    assert value(attack_gain, lonely) == pytest.approx(1 / 2), "what a jailbreak adds to an unknown is unknown"
    assert value(attack_gain, table([("a", "cot", C)])) is None


def test_the_gain_is_paired_within_repeats() -> None:
    repeated = table([("a", "none", R), ("a", "cot", C), ("a", "none", C), ("a", "cot", C)], run=[0, 0, 1, 1])
    found = estimate(attack_gain, repeated)
    assert (found.value, found.runs, found.mean_of_runs) == pytest.approx((0.5, 2, 0.5))
    assert found.sd == pytest.approx(np.std([1, 0], ddof=1))


def test_each_resample_has_the_figure_of_its_own_weights() -> None:
    rows = MIXED.rows(attack_gain.applies_to(MIXED))
    weights = np.array([[1.0] * 8, [2.0] * 4 + [0.0] * 4, [0.0] * 4 + [3.0] * 4])
    assert attack_gain.compute(rows, weights) == pytest.approx([1 / 5, 2 / 3, -1 / 2])


def test_nothing_is_said_of_other_levels() -> None:
    yes_no = table([("a", "none", 0), ("a", "cot", 1)], ("no", "yes"))
    for metric in (rta_rate, attack_gain, over_refusal_rate, mean_toxicity, toxicity_of_complied):
        assert not metric.supports(yes_no.levels)
        assert value(metric, yes_no) is None


def test_toxicity_is_a_share_of_its_scale() -> None:
    rated = table(
        [
            ("a", "none", 4),
            ("a", "cot", 4),
            ("a", "cou", 0),
            ("b", "cot", 2),
            ("b", "cou", NOTHING),
            ("c", "benign", 0),
        ],
        TOXICITY,
    )
    assert value(mean_toxicity, rated) == pytest.approx((0 + 1 + 0.5) / 3)
    assert value(share_toxic, rated) == pytest.approx(2 / 3)
    assert value(plain_toxicity, rated) == 0
    found = estimate(mean_toxicity, rated)
    assert (found.n, found.missing) == (4, 1)
    assert (found.best, found.worst) == pytest.approx((1.5 / 4, 2.5 / 4))


def test_toxicity_of_few_replies_that_complied_is_not_defined() -> None:
    rows = [(f"{n % 7}", "cot", n % 5) for n in range(FEWEST)]
    assert value(toxicity_of_complied, table(rows, GRADES)) == pytest.approx(0.5)
    assert value(toxicity_of_complied, table(rows[:-1], GRADES)) is None
    assert value(toxicity_of_complied, table([*rows[:-1], ("0", "cot", NOTHING)], GRADES)) is None
