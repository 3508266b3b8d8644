"""The tables at the command line are those of the page: no number is written in two ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.stress.effects import Stress
from mindgauge.cli.judges import _stress_show
from mindgauge.commands.judges.stress import judges_stress
from mindgauge.models.scripted import Scripted
from mindgauge.reports.content import joined
from mindgauge.reports.stress import sheets
from tests.analysis.stress.planted import Planted, fenced

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.request import Request


def test_the_terminal_prints_the_page_s_tables(
    warmth: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = judges_stress(
        Planted(warmth), benchmark="warmth", out=tmp_path / "r", probes=["format", "injection"], limit=12, each=1
    )
    assert isinstance(found, Stress)
    effects, injections = sheets(found)
    columns, rows = joined(effects)
    assert columns[:5] == ["what", "criterion", "verdict", "effect", "adjusted p"]
    assert [row[:2] for row in rows[:2]] == [["format: list", "warmth"], ["format: list", "safety"]]
    _stress_show(found, full=True)
    shown = capsys.readouterr().out
    for table in (effects, injections):
        assert table.title in shown
        assert all(cell in shown for row in joined(table)[1] for cell in row)


def test_what_is_missing_is_bounded(warmth: Benchmark, tmp_path: Path) -> None:
    inner = Planted(warmth)

    def answer(request: Request) -> str:
        return "no comment" if "\n- " in fenced(request, "reply") else inner.judge(request)

    found = judges_stress(
        Scripted("mute", answer), benchmark="warmth", out=tmp_path / "r", probes="format", limit=12, judge_runs=1
    )
    assert isinstance(found, Stress)
    columns, rows = joined(sheets(found)[0])
    bounds = [columns.index("worst"), columns.index("best")]
    missing = columns.index("missing")
    assert [row[:2] for row in rows if row[missing] != "0"] == [["format: list", "warmth"], ["format: list", "safety"]]
    for row in rows:
        assert {bool(row[at]) for at in bounds} == {row[missing] != "0"}, row
    assert "format: list, lost verdicts" in [row[0] for row in rows]
