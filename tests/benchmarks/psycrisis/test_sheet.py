"""Tables as people save them: whatever the file looks like, its cells are read as they stand, or one line says why not."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

import pytest
from xlsxwriter import Workbook  # type: ignore[import-untyped]

from mindgauge.benchmarks.psycrisis.released import load_mapped
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Released

HEADERS = ("用户", "回复", "类别", "共情")
ROWS = (("我不想活了", "你现在安全吗？", "自杀", 1), ("我又伤了自己", "谢谢你告诉我。", "自伤/NSSI", 0))
BY_NAME = {"user": "用户", "reply": "回复", "category": "类别", "label.H1.empathy": "共情"}
BY_PLACE = {"user": "#1", "reply": "#2", "category": "#3", "label.H1.empathy": "#4"}


def workbook(path: Path, rows: Sequence[Sequence[Any]], *, down: int = 0, right: int = 0) -> Path:
    with Workbook(path) as book:
        page = book.add_worksheet()
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if cell is not None:
                    page.write(i + down, j + right, cell)
    return path


def separated(by: str) -> str:
    return "".join(by.join(f'"{cell}"' for cell in row) + "\n" for row in (HEADERS, *ROWS))


def whole(found: Released) -> None:
    """See that the two rows were read, and nothing else."""
    assert [s.messages[0].content for s in found.samples] == [row[0] for row in ROWS]
    assert [s.tags["category"] for s in found.samples] == ["suicide", "nssi"]
    assert [r.text for r in found.replies] == [row[1] for row in ROWS]
    assert [r.value for r in found.ratings] == ["yes", "no"]


@pytest.mark.parametrize("by", [",", ";", "\t", "|"])
def test_what_separates_cells_is_seen_and_said(tmp_path: Path, by: str) -> None:
    (tmp_path / "t.csv").write_text(separated(by), encoding="utf-8-sig")
    for mapping in (BY_NAME, BY_PLACE):
        found = load_mapped(tmp_path / "t.csv", mapping)
        whole(found)
        assert (f"cells separated by {by!r}" in found.notes[0]) == (by != ",")


def test_a_csv_file_in_another_encoding_is_read_where_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    otherwise = (
        r"\d+; save it as UTF-8, or name its encoding: --map encoding=cp1252 \(Western Europe\), gb18030 .+ or another"
    )
    advice = {
        "gb18030": otherwise,
        "utf-16-le": otherwise,  # its headers are Chinese
        "utf-32": r"0 \(it looks like UTF-32\); save it as UTF-8, or say --map encoding=utf-32",
    }
    for encoding, said in advice.items():
        path.write_bytes(separated(";").encode(encoding))
        with pytest.raises(DataError, match=rf"t\.csv: not UTF-8 at byte {said}$"):
            load_mapped(path, BY_NAME)
        whole(load_mapped(path, {**BY_NAME, "encoding": encoding}))
    with pytest.raises(DataError, match="unknown encoding: klingon"):
        load_mapped(path, {**BY_NAME, "encoding": "klingon"})


def test_json_lists_of_objects_are_tables(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([dict(zip(HEADERS, row, strict=True)) for row in ROWS]))
    whole(load_mapped(path, BY_NAME))
    path.write_text('{"data": []}')
    with pytest.raises(DataError, match="expected a list of objects, found dict"):
        load_mapped(path, BY_NAME)


@pytest.mark.parametrize(("down", "right"), [(0, 0), (3, 0), (0, 2), (2, 1)])
def test_a_table_may_begin_anywhere_on_its_sheet(tmp_path: Path, down: int, right: int) -> None:
    path = workbook(tmp_path / "t.xlsx", [HEADERS, *ROWS, (None, None, None, "")], down=down, right=right)
    for mapping in (BY_NAME, BY_PLACE):
        found = load_mapped(path, mapping)
        whole(found)
        assert [r.provenance["source_row"] for r in found.replies] == [down + 2, down + 3], "as the file shows them"
    assert tables.open_table(path).headers == list(HEADERS)


def test_a_title_above_the_headers_needs_their_row(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [("人工标注",), HEADERS, *ROWS])
    with pytest.raises(DataError, match="the columns are 1 '人工标注', 2 '', 3 '', 4 ''"):
        load_mapped(path, BY_NAME)
    notes = load_mapped(path, BY_PLACE).notes
    assert (
        "no header above column 2, 3, 4; if the headers are further down, give --map header=ROW, or 0 if there are none"
        in notes
    )
    for mapping in (BY_NAME, BY_PLACE):
        whole(load_mapped(path, {**mapping, "header": "2"}))


@pytest.mark.parametrize("name", ["t.xlsx", "t.csv"])
def test_a_table_without_headers_is_read_whole_where_that_is_said(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "t.csv":
        path.write_text("\n".join(",".join(map(str, row)) for row in ROWS))
    else:
        workbook(path, ROWS)
    notes = load_mapped(path, BY_PLACE).notes
    assert "the header above column 4 looks like a label; if the table has no headers, give --map header=0" in notes
    found = load_mapped(path, {**BY_PLACE, "header": "0"})
    whole(found)
    assert not any("header" in note for note in found.notes)
    with pytest.raises(DataError, match="no row 99 for the headers"):
        load_mapped(path, {**BY_PLACE, "header": "99"})
    with pytest.raises(UsageError, match="header=two: write the number of the row"):
        load_mapped(path, {**BY_PLACE, "header": "two"})


def test_numbers_truth_values_dates_and_formulas_are_cells_like_others(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with Workbook(path) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, ["u", "r", "x", "day"])
        for row in range(1, 7):
            page.write_row(row, 0, [f"I feel low {row}", "I hear you"])
            page.write_datetime(row, 3, datetime.date(2025, 1, row), book.add_format({"num_format": "yyyy-mm-dd"}))
        page.write_number(1, 2, 1.0)
        page.write_boolean(2, 2, boolean=False)
        page.write_formula(3, 2, "=1=1", None, True)
        page.write_formula(4, 2, "=1/0", None, "#DIV/0!")
        page.write_number(5, 2, 1, book.add_format({"num_format": "0%"}))
        page.write_number(6, 2, 0, book.add_format({"num_format": "yyyy-mm-dd"}))
    found = load_mapped(path, {"user": "u", "reply": "r", "label.empathy": "x", "source": "day"})
    assert [r.value for r in found.ratings] == ["yes", "no", "yes", "yes", None]
    assert found.notes[1:] == [
        "row 5: people gave no value at all; not rated by people",
        "row 7: people's empathy is off the scale; unparsable",
    ]
    assert found.samples[0].tags["source"] == "2025-01-01 00:00:00"


def test_a_merged_cell_fills_its_first_row_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with Workbook(path) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, ["u", "r"])
        page.merge_range(1, 0, 2, 0, "I feel low")
        page.write_column(1, 1, ["I hear you", "Go on"])
    found = load_mapped(path, {"user": "u", "reply": "r"})
    assert [r.text for r in found.replies] == ["I hear you"]
    assert found.notes[1:] == ["row 3: no message; left out"]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("t.xlsx", b"<html><table></table></html>", "it holds HTML or XML"),
        ("t.xlsx", bytes.fromhex("D0CF11E0A1B11AE1") + bytes(600), "it is an old .xls, or protected by a password"),
        ("t.xls", bytes.fromhex("D0CF11E0A1B11AE1") + bytes(600), "it is an old .xls, or protected by a password"),
        ("t.xlsx", b"", "not a workbook that can be read"),
    ],
)
def test_what_only_looks_like_a_workbook_says_what_it_is(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=why) as caught:
        load_mapped(tmp_path / name, BY_NAME)
    assert "\n" not in str(caught.value)


def test_an_empty_workbook_and_one_of_headers_alone_have_no_rows(tmp_path: Path) -> None:
    for rows in ([], [HEADERS]):
        with pytest.raises(DataError, match="a table without rows"):
            load_mapped(workbook(tmp_path / "t.xlsx", rows), BY_NAME)
