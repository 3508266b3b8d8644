"""What is hidden in a workbook is not read, in any format, and is named: sheet, rows and columns."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from xlsxwriter import Workbook  # type: ignore[import-untyped]

import mindgauge
from mindgauge.records.errors import DataError
from mindgauge.records.files import tables
from mindgauge.records.files.confined_reader import HIDDEN
from mindgauge.records.files.mapping import FileLayout
from tests.attacks.bombs import _workbook
from tests.in_process import mindgauge as command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEADERS, SEEN = ["id", "h1", "secret", "h2"], [["s1", "1", "9", "2"], ["s2", "2", "9", "2"], ["s3", "3", "9", "1"]]
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def _xml(path: Path, columns: str, marks: dict[int, str], prefix: str = "") -> None:
    """Write a workbook's sheet with marks at its rows (from 1) and columns."""
    rows = "".join(
        f'<{prefix}row r="{r}" {marks.get(r, "")}>'
        + "".join(f'<{prefix}c r="{"ABCD"[c]}{r}" t="inlineStr"><{prefix}is><{prefix}t>{cell}</{prefix}t></{prefix}is></{prefix}c>' for c, cell in enumerate(cells))
        + f"</{prefix}row>"
        for r, cells in enumerate([HEADERS, *SEEN], 1)
    )  # fmt: skip
    space = f'xmlns{":" + prefix[:-1] if prefix else ""}="{MAIN}"'
    path.write_bytes(_workbook([], sheet=f"<{prefix}worksheet {space}><{prefix}cols>{columns}</{prefix}cols><{prefix}sheetData>{rows}</{prefix}sheetData></{prefix}worksheet>"))  # fmt: skip


def _ods(path: Path, row: str = 'table:visibility="collapse"', column: str = 'table:visibility="collapse"') -> None:
    """Write an OpenDocument sheet whose third row and column are hidden, and a hidden sheet."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text", "style")
    )
    lines = "".join(
        f"<table:table-row {row if number == 2 else ''}>"
        + "".join(f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>' for cell in cells)
        + "</table:table-row>"
        for number, cells in enumerate([HEADERS, *SEEN])
    )  # fmt: skip
    content = (
        f'<?xml version="1.0"?><office:document-content {spaces}><office:automatic-styles>'
        '<style:style style:name="gone" style:family="table"><style:table-properties table:display="false"/></style:style>'
        '<style:style style:name="flat" style:family="table-row"><style:table-row-properties style:row-height="0cm"/></style:style>'
        '<style:style style:name="thin" style:family="table-column"><style:table-column-properties style:column-width="0in"/></style:style>'
        '</office:automatic-styles><office:body><office:spreadsheet><table:table table:name="Labels">'
        f'<table:table-column table:number-columns-repeated="2"/><table:table-column {column}/><table:table-column/>{lines}</table:table>'
        '<table:table table:name="Lists" table:style-name="gone"><table:table-row><table:table-cell office:value-type="string">'
        "<text:p>never</text:p></table:table-cell></table:table-row></table:table>"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<m/>")
        archive.writestr("content.xml", content)


THIRD = '<col min="3" max="3" {}/>'.format
FORMS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "marks": ("a.xlsx", lambda path: _xml(path, THIRD('hidden="1"'), {3: 'hidden="1"'})),
    "words": ("a.xlsm", lambda path: _xml(path, THIRD("hidden='true'"), {3: "hidden = 'true'"})),
    "no height and no width": ("a.xlsx", lambda path: _xml(path, THIRD('width="0"'), {3: 'ht="0.0" customHeight="1"'})),
    "a closed group": ("a.xlsx", lambda path: _xml(path, THIRD('outlineLevel="1" hidden="1"'), {3: 'outlineLevel="1" hidden="1"', 4: 'collapsed="1"'})),
    "names with prefixes": ("a.xlsx", lambda path: _xml(path, '<x:col min="3" max="3" hidden="1"/>', {3: 'hidden="1"'}, "x:")),
    "ODS": ("a.ods", _ods),
    "ODS, by a filter": ("a.ods", lambda path: _ods(path, 'table:visibility="filter"')),
    "ODS, no height and no width": ("a.ods", lambda path: _ods(path, 'table:style-name="flat"', 'table:style-name="thin"')),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_hidden_rows_columns_and_sheets_are_left_out_and_named(tmp_path: Path, form: str) -> None:
    name, write = FORMS[form]
    write(tmp_path / name)
    left_out: list[str] = []
    table = tables.open_table(tmp_path / name, left_out=left_out)
    assert [(line, list(filter(None, cells))) for line, cells in table.cells()] == [(2, ["s1", "1", "2"]), (4, ["s3", "3", "1"])]  # fmt: skip
    (line,) = left_out
    assert f"{name}: {HIDDEN}: of the sheet " in line
    assert "1 row (3), column C ('secret')" in line
    assert ("the sheet 'Lists' (1 row)" in line) == name.endswith("ods")
    assert [row["x"] for _, row in table.rows({"x": "D"})] == ["2", "1"], "letters are those that the person sees"


@pytest.mark.parametrize(
    ("columns", "rows"),
    [('<col min="2" max="2" hidden="0" width="9"/>', {3: 'ht="20" hidden="false"'}), ('<col min="5" max="16384" hidden="1"/>', {})],
)  # fmt: skip
def test_nothing_is_said_where_nothing_with_content_is_hidden(
    tmp_path: Path, columns: str, rows: dict[int, str]
) -> None:
    _xml(tmp_path / "a.xlsx", columns, rows)
    table = tables.open_table(tmp_path / "a.xlsx")  # a warning would be an error here
    assert (table.headers, len(list(table.cells()))) == (HEADERS, 3)


def _hide(path: Path, *hidden: int, row: int | None = None) -> Path:
    """Write two sheets with rows and headers; some of them are hidden, or a row of both."""
    with Workbook(path) as book:
        pages = [book.add_worksheet(name) for name in ("one", "two")]
        for page in pages:
            for place, cells in enumerate([HEADERS, *SEEN]):
                page.write_row(place, 0, cells)
            if row is not None:
                page.set_row(row, None, None, {"hidden": True})
        pages[-1 if 0 in hidden else 0].activate()
        for place in hidden:
            pages[place].very_hidden()
    return path


def test_a_hidden_sheet_is_not_read_by_its_name_either(tmp_path: Path) -> None:
    path = _hide(tmp_path / "a.xlsx", 1)
    with pytest.raises(DataError, match="hidden in the workbook: the sheet 'two'; unhide there"):
        tables.open_table(path, FileLayout(sheet="two"))


def test_a_workbook_whose_sheets_are_all_hidden_is_one_clear_error(tmp_path: Path) -> None:
    path = _hide(tmp_path / "a.xlsx", 0, 1)
    with pytest.raises(DataError, match="hidden in the workbook: the sheet 'one', 'two'; unhide there"):
        tables.open_table(path)


def test_a_hidden_row_of_headers_is_refused_and_another_may_be_named(tmp_path: Path) -> None:
    path = _hide(tmp_path / "a.xlsx", 1, row=0)
    with pytest.raises(
        DataError, match="row 1 of the sheet 'one', which has its headers, is hidden; unhide it, or name"
    ):
        tables.open_table(path)
    with pytest.raises(DataError, match="row 1 of the sheet 'one'"):
        tables.open_table(path, FileLayout(header=1))
    assert tables.open_table(path, FileLayout(header=2), []).headers == SEEN[0]
    assert [line for line, _ in tables.open_table(path, FileLayout(header=0), []).cells()] == [2, 3, 4]


def test_a_hidden_sheet_adds_no_rater_and_the_account_and_the_audit_name_it(tmp_path: Path) -> None:
    path = _hide(tmp_path / "ratings.xlsx", 1, row=2)
    wanted = "of the sheet 'one' 1 row (3); the sheet 'two' (4 rows)"
    found = json.loads(command("reliability", path, "--show-reading", "--json").stdout)["reading"]
    assert (found["rows"], found["raters"]) == (2, {"h1": 2, "h2": 2})
    assert any(wanted in line for line in found["left_out"])
    (finding,) = [finding for finding in mindgauge.audit(path).findings if finding.id == "hidden_content"]
    assert wanted in finding.where[0]


@pytest.mark.filterwarnings("default::mindgauge.records.errors.HiddenContentWarning")
def test_a_command_without_an_account_names_it_in_a_note(tmp_path: Path) -> None:
    with Workbook(tmp_path / "items.xlsx") as book:
        for name in ("shown", "kept"):
            page = book.add_worksheet(name)
            page.write_column(0, 0, ["message", "I cannot sleep.", "I feel alone."])
        page.hide()
    done = command("new", tmp_path / "mine", "--from", tmp_path / "items.xlsx", "--map", "user=message")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"Note: {tmp_path}/items.xlsx: {HIDDEN}: the sheet 'kept' (3 rows); unhide it there") == 1


def test_hidden_lists_for_the_cells_of_a_rating_sheet_are_one_short_line(tmp_path: Path) -> None:
    with Workbook(tmp_path / "ratings.xlsx") as book:
        page = book.add_worksheet("Ratings")
        for place, cells in enumerate([HEADERS, *SEEN]):
            page.write_row(place, 0, cells)
        lists = book.add_worksheet("Lists")
        lists.write_column(0, 0, [1, 2, 3])
        lists.hide()
        page.data_validation("B2:D9", {"validate": "list", "source": "=Lists!$A$1:$A$3"})
    left_out: list[str] = []
    tables.open_table(tmp_path / "ratings.xlsx", left_out=left_out)
    assert left_out == [f"{tmp_path}/ratings.xlsx: {HIDDEN}: the sheet 'Lists' (3 rows); unhide it there to have it read"]  # fmt: skip


def test_spans_without_end_and_broken_marks_stay_within_bounds(tmp_path: Path) -> None:
    spans = '<col min="1" max="16384" hidden="0"/>' + '<col min="9" max="999999999999" hidden="1"/>' * 50_000
    _xml(tmp_path / "a.xlsx", spans, {})
    assert tables.open_table(tmp_path / "a.xlsx").headers == HEADERS
    _xml(tmp_path / "b.xlsx", '<col min="x" max="3" hidden="1"/>', {})
    with pytest.raises(DataError, match="not a workbook that can be read"):
        tables.open_table(tmp_path / "b.xlsx")
    _ods(tmp_path / "c.ods", 'table:visibility="collapse" table:number-rows-repeated="3"')
    assert [line for line, _ in tables.open_table(tmp_path / "c.ods", left_out=[]).cells()] == [2, 6]
