"""`reproduce` ends with 0 only where something was recomputed from released files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from mindgauge import benchmarks
from mindgauge.cli import app
from mindgauge.records.errors import MindgaugeError
from tests.benchmarks.help_or_harm.conftest import Copy, _write
from tests.benchmarks.mentalbench import conftest as mentalbench

if TYPE_CHECKING:
    from pathlib import Path

FAMILIES = sorted(
    {b.name.split("/")[0] for b in map(benchmarks.find_one, benchmarks.names()) if b.reproduce is not None}
)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("how", [[], ["--json"]])
def test_where_nothing_is_there_it_says_so_and_fails(name: str, how: list[str], tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("nothing of theirs", encoding="utf-8")
    done = CliRunner().invoke(app, ["papers", "reproduce", name, "--data", str(tmp_path), *how])
    assert isinstance(done.exception, MindgaugeError)
    assert done.exception.exit_code in {1, 2}
    assert str(tmp_path) in str(done.exception)


@pytest.mark.parametrize("how", [[], ["--json"]])
def test_where_every_figure_is_missing_it_fails_after_it_has_shown_them(how: list[str], tmp_path: Path) -> None:
    copy = mentalbench.Copy(tmp_path)
    copy.write(mentalbench.CLAUDE, mentalbench.rated(1, "judge_response_"), "claude-3-7-sonnet-20250219_Fina")
    done = CliRunner().invoke(app, ["papers", "reproduce", "mentalbench", "--data", str(tmp_path), *how])
    assert isinstance(done.exception, MindgaugeError)
    assert done.exception.exit_code == 1
    assert "nothing of mentalbench could be recomputed" in str(done.exception)
    if how:
        found = json.loads(done.stdout)
        assert found["counts"]["missing"] == len(found["cells"]) > 0
        assert found["from_files"] == 0
    else:
        assert "0 match, 0 differs, 352 missing" in done.stdout


def test_where_a_part_is_there_it_ends_well(tmp_path: Path) -> None:
    _write(Copy(tmp_path))
    done = CliRunner().invoke(app, ["papers", "reproduce", "help_or_harm", "--data", str(tmp_path), "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert 0 < found["from_files"] < len(found["cells"])
