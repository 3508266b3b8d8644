from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mindgauge.analysis.reproduce import Published, compare, counts, load_published
from mindgauge.benchmarks import RecomputedCell
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

PUBLISHED = [Published("t", "a", "x", 0.5, 0.05), Published("t", "a", "y", 3, 0), Published("u", "b", "x", 1.0, 0.1)]

TOML = """
[[table]]
name = "agreement"
columns = ["kappa", "n"]
tolerance = [0.005, 0]
[table.rows]
"a model" = [0.54, 206]
other = [nan, 12]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "published.toml"
    path.write_text(text)
    return path


def test_reading_skips_what_is_not_printed(tmp_path: Path) -> None:
    assert load_published(write(tmp_path, TOML)) == [
        Published("agreement", "a model", "kappa", 0.54, 0.005, of_print=True),
        Published("agreement", "a model", "n", 206, 0, of_print=True),
        Published("agreement", "other", "n", 12, 0, of_print=True),
    ]


def test_words_stand_beside_numbers(tmp_path: Path) -> None:
    text = (
        TOML.replace('"n"]', '"n", "class"]')
        .replace("0]", "0, 0]")
        .replace("206]", '206, "good"]')
        .replace("12]", "12, nan]")
    )
    assert load_published(write(tmp_path, text))[2:] == [
        Published("agreement", "a model", "class", "good", 0, of_print=True),
        Published("agreement", "other", "n", 12, 0, of_print=True),
    ]


@pytest.mark.parametrize(
    ("recomputed", "verdict"),
    [("good", "match"), ("Good", "differs"), ("", "differs"), (1.0, "differs"), (None, "missing")],
)
def test_a_word_must_be_the_same_word(recomputed: float | str | None, verdict: str) -> None:
    (cell,) = compare([Published("t", "a", "class", "good", 0)], [RecomputedCell("t", "a", "class", recomputed)])
    assert (cell.verdict, cell.published, cell.recomputed) == (verdict, "good", recomputed)


def test_a_word_is_not_a_number() -> None:
    (cell, *_) = compare(PUBLISHED, [RecomputedCell("t", "a", "x", "0.5")])
    assert cell.verdict == "differs"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[nan, 12]", "[12]", "agreement / other has 1 values for 2 columns"),
        ("[0.005, 0]", "[0.005]", "agreement / tolerance has 1 values for 2 columns"),
        ('"n"]', '"kappa"]', "agreement / a model / kappa occurs twice"),
        ("tolerance", "tolerence", "cannot read the published numbers"),
        ("[[table]]", "[[table]", "cannot read the published numbers"),
    ],
)
def test_a_faulty_file_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_published(write(tmp_path, TOML.replace(old, new)))


def test_verdicts() -> None:
    found = compare(
        PUBLISHED,
        [
            RecomputedCell("t", "a", "x", 0.55),
            RecomputedCell("t", "a", "y", 4, "why"),
            RecomputedCell("u", "b", "x", None, "no file"),
        ],
    )
    assert [(c.verdict, c.recomputed, c.note) for c in found] == [
        ("match", 0.55, ""),
        ("differs", 4, "why"),
        ("missing", None, "no file"),
    ]
    assert counts(found) == {"match": 1, "differs": 1, "missing": 1, "repaired": 0}


def test_a_value_just_outside_the_tolerance_differs() -> None:
    (cell, *_) = compare(PUBLISHED, [RecomputedCell("t", "a", "x", 0.5501)])
    assert cell.verdict == "differs"


def test_a_number_that_nobody_recomputed_is_missing() -> None:
    assert [(c.verdict, c.note) for c in compare(PUBLISHED[:1], [])] == [("missing", "not recomputed")]


def test_a_value_that_is_no_number_is_missing() -> None:
    (cell,) = compare(PUBLISHED[:1], [RecomputedCell("t", "a", "x", float("nan"))])
    assert (cell.verdict, cell.recomputed) == ("missing", None)
    assert cell.note


def test_a_repaired_number_stands_beside_the_published_one() -> None:
    cells = [RecomputedCell("t", "a", "x", 0.9, "honest", repaired=True), RecomputedCell("t", "a", "x", 0.5)]
    found = compare(PUBLISHED[:1], cells)
    assert [(c.verdict, c.published, c.recomputed) for c in found] == [("match", 0.5, 0.5), ("repaired", 0.5, 0.9)]


@pytest.mark.parametrize("repaired", [False, True])
def test_a_recomputed_number_that_is_not_published_is_our_error(repaired: bool) -> None:
    with pytest.raises(ValueError, match="t / a / z is recomputed, but no such number is published"):
        compare(PUBLISHED, [RecomputedCell("t", "a", "z", 1.0, repaired=repaired)])


def test_a_number_recomputed_twice_is_our_error() -> None:
    with pytest.raises(ValueError, match="t / a / x is recomputed twice"):
        compare(PUBLISHED, [RecomputedCell("t", "a", "x", 1.0), RecomputedCell("t", "a", "x", 1.0)])
