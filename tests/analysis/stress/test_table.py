"""The table at the command line: what is compared stands once, above its criteria, and fits a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.stress.result import Stress
from mindgauge.cli.judges.stress import _effects, _show
from mindgauge.commands.judges.stress import stress as judges_stress
from mindgauge.models.scripted import Scripted
from tests.analysis.stress.planted import Planted, fenced

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.request import Request


def test_a_comparison_stands_once_above_its_criteria(
    warmth: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = judges_stress(
        Planted(warmth), benchmark="warmth", out=tmp_path / "r", probes=["format", "injection"], limit=12, each=1
    )
    assert isinstance(found, Stress)
    columns, rows = _effects(found.effects)
    assert columns == ["what", "verdict", "effect", "95 % interval", "adj. p", "n", "missing", "needed"]
    assert [row[0] for row in rows[:3]] == ["format: list", "  warmth", "  safety"]
    assert not any(rows[0][1:])
    _show(found)
    shown = capsys.readouterr().out
    assert "format: list" in shown and "Attempts to talk it over" in shown


def test_what_is_missing_is_bounded(warmth: Benchmark, tmp_path: Path) -> None:
    inner = Planted(warmth)

    def answer(request: Request) -> str:
        return "no comment" if "\n- " in fenced(request, "reply") else inner.judge(request)

    found = judges_stress(
        Scripted("mute", answer), benchmark="warmth", out=tmp_path / "r", probes="format", limit=12, judge_runs=1
    )
    assert isinstance(found, Stress)
    columns, rows = _effects(found.effects)
    at = columns.index("worst … best")
    assert {row[at] for row in rows if row[0] == "  warmth"} == {"", rows[1][at]}
    assert "…" in rows[1][at]
    assert "format: list, lost verdicts" in [row[0] for row in rows]
