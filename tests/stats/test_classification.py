"""scikit-learn as oracle, the example of its manual, and properties tested once for all figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics as sk

from mindgauge.stats import classification as cl
from mindgauge.stats.agreement import confusion, percent
from tests.thinned import examples

if TYPE_CHECKING:
    from collections.abc import Callable

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]

Q = 4
PER_LABEL: dict[str, Callable[[Floats], Floats]] = {"precision": cl.precision, "recall": cl.recall, "f1": cl.f1}
AVERAGES: dict[tuple[str, str], Callable[[Floats], Floats]] = {
    ("weighted", "precision"): cl.weighted_precision,
    ("weighted", "recall"): cl.weighted_recall,
    ("weighted", "f1"): cl.weighted_f1,
    ("macro", "precision"): cl.macro_precision,
    ("macro", "recall"): cl.macro_recall,
    ("macro", "f1"): cl.macro_f1,
}
FIGURES: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": cl.accuracy,
    **{f"{average} {name}": compute for (average, name), compute in AVERAGES.items()},
    "binary accuracy": lambda table: cl.binary_accuracy(table, (1, 2)),
    "binary precision": lambda table: cl.binary_precision(table, (1, 2)),
    "binary recall": lambda table: cl.binary_recall(table, (1, 2)),
    "binary f1": lambda table: cl.binary_f1(table, (1, 2)),
}
SK = {"precision": 0, "recall": 1, "f1": 2}


@st.composite
def labelled(draw: st.DrawFn) -> tuple[Codes, Codes, Floats]:
    """Gold labels, predictions with some missing (-1), and whole weights of the items, one at least above 0."""
    n = draw(st.integers(1, 30))
    gold = draw(st.lists(st.integers(0, Q - 1), min_size=n, max_size=n))
    given_ = draw(st.lists(st.integers(-1, Q - 1), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return np.array(gold), np.array(given_), np.array(weights, dtype=float)


def sklearn(gold: Codes, given_: Codes, weights: Floats, average: str | None, labels: list[int]) -> list[Floats]:
    """Precision, recall and F1 by scikit-learn; a missing prediction is a class of its own that is averaged nowhere."""
    found = sk.precision_recall_fscore_support(
        gold,
        np.where(given_ < 0, Q, given_),
        labels=labels,
        average=average,
        sample_weight=weights,
        zero_division=0,
    )
    return [np.asarray(values) for values in found[:3]]


@examples(60)
@given(labelled())
def test_scikit_learn_gives_the_same(data: tuple[Codes, Codes, Floats]) -> None:
    gold, given_, weights = data
    table = confusion(gold, given_, Q, weights[None])
    each = sklearn(gold, given_, weights, None, list(range(Q)))
    for name, compute in PER_LABEL.items():
        assert compute(table)[0] == pytest.approx(each[SK[name]])
    occurring = np.unique(gold[weights > 0]).tolist()
    for (average, name), compute in AVERAGES.items():
        assert compute(table)[0] == pytest.approx(sklearn(gold, given_, weights, average, occurring)[SK[name]])
    assert cl.accuracy(table)[0] == pytest.approx(sk.accuracy_score(gold, given_, sample_weight=weights))


@examples(60)
@given(labelled(), st.sets(st.integers(0, Q - 1), max_size=Q))
def test_a_set_of_labels_is_scikit_learn_s_positive_class(data: tuple[Codes, Codes, Floats], chosen: set[int]) -> None:
    gold, given_, weights = data
    labels = sorted(chosen)
    table = confusion(gold, given_, Q, weights[None])
    truth, called = np.isin(gold, labels), np.isin(given_, labels)
    expected = sk.precision_recall_fscore_support(
        truth, called, average="binary", pos_label=True, labels=[True], sample_weight=weights, zero_division=0
    )[:3]  # fmt: skip
    assert cl.binary_precision(table, labels)[0] == pytest.approx(expected[0])
    found = [f(table, labels)[0] for f in (cl.binary_recall, cl.binary_f1)]
    assert found == pytest.approx(expected[1:] if weights[truth].any() else [np.nan] * 2, nan_ok=True)
    right = (truth == called) & (given_ >= 0)  # a missing prediction is on neither side
    assert cl.binary_accuracy(table, labels)[0] == pytest.approx(np.average(right, weights=weights))


def test_the_example_of_scikit_learn_s_manual() -> None:
    table = confusion(np.array([0, 1, 2, 2, 2]), np.array([0, 0, 2, 2, 1]), 3)
    assert cl.precision(table)[0].round(2).tolist() == [0.5, 0.0, 1.0]
    assert cl.recall(table)[0].round(2).tolist() == [1.0, 0.0, 0.67]
    assert cl.f1(table)[0].round(2).tolist() == [0.67, 0.0, 0.8]
    assert [float(AVERAGES["macro", n](table)[0].round(2)) for n in SK] == [0.5, 0.56, 0.49]
    assert [float(AVERAGES["weighted", n](table)[0].round(2)) for n in SK] == [0.7, 0.6, 0.61]
    assert cl.accuracy(table)[0] == pytest.approx(0.6)


@pytest.mark.parametrize("name", FIGURES)
def test_tables_are_computed_together_as_alone(name: str) -> None:
    generator = np.random.default_rng(3)
    gold, given_ = generator.integers(0, Q, 40), generator.integers(-1, Q, 40)
    weights = generator.integers(0, 3, (5, 40)).astype(float)
    table = confusion(gold, given_, Q, weights)
    compute = FIGURES[name]
    assert compute(table).shape == (5,)
    assert compute(table) == pytest.approx(np.concatenate([compute(one[None]) for one in table]))


@pytest.mark.parametrize("name", FIGURES)
def test_a_weight_is_so_many_copies(name: str) -> None:
    generator = np.random.default_rng(4)
    gold, given_, copies = generator.integers(0, Q, 30), generator.integers(-1, Q, 30), generator.integers(0, 4, 30)
    weighted = confusion(gold, given_, Q, copies[None].astype(float))
    copied = confusion(np.repeat(gold, copies), np.repeat(given_, copies), Q)
    assert FIGURES[name](weighted) == pytest.approx(FIGURES[name](copied))


@pytest.mark.parametrize("name", FIGURES)
def test_a_missing_prediction_never_helps_by_being_missing(name: str) -> None:
    gold = np.array([0, 1, 1, 2, 2, 3])
    given_ = gold.copy()
    best = float(FIGURES[name](confusion(gold, given_, Q))[0])
    given_[2] = -1
    lower = float(FIGURES[name](confusion(gold, given_, Q))[0])
    assert best == 1.0
    assert lower == 1.0 if "precision" in name else lower < 1.0


@examples(40)
@given(labelled())
def test_weighted_recall_is_the_accuracy(data: tuple[Codes, Codes, Floats]) -> None:
    gold, given_, weights = data
    table = confusion(gold, given_, Q, weights[None])
    support = table.sum(axis=2)
    assert (cl.recall(table) * support).sum() / support.sum() == pytest.approx(cl.weighted_recall(table)[0])
    assert cl.accuracy(table) == pytest.approx(percent(table))


@pytest.mark.parametrize("name", FIGURES)
def test_a_label_that_no_resample_holds_is_not_missed(name: str) -> None:
    """Label 3 is predicted right or absent; macro averages do not fall because a resample lacks it."""
    gold = np.array([0, 1, 2, 3])
    without = confusion(gold, gold, Q, np.array([[1.0, 1.0, 1.0, 0.0]]))
    assert FIGURES[name](without)[0] == pytest.approx(1.0)


def test_no_items_is_no_number() -> None:
    empty = np.zeros((1, Q, Q + 1))
    assert {name for name, compute in FIGURES.items() if not np.isnan(compute(empty)[0])} == {"binary precision"}
    assert cl.binary_precision(empty, (0,))[0] == 0.0  # nothing was predicted, as in scikit-learn


def test_confusing_two_labels_of_a_set_is_no_error() -> None:
    table = confusion(np.array([0, 1, 2]), np.array([1, 0, 2]), 3)
    assert cl.accuracy(table)[0] == pytest.approx(1 / 3)
    assert cl.binary_accuracy(table, (0, 1))[0] == 1.0
    assert cl.binary(table, (0, 1)).tolist() == [[[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
