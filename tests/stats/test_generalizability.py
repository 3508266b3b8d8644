"""Brennan's published data sets, least squares, and known components as oracles."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mindgauge.stats import generalizability as gt
from mindgauge.stats.generalizability import (
    Components,
    Study,
    study,
    variance_components,
)
from mindgauge.stats.icc import mean_squares as icc_squares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Brennan 2001, synthetic data set no. 3: a word is a person (here a system), its digits 2 occasions (raters) of 4 items
# (conversations); no. 1: a word is a person (here a conversation of one system), its digits 12 items (raters).
NO_3 = "26752555 45676757 55465455 59865776 43564564 44476478 26652775 34456664 05455553 68766886"
NO_1 = """101000000000 111001000000 111110000000 110110010000 111110100000
111011100000 111111100000 111101111100 111111111110 111111111111"""
BRENNAN_3 = np.array([[*map(float, word)] for word in NO_3.split()]).reshape(10, 2, 4).transpose(0, 2, 1)
BRENNAN_1 = np.array([[*map(float, word)] for word in NO_1.split()])

KNOWN = Components(0.4, 0.3, 0.1, 0.25, 0.08, 0.05, 0.5)
TABLES = npst.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(2, 6), st.integers(2, 4)),
    elements=st.integers(1, 5).map(float),
)


def worth(components: Components, *, conversations: int, raters: int, absolute: bool) -> float | None:
    """Return the dependability (`absolute`) or generalizability of such a design; None where there is nothing to measure."""
    value = float(gt.coefficient(np.array(components, dtype=float), conversations, raters, absolute=absolute))
    return None if np.isnan(value) else value


def needed_of_each(components: Components, target: float, others: int, *, absolute: bool = True) -> list[int | None]:
    """Return how many raters it takes with so many conversations, and how many conversations with so many raters."""
    numbers = gt.needed(np.array(components, dtype=float), others, others, target, absolute=absolute)
    return [int(number) if np.isfinite(number) else None for number in numbers]


def raters_needed(components: Components, target: float, *, conversations: int, absolute: bool = True) -> int | None:
    return needed_of_each(components, target, conversations, absolute=absolute)[0]


def conversations_needed(components: Components, target: float, *, raters: int, absolute: bool = True) -> int | None:
    return needed_of_each(components, target, raters, absolute=absolute)[1]


def drawn(generator: np.random.Generator, s: int, c: int, r: int) -> Floats:
    """Draw ratings with the known components, each facet random."""
    shapes = [(s, 1, 1), (1, c, 1), (1, 1, r), (s, c, 1), (s, 1, r), (1, c, r), (s, c, r)]
    effects = [generator.normal(0, np.sqrt(v or 0), shape) for v, shape in zip(KNOWN, shapes, strict=True)]
    return np.asarray(sum(effects, np.zeros((s, c, r))))


def mean_squares(x: Floats, effects: list[str]) -> list[float]:
    """Return each effect's mean square: how much less is left by least squares once it joins those before it."""
    at = dict(zip("scr", np.indices(x.shape).reshape(3, -1), strict=True))
    columns, left, rank, found = np.ones((x.size, 1)), ((x - x.mean()) ** 2).sum(), 1, list[float]()
    for effect in effects:
        cells = np.unique(np.stack([at[facet] for facet in effect]), axis=1, return_inverse=True)[1]
        columns = np.hstack([columns, np.eye(cells.max() + 1)[cells]])
        fitted = np.linalg.lstsq(columns, x.ravel())[0]
        new_rank = int(np.linalg.matrix_rank(columns))
        remaining = ((x.ravel() - columns @ fitted) ** 2).sum()
        found.append(float(left - remaining) / (new_rank - rank))
        left, rank = remaining, new_rank
    return found


def test_brennan_data_set_3() -> None:
    found = study(BRENNAN_3)
    published = Components(0.5528, 0.4417, 0.0074, 0.5750, 0.1009, 0.1565, 0.9352)
    assert found.components == pytest.approx(published, abs=0.00005)
    assert found.generalizability.value == pytest.approx(0.64, abs=0.005)
    assert found.dependability.value == pytest.approx(0.55, abs=0.005)
    assert (found.systems, found.conversations, found.raters, found.left_out) == (10, 4, 2, 0)


def test_brennan_data_set_1_one_system() -> None:
    found = study(BRENNAN_1)
    estimated = [v for v in found.components if v is not None]
    assert estimated == pytest.approx([0.0574, 0.0754, 0.1269], abs=0.00005)
    assert found.components == (None, *estimated[:2], None, None, None, estimated[2])
    assert found.generalizability.value == pytest.approx(0.844, abs=0.0005)
    assert found.dependability.value == pytest.approx(0.773, abs=0.0005)


def test_least_squares_and_expected_mean_squares_give_the_same_components() -> None:
    """Each expected mean square is the sum of the components that contain its facets, times the sizes of the others."""
    x = drawn(np.random.default_rng(4), 3, 5, 4)
    size = dict(zip("scr", x.shape, strict=True))
    effects = ["s", "c", "r", "sc", "sr", "cr", "scr"]
    expected = [
        [np.prod([size[f] for f in "scr" if f not in effect]) if set(of) <= set(effect) else 0 for effect in effects]
        for of in effects
    ]
    solved = np.linalg.solve(np.array(expected, dtype=float), mean_squares(x, effects))
    np.testing.assert_allclose(variance_components(x)[0], solved, atol=1e-10)


def test_estimates_are_unbiased() -> None:
    generator = np.random.default_rng(0)
    found = np.array([variance_components(drawn(generator, 5, 6, 3))[0] for _ in range(3000)])
    error = found.std(axis=0) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - [v or 0 for v in KNOWN]) < 4 * error).all()
    assert (error < 0.01).all()


@given(TABLES)
def test_one_system_is_icc_of_its_conversations(x: Floats) -> None:
    """ICC(C,k) = (MSR - MSE) / MSR, and ICC(A,k) = (MSR - MSE) / (MSR + (MSC - MSE) / n)."""
    found, table = study(x[0], resamples=10), icc_squares(x[0])
    of_order, of_level = found.generalizability.value, found.dependability.value
    for ours, total in ((of_order, table.rows), (of_level, table.rows + (table.columns - table.residual) / table.n)):
        if (found.components.rater or 0) >= 0 and ours is not None and total > 1e-9:
            assert ours == pytest.approx(max((table.rows - table.residual) / total, 0), abs=1e-9)


@given(TABLES, st.floats(0.1, 10), st.floats(-1000, 1000))
def test_scale_zero_and_order(x: Floats, unit: float, zero: float) -> None:
    generator = np.random.default_rng(1)
    shuffled = x[generator.permutation(len(x))][:, generator.permutation(x.shape[1])]
    here, there = variance_components(x), variance_components(zero + unit * shuffled)
    np.testing.assert_allclose(there, unit**2 * here, atol=1e-6)


@given(TABLES)
def test_resampled_components_are_on_average_those_of_the_data(x: Floats) -> None:
    """Over all c^c resamples, so exactly: the correction takes out what resampling adds."""
    s, c, _ = x.shape
    c = min(c, 4)
    every = np.array(list(itertools.product(range(c), repeat=c)))
    weights = (every[:, :, None] == np.arange(c)).sum(axis=1).astype(float)
    found = variance_components(x[:, :c], weights)
    assert found.shape == (c**c, 7)
    np.testing.assert_allclose(found.mean(axis=0), variance_components(x[:, :c])[0], atol=1e-9)
    assert np.isnan(found).any() == (s == 1)


@pytest.mark.long
def test_interval_covers_what_these_systems_and_raters_are_worth() -> None:
    """Nominal .95 over conversations; the truth is that of the same systems and raters with all conversations."""
    generator = np.random.default_rng(2)
    systems, raters = generator.normal(0, 0.5, (6, 1, 1)), generator.normal(0, 0.3, (1, 1, 3))

    def ratings(c: int) -> Floats:
        mixed = generator.normal(0, 0.5, (1, c, 1)) + generator.normal(0, 0.5, (6, c, 1))
        return np.asarray(systems + raters + mixed + generator.normal(0, 0.6, (6, c, 3)))

    parts = variance_components(ratings(100_000))
    truth = [float(gt.coefficient(parts, 15, 3, absolute=absolute)[0]) for absolute in (False, True)]
    hits = np.zeros(2)
    for seed in range(300):
        found = study(ratings(15), resamples=300, seed=seed)
        for at, (one, real) in enumerate(zip(found[3:5], truth, strict=True)):
            assert one.low is not None and one.high is not None
            hits[at] += one.low <= real <= one.high
    assert hits / 300 == pytest.approx([0.95, 0.95], abs=0.035)


def test_negative_estimates_are_shown_and_count_as_0() -> None:
    x = np.array([[[1.0, 1], [5, 5], [3, 4]], [[5, 5], [1, 1], [3, 3]]])
    found = study(x)
    assert found.components.system is not None and found.components.system < 0
    assert found.components.used.system == 0
    assert found.components.used.residual == found.components.residual == pytest.approx(1 / 12)
    assert found.generalizability.value == 0
    assert raters_needed(found.components, 0.5, conversations=10) is None


def test_more_of_a_facet_is_worth_what_the_formula_says() -> None:
    s, c, r, sc, sr, cr, e = (v or 0 for v in KNOWN)
    relative = sc / 20 + sr / 3 + e / 60
    absolute = relative + c / 20 + r / 3 + cr / 60
    assert worth(KNOWN, conversations=20, raters=3, absolute=False) == pytest.approx(s / (s + relative))
    assert worth(KNOWN, conversations=20, raters=3, absolute=True) == pytest.approx(s / (s + absolute))


@example((2.3e-309, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 0.5, 1, False)
@given(st.tuples(*[st.floats(0, 2)] * 7), st.floats(0.05, 0.95), st.integers(1, 50), st.booleans())
def test_what_is_needed_is_the_least_that_reaches_the_target(
    values: tuple[float, ...], target: float, others: int, absolute: bool
) -> None:
    components = Components(*values)
    raters = raters_needed(components, target, conversations=others, absolute=absolute)
    conversations = conversations_needed(components, target, raters=others, absolute=absolute)
    for of_raters, needed in ((True, raters), (False, conversations)):

        def reached(n: int, of_raters: bool = of_raters) -> float:
            c, r = (others, n) if of_raters else (n, others)
            return worth(components, conversations=c, raters=r, absolute=absolute) or 0.0

        if needed is None:
            assert reached(10**9) <= target + 1e-6
        else:
            assert reached(needed) >= target - 1e-9
            assert needed == 1 or reached(needed - 1) < target + 1e-9


def test_the_other_facet_can_make_a_target_unreachable() -> None:
    assert raters_needed(KNOWN, 0.9, conversations=5) is None, "5 conversations leave .3/5 + .25/5 of error"
    assert raters_needed(KNOWN, 0.9, conversations=200, absolute=False) == 2
    assert conversations_needed(KNOWN, 0.9, raters=2) is None
    assert conversations_needed(KNOWN, 0.8, raters=3, absolute=False) == 6
    with pytest.raises(ValueError, match="between 0 and 1"):
        raters_needed(KNOWN, 1, conversations=5)


def test_one_system_needs_raters_and_no_conversations() -> None:
    one = study(BRENNAN_1).components
    assert raters_needed(one, 0.8, conversations=1, absolute=False) == 9
    assert raters_needed(one, 0.8, conversations=1) == 15
    assert conversations_needed(one, 0.8, raters=15) == 1
    assert conversations_needed(one, 0.8, raters=14) is None


def test_a_conversation_with_a_missing_rating_is_left_out_and_counted() -> None:
    holes = np.concatenate([BRENNAN_3, BRENNAN_3[:, :1]], axis=1)
    holes[3, 4, 1] = np.nan
    found, whole = study(holes, seed=5), study(BRENNAN_3, seed=5)
    assert (found.conversations, found.left_out) == (4, 1)
    assert found == whole._replace(left_out=1)


def test_the_seed_decides() -> None:
    assert study(BRENNAN_3, seed=1) == study(BRENNAN_3, seed=1)
    assert study(BRENNAN_3, seed=1).generalizability != study(BRENNAN_3, seed=2).generalizability


@pytest.mark.parametrize(
    ("ratings", "why"),
    [
        (np.ones((3, 1, 2)), "fewer than 2 conversations with all ratings"),
        (np.full((3, 5, 2), np.nan), "fewer than 2 conversations with all ratings"),
        (np.ones((3, 5, 1)), "fewer than 2 raters"),
        (np.ones((5, 1)), "fewer than 2 raters"),
        (np.ones((0, 5, 2)), "no system"),
    ],
)
def test_what_cannot_be_estimated_says_why(ratings: Floats, why: str) -> None:
    found = study(ratings)
    assert isinstance(found, Study)
    assert found.undefined == found.generalizability.undefined == found.dependability.undefined == why
    assert set(found.components) == {None}
    assert raters_needed(found.components, 0.8, conversations=5) is None


def test_equal_ratings_have_no_variance_and_no_coefficient() -> None:
    found = study(np.full((3, 5, 2), 0.1))
    assert found.components == Components(0, 0, 0, 0, 0, 0, 0)
    assert found.generalizability.value is None
    assert found.generalizability.undefined == "neither a difference nor an error to measure"


@given(TABLES)
def test_never_nan(x: Floats) -> None:
    found = study(x, resamples=20)
    numbers = [*found.components, *found.low, *found.high, *found.generalizability[:3], *found.dependability[:3]]
    assert not any(np.isnan(number) for number in numbers if number is not None)
    for one in (found.generalizability, found.dependability):
        assert (one.value is not None and 0 <= one.value <= 1) or one.undefined


def test_the_range_of_raters_needed_holds_what_other_raters_would_need() -> None:
    """Raters vary as much as anything, and three are at hand: a number from these three alone says little."""
    generator = np.random.default_rng(0)
    true = Components(1.0, 0.3, 0.3, 0.2, 0.1, 0.1, 0.5)
    held, bare = 0, 0
    for seed in range(60):
        system = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * np.sqrt(1.6)
        sizes = {
            (5, 1, 1): 0, (1, 30, 1): 0.3, (1, 1, 3): 0.3, (5, 30, 1): 0.2, (5, 1, 3): 0.1, (1, 30, 3): 0.1, (5, 30, 3): 0.5,
        }  # fmt: skip
        ratings = system[:, None, None] + sum(np.sqrt(v) * generator.normal(size=shape) for shape, v in sizes.items())
        found = study(ratings, resamples=300, seed=seed)
        needed = raters_needed(true, 0.8, conversations=30)
        assert needed is not None and found.needs is not None
        value, low, high = found.needs.raters
        held += (low or 10**6) <= needed <= (high or 10**6)
        bare += value == needed
    assert held >= 54
    assert bare <= 30, "as a bare number it is mostly wrong"


def test_needs_without_a_design_are_none() -> None:
    assert study(np.full((2, 5, 1), 3.0)).needs is None
