"""Labels that people gave elsewhere come in whatever shape their table has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from mindgauge.annotation.exchange import read
from mindgauge.records.errors import DataError

from .conftest import ITEMS, NEGLECT, SAFE, known

if TYPE_CHECKING:
    from pathlib import Path

VALUES = {
    (item.id, rater): SAFE if (place + number) % 2 else NEGLECT
    for number, rater in enumerate(("ana", "ben"))
    for place, item in enumerate(ITEMS)
}


def row_per_person(folder: Path) -> Path:
    rows = [{"item": item, "annotator": rater, "category": value} for (item, rater), value in VALUES.items()]
    pl.DataFrame(rows).write_csv(folder / "wide.csv")
    return folder / "wide.csv"


def file_per_person(folder: Path) -> Path:
    (folder / "people").mkdir()
    for rater in ("ana", "ben"):
        rows = [{"item": item, "category": value} for (item, who), value in VALUES.items() if who == rater]
        pl.DataFrame(rows).write_csv(folder / "people" / f"{rater}.csv")
    return folder / "people"


@pytest.mark.parametrize("write", [row_per_person, file_per_person])
def test_a_table_of_another_shape_is_taken_in_and_said(tmp_path: Path, write: object) -> None:
    assert callable(write)
    form, entries, reading = read(write(tmp_path), known())
    assert form == "ratings"
    assert {(e.item.id, e.person.name): e.answer.value for e in entries if e.answer} == VALUES
    assert reading[0].startswith(f"{len(VALUES)} rows read as {len(VALUES)} ratings")


def test_a_person_whom_the_project_does_not_know_is_named_with_the_file_and_line(tmp_path: Path) -> None:
    rows = [{"item": item.id, "annotator": rater, "category": SAFE} for item in ITEMS for rater in ("ana", "zoe")]
    pl.DataFrame(rows).write_csv(tmp_path / "wide.csv")
    with pytest.raises(DataError, match=r"wide\.csv:3: .*zoe"):
        read(tmp_path / "wide.csv", known())
