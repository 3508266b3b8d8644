"""The terminal prints the report's own tables: each number stands there as on the page."""

import re
from html import unescape

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mindgauge.cli import render
from mindgauge.reports.content import Cell, Column, Kind, ReportTable
from mindgauge.reports.render import environment

NUMBERS = st.floats(0, 1) | st.floats(-5, 5).map(lambda x: x / 100)
MACRO = "{% import 'parts.html.j2' as parts with context %}{{ parts.sheet(s, open=true) }}"


def on_page(sheet: ReportTable) -> list[list[str]]:
    """Return the cells of a table as the page shows them, row by row."""
    page = environment().from_string(MACRO).render(s=sheet).replace("\N{NO-BREAK SPACE}", " ")
    rows = re.findall(r"<tr>(<td.*?)</tr>", page, re.DOTALL)
    return [[unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td.*?</td>", row)] for row in rows]


def in_terminal(sheet: ReportTable, capsys: pytest.CaptureFixture[str]) -> str:
    render.sheet(sheet)
    return " ".join(capsys.readouterr().out.split())


@given(NUMBERS, NUMBERS, st.floats(0, 1), st.sampled_from(["share", "level"]))
@example(0.001, 0.004, 0.5, "share")
@example(0.8316, 0.8324, 0.5, "level")
@example(0.996, 0.999, 0.5, "share")
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_number_and_its_interval_are_written_alike_on_the_page_and_in_the_terminal(
    capsys: pytest.CaptureFixture[str], a: float, b: float, share: float, kind: Kind
) -> None:
    low, high = sorted((a, b))
    row: list[Cell] = ["judge", low, low, high, share]
    columns = [
        Column("judge"),
        Column("agreement", kind),
        Column("from", kind),
        Column("to", kind),
        Column("p", "share"),
    ]
    sheet = ReportTable("t", "Cards", columns, [row])
    [[_, value, first, second, last]] = on_page(sheet)
    assert first != second or high - low <= 1e-12
    ends = f"[{first.removesuffix(' %')}, {second.removesuffix(' %')}]"
    assert in_terminal(sheet, capsys) == f"Cards judge agreement p judge {value} {ends} {last}"


@pytest.mark.parametrize(
    ("cell", "kind", "shown"),
    [
        (0.004, "share", "<1 %"), (0.996, "share", ">99 %"), (0.004, "level", "0.004"), (12345, "count", "12,345"),
        (0.00001, "dollars", "<$0.0001"), (0.01, "seconds", "<0.1 s"), ("cannot tell", "share", "cannot tell"),
    ],
)  # fmt: skip
def test_every_kind_of_cell_is_written_by_the_one_rule(
    cell: Cell, kind: Kind, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = ReportTable("t", "", [Column("who"), Column("what", kind)], [["a", cell]])
    assert on_page(sheet) == [["a", shown]]
    assert in_terminal(sheet, capsys) == f"who what a {shown}"


def test_a_wide_table_stands_in_parts_that_each_name_their_rows(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [
        Column("judge"),
        Column("criterion"),
        *(Column(f"measure {n} of a long name", "level") for n in range(12)),
    ]
    rows: list[list[Cell]] = [[judge, "safety", *[0.5] * 12] for judge in ("one", "two")]
    render.sheet(ReportTable("t", "Wide", columns, rows))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= render.WIDTH
    assert sum(line.startswith("judge") for line in lines) > 1
    assert all(line.startswith(("Wide", "judge", "one", "two")) for line in lines)
    assert len({name for line in lines for name in re.findall(r"measure \d+", line)}) == 12
