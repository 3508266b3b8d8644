"""How much must be read: ties by brute force, folds by conversation, and no leak of a label into its own risk."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.stats import escalation, logistic
from mindgauge.stats.escalation import Features, at_threshold, coefficients, crossfit, crossfits, curve, effort, fold_of
from tests.thinned import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


def _read(order: tuple[int, ...], unsafe: Mask, needed: int) -> int:
    hits = np.cumsum(unsafe[list(order)])
    return int(np.argmax(hits >= needed)) + 1


@examples(60)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=7),
    st.sampled_from([0.3, 0.5, 0.8, 0.95, 1.0]),
)
def test_ties_are_the_mean_over_every_order_that_they_allow(rows: list[tuple[int, bool]], target: float) -> None:
    risk, unsafe = np.array([r for r, _ in rows], dtype=float), np.array([u for _, u in rows])
    found = effort(risk, unsafe, target=target)[0]
    if not unsafe.any():
        assert math.isnan(found)
        return
    orders = [o for o in itertools.permutations(range(len(rows))) if (np.diff(risk[list(o)]) <= 0).all()]
    reads = [_read(o, unsafe, math.ceil(target * unsafe.sum() - 1e-9)) for o in orders]
    assert found == pytest.approx(np.mean(reads) / len(rows))
    halves = [unsafe[list(o)][: len(rows) // 2].sum() / unsafe.sum() for o in orders]
    assert curve(risk, unsafe, np.array([len(rows) // 2 / len(rows)]))[0] == pytest.approx(np.mean(halves))


@examples(40)
@given(st.integers(0, 10_000))
def test_weights_are_copies(seed: int) -> None:
    generator = np.random.default_rng(seed)
    risk, unsafe = generator.integers(0, 5, 30).astype(float), generator.random(30) < 0.3
    weights = generator.integers(0, 3, (4, 30))
    found = effort(risk, unsafe, weights.astype(float))
    copied = [effort(np.repeat(risk, w), np.repeat(unsafe, w))[0] for w in weights]
    np.testing.assert_allclose(found, copied)


def test_an_order_without_error_reads_what_is_needed_and_the_worst_reads_nearly_all() -> None:
    unsafe = np.arange(190) < 53
    assert effort(unsafe.astype(float), unsafe)[0] == pytest.approx(((51 - 1) * 54 / 54 + 1) * 54 / 54 / 190, abs=0.01)
    assert effort(-np.arange(190.0), unsafe)[0] == pytest.approx(51 / 190)
    assert effort(np.arange(190.0), unsafe)[0] == pytest.approx((190 - 2) / 190)
    assert effort(np.zeros(190), unsafe)[0] == pytest.approx(51 * 191 / 54 / 190)


def test_infinity_is_read_first() -> None:
    risk, unsafe = np.array([np.inf, 0.9, 0.1]), np.array([False, True, False])
    assert effort(risk, unsafe)[0] == pytest.approx(2 / 3)


def _replies(generator: np.random.Generator, n: int = 300, unsafe: float = 0.3) -> tuple[Features, Mask, Codes]:
    cluster = generator.integers(0, 2 * n // 3, n)
    cluster = np.unique(cluster, return_inverse=True)[1].astype(np.intp)
    x = np.column_stack([generator.normal(size=(n, 4)), generator.integers(0, 2, (n, 3))])
    features = Features(x, np.array([True] * 4 + [False] * 3), np.array([1, 1, 0, 0, 0, 0, 0]))
    return features, generator.random(n) < unsafe, cluster


def test_labels_that_mean_nothing_are_not_found_early() -> None:
    """No leak: with shuffled labels, a learned order reads as much as one at random, near 95 % on average."""
    efforts, chance = [], []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        features, unsafe, cluster = _replies(generator, 190, 53 / 190)
        efforts.append(effort(crossfit(features, unsafe, cluster, groupings=3), unsafe)[0])
        chance.append(effort(np.zeros(190), unsafe)[0])
    error = np.std(efforts) / math.sqrt(len(efforts))
    assert np.mean(efforts) > 0.9
    assert np.mean(efforts) == pytest.approx(np.mean(chance), abs=3 * error + 0.01)


@pytest.mark.long
def test_a_leak_would_be_seen() -> None:
    """The check above can fail: risks of a fit to the very same replies find shuffled labels early."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(190, 150))
    features = Features(x, np.ones(150, dtype=bool), np.zeros(150, dtype=np.intp))
    unsafe, cluster = generator.random(190) < 0.28, np.arange(190)
    leaking = escalation.learn(features, unsafe, np.ones((1, 190)))[0]
    assert effort(leaking, unsafe)[0] < 0.5
    assert effort(crossfit(features, unsafe, cluster), unsafe)[0] > 0.8


def test_what_can_be_learned_is_learned() -> None:
    features, _, cluster = _replies(np.random.default_rng(1))
    unsafe = features.values[:, 0] + 0.3 * features.values[:, 2] > 0.6
    risk = crossfit(features, unsafe, cluster)
    assert effort(risk, unsafe)[0] < effort(features.values[:, 0], unsafe)[0]
    slopes = coefficients(features, unsafe)
    assert slopes[0] > slopes[2] > 0.5
    read, found = at_threshold(features, unsafe, cluster)
    assert read == pytest.approx(unsafe.mean(), abs=0.1)
    assert found > 0.9


def test_conversations_are_in_one_fold_whole_and_unsafe_ones_in_all() -> None:
    generator = np.random.default_rng(2)
    _, unsafe, cluster = _replies(generator)
    present = generator.random(300) < 0.9
    place = fold_of(cluster, unsafe, present, 10, generator)
    assert (place[~present] == -1).all()
    for c in np.unique(cluster[present]):
        assert len(set(place[present & (cluster == c)].tolist())) == 1
    risky = [len(np.unique(cluster[(place == f) & unsafe])) for f in range(10)]
    assert max(risky) - min(risky) <= 1


def test_copies_of_a_conversation_are_in_one_fold() -> None:
    """A conversation drawn three times does not teach its own risk: twins that were told apart would."""
    generator = np.random.default_rng(3)
    x = np.column_stack([generator.normal(size=(60, 30))])
    features = Features(x, np.ones(30, dtype=bool), np.zeros(30, dtype=np.intp))
    unsafe, weights = generator.random(60) < 0.4, np.full(60, 3.0)
    honest = crossfit(features, unsafe, np.arange(60), weights=weights)
    copied = Features(np.repeat(x, 3, axis=0), features.scaled, features.signs)
    same = crossfit(copied, np.repeat(unsafe, 3), np.repeat(np.arange(60), 3))
    assert effort(honest, unsafe)[0] == pytest.approx(effort(same, np.repeat(unsafe, 3))[0], abs=0.05)
    np.testing.assert_allclose(honest, same[::3], atol=1e-6)
    leaking = crossfit(copied, np.repeat(unsafe, 3), np.arange(180))
    assert effort(leaking, np.repeat(unsafe, 3))[0] < 0.6 < effort(honest, unsafe)[0]


def test_replies_by_one_model_do_not_teach_what_is_said_of_it() -> None:
    generator = np.random.default_rng(4)
    system = np.repeat([0, 1], 150)
    features, _, cluster = _replies(generator)
    values = features.values.copy()
    values[:, 2] = system
    marked = features._replace(values=values)
    unsafe = (system == 1) & (generator.random(300) < 0.6) | (generator.random(300) < 0.05)
    seen = effort(crossfit(marked, unsafe, cluster), unsafe, target=0.8)[0]
    unseen = effort(crossfit(marked, unsafe, cluster, separate=system.astype(np.intp)), unsafe, target=0.8)[0]
    assert seen < 0.5 < unseen


def test_what_lacks_a_feature_is_read_first_and_teaches_nothing() -> None:
    features, unsafe, cluster = _replies(np.random.default_rng(5))
    values = features.values.copy()
    values[:10, 1] = np.nan
    risk = crossfit(features._replace(values=values), unsafe, cluster)
    assert np.isinf(risk[:10]).all()
    assert np.isfinite(risk[10:]).all()
    changed = unsafe.copy()
    changed[:10] = ~unsafe[:10]
    fits = [escalation.learn(features._replace(values=values), y, np.ones((1, 300))) for y in (unsafe, changed)]
    np.testing.assert_array_equal(fits[0], fits[1])


def test_each_resample_is_cross_fitted_anew() -> None:
    features, unsafe, cluster = _replies(np.random.default_rng(6), 80)
    weights = np.stack([np.ones(80), np.where(cluster % 2 == 0, 2.0, 0.0)])
    risks = crossfits(features, unsafe, cluster, weights)
    assert np.isfinite(risks[0]).all()
    assert np.isnan(risks[1]).tolist() == (weights[1] == 0).tolist()


def test_a_threshold_on_what_judges_say_reads_whole_levels() -> None:
    unsafe = np.tile([True, False, False, False], 50)
    risk = np.where(unsafe, 2.0, np.tile([0, 1, 0, 2], 50))
    read, found = at_threshold(risk, unsafe, np.arange(200))
    assert (read, found) == (0.5, 1.0)


def _slowly(features: Features, unsafe: Mask, cluster: Codes, weights: Floats, separate: Codes | None) -> Floats:
    """Cross-fit one resample, fold and model at a time, by `logistic.fit` alone."""
    generator, known = np.random.default_rng(0), features.known
    count, risk = min(10, len(np.unique(cluster))), np.full(weights.shape, np.nan)
    for row, copies in enumerate(weights):
        place = fold_of(cluster, unsafe, copies > 0, count, generator)
        for fold, group in itertools.product(range(count), [None] if separate is None else np.unique(separate)):
            held_out = (place == fold) & (separate == group if separate is not None else True)
            training = copies * known * (place != fold) * (separate != group if separate is not None else 1)
            filled = np.where(known[:, None], features.values, 0)
            spread = [
                math.sqrt(np.cov(column[known], aweights=training[known], ddof=0)) or 1.0
                if scaled and training.any()
                else 1.0
                for column, scaled in zip(filled.T, features.scaled, strict=True)
            ]
            fits = logistic.fit(filled, unsafe, training[None], penalty=np.square(spread)[None], signs=features.signs)
            p = 1 / (1 + np.exp(-fits.log_odds(filled)[0]))
            risk[row, held_out] = np.where(known, p, np.inf)[held_out]
    return risk


@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_many_fits_at_once_are_the_fits_one_by_one(seed: int, separated: bool) -> None:
    """Sooner, and the same: every risk, missing features and absent replies included, to eight digits."""
    generator = np.random.default_rng(seed)
    features, _, cluster = _replies(generator, 120)
    values = features.values.copy()
    values[:, 1] += values[:, 0]
    values[5, 1] = np.nan
    unsafe = (values[:, 0] - values[:, 2] + generator.normal(size=120)) > 1.2
    weights = generator.poisson(1, (4, cluster.max() + 1))[:, cluster].astype(float)
    separate = generator.integers(0, 3, 120) if separated else None
    known = features._replace(values=values)
    quick = crossfits(known, unsafe, cluster, weights, separate=separate)
    np.testing.assert_allclose(quick, _slowly(known, unsafe, cluster, weights, separate), atol=1e-8)


def test_a_model_that_wrote_all_that_is_unsafe_leaves_nothing_to_learn() -> None:
    features, _, cluster = _replies(np.random.default_rng(8), 60)
    system = np.repeat([0, 1], 30)
    unsafe = (system == 0) & (np.arange(60) % 3 == 0)
    quick = crossfits(features, unsafe, cluster, np.ones((1, 60)), separate=system)
    np.testing.assert_allclose(quick, _slowly(features, unsafe, cluster, np.ones((1, 60)), system), atol=1e-8)
    alone = crossfits(features, unsafe, cluster, np.ones((1, 60)), separate=np.zeros(60, dtype=np.intp))
    np.testing.assert_array_equal(alone, 0.5)


def test_resamples_some_of_which_start_at_their_minimum() -> None:
    """The mean of three equal resamples is each of them, so nothing is left to do for these."""
    features, unsafe, cluster = _replies(np.random.default_rng(9), 100)
    weights = np.ones((3, 100))
    quick = crossfits(features, unsafe, cluster, weights, seed=[1, 1, 2])
    np.testing.assert_allclose(quick[0], quick[1], atol=1e-9)
    np.testing.assert_allclose(quick[:1], crossfits(features, unsafe, cluster, weights[:1], seed=[1]), atol=1e-8)
