"""The terminal prints the report's own tables: each number stands there as on the page, at every width."""

import ast
import re
from html import unescape
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import mindgauge
from mindgauge.cli import render, scores
from mindgauge.reports import score_tables
from mindgauge.reports.content import Cell, Column, Kind, ReportTable, joined
from mindgauge.reports.render import environment
from tests.cli.test_which_accuracy import RIGHT, WRONG, Answers, write

NUMBERS = st.floats(0, 1) | st.floats(-5, 5).map(lambda x: x / 100)
MACRO = "{% import 'parts.html.j2' as parts with context %}{{ parts.sheet(s, open=true) }}"


def on_page(sheet: ReportTable) -> list[list[str]]:
    """Return the cells of a table as the page shows them, row by row."""
    page = environment().from_string(MACRO).render(s=sheet).replace("\N{NO-BREAK SPACE}", " ")
    rows = re.findall(r"<tr[^>]*>(<td.*?)</tr>", page, re.DOTALL)
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
    [[_, estimate, last]] = on_page(sheet)
    ends = re.search(r"\[(.+), (.+)\]", estimate)
    assert ends is not None
    assert ends[1] != ends[2] or high - low <= 1e-12
    assert in_terminal(sheet, capsys) == f"Cards judge agreement p judge {estimate} {last}"


@pytest.mark.parametrize(
    ("cell", "kind", "shown"),
    [
        (0.004, "share", "<1 %"), (0.996, "share", ">99 %"), (0.004, "level", "0.004"), (12345, "count", "12,345"),
        (0.00001, "dollars", "<$0.0001"), (0.4163, "precise", "41.6 %"), (0.0928, "points", "+9.3 points"), (0.01, "seconds", "<0.1 s"), ("cannot tell", "share", "cannot tell"),
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


def test_what_is_measured_is_printed_as_the_report_has_it() -> None:
    """Only lists of what is there, or foreseen, are tables of the terminal's own."""
    folder = Path(scores.__file__).parent
    drawing = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"render.table", "render.in_parts"}
    }
    assert not drawing & {"scores.py", "comparison.py", "judges.py"}
    assert not (folder / "labels.py").exists()


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_the_scores_of_a_run_stand_whole_in_every_terminal(
    width: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: Answers = {
        "http://127.0.0.1:18765/v1#a-model-of-a-long-name": [[RIGHT], [None], [RIGHT]],
        "http://127.0.0.1:18765/v1#another": [[WRONG], [RIGHT], [None]],
    }
    result = mindgauge.score(write(tmp_path, ["a", "b", "c"], answers))
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    scores.shown(result, full=True)
    out = capsys.readouterr().out
    tables = [line for line in out.splitlines() if not line.startswith("Note:") and str(tmp_path) not in line]
    assert max(map(len, tables)) <= max(width, len(f"rated by: {next(iter(answers))}"))
    (table,) = score_tables.headlines(result)
    names, rows = joined(table)
    assert {"value", "95 % interval", "n", "conversations", "missing", "worst … best"} <= {*names}
    for cell in (*names, *(cell for row in rows for cell in row)):
        assert cell in out, cell
    assert "an answer without a value counts as wrong" in " ".join(out.split())


def test_the_note_of_a_table_stands_under_it(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[list[Cell]] = [["a", 3], ["b", 4]]
    table = ReportTable("t", "Judges", [Column("judge"), Column("n", "count")], rows, "Shares are of all replies.")
    assert in_terminal(table, capsys) == "Judges judge n a 3 b 4 Shares are of all replies."
    render.sheet(table, less={"n"})
    assert "Shares" not in capsys.readouterr().out, "it may speak of what is left out"
