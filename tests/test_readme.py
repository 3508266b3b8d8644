"""What the README promises runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

README = Path(__file__).parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "runs" / "mine" / "report.html").is_file()


def test_the_readme_shows_commands() -> None:
    assert "\n".join(blocks("sh")).count("bin/mindgauge ") >= 4


def test_the_commands_of_the_makefile_are_the_readme_s() -> None:
    targets = re.findall(r"^([a-z]+):", (README.parent / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"demo", "test", "docs"} <= set(targets)
