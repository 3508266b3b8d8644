"""Published examples, other people's software, and properties tested once for all coefficients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, cast

import krippendorff
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray
from sklearn import metrics as sk
from statsmodels.stats import inter_rater

from mindgauge.stats import agreement as ag
from mindgauge.stats import bootstrap
from mindgauge.stats.interval import SAME
from tests.thinned import examples

if TYPE_CHECKING:
    from mindgauge.stats.interval import Interval

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]
Kernel = Callable[[Codes, Floats | None, Floats], Floats]

LEVELS: tuple[ag.Level, ...] = ("nominal", "ordinal", "interval", "ratio")
WEIGHTINGS: tuple[ag.Weighting, ...] = ("nominal", "linear", "quadratic", "ordinal")
NAN = math.nan

Q = 4
VALUES = np.array([0.0, 1.0, 2.0, 5.0])
"""Not evenly spaced, so that a value and its position differ."""


# -- the coefficients as functions of codes (n, k) and weights (B, n) -------------------------------------------------


def joint(codes: Codes, weights: Floats | None) -> Floats:
    return ag.confusion(codes[:, 0], codes[:, 1], Q, weights)[:, :, :-1]


def ac2(ratings: Any, weighting: ag.Weighting = "quadratic", **options: Any) -> Interval:
    """Estimate Gwet's AC2 of any number of raters."""
    return ag._estimate(
        ratings,
        lambda codes, q: ag._with_margin(ag.counts(codes, q), ag._shares),
        lambda table, values: ag.gwet_ac(table[:, :-1], weighting, values, table[:, -1]),
        ordered=weighting != "nominal",
        **options,
    )


def kappa(weighting: ag.Weighting) -> Kernel:
    return lambda codes, weights, values: ag.cohen_kappa(joint(codes, weights), weighting, values)


def alpha(level: ag.Level) -> Kernel:
    return lambda codes, weights, values: ag.krippendorff_alpha(
        ag.coincidences(ag.counts(codes, Q), weights), values, level
    )


def ac(weighting: ag.Weighting) -> Kernel:
    def compute(codes: Codes, weights: Floats | None, values: Floats) -> Floats:
        counts = ag.counts(codes, Q)
        return ag.gwet_ac(ag.pairs(counts, weights), weighting, values, ag.shares(counts, weights))

    return compute


KERNELS: dict[str, Kernel] = {
    "percent": lambda codes, weights, _: ag.percent(ag.pairs(ag.counts(codes, Q), weights)),
    "within": lambda codes, weights, values: ag.within(ag.pairs(ag.counts(codes, Q), weights), values),
    "fleiss": lambda codes, weights, _: ag.fleiss_kappa(ag.counts(codes, Q), weights),
    **{f"kappa {weighting}": kappa(weighting) for weighting in WEIGHTINGS},
    **{f"alpha {level}": alpha(level) for level in LEVELS},
    **{f"ac {weighting}": ac(weighting) for weighting in WEIGHTINGS},
}
TWO_RATERS = {name for name in KERNELS if name.startswith("kappa")}
PERCENTAGES = {"percent", "within"}
DEFINED_FOR_ONE_VALUE = PERCENTAGES | {name for name in KERNELS if name.startswith("ac")}
COUNT_SINGLE_RATINGS = {name for name in KERNELS if name.startswith("ac")}
NOMINAL = {"percent", "fleiss"} | {name for name in KERNELS if name.endswith("nominal")}
NEED_A_ZERO = {"alpha ratio"}
NEED_A_UNIT = {"within"}

every = pytest.mark.parametrize("name", KERNELS)
RATINGS = npst.arrays(np.intp, (8, 3), elements=st.integers(-1, Q - 1))
few = examples(20)


def compute(name: str, codes: Codes, weights: Floats | None = None, values: Floats = VALUES) -> Floats:
    return KERNELS[name](codes[:, :2] if name in TWO_RATERS else codes, weights, values)


def same(one: Floats, other: Floats) -> None:
    np.testing.assert_allclose(one, other, atol=1e-10)


# -- properties, once for all -----------------------------------------------------------------------------------------


@every
@few
@given(RATINGS)
def test_raters_and_subjects_have_no_order(name: str, codes: Codes) -> None:
    swapped = codes[:, [1, 0, 2]] if name in TWO_RATERS else codes[:, [2, 0, 1]]
    same(compute(name, swapped), compute(name, codes))
    same(compute(name, codes[::-1]), compute(name, codes))


@pytest.mark.parametrize("name", sorted(NOMINAL))
@few
@given(RATINGS, st.permutations(range(Q)))
def test_names_of_classes_do_not_matter(name: str, codes: Codes, renaming: list[int]) -> None:
    renamed = np.where(codes < 0, -1, np.array(renaming)[codes])
    same(compute(name, renamed), compute(name, codes))


@pytest.mark.parametrize("name", sorted(KERNELS.keys() - NEED_A_ZERO))
@few
@given(RATINGS)
def test_the_scale_may_be_turned_round_and_moved(name: str, codes: Codes) -> None:
    turned = np.where(codes < 0, -1, Q - 1 - codes)
    same(compute(name, turned, values=(10 - VALUES)[::-1]), compute(name, codes))


@pytest.mark.parametrize("name", sorted(KERNELS.keys() - NEED_A_UNIT))
@few
@given(RATINGS, st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter(name: str, codes: Codes, unit: float) -> None:
    same(compute(name, codes, values=unit * VALUES), compute(name, codes))


@every
@few
@given(npst.arrays(np.intp, 8, elements=st.integers(0, Q - 1)))
def test_perfect_agreement_is_1_if_they_could_have_disagreed(name: str, once: Codes) -> None:
    value = compute(name, np.stack([once] * 3, axis=1))[0]
    if len(np.unique(once)) > 1 or name in DEFINED_FOR_ONE_VALUE:
        assert value == 1
    else:
        assert np.isnan(value), "with one single value nothing shows that they agree beyond chance"


@pytest.mark.parametrize("name", sorted(KERNELS.keys() - PERCENTAGES))
def test_chance_agreement_is_near_0(name: str) -> None:
    codes = np.random.default_rng(0).integers(0, Q, (20_000, 3))
    assert compute(name, codes)[0] == pytest.approx(0, abs=0.02)


@every
@few
@given(RATINGS, st.integers(0, Q - 1))
def test_a_missing_rating_changes_nothing_but_what_it_must(name: str, codes: Codes, single: int) -> None:
    value = compute(name, codes)
    same(compute(name, np.vstack([codes, [-1, -1, -1]])), value)
    same(compute(name, np.column_stack([codes, np.full(len(codes), -1)])), value)
    if name not in COUNT_SINGLE_RATINGS:
        same(compute(name, np.vstack([codes, [single, -1, -1]])), value)
        same(compute(name, np.vstack([codes, [-1, single, -1]])), value)


@every
@few
@given(RATINGS, npst.arrays(np.intp, (3, 8), elements=st.integers(0, 3)))
def test_weights_are_repetitions(name: str, codes: Codes, times: Codes) -> None:
    repeated = [compute(name, np.repeat(codes, row, axis=0))[0] for row in times]
    same(compute(name, codes, times.astype(float)), np.array(repeated))


@every
@few
@given(RATINGS)
def test_nothing_exceeds_1(name: str, codes: Codes) -> None:
    value = compute(name, codes)[0]
    assert np.isnan(value) or value <= 1


@every
def test_without_pairs_nothing_is_defined_and_nothing_warns(name: str) -> None:
    for codes in (np.zeros((0, 3), dtype=np.intp), np.array([[-1, -1, -1]]), np.array([[2, -1, -1], [-1, 1, -1]])):
        assert np.isnan(compute(name, codes)).all()


@few
@given(npst.arrays(np.float64, (2, Q, Q), elements=st.floats(0, 9).map(lambda x: round(x, 2))), st.floats(0.1, 10))
def test_only_shares_of_a_joint_table_count(table: Floats, times: float) -> None:
    for weighting in WEIGHTINGS:
        same(ag.cohen_kappa(times * table, weighting), ag.cohen_kappa(table, weighting))
        same(ag.gwet_ac(times * table, weighting), ag.gwet_ac(table, weighting))
    same(ag.percent(times * table), ag.percent(table))


@given(RATINGS)
def test_two_raters_have_one_table(codes: Codes) -> None:
    two = codes[:, :2]
    table = joint(two, None)
    turned = table.transpose(0, 2, 1)
    same(ag.coincidences(ag.counts(two, Q)), table + turned)
    same(ag.pairs(ag.counts(two, Q)), (table + turned) / 2)
    same(ag.percent(table), ag.percent(ag.pairs(ag.counts(two, Q))))
    complete = two[(two >= 0).all(axis=1)]
    same(ag.gwet_ac(table, "linear", VALUES), ac("linear")(complete, None, VALUES))


# -- other people's software ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["nominal", "linear", "quadratic"])
@given(npst.arrays(np.intp, (12, 2), elements=st.integers(0, Q - 1)))
def test_cohen_equals_scikit_learn(weighting: ag.Weighting, codes: Codes) -> None:
    ours = ag.cohen_kappa(joint(codes, None), weighting)[0]
    if len(np.unique(codes)) == 1:
        assert np.isnan(ours)
        return
    theirs = None if weighting == "nominal" else weighting
    score = sk.cohen_kappa_score(codes[:, 0], codes[:, 1], labels=np.arange(Q), weights=theirs)
    assert ours == pytest.approx(score, abs=1e-12)


@given(npst.arrays(np.intp, (9, 4), elements=st.integers(0, Q - 1)))
def test_fleiss_equals_statsmodels(codes: Codes) -> None:
    assume(len(np.unique(codes)) > 1)
    counts = ag.counts(codes, Q)
    assert ag.fleiss_kappa(counts)[0] == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@given(RATINGS, npst.arrays(np.float64, Q, elements=st.integers(0, 50).map(lambda x: x / 4), unique=True))
def test_alpha_equals_krippendorff(level: ag.Level, codes: Codes, values: Floats) -> None:
    values = np.sort(values)
    ours = alpha(level)(codes, None, values)[0]
    paired = codes[(codes >= 0).sum(axis=1) > 1]
    if len(np.unique(paired[paired >= 0])) < 2:
        assert np.isnan(ours)
        return
    ratings = np.where(codes < 0, NAN, values[codes])
    theirs = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=level)
    assert ours == pytest.approx(theirs, abs=1e-12)


def gwet(codes: Codes, weighting: ag.Weighting, values: Floats) -> float:
    """Compute AC1 or AC2 rating by rating, from the definitions in Gwet 2014, chapters 2 to 4."""
    q = len(values)

    def weight(i: int, j: int) -> float:
        gap = float(abs(values[i] - values[j]) / (values[-1] - values[0]))
        ordinal = 1 - math.comb(abs(i - j) + 1, 2) / math.comb(q, 2)
        return {"nominal": float(i == j), "linear": 1 - gap, "quadratic": 1 - gap**2, "ordinal": ordinal}[weighting]

    agreement: list[float] = []
    prevalence: list[list[float]] = []
    for subject in codes:
        ratings = [int(code) for code in subject if code >= 0]
        if ratings:
            prevalence.append([ratings.count(c) / len(ratings) for c in range(q)])
        if len(ratings) > 1:
            ordered = list(itertools.permutations(ratings, 2))
            agreement.append(sum(weight(i, j) for i, j in ordered) / len(ordered))
    if not agreement:
        return NAN
    observed = sum(agreement) / len(agreement)
    pi: list[float] = [sum(column) / len(prevalence) for column in zip(*prevalence, strict=True)]
    total = sum(weight(i, j) for i in range(q) for j in range(q))
    chance = total / (q * (q - 1)) * sum(p * (1 - p) for p in pi)
    return (observed - chance) / (1 - chance)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@given(RATINGS)
def test_gwet_equals_a_loop(weighting: ag.Weighting, codes: Codes) -> None:
    same(ac(weighting)(codes, None, VALUES), np.array([gwet(codes, weighting, VALUES)]))


# -- published examples -----------------------------------------------------------------------------------------------

FLEISS_1971 = """0 0 0 6 0|0 3 0 0 3|0 1 4 0 1|0 0 0 0 6|0 3 0 3 0|2 0 4 0 0|0 0 4 0 2|2 0 3 1 0|2 0 0 4 0|0 0 0 0 6
1 0 0 5 0|1 1 0 4 0|0 3 3 0 0|1 0 0 5 0|0 2 0 3 1|0 0 5 0 1|3 0 0 1 2|5 1 0 0 0|0 2 0 4 0|1 0 2 0 3
0 0 0 0 6|0 1 0 5 0|0 2 0 1 3|2 0 0 4 0|1 0 0 4 1|0 5 0 1 0|4 0 0 0 2|0 2 0 4 0|1 0 5 0 0|0 0 0 0 6"""
OBSERVERS = """1 1 - 1|2 2 3 2|3 3 3 3|3 3 3 3|2 2 2 2|1 2 3 4|4 4 4 4|1 1 2 1|2 2 2 2|- 5 5 5|- - 1 1|- - 3 -"""
ABSTRACTORS = "13 0 0|0 20 7|0 4 56"
DIAGNOSES = ".44 .05 .01|.07 .20 .03|.09 .05 .06"
GRAVITY = "0 1 3|1 0 6|3 6 0"
RADIOLOGISTS = "21 12 0 0|4 17 1 0|3 9 15 2|0 0 0 1"


def matrix(text: str) -> Floats:
    rows = [row.split() for row in text.replace("\n", "|").split("|")]
    return np.array([[NAN if cell == "-" else float(cell) for cell in row] for row in rows])


@pytest.mark.parametrize(
    ("table", "weighting", "published"),
    [
        (DIAGNOSES, "nominal", 0.492),
        (DIAGNOSES, matrix(GRAVITY), 0.348),
        (RADIOLOGISTS, "nominal", 0.4728),
        (RADIOLOGISTS, "linear", 0.5684),
        (ABSTRACTORS, "nominal", 0.796),
    ],
)
def test_published_kappas(table: str, weighting: ag.Weighting | Floats, published: float) -> None:
    assert ag.cohen_kappa(matrix(table)[None], weighting)[0] == pytest.approx(published, abs=0.0005)


@pytest.mark.parametrize(
    ("weighting", "table", "observers"),
    [("nominal", 0.849, 0.775), ("linear", 0.900, 0.859), ("ordinal", 0.925, 0.899), ("quadratic", 0.940, 0.914)],
)
def test_gwet_2014(weighting: ag.Weighting, table: float, observers: float) -> None:
    assert ag.gwet_ac(matrix(ABSTRACTORS)[None], weighting)[0] == pytest.approx(table, abs=0.0005)
    assert ac2(matrix(OBSERVERS), weighting).value == pytest.approx(observers, abs=0.0005)


def test_percent_agreement_of_two_abstractors() -> None:
    assert ag.percent(matrix(ABSTRACTORS)[None])[0] == pytest.approx(0.89)


def test_fleiss_1971() -> None:
    counts = matrix(FLEISS_1971)
    assert counts.shape == (30, 5)
    assert ag.fleiss_kappa(counts)[0] == pytest.approx(0.430, abs=0.0005)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorff_four_observers(level: ag.Level, published: float) -> None:
    assert ag.alpha(matrix(OBSERVERS), level).value == pytest.approx(published, abs=0.0005)


@pytest.mark.parametrize(
    ("first", "second", "published"), [("0100000010", "1110010000", 0.095), ("aabbdcccedda", "babbbccceddd", 0.692)]
)
def test_krippendorff_two_observers(first: str, second: str, published: float) -> None:
    assert ag.alpha(list(zip(first, second, strict=True))).value == pytest.approx(published, abs=0.0005)


# -- tables -----------------------------------------------------------------------------------------------------------


def test_a_missing_label_stays_in_n_and_agrees_with_nothing() -> None:
    gold, given_ = np.array([0, 0, 1, 1, -1]), np.array([0, -1, 1, 1, 1])
    table = ag.confusion(gold, given_, 2)
    assert table[0].tolist() == [[1, 0, 1], [0, 2, 0]]
    assert ag.cohen_kappa(table)[0] == pytest.approx((0.75 - (0.5 * 0.25 + 0.5 * 0.5)) / (1 - 0.375))
    assert ag.percent(table)[0] == ag.within(table, np.array([0.0, 5.0]))[0] == 0.75


def test_a_missing_label_is_as_far_off_as_any() -> None:
    first = np.array([0, 1, 2, 2])
    missing = ag.cohen_kappa(ag.confusion(first, np.array([0, 1, 2, -1]), 3), "linear")
    furthest = ag.disagreement("linear", 3)[2].max()
    assert furthest == 1
    observed, expected = (
        1 / 4,
        (1 / 4) * (0.5 + 1 + 1) / 4 + (1 / 4) * (0.5 + 0.5 + 1) / 4 + (1 / 2) * (1 + 0.5 + 1) / 4,
    )
    assert missing[0] == pytest.approx(1 - observed / expected)


def test_disagreement_weights_of_ones_own() -> None:
    table, own = matrix(RADIOLOGISTS)[None], 9 * ag.disagreement("quadratic", 4)
    same(ag.cohen_kappa(table, own), ag.cohen_kappa(table, "quadratic"))
    same(ag.gwet_ac(table, own), ag.gwet_ac(table, "quadratic"))


def test_within_is_not_fooled_by_rounding() -> None:
    values = np.array([0.1, 0.2, 0.3, 0.4])
    assert ag.within(np.ones((1, 4, 4)), values, 0.1)[0] == 10 / 16


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="no weighting is called 'squared'; there are nominal, linear"):
        ag.cohen_kappa(np.ones((1, 2, 2)), cast("Literal['nominal']", "squared"))
    with pytest.raises(ValueError, match="no level of measurement is called 'metric'"):
        ag.krippendorff_alpha(np.ones((1, 2, 2)), np.array([0.0, 1.0]), cast("Literal['nominal']", "metric"))
    with pytest.raises(ValueError, match="needs values from 0 up"):
        ag.krippendorff_alpha(np.ones((1, 2, 2)), np.array([-1.0, 1.0]), "ratio")


# -- from ratings to intervals ----------------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., Interval]] = {
    "fleiss": ag.fleiss,
    **{f"kappa {w}": lambda ratings, w=w, **options: ag.kappa(ratings, w, **options) for w in WEIGHTINGS},
    **{
        f"alpha {level}": lambda ratings, level=level, **options: ag.alpha(ratings, level, **options)
        for level in LEVELS
    },
    **{f"ac {w}": lambda ratings, w=w, **options: ac2(ratings, w, **options) for w in WEIGHTINGS},
}
functions = pytest.mark.parametrize("name", FUNCTIONS)


def clustered(name: str) -> tuple[Codes, Codes]:
    """Draw ratings of 120 subjects in 40 conversations that differ, with missing cells."""
    generator = np.random.default_rng(5)
    cluster = np.repeat(np.arange(40), 3)
    truth = generator.integers(0, Q, 40)[cluster]
    noisy = np.where(generator.random((120, 3)) < 0.6, truth[:, None], generator.integers(0, Q, (120, 3)))
    codes = np.where(generator.random((120, 3)) < 0.1, -1, noisy)
    return (codes[:, :2] if name in TWO_RATERS else codes), cluster


def rated(codes: Codes) -> Floats:
    return np.where(codes < 0, NAN, VALUES[codes])


@functions
def test_an_estimate_is_its_kernel_and_the_percentiles_over_clusters(name: str) -> None:
    codes, cluster = clustered(name)
    names = np.array([f"conversation {c}" for c in cluster])
    found = FUNCTIONS[name](rated(codes), levels=VALUES, cluster=names, resamples=4000)
    assert found.value == pytest.approx(compute(name, codes)[0], abs=1e-12)
    values = bootstrap.distribution(lambda weights: compute(name, codes, weights), cluster, 4000, seed=1)
    assert found[1:3] == pytest.approx(bootstrap.percentile(values), abs=0.025), "other random numbers"


@functions
def test_copies_of_a_subject_in_its_conversation_are_no_news(name: str) -> None:
    codes, _ = clustered(name)
    once = FUNCTIONS[name](rated(codes), levels=VALUES)
    copies, cluster = np.repeat(rated(codes), 9, axis=0), np.repeat(np.arange(120), 9)
    copied = FUNCTIONS[name](copies, levels=VALUES, cluster=cluster)
    apart = FUNCTIONS[name](copies, levels=VALUES)
    assert copied[1:3] == pytest.approx(once[1:3], abs=0.025)
    assert width(apart) == pytest.approx(width(once) / 3, rel=0.15), "nine times as many subjects: a third as wide"


def width(found: Interval) -> float:
    assert found.low is not None and found.high is not None
    return found.high - found.low


@functions
def test_the_seed_decides(name: str) -> None:
    codes, cluster = clustered(name)
    one, again, other = (FUNCTIONS[name](rated(codes), cluster=cluster, resamples=200, seed=s) for s in (1, 1, 2))
    assert one == again != other


@functions
@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        (np.zeros((0, 2)), "no subject has two ratings"),
        ([[1], [2]], "fewer than two raters"),
        ([[1, NAN], [NAN, 2]], "no subject has two ratings"),
        ([[None, None]], "no subject has two ratings"),
    ],
)
def test_what_cannot_be_estimated_is_named(name: str, ratings: list[list[float]], reason: str) -> None:
    assert FUNCTIONS[name](ratings) == (None, None, None, reason)


@functions
def test_one_single_value(name: str) -> None:
    one_value = FUNCTIONS[name]([[3, 3], [3, 3], [3, 3]], levels=[1, 2, 3, 4])
    if name in DEFINED_FOR_ONE_VALUE:
        assert one_value == (1, None, None, SAME)
    else:
        assert one_value == (None, None, None, "all ratings that can be compared are equal")


def test_a_scale_of_one_value_leaves_nothing_to_guess() -> None:
    assert ac2([[3, 3], [3, 3]], "nominal").undefined == "all ratings that can be compared are equal"


@functions
def test_one_cluster_has_no_interval(name: str) -> None:
    found = FUNCTIONS[name]([[1, 1], [2, 3], [1, 2]], cluster=["a", "a", "a"])
    assert found.value is not None
    assert found[1:] == (None, None, "fewer than 2 clusters")


def test_lost_resamples_are_counted() -> None:
    found = ag.kappa([["a", "a"], ["b", "b"], ["b", "b"]])
    assert found[:3] == (1, None, None)
    assert found.undefined.startswith(SAME)
    assert found.undefined.endswith("of 2,000 resamples")
    varied = ag.kappa([["a", "a"], ["b", "b"], ["b", "a"], ["b", "b"]])
    assert varied.undefined.endswith("of 2,000 resamples, which are left out")


def test_labels_and_frames() -> None:
    labels: list[list[str | None]] = [["yes", "yes"], ["no", "no"], ["yes", "no"], ["no", None]]
    value = ag.kappa(labels).value
    assert value == ag.kappa(pl.DataFrame(labels, orient="row")).value
    assert value == ag.kappa([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, NAN]]).value
    assert value == ag.kappa(pl.DataFrame({"a": [1, 0, 1, 0], "b": [1, 0, 0, None]})).value


def test_labels_are_ordered_if_their_order_is_given() -> None:
    words = [["worst", "middle"], ["best", "best"], ["middle", "middle"], ["worst", "best"]]
    numbers = [[0, 1], [2, 2], [1, 1], [0, 2]]
    order = ["worst", "middle", "best"]
    for level in LEVELS:
        assert ag.alpha(words, level, levels=order) == ag.alpha(numbers, level)
    assert ac2(words, levels=order) == ac2(numbers)
    with pytest.raises(ValueError, match="labels have no order of their own"):
        ag.alpha(words, "ordinal")


def test_ac_knows_the_values_that_nobody_gave() -> None:
    ratings = [[4, 5], [5, 5], [5, 4], [5, 5], [4, 4]]
    found, known = (ac2(ratings, "nominal", levels=levels).value for levels in (None, [1, 2, 3, 4, 5]))
    assert found is not None and known is not None
    assert found < known
    assert ag.alpha(ratings, "ordinal").value == ag.alpha(ratings, "ordinal", levels=[1, 2, 3, 4, 5]).value


@pytest.mark.parametrize(
    ("ratings", "levels", "message"),
    [
        ([1, 2, 3], None, r"ratings need two dimensions, subjects and raters, but have shape \(3,\)"),
        ([[1, 6]], [1, 2, 3, 4, 5], "6 was given, but the levels are 1, 2, 3, 4, 5"),
        ([["a", "maybe"]], ["a", "b"], "'maybe' was given, but the levels are a, b"),
        ([["a", 1]], None, "numbers and labels are mixed"),
        ([[1, 2]], ["a", "b"], "numbers and labels are mixed"),
        ([[1, math.inf]], None, "must be finite"),
    ],
)
def test_unusable_ratings(ratings: list[list[float]], levels: list[float] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ag.encode(ratings, levels)


def test_unusable_arguments() -> None:
    with pytest.raises(ValueError, match="kappa is for two raters, not 3"):
        ag.kappa([[1, 2, 1]])
    with pytest.raises(ValueError, match=r"cluster has shape \(2,\), but there are 3 subjects"):
        ag.kappa([[1, 2], [1, 1], [2, 2]], cluster=[0, 1])


def test_a_long_scale_is_worked_off_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = np.random.default_rng(0).integers(0, 30, (50, 3)).astype(float)
    whole = ac2(ratings, resamples=100)
    monkeypatch.setattr(bootstrap, "CHUNK", 3000)
    assert ac2(ratings, resamples=100)[:3] == pytest.approx(whole[:3]), "the same in parts of three subjects"
