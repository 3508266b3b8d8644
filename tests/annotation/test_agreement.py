"""Agreement of simulated rounds against other people's software; what the gate says at the edges; what is disagreed."""

from __future__ import annotations

import itertools
import random
import statistics
from typing import TYPE_CHECKING, TypeAlias

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats import inter_rater

from mindgauge.annotation.agreement import AgreementFigure, below, disagreed, measure, passes, with_anchors
from mindgauge.annotation.records import Answered, Item, Label, Phase
from mindgauge.records.errors import DataError
from mindgauge.records.rubric import Criterion, Level, Rubric, Scale
from tests.thinned import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records import Value

KINDS: tuple[Value, ...] = ("listens", "advises", "warns", "turns_away")
STARS: tuple[Value, ...] = (1, 2, 3, 4, 5)
PEOPLE = ("ana", "ben", "chi")
RUBRIC = Rubric(
    id="ours",
    version="1",
    source="written for this test",
    criteria=(
        Criterion(name="kind", scale=Scale.NOMINAL, levels=tuple(Level(value=value) for value in KINDS)),
        Criterion(name="warmth", scale=Scale.ORDINAL, levels=tuple(Level(value=value) for value in STARS)),
    ),
)
KIND, WARMTH = (RUBRIC.only(criterion) for criterion in RUBRIC.criteria)
CANNOT_TELL = "cannot_tell"
Cells: TypeAlias = "Sequence[Sequence[Value | None]]"
"""A row per item, a column per person; None: handed on."""


def label(item: str, person: str, criterion: str, answer: Value, number: int = 1) -> Label:
    answered = Answered(answer) if answer in list(Answered) else Answered.OK
    value = answer if answered is Answered.OK else None
    return Label(
        number, person, item, criterion, Phase.LABELLING, answered, value, (), "", (), "ours@1", 0.0, 1.0, "page"
    )


def round_of(criterion: str, cells: Cells) -> dict[tuple[str, str, str], Label]:
    return {
        (f"item {row}", person, criterion): label(f"item {row}", person, criterion, answer)
        for row, answers in enumerate(cells)
        for person, answer in zip(PEOPLE, answers, strict=False)
        if answer is not None
    }


def items(count: int, clusters: int = 0) -> list[Item]:
    return [
        Item("", (), "", cluster=f"source {row % clusters}" if clusters else "", id=f"item {row}")
        for row in range(count)
    ]


def figures(rubric: Rubric, cells: Cells, clusters: int = 0, people: Sequence[str] = PEOPLE) -> list[AgreementFigure]:
    labels = round_of(rubric.criteria[0].name, cells)
    return measure(labels, items(len(cells), clusters), people, rubric, resamples=100)


def rounds(values: tuple[Value, ...], *, complete: bool) -> st.SearchStrategy[list[list[Value | None]]]:
    """Rounds with agreement from none to full; in incomplete ones people cannot tell, or hand on."""
    cell: st.SearchStrategy[Value | None] = st.sampled_from(values)
    if not complete:
        cell |= st.sampled_from((None, CANNOT_TELL))
    different: st.SearchStrategy[list[Value | None]] = st.lists(cell, min_size=3, max_size=3)
    return st.lists(different | st.sampled_from(values).map(lambda value: [value] * 3), min_size=1, max_size=30)


def krippendorff_alpha(values: tuple[Value, ...], cells: Cells, level: str) -> float | None:
    """Return their alpha; None where ratings that can be compared have fewer than two values."""
    codes = [[values.index(v) if v in values else np.nan for v in row] for row in cells]
    matrix = np.array(codes, dtype=float)
    paired = matrix[(~np.isnan(matrix)).sum(axis=1) > 1]
    if len(np.unique(paired[~np.isnan(paired)])) < 2:
        return None
    return float(krippendorff.alpha(reliability_data=matrix.T, level_of_measurement=level))


def against_the_rest(cells: Cells, level: Value) -> list[list[Value | None]]:
    return [[v if v is None or v == CANNOT_TELL else int(v == level) for v in row] for row in cells]


@examples(40)
@given(rounds(KINDS, complete=True))
def test_fleiss_of_complete_rounds_equals_statsmodels_for_the_whole_and_each_level(cells: Cells) -> None:
    for figure in figures(KIND, cells):
        values = KINDS if not figure.label else (0, 1)
        shown = cells if not figure.label else against_the_rest(cells, figure.label)
        table = np.array([[row.count(value) for value in values] for row in map(list, shown)])
        if (table.sum(axis=0) > 0).sum() < 2:
            assert figure.fleiss is None
        else:
            assert figure.fleiss == pytest.approx(inter_rater.fleiss_kappa(table), abs=1e-9)
            assert figure.gated == "fleiss"
            assert figure.coefficient == figure.fleiss


@examples(40)
@given(rounds(KINDS, complete=False))
def test_fleiss_of_incomplete_rounds_is_that_of_its_definition(cells: Cells) -> None:
    rows = [[value for value in row if value in KINDS] for row in cells]
    rows = [row for row in rows if len(row) > 1]
    given_values = [value for row in rows for value in row]
    found = figures(KIND, cells)
    if len(set(given_values)) < 2:
        assert not found or found[0].fleiss is None
        return
    pairs = [[a == b for a, b in itertools.combinations(row, 2)] for row in rows]
    observed = statistics.fmean(statistics.fmean(row) for row in pairs)
    expected = sum((given_values.count(value) / len(given_values)) ** 2 for value in KINDS)
    assert found[0].agreement == pytest.approx(observed, abs=1e-9)
    assert found[0].fleiss == pytest.approx((observed - expected) / (1 - expected), abs=1e-9)


@pytest.mark.parametrize(("rubric", "values", "level"), [(KIND, KINDS, "nominal"), (WARMTH, STARS, "ordinal")])
@examples(40)
@given(data=st.data())
def test_alpha_equals_krippendorff_with_cells_missing(
    rubric: Rubric, values: tuple[Value, ...], level: str, data: st.DataObject
) -> None:
    cells = data.draw(rounds(values, complete=False))
    for figure in figures(rubric, cells):
        if figure.label:
            name = type(values[0])(figure.label)
            expected = krippendorff_alpha((0, 1), against_the_rest(cells, name), "nominal")
        else:
            assert figure.alpha_level == level
            expected = krippendorff_alpha(values, cells, level)
        assert (figure.alpha is None) == (expected is None)
        if expected is not None:
            assert figure.alpha == pytest.approx(expected, abs=1e-9)


def test_levels_stand_in_the_rubrics_order_whatever_their_numbers() -> None:
    worst_first: tuple[Value, ...] = (5, 1, 3)
    criterion = Criterion(name="harm", scale=Scale.ORDINAL, levels=tuple(Level(value=value) for value in worst_first))
    cells: list[list[Value | None]] = [[5, 1, 1], [3, 3, 1], [5, 5, 1], [1, 3, 3], [3, 3, 3]]
    found = figures(Rubric(id="o", version="1", source="", criteria=(criterion,)), cells)
    assert found[0].alpha == pytest.approx(krippendorff_alpha(worst_first, cells, "ordinal"), abs=1e-9)
    assert [figure.label for figure in found] == ["", "5", "1", "3"]


def test_intervals_resample_clusters() -> None:
    draw = random.Random(3)
    sources = [[draw.choice(KINDS) for _ in PEOPLE] for _ in range(10)]
    cells = [list(row) for row in sources * 20]  # each source twenty times over
    alone, together = figures(KIND, cells)[0], figures(KIND, cells, clusters=10)[0]
    assert alone.fleiss == together.fleiss
    assert None not in (alone.fleiss_high, alone.fleiss_low, together.fleiss_high, together.fleiss_low)
    assert together.fleiss_high - together.fleiss_low > 2 * (alone.fleiss_high - alone.fleiss_low)  # type: ignore[operator]
    assert together.alpha_low < together.alpha < together.alpha_high  # type: ignore[operator]


def test_what_nobody_valued_is_missing_and_stays_in_the_count() -> None:
    found = figures(KIND, [["listens", "listens", CANNOT_TELL], ["listens", None, None], ["warns", "listens", "warns"]])
    whole = found[0]
    assert (whole.items, whole.people, whole.n, whole.missing) == (3, 3, 2, 3)
    assert whole.agreement == pytest.approx((1 + 1 / 3) / 2)
    assert [figure.label for figure in found[1:]] == ["listens", "warns"]


@pytest.mark.parametrize(
    ("cells", "coefficient", "passed"),
    [
        ([["listens"] * 3] * 5, None, True),  # all the same: not defined, and nothing is left to settle
        ([["listens", None, None]] * 5, None, False),  # one rater: nobody to agree with
        ([[CANNOT_TELL] * 3] * 5, None, False),
        ([[None] * 3] * 5, None, False),
        ([["listens"] * 3], None, True),
        ([["listens", "listens", "warns"]], -0.5, False),  # one item, one dissent
        ([["listens"] * 3, ["warns"] * 3], 1.0, True),
    ],
)
def test_edges(cells: Cells, coefficient: float | None, passed: bool) -> None:
    found = figures(KIND, cells)
    assert found[0].fleiss == (None if coefficient is None else pytest.approx(coefficient))
    assert passes(found, 0.4) is passed
    assert below(found, 0.4) == ([] if passed else ["kind"])
    if coefficient is None:
        assert found[0].note


def test_one_person_alone_has_nobody_to_agree_with() -> None:
    found = figures(KIND, [["listens"], ["warns"]], people=("ana",))
    assert (found[0].n, found[0].agreement, found[0].fleiss) == (0, None, None)
    assert not passes(found, 0.0)


def test_each_criterion_must_reach_the_gate_on_its_own_coefficient() -> None:
    same = [[value] * 3 for value in KINDS]
    near = [[1, 1, 2], [2, 2, 3], [4, 4, 5], [5, 5, 4], [1, 2, 1], [3, 3, 4]]
    labels = round_of("kind", same) | round_of("warmth", near)
    found = [figure for figure in measure(labels, items(6), PEOPLE, RUBRIC, resamples=50) if not figure.label]
    kind, warmth = found
    assert (kind.gated, warmth.gated) == ("fleiss", "alpha")
    assert warmth.fleiss < 0.4 < warmth.alpha  # type: ignore[operator]
    assert passes(found, 0.4)
    assert below(found, 0.99) == ["warmth"]
    assert passes(found, warmth.alpha)  # type: ignore[arg-type]


def test_a_criterion_is_measured_where_it_is_about_the_item() -> None:
    kind = Criterion(
        name="kind",
        scale=Scale.NOMINAL,
        levels=tuple(Level(value=value) for value in KINDS),
        applies={"risk": ("yes",)},
    )
    rubric = Rubric(id="o", version="1", source="", criteria=(kind,))
    labels = round_of("kind", [["listens"] * 3, ["warns"] * 3])
    risky = [Item("", (), "", tags={"risk": "yes"}, id=item.id) for item in items(2)]
    assert measure(labels, [*risky, Item("", (), "", tags={"risk": "no"}, id="other")], PEOPLE, rubric)[0].items == 2
    assert measure(labels, items(2), PEOPLE, rubric) == []


def test_where_all_say_it_does_not_apply_there_is_nothing_to_measure() -> None:
    assert figures(KIND, [["not_applicable"] * 3] * 2) == []
    assert figures(KIND, [["not_applicable"] * 3, ["not_applicable", "not_applicable", "warns"]])[0].missing == 5


def test_a_value_off_the_rubric_is_named() -> None:
    with pytest.raises(DataError, match="kind: 'sings' was labelled"):
        figures(KIND, [["sings", "listens", "warns"]])


def test_disagreed() -> None:
    cells: list[list[Value | None]] = [
        ["listens", "listens", "listens"],
        ["listens", "listens", "warns"],
        ["listens", CANNOT_TELL, "listens"],
        [CANNOT_TELL, CANNOT_TELL, CANNOT_TELL],
        ["listens", "listens", None],  # one handed it on, two agree
        ["listens", None, None],  # two handed it on
        [None, None, None],
        ["listens", "warns", None],  # one is not finished with it
    ]
    labels = round_of("kind", cells) | round_of("warmth", [[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 2]])
    handed_on = {
        (person, f"item {row}")
        for row in (4, 5, 6)
        for person, answer in zip(PEOPLE, cells[row], strict=True)
        if answer is None
    }
    assert disagreed(labels, items(8), PEOPLE, handed_on) == [f"item {row}" for row in (1, 2, 3, 5, 6)]


def test_with_anchors_takes_first_answers_and_keeps_what_is_missing() -> None:
    expected: tuple[Value | None, ...] = ("listens", "warns", "warns", "advises", None, None)
    anchors = [Item("", (), "", expected={"kind": value}, id=f"item {row}") for row, value in enumerate(expected)]
    answers = ("listens", "warns", "listens", CANNOT_TELL, "not_applicable", "warns")
    labels = [label(f"item {row}", "ana", "kind", answer, row + 1) for row, answer in enumerate(answers)]
    labels.append(label("item 2", "ana", "kind", "warns", 99))  # after the feedback
    labels.append(label("item 0", "ben", "kind", "listens", 100))
    ana, ben = with_anchors(labels, anchors, RUBRIC, resamples=200)
    assert (ana.person, ana.criterion, ana.n, ana.missing) == ("ana", "kind", 6, 2)
    assert ana.right == pytest.approx(3 / 6)
    assert ana.kappa == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))  # of items 0 to 2
    assert (ben.n, ben.right, ben.kappa) == (1, 1.0, None)
    assert ben.note
