"""CSV has one reading: row by row and as a whole, a file holds the same cells on the same lines, or is refused in the same words."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, tables
from mindgauge.records.files.mapping import FileLayout
from tests.thinned import examples, later

ODD = st.lists(
    st.sampled_from([
        "a", "b", ",", ",", "\n", "\n", "a,b\n", "1,2\n", ",,", '"', '""', '"a"', '"a,b"', '"a\nb"', ',"', '",', '"\n', "\r\n", "\r", " ", ";", "\t",
        "\ufeff", "\0", "é", "\x85", "\u2028", "\x0b", "x\x01", "nan", "'", "\\", '\\"', "#", "sep=;\n",
    ]),
    max_size=30,
).map("".join)  # fmt: skip
CELLS = st.sampled_from(["a", "b", "1", "", " ", "é", "'", "#", "x^", '"a"', '"a,b"', '""', "nan", "\x85", "\\"])
EVEN = st.builds(
    lambda table, separator, line_end: line_end.join(separator.join(row) for row in table),
    st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=6)),
    st.sampled_from([",", ",", ";", "\t"]), st.sampled_from(["\n", "\r\n"]),
)  # fmt: skip
LAYOUTS = st.sampled_from([FileLayout(), FileLayout(header=0), FileLayout(header=2), FileLayout(separator=",")])


def by_rows(path: Path, layout: FileLayout, notes: list[str] | None) -> object:
    """Return the lines and cells of a file as one reads it row by row, or why it is refused."""
    try:
        (table,) = tables.open_tables(path, layout, notes)
        width = len(table.headers)
        return [(line, [*(cell or None for cell in cells[:width]), *[None] * (width - len(cells))]) for line, cells in table.cells()]  # fmt: skip
    except DataError as error:
        return str(error)


def as_a_whole(path: Path, layout: FileLayout, notes: list[str] | None) -> object:
    """Return the same, read as a whole."""
    try:
        (table,) = tables.open_tables(path, layout, notes)
        numbered = table.numbered()
        cells = numbered.frame.rows() if numbered.frame.width else [()] * len(numbered.lines)
        return [(line, [*row]) for line, row in zip(numbered.lines, cells, strict=True)]
    except DataError as error:
        return str(error)


@settings(examples(1500), deadline=None)
@example(content="x\x01\u2028", layout=FileLayout(header=0), audited=False)
@given(ODD | EVEN, LAYOUTS, st.booleans())
def test_a_file_has_one_reading(content: str, layout: FileLayout, audited: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(content.encode())
        first: list[str] | None = [] if audited else None
        second: list[str] | None = [] if audited else None
        assert as_a_whole(path, layout, first) == by_rows(path, layout, second)
        assert first == second


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ('a,b\nhe is 5" tall,1\n', [(2, ['he is 5" tall', "1"])]),
        ('a,b\nI "am" sad,b "x\n', [(2, ['I "am" sad', 'b "x'])]),
        ("a,b\r1,2\r3,4\r", [(2, ["1", "2"]), (3, ["3", "4"])]),
        ('a,b\n"x\ny",2\n\n3,4\n', [(2, ["x\ny", "2"]), (5, ["3", "4"])]),
        ('a,b\n1,2\n"he said \\"no\\" to me",2\n', 't.csv:3: broken CSV (a quote within a quoted cell; write it twice, "")'),
        ('a,b\n1,2\n"c,2\n3,4\n', "t.csv:3: broken CSV (a quote is opened here and never closed; close it, or write a quote within a cell twice)"),
        ("a,b\n1,2,3\n", "t.csv:2: more cells than the header has columns (3 cells, 2 columns)"),
    ],
)  # fmt: skip
def test_what_two_readers_took_for_two_things_is_one(content: str, outcome: object, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode())
    for read in (by_rows, as_a_whole):
        assert (read(path, FileLayout(), None)) == (f"{tmp_path}/{outcome}" if isinstance(outcome, str) else outcome)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_two_ditto_marks_do_not_swallow_the_rows_between_them(place: int, end: str, tmp_path: Path) -> None:
    rows = [[f"s{n}", "safety", "H1", str(n)] for n in range(1, 8)]
    rows[2][place] = rows[5][place] = '"'
    path = tmp_path / "t.csv"
    path.write_text(end.join(",".join(row) for row in [["subject", "criterion", "rater", "value"], *rows]), newline="")
    for read in (by_rows, as_a_whole):
        assert "t.csv:4: two quotes that each stand alone" in str(read(path, FileLayout(), None))
    notes: list[str] = []
    as_a_whole(path, FileLayout(), notes)
    assert any("t.csv:4: two quotes that each stand alone" in note for note in notes)


@pytest.mark.parametrize(
    "text", ["\nWhat helps you?\n", ",", "\n", 'a, b,\nc, d, e, f, g,\n"h"', "\n- one, two\n- three,"]
)
def test_a_text_of_several_lines_is_none(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pl.DataFrame({"id": ["1"], "user": ["hello"], "reply": [text], "model": ["m"]}).write_csv(path)
    assert by_rows(path, FileLayout(), None) == as_a_whole(path, FileLayout(), None) == [(2, ["1", "hello", text, "m"])]


@pytest.mark.parametrize("name", ["t.csv", later("t.jsonl"), "t.json", later("t.parquet")])
def test_a_cell_has_as_many_characters_in_every_form(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for length, refused in ((bounds.CELL, False), (bounds.CELL + 1, True)):
        row = {"a": "1", "b": "x" * length}
        match path.suffix:
            case ".csv":
                path.write_text("a,b\n1," + row["b"])
            case ".parquet":
                pl.DataFrame([row]).write_parquet(path)
            case _:
                path.write_text(json.dumps([row] if path.suffix == ".json" else row))
        for read in (lambda: list(tables.open_table(path).rows()), lambda: tables.open_table(path).frame(("a", "b"))):
            if refused:
                with pytest.raises(DataError, match=r"8,388,60[89] characters.*at most|more than 8,388,608 characters"):
                    read()
            else:
                assert len(read()) == 1


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_the_first_line_in_which_excel_names_the_separator_is_none_of_the_table(
    tmp_path: Path, mark: str, line_end: str
) -> None:
    path = tmp_path / "saved.csv"
    path.write_bytes(line_end.join([f"{mark}sep=;", "user;reply, as sent", "I cannot sleep;I hear you", ""]).encode())
    (table,) = tables.open_tables(path, FileLayout())
    assert table.headers == ["user", "reply, as sent"]
    assert [*table.cells()] == [(3, ["I cannot sleep", "I hear you"])]
    (first,) = tables.open_tables(path, FileLayout(header=1))
    assert first.headers[0].startswith("sep=")
