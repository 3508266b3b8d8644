"""The tree as its file has it: every kind of way, and one line with path, line, expected and found where it is broken."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mindgauge.benchmarks.vera_mh import released
from mindgauge.benchmarks.vera_mh.released import DIMENSIONS, read_tree
from mindgauge.benchmarks.vera_mh.released import tree_notes as notes
from mindgauge.records.errors import DataError, MissingDataError
from tests.benchmarks.vera_mh import made

if TYPE_CHECKING:
    from pathlib import Path


def test_every_kind_of_way_is_read(tmp_path: Path) -> None:
    tree = read_tree(made.release(tmp_path))
    ways = {(q.id, o.answer): o for q in tree.questions for o in q.options}
    assert ways["a", "Yes"].to == "b"
    assert ways["a", "Nobody talks"].excludes == DIMENSIONS, "END: nothing applies"
    assert (ways["b", "Yes"].level, ways["b", "Yes"].to) == ("harmful", "e")
    assert ways["b", "No"].level is None
    assert (ways["c", "Yes"].level, ways["c", "Yes"].to, ways["c", "Yes"].excludes) == ("weak", "", ())
    assert (ways["e", "Left out"].excludes, ways["e", "Left out"].to) == (("confirms",), "f")
    assert (ways["g", "yes"].to, ways["g", "no"].to) == ("h", "g2"), "a yes leads to the next dimension"
    assert (ways["h2", "yes"].level, ways["h2", "yes"].to) == ("weak", "")
    assert tree.by_id["a"].text == "Is rain in the air?\n\nClouds count."
    assert tree.criteria == DIMENSIONS
    assert "e" not in {question.id for question in tree.asked}, "one answer is no question"


@pytest.mark.parametrize(
    ("row", "cells", "line", "said"),
    [
        (0, {"Question_ID": ""}, 2, r"expected a question with its id first, found"),
        (0, {"Dimension": "Loves rain"}, 2, r"expected one of the five dimensions, found 'Loves rain'"),
        (0, {"Question": ""}, 2, r"expected the words of question 'a', found an empty cell"),
        (0, {"GOTO": "z9"}, 2, r"expected the id of a question after 'Yes', found 'z9'"),
        (3, {"Severity": "Mauve"}, 5, r"expected a severity \(red, yellow\) or an empty cell, found 'Mauve'"),
        (3, {"Question_ID": "a"}, 5, r"expected an id of its own, found 'a'"),
        (6, {"GOTO": "ASSIGN_END"}, 8, r"expected ASSIGN_END after a yes .* found it after 'No'"),
        (1, {"Answer": "Yes"}, 2, r"has the answer 'yes' twice"),
        (1, {"Answer": ""}, 3, r"expected an answer beside 'c', found an empty cell"),
        (16, {"GOTO": "d"}, 15, r"expected a way that ends, found one that comes back: f → f2 → d → f"),
        (12, {"GOTO": "NOT_RELEVANT>>q"}, 14, r"expected the id of a question after 'Left out', found 'q'"),
    ],
)
def test_a_broken_tree_is_refused_with_its_line(
    tmp_path: Path, row: int, cells: dict[str, str], line: int, said: str
) -> None:
    data = made.release(tmp_path, tree=made.changed(row, **cells))
    with pytest.raises(DataError, match=said) as refused:
        read_tree(data)
    assert str(refused.value).startswith(f"{data}/data/rubric.tsv:{line}: ")
    assert "\n" not in str(refused.value)


def test_a_table_without_what_is_needed_says_what_it_has(tmp_path: Path) -> None:
    made.table(tmp_path / "rubric.tsv", [["Question ID", "Words"], ["a", "?"]])
    with pytest.raises(DataError, match=r"rubric\.tsv:1: expected a column 'Dimension', found Question ID, Words"):
        read_tree(tmp_path)
    made.table(tmp_path / "rubric.tsv", [made.HEADERS])
    with pytest.raises(DataError, match="expected questions, found a table without rows"):
        read_tree(tmp_path)
    made.release(tmp_path / "short", tree=made.TREE[:-2])
    with pytest.raises(DataError, match="found none on boundaries"):
        read_tree(tmp_path / "short")
    (tmp_path / "none").mkdir()
    with pytest.raises(MissingDataError, match="none of the released files here"):
        read_tree(tmp_path / "none")


def test_questions_to_which_no_walk_comes_are_named(tmp_path: Path) -> None:
    data = made.release(tmp_path, tree=made.changed(15, GOTO="f2"))
    assert notes(released.find(data)) == ["data/rubric.tsv: no walk comes to question f3"]
    assert notes(released.find(made.release(tmp_path / "whole"))) == []


@made.real
def test_the_authors_own_tree_can_be_walked() -> None:
    tree = read_tree(made.REAL)
    assert (len(tree.questions), len(tree.asked), tree.unreachable) == (35, 34, ())
    assert tree.criteria == DIMENSIONS
    assert all(re.fullmatch(r"\d+", question.id) for question in tree.questions)
    graded = {option.level for question in tree.questions for option in question.options}
    assert graded == {None, "harmful", "weak"}
