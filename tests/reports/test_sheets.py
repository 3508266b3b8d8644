"""Tables leave as CSV that no spreadsheet runs."""

import base64

import pytest

from mindgauge.reports.content import Column, Sheet
from mindgauge.reports.sheets import as_csv, data_link, neutral


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "＝1+1"])
def test_a_formula_gets_an_apostrophe(cell: str) -> None:
    assert neutral(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["-1.5", "+2", "-3e-05", "plain", "a=b", "", None, -1.5, 3])
def test_numbers_and_plain_text_stay(cell: str | float | None) -> None:
    assert neutral(cell) == cell


def test_the_link_holds_the_whole_table() -> None:
    sheet = Sheet("t", "T", [Column("name"), Column("n", "count")], [["=HYPERLINK()", 1], ['quote " and, comma', None]])
    content = base64.b64decode(data_link(sheet).partition(",")[2]).decode("utf-8-sig")
    assert content == as_csv(sheet)
    assert content.splitlines() == ["name,n", "'=HYPERLINK(),1", '"quote "" and, comma",']
