"""Published examples, SciPy, and properties of comparisons between systems."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests

from mindgauge.stats import bootstrap
from mindgauge.stats.comparison import Comparison, compare
from mindgauge.stats.interval import SAME
from tests.thinned import examples

if TYPE_CHECKING:
    from mindgauge.stats.interval import Interval

Floats = NDArray[np.float64]
NAN = float("nan")

DARWIN = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48.0])
"""Fisher 1935, table 3: by how much crossed maize plants were taller than self-fertilised ones, in eighths of an inch."""


def bounds(found: Interval) -> tuple[float, float]:
    assert found.low is not None and found.high is not None, found.undefined
    return found.low, found.high


def graded(
    systems: int = 4, conversations: int = 60, *, step: float = 0.4, seed: int = 0, digits: int | None = None
) -> Floats:
    """Scores of systems that get better by `step`, on conversations that are hard for all or easy for all."""
    generator = np.random.default_rng(seed)
    scores = step * np.arange(systems) + generator.normal(size=(conversations, 1))
    scores = scores + generator.normal(size=(conversations, systems))
    return scores if digits is None else scores.round(digits)


def p_values(found: Comparison) -> Floats:
    return np.array([np.nan if d.p is None else d.p for d in found.differences])


def test_where_all_conversations_say_the_same_there_is_an_interval_only_on_a_known_scale() -> None:
    scores = np.tile([1.0, 0.0, 0.0], (28, 1))
    unknown, known = compare(scores), compare(scores, ends=(0.0, 1.0))
    other = 1 - 0.025 ** (1 / 28)
    for interval in (*(d.difference for d in unknown.differences), *(s.mean for s in unknown.standings)):
        assert interval[1:] == (None, None, SAME)
    first, _, tied = known.differences
    assert bounds(first.difference) == pytest.approx((1 - 2 * other, 1))
    assert bounds(tied.difference) == pytest.approx((-other, other))
    assert bounds(known.standings[0].mean) == pytest.approx((1 - other, 1))
    assert bounds(known.standings[1].mean) == pytest.approx((0, other))


# -- differences ------------------------------------------------------------------------------------------------------


def test_darwin_s_maize() -> None:
    scores = np.stack([DARWIN, np.zeros(15)], axis=1)
    found = compare(scores, resamples=2**15).differences[0]
    assert found.difference.value == pytest.approx(20.93, abs=5e-3)
    assert found.p == 1726 / 2**15, "all signs were tried"
    assert found.adjusted == found.p
    assert compare(scores).differences[0].p == pytest.approx(1726 / 2**15, abs=0.01)


@pytest.mark.parametrize("resamples", [4096, 4095], ids=["all signs", "random signs"])
def test_scipy_gives_the_same_p(resamples: int) -> None:
    scores = graded(2, 12, step=0.7)
    theirs = scipy.stats.permutation_test(
        (scores[:, 0] - scores[:, 1],), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    found = compare(scores, resamples=resamples).differences[0]
    exactly = resamples == 4096
    assert found.p == pytest.approx(theirs.pvalue, abs=1e-12 if exactly else 0.02)


def test_scipy_gives_the_same_interval_of_a_difference() -> None:
    scores = graded(2, 60)
    gap = scores[:, 0] - scores[:, 1]
    theirs = scipy.stats.bootstrap(
        (gap,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    found = compare(scores).differences[0].difference
    assert found.value == pytest.approx(gap.mean())
    assert bounds(found) == pytest.approx((theirs.low, theirs.high), abs=0.03)


@pytest.mark.parametrize("n", [5, 8, 12])
def test_with_few_conversations_the_interval_covers_and_mostly_agrees_with_p(n: int) -> None:
    generator, held, against, studies = np.random.default_rng(7), 0, 0, 200
    for _ in range(studies):
        levels = generator.choice([-2.0, -1, 0, 1, 2], n, p=[0.02, 0.08, 0.5, 0.25, 0.15])
        for gap, true in ((levels, 0.43), (generator.normal(0.5, 1, n), 0.5)):
            (found,) = compare(np.stack([gap, np.zeros(n)], axis=1), resamples=500, ends=(-9, 9)).differences
            assert found.difference.low is not None
            assert found.difference.high is not None
            assert found.p is not None
            held += found.difference.low <= true <= found.difference.high
            against += true == 0.5 and (found.p <= 0.05) == (found.difference.low <= 0 <= found.difference.high)
    assert held >= 0.93 * 2 * studies
    assert against <= (0.15 if n == 5 else 0.05) * studies, "five conversations have no p below 1/16"


def test_p_values_are_adjusted_for_all_pairs() -> None:
    found = compare(graded(5, 80, step=0.2), resamples=500)
    p = p_values(found)
    assert len(p) == 10
    assert [(d.first, d.second) for d in found.differences[:5]] == [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2)]
    assert [d.adjusted for d in found.differences] == pytest.approx(multipletests(p, method="holm")[1].tolist())


def test_what_all_systems_find_hard_cancels() -> None:
    scores = graded(2, 200, step=0.0)
    hard = scores + 20 * np.random.default_rng(5).normal(size=(200, 1))
    one, other = (compare(s, resamples=2000).differences[0] for s in (scores, hard))
    assert bounds(other.difference) == pytest.approx(bounds(one.difference), abs=0.03)
    assert other.p == pytest.approx(one.p, abs=0.03)
    assert np.ptp(bounds(compare(hard, resamples=2000).standings[0].mean)) > 5 * np.ptp(bounds(other.difference))


def test_a_pair_is_compared_where_both_have_scores() -> None:
    scores = graded(3, 40)
    scores[:10, 0] = NAN
    scores[35:, 1] = NAN
    found = compare(scores, resamples=1000)
    assert [d.n for d in found.differences] == [25, 30, 35]
    assert [(s.n, s.missing) for s in found.standings] == [(30, 10), (35, 5), (40, 0)]
    for d in found.differences:
        both = np.isfinite(scores[:, d.first]) & np.isfinite(scores[:, d.second])
        alone = compare(scores[both][:, [d.first, d.second]], resamples=1000).differences[0]
        assert d.difference.value == pytest.approx(alone.difference.value)
        assert bounds(d.difference) == pytest.approx(bounds(alone.difference), abs=0.15)
        assert d.p == pytest.approx(alone.p, abs=0.05)
    assert [s.mean.value for s in found.standings] == pytest.approx(np.nanmean(scores, axis=0).tolist())


def test_a_system_that_skipped_the_hard_conversations_gains_nothing_by_it() -> None:
    scores = graded(2, 100, step=0.0)
    scores[:, 1] = scores[:, 0] + 0.5
    scores[scores.mean(axis=1) < 0, 0] = NAN
    first, second = compare(scores, resamples=500).standings
    assert first.mean.value is not None and second.mean.value is not None
    assert first.mean.value > second.mean.value, "its mean misleads"
    assert (first.rank, second.rank) == (2, 1), "its rank does not"


@pytest.mark.long
def test_sign_flips_reject_equal_systems_as_often_as_they_should() -> None:
    generator = np.random.default_rng(11)
    p = np.array([p_values(compare(generator.exponential(size=(10, 2)), resamples=1024))[0] for _ in range(600)])
    assert (p * 512 % 1 == 0).all(), "a sign and its opposite say the same, so p comes in steps of 2 of 1,024"
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.03)
    assert np.mean(p <= 0.5) == pytest.approx(0.5, abs=0.07)


# -- ranks ------------------------------------------------------------------------------------------------------------


def test_ranks_by_hand() -> None:
    found = compare([[1, 5, 3, 3], [2, 4, 3, 3]], resamples=500)
    assert [s.rank for s in found.standings] == [4, 1, 2.5, 2.5]
    assert [s.rank for s in compare([[1, 5, 3, 3], [2, 4, 3, 3]], better="lower", resamples=500).standings] == [
        1, 4, 2.5, 2.5,
    ]  # fmt: skip
    assert [s.best for s in found.standings] == [0, 1, 0, 0]
    assert [s.certain for s in found.standings] == [(1, 4)] * 4, "two conversations are few"


def test_systems_far_apart_have_certain_ranks() -> None:
    found = compare(graded(4, 100, step=3.0), resamples=1000)
    assert [s.rank for s in found.standings] == [4, 3, 2, 1]
    assert [s.certain for s in found.standings] == [(4, 4), (3, 3), (2, 2), (1, 1)]
    assert [s.best for s in found.standings] == [0, 0, 0, 1]


def test_equal_systems_share_rank_and_chance() -> None:
    scores = np.repeat(graded(1, 30, digits=1), 3, axis=1)
    for standing in compare(scores, resamples=500).standings:
        assert standing.rank == 2
        assert standing.certain == (1, 3)
        assert standing.best == pytest.approx(1 / 3)


def test_a_lead_of_one_system_in_two_is_its_chance_of_being_best() -> None:
    scores = graded(2, 50, step=0.25, seed=3)
    gap = scores[:, 1] - scores[:, 0]
    first, second = compare(scores).standings
    chance = scipy.stats.norm.cdf(gap.mean() / (gap.std() / np.sqrt(50)))
    assert second.best == pytest.approx(chance, abs=0.02)
    assert first.best is not None and second.best is not None
    assert first.best + second.best == pytest.approx(1)


def test_certain_ranks_hold_for_all_systems_at_once() -> None:
    """With equal systems every rank range must be 1 to S; simultaneous intervals fail in about one of twenty tables."""
    tables = [graded(5, 40, step=0.0, seed=seed) for seed in range(120)]
    found = [compare(table, resamples=300) for table in tables]
    sure = np.mean([all(s.certain == (1, 5) for s in one.standings) for one in found])
    assert 0.88 <= sure <= 1


def test_certain_ranks_of_15_plants_wait_for_the_p_value() -> None:
    first, second = compare(np.stack([DARWIN, np.zeros(15)], axis=1)).standings
    assert first.certain == second.certain == (1, 2), "p is .053"


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_two_systems_that_differ_in_one_conversation_leave_the_others_their_ranks(noise: float) -> None:
    """A third of the resamples lack that conversation, and have no error by which to measure how far off they are."""
    generator = np.random.default_rng(0)
    good, bad = (generator.random((2, 100)) < [[0.8], [0.2]]).astype(float)
    twin = good + generator.normal(0, noise, 100)
    twin[3] = 1 - good[3]
    found = compare(np.stack([good, twin, bad], axis=1), resamples=1000)
    assert [s.certain for s in found.standings] == [(1, 2), (1, 2), (3, 3)]


# -- all of it --------------------------------------------------------------------------------------------------------

TABLES = st.tuples(st.integers(1, 4), st.integers(0, 8)).flatmap(
    lambda shape: st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0, NAN]), min_size=shape[0], max_size=shape[0]),
        min_size=shape[1],
        max_size=shape[1],
    ).map(lambda rows: np.array(rows, dtype=np.float64).reshape(len(rows), shape[0]))
)


@given(scores=TABLES, seed=st.integers(0, 100))
@examples(60)
def test_any_table_gives_numbers_or_reasons(scores: Floats, seed: int) -> None:
    found = compare(scores, resamples=100, seed=seed)
    systems = scores.shape[1]
    assert len(found.standings) == systems
    assert len(found.differences) == systems * (systems - 1) // 2
    estimates = [*(d.difference for d in found.differences), *(s.mean for s in found.standings)]
    for estimate in estimates:
        assert (estimate.low is None) == (estimate.high is None)
        assert estimate.low is not None or estimate.undefined
        for number in estimate[:3]:
            assert number is None or np.isfinite(float(number))
    for standing in found.standings:
        assert standing.n + standing.missing == len(scores)
    best = [s.best for s in found.standings]
    assert all(b is None for b in best) or sum(b or 0 for b in best) == pytest.approx(1)
    shuffled = np.random.default_rng(seed).permutation(scores)
    assert compare(shuffled, resamples=100, seed=seed) == found


def test_names_of_systems_do_not_matter() -> None:
    scores = graded(4, 50)
    order = [2, 0, 3, 1]
    one, other = (compare(s, resamples=3000) for s in (scores, scores[:, order]))
    for place, system in enumerate(order):
        assert other.standings[place].mean.value == pytest.approx(one.standings[system].mean.value)
        assert other.standings[place].rank == one.standings[system].rank
        assert other.standings[place].best == pytest.approx(one.standings[system].best, abs=0.03)


@pytest.mark.parametrize(
    "scores",
    [graded(3, 30), graded(3, 45, digits=0), np.tile(graded(3, 4, digits=0), (50, 1))],
    ids=["all differ", "some equal", "few kinds"],
)
def test_the_seed_decides_whatever_the_chunks(scores: Floats, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compare(scores, resamples=301, seed=4)
    assert compare(scores, resamples=301, seed=5) != whole
    monkeypatch.setattr(bootstrap, "CHUNK", 100)
    bootstrap._same.cache_clear()
    parts = compare(scores, resamples=301, seed=4)
    np.testing.assert_array_equal(p_values(parts), p_values(whole))
    for one, other in zip(parts.differences, whole.differences, strict=True):
        assert one.difference[:3] == pytest.approx(other.difference[:3])
    assert [s.certain for s in parts.standings] == [s.certain for s in whole.standings]


def test_copies_of_conversations_are_drawn_like_any_others() -> None:
    """400 conversations of 4 kinds are flipped kind by kind; a little noise makes 400 kinds of them."""
    scores = np.tile(graded(2, 4, digits=1), (100, 1))
    noisy = scores + 1e-7 * np.random.default_rng(0).normal(size=scores.shape)
    scores[:, 1] += scores[:, 0].mean() - scores[:, 1].mean() + 0.05
    noisy[:, 1] += noisy[:, 0].mean() - noisy[:, 1].mean() + 0.05
    one, other = (compare(s).differences[0] for s in (scores, noisy))
    assert one.p is not None and 0.01 < one.p < 0.5
    assert other.p == pytest.approx(one.p, abs=0.02)
    assert bounds(other.difference) == pytest.approx(bounds(one.difference), abs=0.02)


@pytest.mark.parametrize(
    ("scores", "difference"),
    [
        (np.zeros((0, 2)), "no conversations"),
        (np.full((5, 2), NAN), "no conversations"),
        ([[1, 2]], "fewer than 2 conversations"),
        ([[1, NAN], [NAN, 2], [1, 1]], "fewer than 2 conversations"),
    ],
)
def test_what_cannot_be_compared_says_why(scores: Floats, difference: str) -> None:
    found = compare(scores, resamples=50)
    (pair,) = found.differences
    assert (pair.difference.undefined, pair.p, pair.adjusted) == (difference, None, None)
    for standing in found.standings:
        assert (standing.rank, standing.certain, standing.best) == (None, None, None)


def test_one_system_is_first() -> None:
    (only,) = compare(graded(1, 10), resamples=50).standings
    assert (only.rank, only.certain, only.best) == (1, (1, 1), 1)


def test_scores_are_of_conversations_and_systems() -> None:
    with pytest.raises(ValueError, match="conversations × systems"):
        compare([1.0, 2.0])


def test_ten_systems_on_a_thousand_conversations() -> None:
    scores = np.clip(graded(10, 1000, step=0.05).round() + 3, 1, 5)
    start = time.process_time()
    compare(scores)
    assert time.process_time() - start < 20
