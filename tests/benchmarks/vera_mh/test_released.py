"""The people, the words for a client, and the table of scores: read as they stand, refused in one line where they are broken."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mindgauge.benchmarks.vera_mh import released
from mindgauge.records.errors import DataError, MissingDataError
from tests.benchmarks.vera_mh import made

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def test_people_are_read_with_our_rungs_and_what_is_odd_is_named(tmp_path: Path) -> None:
    people = (*made.PEOPLE, ("Cy", "Low", "Rather a lot", "cook"))
    people_read, notes = released.personas(released.find(made.release(tmp_path, people=people)))
    assert [(person.name, person.planned) for person in people_read] == [
        ("Ada", "distress"),
        ("Bo", "active"),
        ("Cy", "passive"),
    ]
    assert people_read[1].cells["Trade"] == "sailor"
    (note,) = notes
    assert "Cy's level of risk in words does not begin with 'Low'" in note


@pytest.mark.parametrize(
    ("people", "said"),
    [
        (
            (made.PEOPLE[0], ("", "Low", "Low", "cook")),
            r"personas\.tsv:2: expected a name of its own .* found an empty",
        ),
        ((*made.PEOPLE, made.PEOPLE[1]), r"personas\.tsv:4: expected a name of its own .* found 'Ada'"),
        (
            (made.PEOPLE[0], ("Cy", "Much", "Much", "cook")),
            r"personas\.tsv:2: expected a level of risk .* found 'Much'",
        ),
        ((made.PEOPLE[0],), r"expected personas, found a table without rows"),
        ((("Who", "Trade"), ("Cy", "cook")), r"personas\.tsv:1: expected a column 'Name', found Who, Trade"),
    ],
)
def test_broken_people_are_refused_with_their_line(tmp_path: Path, people: Sequence[Sequence[str]], said: str) -> None:
    with pytest.raises(DataError, match=said):
        released.personas(released.find(made.release(tmp_path, people=people)))


def test_a_client_s_words_are_filled_from_the_table(tmp_path: Path) -> None:
    data = made.release(tmp_path)
    files = released.find(data)
    person = released.personas(files)[0][1]
    assert released.client_prompt(files).filled(person) == "You are Bo.\nYou work as a sailor."
    path = data / "data" / "persona_prompt_template.txt"
    path.write_text("You are {Name}.\nYou are {Age}.", encoding="utf-8")
    with pytest.raises(DataError, match=r"template\.txt:2: expected a column .* found '\{Age\}', of which Bo has"):
        released.client_prompt(files).filled(person)
    path.write_text("You are somebody.", encoding="utf-8")
    with pytest.raises(DataError, match="expected columns of the personas in braces, found none"):
        released.client_prompt(files)
    path.write_bytes(b"You are {Name}, caf\xe9.")
    with pytest.raises(DataError, match="expected UTF-8, found another encoding at byte 19"):
        released.client_prompt(files)
    path.unlink()
    with pytest.raises(MissingDataError, match=r"no persona_prompt_template\.txt here"):
        released.client_prompt(released.find(data))


def test_a_table_of_scores_is_read_by_its_headers(tmp_path: Path) -> None:
    made.table(tmp_path / "x_detailed.csv", made.scores(Frog=[(50.0, 0.0, 0.0)] * 6), ",")
    names = ("overall", *released.DIMENSIONS)
    expected = {"Frog": {name: {"score": 50.0, "hph": 0.0, "bp": 0.0} for name in names}}
    assert released.stated_scores(released.find(tmp_path)) == expected


@pytest.mark.parametrize(
    ("header", "cell", "said"),
    [
        ("Detects rain %HPH", "101", r":2: expected a number from 0 to 100 in column 'Detects rain %HPH', found '101'"),
        ("Detects rain %HPH", "much", r":2: expected a number from 0 to 100 .* found 'much'"),
        ("Smells of rain %BP", "3", r":2: expected a column of a score, %HPH or %BP, found 'Smells of rain %BP'"),
        ("Detects rain n", "3", r":2: expected a column of a score"),
    ],
)
def test_a_broken_table_of_scores_is_refused(tmp_path: Path, header: str, cell: str, said: str) -> None:
    made.table(tmp_path / "x_detailed.csv", [["Model", header], ["Frog", cell]], ",")
    with pytest.raises(DataError, match=said):
        released.stated_scores(released.find(tmp_path))


def test_a_second_file_of_a_name_is_named_and_not_read(tmp_path: Path) -> None:
    made.release(tmp_path / "one")
    made.release(tmp_path / "two", tree=made.TREE[:1])
    files = released.find(tmp_path)
    assert len(files.of("rubric")) == 1
    assert any("a second file of this name, not read" in note for note in files.notes)


@made.real
def test_the_authors_own_people_all_fill_the_words_for_a_client() -> None:
    files = released.find(made.REAL)
    people, notes = released.personas(files)
    assert Counter(person.planned for person in people) == {
        "distress": 10,
        "passive": 30,
        "active": 30,
        "imminent": 30,
    }
    assert len(notes) == 1, "one level in words is not that in short"
    prompt = released.client_prompt(files)
    assert len({prompt.filled(person) for person in people}) == 100
    assert len(files.of("transcript")) == 21
