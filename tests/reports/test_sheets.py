"""Tables leave as CSV that no spreadsheet runs."""

import base64
import io
import zipfile

import pytest

from mindgauge.reports.content import LONG, Column, ReportTable, as_csv, data_link, is_long, neutral, of_page


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "＝1+1"])
def test_a_formula_gets_an_apostrophe(cell: str) -> None:
    assert neutral(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["-1.5", "+2", "-3e-05", "plain", "a=b", ""])
def test_numbers_and_plain_text_stay(cell: str) -> None:
    assert neutral(cell) == cell


def test_the_link_holds_the_whole_table() -> None:
    sheet = ReportTable(
        "t", "T", [Column("name"), Column("n", "count")], [["=HYPERLINK()", 1], ['quote " and, comma', None]]
    )
    content = base64.b64decode(data_link(sheet).partition(",")[2]).decode("utf-8-sig")
    assert content == as_csv(sheet)
    assert content.splitlines() == ["name,n", "'=HYPERLINK(),1", '"quote "" and, comma",']


def test_a_long_table_is_zipped_whole_and_always_alike() -> None:
    sheet = ReportTable("t", "T", [Column("n", "count")], [[n] for n in range(LONG + 1)])
    assert is_long(sheet)
    assert data_link(sheet) == data_link(sheet)
    kind, _, content = data_link(sheet).partition(",")
    assert kind == "data:application/zip;base64"
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(content))) as archive:
        assert archive.namelist() == ["t.csv"]
        assert archive.read("t.csv").decode("utf-8-sig") == as_csv(sheet)


def test_a_page_puts_intervals_beside_estimates_and_says_once_what_is_the_same() -> None:
    columns = [Column("model"), Column("rated by"), Column("share", "share"), Column("from", "share"), Column("to", "share"), Column("n", "count")]  # fmt: skip
    sheet = ReportTable("t", "T", columns, [["a", "judge", 0.5, 0.4, 0.6, 20], ["b", "judge", None, None, None, 30]])
    shown = of_page(sheet, 10)
    assert [column.name for column in shown.columns] == ["model", "share", "n"]
    assert shown.rows == [["a", "50 % [40, 60]", "20"], ["b", "–", "30"]]
    assert shown.same == [("rated by", "judge")]
    assert "judge" in as_csv(sheet), "the file keeps every column"


def test_names_never_stand_alone_and_one_row_is_shown_whole() -> None:
    columns = [Column("model"), Column("n", "count")]
    assert of_page(ReportTable("t", "T", columns, [["a", 1], ["b", 1]]), 10).rows == [["a", "1"], ["b", "1"]]
    assert of_page(ReportTable("t", "T", columns, [["a", 1]]), 10).rows == [["a", "1"]]
