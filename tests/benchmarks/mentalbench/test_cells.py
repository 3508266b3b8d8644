from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.benchmarks.mentalbench import cells
from mindgauge.benchmarks.mentalbench.cells import ATTRIBUTES, CellFault, Repair

from .conftest import cell

PLAIN = cell(1, 2, 3, 4, 5, 4, 3, explanation='He said "stay", and that is all.')
LEVELS = (1, 2, 3, 4, 5, 4, 3)


def levels(text: str | None) -> list[int | None]:
    return [cells.level(raw) for raw in cells.read(text).raw]


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (PLAIN, ()),
        (f"\n {PLAIN}\n", ()),
        (f"```json\n{PLAIN}\n```", (Repair.FENCE,)),
        (f"```\n{PLAIN}```", (Repair.FENCE,)),
        (f"```json\n{PLAIN}", (Repair.FENCE,)),
        (f"Here is my rating.\n\n```json\n{PLAIN}\n```\nI hope it helps.", (Repair.PROSE,)),
        (f"First I thought {cell(5)}, but: {PLAIN}", (Repair.PROSE,)),
        (PLAIN[:-1], (Repair.BRACE,)),
        (PLAIN[1:], (Repair.BRACE,)),
        (f"Rated: {PLAIN[:-1]}", (Repair.PROSE, Repair.BRACE)),
        (f"```json\n{PLAIN[:-1]}\n```", (Repair.FENCE, Repair.BRACE)),
        (PLAIN.replace('\\"', '"'), (Repair.EXPLANATION,)),
        (PLAIN[:-10], (Repair.EXPLANATION,)),
        (cell(*LEVELS, explanation="plain words").replace('"', "“"), (Repair.QUOTES,)),
        (cell(*LEVELS).replace('"', "”")[:-1], (Repair.QUOTES, Repair.BRACE)),
        (PLAIN.lower(), ()),
        (PLAIN.replace("4.5", "NaN"), ()),
    ],
)
def test_a_cell_is_read_and_its_repairs_are_named(text: str, repairs: tuple[Repair, ...]) -> None:
    found = cells.read(text)
    assert found.fault is None
    assert found.repairs == repairs
    assert levels(text) == list(LEVELS)


def test_what_else_a_cell_says_is_kept() -> None:
    assert cells.read(PLAIN).overall == 4.5
    for text in (PLAIN, f"Well: {PLAIN}", PLAIN[:-1]):
        assert cells.read(text).explanation == 'He said "stay", and that is all.'
    assert cells.read(PLAIN.replace('\\"', '"')).explanation.startswith('He said "stay", and')


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, CellFault.EMPTY_CELL),
        ("", CellFault.EMPTY_CELL),
        ("  NaN ", CellFault.EMPTY_CELL),
        ("4", CellFault.NO_VERDICT),
        ("true", CellFault.NO_VERDICT),
        ("[1, 2, 3, 4, 5, 4, 3]", CellFault.NO_VERDICT),
        ('{"Overall": 4}', CellFault.NO_VERDICT),
        ('{"Guidance": 4, "Guidance": 2}', CellFault.NO_VERDICT),
        ('Well: {"Guidance": 4, "guidance": 2}', CellFault.NO_VERDICT),
        (PLAIN[:-1] + ', "Safety": 1}', CellFault.NO_VERDICT),
        ("{" * 5000, CellFault.NO_VERDICT),
        ("[" * 100_000, CellFault.NO_VERDICT),
        ('{"Guidance": ' * 3000, CellFault.NO_VERDICT),
        ("I'm sorry, I cannot help with rating this reply.", CellFault.REFUSAL),
        ("The rating follows below.", CellFault.NO_VERDICT),
    ],
)
def test_a_cell_without_a_verdict_says_why(text: str | None, fault: CellFault) -> None:
    found = cells.read(text)
    assert found.fault is fault
    assert levels(text) == [None] * 7
    if fault in {CellFault.REFUSAL, CellFault.NO_VERDICT}:
        assert found.explanation == (text or "").strip()


@pytest.mark.parametrize(
    ("raw", "level", "source", "fault"),
    [
        (4, 4, 4, None),
        (4.0, 4, 4, None),
        ("4", 4, 4, None),
        (" 4.0 ", 4, 4, None),
        (0, None, 0, CellFault.OFF_SCALE),
        (6, None, 6, CellFault.OFF_SCALE),
        ("6", None, 6, CellFault.OFF_SCALE),
        (-1, None, -1, CellFault.OFF_SCALE),
        (4.5, None, 4.5, CellFault.OFF_SCALE),
        (10**400, None, math.nan, CellFault.OFF_SCALE),
        ("5/5", None, math.nan, CellFault.NO_NUMBER),
        ("four", None, math.nan, CellFault.NO_NUMBER),
        ("١", None, 1, CellFault.NO_NUMBER),
        ("inf", None, math.nan, CellFault.NO_NUMBER),
        (True, None, 1, CellFault.NO_NUMBER),
        ([4], None, math.nan, CellFault.NO_NUMBER),
        ({"score": 4}, None, math.nan, CellFault.NO_NUMBER),
        (None, None, math.nan, CellFault.NULL),
        (msgspec.UNSET, None, math.nan, CellFault.NOT_GIVEN),
    ],
)
def test_a_value_is_a_level_or_has_a_fault(raw: Any, level: int | None, source: float, fault: CellFault | None) -> None:
    assert cells.level(raw) == level
    assert cells.as_source(raw) == pytest.approx(source, nan_ok=True)
    if fault:
        assert cells.fault(raw) is fault
    msgspec.json.encode(cells.plain(raw))  # whatever it is can be kept


def test_the_judges_words_for_nothing() -> None:
    for said in (
        "The response 'nan' says nothing.",
        "The reply is empty.",
        "An empty response.",
        "No reply was provided.",
    ):
        assert cells.says_empty(said)
    for said in (
        "It leaves the person feeling empty.",
        "No response to the second question.",
        "Finance is missing.",
        "",
    ):
        assert not cells.says_empty(said)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A cell with things put in, taken out, or cut off."""
    text = cell(
        *draw(st.lists(st.integers(-1, 7) | st.none() | st.booleans(), min_size=7, max_size=7)), explanation="So it is."
    )
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        put = draw(
            st.sampled_from(["", "{", "}", '"', "“", "```", "```json\n", ", ", ": 3", "\n", "nan", "null", "[", PLAIN])
        )
        text = text[:at] + put + text[at + draw(st.integers(0, 3)) :]
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@given(st.text() | damaged())
def test_reading_never_raises_and_never_invents_a_level(text: str) -> None:
    found = cells.read(text)
    for name, raw in zip(ATTRIBUTES, found.raw, strict=True):
        value = cells.level(raw)
        if value is not None:
            assert found.fault is None
            assert name.casefold() in text.casefold()
            assert str(value) in text


@given(st.lists(st.integers(1, 5), min_size=7, max_size=7), st.text(), st.booleans())
def test_a_whole_cell_is_read_whatever_it_explains(given_levels: list[int], explanation: str, fenced: bool) -> None:
    text = json.dumps(dict(zip(ATTRIBUTES, given_levels, strict=True)) | {"Explanation": explanation})
    assert levels(f"```json\n{text}\n```" if fenced else text) == given_levels
