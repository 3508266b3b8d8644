"""Latent-truth models: published fits come back, planted errors are found, and what cannot be known is not said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import optimize, special

from mindgauge.stats import latent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PEOPLE = np.array([True, True, True, False])

DAWID_SKENE = (
    "1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 "
    "1111111 2223212 1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 "
    "1111111 1111111 2322222 1111111 1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343 "
    "2212232 2323233 3333432 1111111 1111111 1212111 2322222 1211111 2222222"
)
"""Dawid and Skene 1979, table 1: the classes that five observers gave 45 patients, the first of them three times."""

CARCINOMA = {
    "0000000": 34, "0000100": 2, "0100000": 6, "0100001": 1, "0100100": 4,
    "0100101": 5, "1000000": 2, "1010101": 1, "1100000": 2, "1100001": 1,
    "1100100": 2, "1100101": 7, "1100111": 1, "1101001": 1, "1101101": 2,
    "1101111": 3, "1110101": 13, "1110111": 5, "1111101": 10, "1111111": 16,
}  # fmt: skip
"""Agresti 2002, table 13.1: 118 slides by seven pathologists."""

LSAT_6 = (
    3,
    6,
    2,
    11,
    1,
    1,
    3,
    4,
    1,
    8,
    0,
    16,
    0,
    3,
    2,
    15,
    10,
    29,
    14,
    81,
    3,
    28,
    15,
    80,
    16,
    56,
    21,
    173,
    11,
    61,
    28,
    298,
)
"""Bock and Lieberman 1970: how many of 1,000 gave each pattern of right answers to five questions, from 00000 to 11111."""

TALLIS = np.array([[58, 52, 1], [26, 58, 3], [8, 12, 9]])
"""Tallis 1962: lambs of 227 ewes in two years, none, one or two."""


def tabled(levels: NDArray[np.intp], count: int) -> Floats:
    return np.asarray(levels[:, :, None] == np.arange(count), dtype=float)


def graded(random: np.random.Generator, n: int, slopes: Floats, cuts: Floats) -> Floats:
    seen = slopes * random.normal(size=n)[:, None] + random.normal(size=(n, len(slopes)))
    return tabled((seen[:, :, None] > cuts).sum(axis=2), cuts.shape[-1] + 1)


def classes(ratings: Floats) -> tuple[Floats, Floats, Floats]:
    """Return Dawid and Skene's shares (K,), error rates (K, J, L) and posterior (n, K) at the highest likelihood."""
    model = latent._classes(ratings.shape[1], ratings.shape[2])
    start, centre, precision = latent._classes_start(ratings)
    fit = latent._fit(ratings, model, start, centre, 0 * precision)
    truths = model(fit.point)
    return np.exp(truths.shares), np.exp(truths.levels), fit.posterior[fit.kind]


def graded_responses(ratings: Floats, prior: float) -> tuple[Floats, Floats]:
    """Return the discriminations (J,) and cuts (J, L - 1) of the model of quality."""
    start, centre, precision = latent._quality_start(ratings, 1)
    fit = latent._fit(ratings, latent._quality(ratings.shape[1:], 1), start, centre, prior * precision)
    return latent._cuts(fit.point, ratings.shape[1:], 1)


def test_dawid_and_skene_s_patients() -> None:
    ratings = tabled(np.array([[int(level) - 1 for level in patient] for patient in DAWID_SKENE.split()]), 4)
    first = ratings[:, :3].sum(axis=1, keepdims=True)
    shares, errors, posterior = classes(np.concatenate([first, ratings[:, 3:]], axis=1))
    assert shares == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.005)
    assert errors[:, 0].round(2) == pytest.approx(
        np.array([[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0], [0, 0, 0.56, 0.44]]), abs=0.011
    )
    assert (posterior.max(axis=1) > 0.9).sum() >= 40


def test_two_classes_of_agresti_s_slides() -> None:
    patterns = [[int(call) for call in pattern] for pattern in CARCINOMA]
    ratings = tabled(np.repeat(patterns, list(CARCINOMA.values()), axis=0), 2)
    shares, errors, _ = classes(ratings)
    likelihood = np.exp(ratings.reshape(len(ratings), -1) @ np.log(errors + 1e-300).reshape(2, -1).T) @ shares
    assert np.log(likelihood).sum() == pytest.approx(-317.2568, abs=1e-3)  # as poLCA prints it


def test_normal_ogives_of_the_law_school_admission_test() -> None:
    patterns = np.array([[place >> (4 - item) & 1 for item in range(5)] for place in range(32)])
    slopes, cuts = graded_responses(tabled(np.repeat(patterns, LSAT_6, axis=0), 2), 0)
    assert slopes == pytest.approx([0.4169, 0.4333, 0.5373, 0.4044, 0.3587], abs=2e-4)
    assert cuts[:, 0] / np.hypot(1, slopes) == pytest.approx([-1.433, -0.5505, -0.1332, -0.7159, -1.1264], abs=1e-3)


def test_two_raters_of_three_levels_give_the_polychoric_correlation() -> None:
    levels = np.repeat(np.array([(i, j) for i in range(3) for j in range(3)]), TALLIS.ravel(), axis=0)
    slopes, cuts = graded_responses(tabled(levels, 3), 1e-6)
    loadings = slopes / np.hypot(1, slopes)
    assert loadings.prod() == pytest.approx(0.42, abs=0.002)
    marginal = cuts / np.hypot(1, slopes)[:, None]
    assert marginal == pytest.approx(np.array([[-0.0297, 1.1331], [-0.2421, 1.5938]]), abs=1e-3)


@pytest.mark.parametrize(("model", "size"), [(latent._quality((3, 5), 2), 15), (latent._classes(3, 3), 20)])
def test_the_slopes_are_those_of_the_levels(model: latent.Model, size: int) -> None:
    point = np.random.default_rng(2).normal(0, 0.5, size)
    truths, step = model(point), 1e-6
    own = truths.share_slopes.shape[1]
    slopes = truths.level_slopes
    for place in range(size):
        near = optimize.approx_fprime(
            np.zeros(1), lambda off, p=place: model(point + off * np.eye(size)[p]).levels.ravel(), step
        )
        rater, parameter = divmod(place - own, slopes.shape[3])
        expected = np.zeros(slopes.shape[:3])
        if place >= own:
            expected[:, rater] = slopes[:, rater, :, parameter]
        assert near.reshape(expected.shape) == pytest.approx(expected, abs=1e-3)


def test_intervals_hold_the_errors_of_people_and_judge() -> None:
    slopes, cuts = (
        np.array([1.7, 1.3, 0.9, 2.5]),
        np.array([-2.9, -1.7, -0.6, 0.4]) * np.array([1, 0.9, 1.1, 1.3])[:, None],
    )
    limit = optimize.brentq(lambda x: special.ndtr(cuts[:3, 1] - slopes[:3] * x).mean() - 0.5, -5, 5)
    grid = np.linspace(-8, 8, 4001)
    weight = np.where(grid < limit, np.exp(-0.5 * grid**2), 0)
    sensitivity = weight @ special.ndtr(cuts[:, 1] - slopes * grid[:, None]) / weight.sum()
    random, held = np.random.default_rng(3), np.zeros(5)
    for _ in range(20):
        ratings = graded(random, 250, slopes, cuts)
        ratings[random.random((250, 4)) < 0.15] = 0
        found = latent.raters(ratings, np.arange(250) // 2, PEOPLE, 2)
        bounds = [*found.sensitivity, found.prevalence]
        truth = [*sensitivity, special.ndtr(limit)]
        held += [(b.low or 0) <= t <= (b.high or 0) for b, t in zip(bounds, truth, strict=True)]
    assert (held >= 16).all() and held.sum() >= 89  # of 100; .95 would be fewer in .5 % of such tests


def test_a_rater_who_turned_the_scale_round_and_a_constant_one_are_seen() -> None:
    ratings = graded(np.random.default_rng(5), 400, np.full(4, 1.5), np.array([-2.5, -1.5, -0.5, 0.5]))
    cluster = np.arange(400) // 4
    turned = ratings.copy()
    turned[:, 3] = ratings[:, 3, ::-1]
    found = latent.raters(turned, cluster, PEOPLE, 2)
    assert (found.sensitivity[3].high or 1) < 0.2 < (found.sensitivity[0].low or 0)
    ratings[:, 3] = np.eye(5)[4]
    found = latent.raters(ratings, cluster, PEOPLE, 2)
    assert found.sensitivity[3][:2] == (0, 0) and 0.05 < (found.sensitivity[3].high or 0) < 0.5
    assert found.specificity[3].value == 1 and (found.specificity[3].low or 0) > 0.9


def test_what_cannot_be_known_is_not_said() -> None:
    ratings = graded(np.random.default_rng(6), 200, np.full(4, 1.5), np.array([-2.5, -1.5, -0.5, 0.5]))
    cluster = np.arange(200) // 4
    assert "three raters" in latent.raters(ratings[:, 2:], cluster, PEOPLE[2:], 2).undefined
    apart = ratings.copy()
    apart[:100, 0], apart[100:, 1], apart[:, 2] = 0, 0, 0  # two people who share nothing, and the judge
    assert "three raters" in latent.raters(apart, cluster, PEOPLE, 2).undefined
    rare = ratings.copy()
    rare[5:, 0] = 0  # a person with five replies is left out, and the others are not
    found = latent.raters(rare, cluster, PEOPLE, 2)
    assert found.sensitivity[0].value is None and found.sensitivity[1].value is not None
    copied = ratings.copy()
    copied[:, 3] = copied[:, 0]
    assert latent.raters(copied, cluster, PEOPLE, 2).undefined == latent.COPIED
    assert "conversations" in latent.raters(ratings, cluster // 10, PEOPLE, 2).undefined
    safe = np.zeros_like(ratings)
    safe[:, :, 4] = 1
    assert "fewer than two people" in latent.raters(safe, cluster, PEOPLE, 2).undefined


def test_classes_find_planted_errors() -> None:
    random = np.random.default_rng(8)
    unsafe = (random.random(3000) < 0.2)[:, None]
    calls = random.random((3000, 4)) < np.where(unsafe, [0.6, 0.7, 0.8, 0.9], [0.1, 0.05, 0.02, 0.1])
    found = latent.raters(tabled(1 - calls.astype(int), 2), np.arange(3000), PEOPLE, 1, ordered=False)
    assert [bound.value for bound in found.sensitivity] == pytest.approx([0.6, 0.7, 0.8, 0.9], abs=0.05)
    assert [bound.value for bound in found.specificity] == pytest.approx([0.9, 0.95, 0.98, 0.9], abs=0.02)
    assert (found.prevalence.low or 1) < unsafe.mean() < (found.prevalence.high or 0)
