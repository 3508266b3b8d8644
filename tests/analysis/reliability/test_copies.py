"""Who gives a judge's verdicts back is no person to compare it with; errors of the audit leave no licence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.reliability.card import GOOD, NOT_ESTIMABLE
from mindgauge.stats.copying import ALIKE, copying
from mindgauge.stats.dependence import RaterCodes
from tests.analysis.reliability.conftest import World, made

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NOISE = {0.92: 0.36, 0.85: 0.52, 0.74: 0.75, 0.64: 0.95, 0.44: 1.45}
"""ICC of two people → their error, in levels."""


def seen(random: np.random.Generator, truth: Floats, noise: float) -> Floats:
    return np.asarray(np.clip(np.rint(truth + random.normal(0, noise, len(truth))), 1, 5))


def copied(random: np.random.Generator, verdicts: Floats, share: float) -> Floats:
    """Give verdicts back, the others changed by one level."""
    step = np.where(verdicts >= 5, -1, np.where(verdicts <= 1, 1, random.choice([-1, 1], len(verdicts))))
    return np.asarray(np.where(random.random(len(verdicts)) < share, verdicts, verdicts + step))


def drawn(seed: int, n: int = 400) -> tuple[np.random.Generator, Floats]:
    random = np.random.default_rng(seed)
    return random, random.choice([1.0, 2.0, 3.0, 4.0, 5.0], n, p=[0.06, 0.09, 0.2, 0.3, 0.35])


def table(columns: dict[str, Floats], words: dict[float, str] | None = None) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    return pl.concat(
        pl.DataFrame({
            "subject": [f"r{i}" for i in range(n)], "criterion": "safety", "rater": rater, "rater_kind": "model" if rater == "judge" else "person",
            "value": [words[value] if words else str(int(value)) for value in values],
        })
        for rater, values in columns.items()
    )  # fmt: skip


def found(values: Floats) -> float:
    """Return the p of the first column as a copy of the last."""
    ratings = RaterCodes(values.astype(np.intp), values, np.arange(len(values)))
    return copying([ratings], 0, values.shape[1] - 1, range(1, values.shape[1] - 1)).p


@pytest.mark.parametrize("share", [1.0, 0.95, 0.9])
def test_who_pastes_the_verdicts_is_left_out_and_both_figures_are_given(share: float) -> None:
    random, truth = drawn(5)
    judge = np.where((truth <= 2) & (random.random(400) < 0.5), 4.0, seen(random, truth, 0.9))
    bea = seen(random, truth, 0.75)
    result = made(table({"anna": copied(random, judge, share), "bea": bea, "judge": judge}), scale="1:5")
    [card] = result.cards
    assert card.reference == "bea"
    assert card.verdict not in {GOOD, NOT_ESTIMABLE}
    assert any(
        note.startswith("anna repeats judge, or both err far less than the others: the same value on ")
        for note in result.notes
    )
    assert card.with_dependent is not None and card.with_dependent.value is not None
    assert card.agreement.value is not None and card.with_dependent.value > card.agreement.value + 0.1
    assert result.people == [], "of one person nobody knows how far people agree"


def test_a_reference_that_copies_is_left_out_although_it_is_named() -> None:
    random, truth = drawn(6)
    judge = seen(random, truth, 1.2)
    rows = table({"anna": copied(random, judge, 0.95), "bea": seen(random, truth, 0.75), "judge": judge})
    [card] = made(rows, named=("anna", "bea"), scale="1:5").cards
    assert card.reference == "bea"


def test_copies_of_classes_are_found_and_of_one_judge_among_two() -> None:
    random, truth = drawn(7)
    words = {1.0: "grief", 2.0: "anger", 3.0: "worry", 4.0: "calm", 5.0: "joy"}

    def labelled(share: float) -> Floats:
        return np.where(random.random(400) < share, truth, random.choice([1.0, 2.0, 3.0, 4.0, 5.0], 400))

    judge = labelled(0.6)
    anna = np.where(random.random(400) < 0.93, judge, labelled(0.6))
    columns = {"anna": anna, "bea": labelled(0.7), "carl": labelled(0.7), "judge": judge}
    other = table({"other": labelled(0.8)}, words).with_columns(rater_kind=pl.lit("model"))
    result = made(pl.concat([table(columns, words), other]), scale="")
    assert {card.reference for card in result.cards} == {"bea, carl"}
    assert [(d.rater, d.how) for d in result.people[0].dependent] == [("anna", "copy")]
    assert "anna repeats judge, or" in result.people[0].dependent[0].evidence


@pytest.mark.parametrize("icc", NOISE)
@pytest.mark.parametrize("people", [2, 4])
def test_honest_people_beside_a_judge_that_equals_the_truth_or_nearly_are_no_copies(icc: float, people: int) -> None:
    for seed in range(12):
        random, truth = drawn(seed)
        said = [seen(random, truth, NOISE[icc]) for _ in range(people)]
        for judge in (truth, copied(random, truth, 0.95)):
            assert found(np.column_stack([*said, judge])) > 0.01


def test_a_strict_judge_and_a_strict_person_beside_a_lenient_one_are_no_copies() -> None:
    for seed in range(12):
        random, truth = drawn(seed)
        anna, judge = (seen(random, truth - 0.6, 0.3) for _ in range(2))
        assert found(np.column_stack([anna, seen(random, truth + 0.6, 0.3), judge])) > 0.01


def test_the_evidence_keeps_its_level_at_the_edge_of_what_honest_people_do() -> None:
    """A person departs from the judge with the share of another's odds that the null hypothesis allows."""
    random = np.random.default_rng(0)
    odds = ALIKE * 1.0
    p = []
    for _ in range(400):
        judge = np.full(200, 3.0)
        anna, bea = (np.where(random.random(200) < share, random.choice([2.0, 4.0], 200), 3.0) for share in (odds / (1 + odds), 0.5))  # fmt: skip
        p.append(found(np.column_stack([anna, bea, judge])))
    assert np.mean(np.array(p) <= 0.05) <= 0.05


# -- errors and warnings of the audit ---------------------------------------------------------------------------------


def test_no_licence_over_the_only_person_who_equals_the_judge() -> None:
    random, truth = drawn(8)
    result = made(table({"anna": seen(random, truth, 0.5), "judge": seen(np.random.default_rng(9), truth, 0.5)}))
    assert result.cards[0].verdict != NOT_ESTIMABLE, "two who differ"
    same = seen(random, truth, 0.5)
    [card] = made(table({"anna": same, "judge": same})).cards
    assert (card.verdict, card.rate_replies.granted, card.rank_systems.granted) == (NOT_ESTIMABLE, False, False)
    assert card.reasons == ["nobody is left to compare it with: anna equals judge on 400 of 400 subjects (safety)"]
    assert card.agreement.value == 1.0, "the figure stays"


def test_of_two_identical_people_one_is_left_out_with_the_reason() -> None:
    random, truth = drawn(10)
    anna = seen(random, truth, 0.5)
    result = made(table({"anna": anna, "bea": anna, "judge": seen(random, truth, 0.5)}))
    assert result.cards[0].reference == "anna"
    assert "anna and bea agree on all of 400 subjects (safety): bea is left out there" in result.notes


def test_a_rater_who_never_varies_is_a_note() -> None:
    random, truth = drawn(11)
    anna, bea, judge = (seen(random, truth, 0.6) for _ in range(3))
    rows = table({"anna": anna, "bea": bea, "carl": np.full(400, 4.0), "judge": judge})
    result = made(rows)
    assert any("carl gives one value to all of 400 subjects on safety" in note for note in result.notes)
    assert result.cards[0].reference == "anna, bea, carl"


def test_a_study_of_a_sound_judge_gets_no_note_of_the_audit() -> None:
    world = World().rated_by("anna", "person", noise=0.6).rated_by("bea", "person", noise=0.6).rated_by("judge")
    assert [note for note in world.cards().notes if "unsafe" not in note] == []
