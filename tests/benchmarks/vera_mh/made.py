"""A small made-up release of VERA-MH's forms, with nothing of its text; and where the authors' own files lie, if they do."""

from __future__ import annotations

import csv
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

REAL = Path(os.environ.get("MINDGAUGE_DATA") or Path(__file__).parents[3] / "../shared/data") / "vera_mh"
real = pytest.mark.skipif(not REAL.is_dir(), reason=f"the authors' files are not at hand ({REAL}); set MINDGAUGE_DATA")

HEADERS = ("Question ID", "Dimension", "Severity", "Question", "Examples", "Answer", "GOTO")
TREE: list[tuple[str, ...]] = [
    ("a", "Detects rain", "", "Is rain in the air?", "Clouds count.", "Yes", "b"),
    ("", "", "", "", "", "No", "c"),
    ("", "", "", "", "", "Nobody talks", "END"),
    ("b", "Detects rain", "Red", "Is the rain passed over?", "", "Yes", "e"),
    ("", "", "", "", "", "No", "d"),
    ("c", "Detects rain", "Yellow", "Is sunshine taken for rain?", "", "Yes", "ASSIGN_END"),
    ("", "", "", "", "", "No", "END"),
    ("d", "Confirms rain", "Red", "Is nobody asked whether they are wet?", "", "Yes", "f"),
    ("", "", "", "", "", "No", "d2"),
    ("", "", "", "", "", "Does not matter", "d2"),
    ("d2", "Confirms rain", "Yellow", "Are they asked time and again?", "", "Yes", "f"),
    ("", "", "", "", "", "No", "f"),
    ("e", "Confirms rain", "", "Leave it out.", "", "Left out", "NOT_RELEVANT>>f"),
    ("f", "Guides indoors", "", "How hard does it rain?", "", "Not at all", "NOT_RELEVANT>>g"),
    ("", "", "", "", "", "Lightly", "f2"),
    ("", "", "", "", "", "In torrents", "f3"),
    ("f2", "Guides indoors", "Yellow", "Is no umbrella named?", "", "Yes", "g"),
    ("", "", "", "", "", "No", "g"),
    ("f3", "Guides indoors", "Red", "Is no roof named?", "", "Yes", "g"),
    ("", "", "", "", "", "No", "g"),
    ("g", "Supportive talk", "Red", "Is the wet person scolded?", "", "", ""),
    ("g2", "Supportive talk", "Yellow", "Is the talk dry?", "", "", ""),
    ("h", "Knows its boundaries", "Red", "Does it claim to stop the rain?", "", "", ""),
    ("h2", "Knows its boundaries", "Yellow", "Does it hide that it is a barometer?", "", "", ""),
]
"""Each kind of way that there is: by id, to an end, with and without a rating, set aside, by default."""
PEOPLE = (
    ("Name", "Short Present Risk Level", "Present Risk Level", "Trade"),
    ("Ada", "None", "None (dry)", "baker"),
    ("Bo", "High", "High (wet)", "sailor"),
)
TEMPLATE = "You are {Name}.\nYou work as a {Trade}."
DIMENSIONS = ("Overall", "Detects rain", "Confirms rain", "Guides indoors", "Supportive talk", "Knows its boundaries")


def table(path: Path, rows: Sequence[Sequence[object]], separator: str = "\t") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    return path


def scores(**models: Sequence[tuple[float, float, float]]) -> list[list[object]]:
    """Return a table of scores: for each model, overall and by dimension, the score, %HPH and %BP."""
    header = [f"{name} {figure}" for name in DIMENSIONS for figure in ("Rain v9 Score", "%HPH", "%BP")]
    return [["Model", *header], *([model, *(n for cell in cells for n in cell)] for model, cells in models.items())]


def release(root: Path, *, tree: Sequence[Sequence[str]] = TREE, people: Sequence[Sequence[str]] = PEOPLE) -> Path:
    table(root / "data" / "rubric.tsv", [HEADERS, *tree])
    table(root / "data" / "personas.tsv", people)
    (root / "data" / "persona_prompt_template.txt").write_text(TEMPLATE, encoding="utf-8")
    return root


def changed(row: int, **cells: str) -> list[tuple[str, ...]]:
    """Return the tree with other cells in one row; names are headers, with `_` for blanks."""
    named = {name.replace("_", " "): cell for name, cell in cells.items()}
    rows: list[tuple[str, ...]] = [*TREE]
    rows[row] = tuple(named.get(header, cell) for header, cell in zip(HEADERS, rows[row], strict=True))
    return rows


def transcripts(root: Path, **texts: str) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    path = root / "conversations.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(f"p_client_1__a_target_2__t3__r1__20250101_000001/{name}.txt", text)
    return path


def answers(**given: str) -> dict[str, Any]:
    """Return a judge's verdict: an answer to each question that is named, and to all others that they were passed by."""
    asked = [row[0] for row in TREE if row[0] and row[0] != "e"]
    return {"quotes": [], "rationale": "so", **{f"q{name}": given.get(name, "not_applicable") for name in asked}}
