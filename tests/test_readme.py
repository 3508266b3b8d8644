"""What the README promises runs as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.cli import app

if TYPE_CHECKING:
    import pytest

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "runs" / "mine" / "report.html").is_file()


def test_the_commands_exist_with_their_options() -> None:
    from typer.main import get_command

    verbs = get_command(app).commands  # type: ignore[attr-defined]
    lines = "\n".join(blocks("sh")).replace("\\\n", " ").splitlines()
    commands = [shlex.split(line, comments=True) for line in lines if "bin/mindgauge" in line]
    assert len(commands) >= 4
    for _, verb, *arguments in commands:
        known = {option for parameter in verbs[verb].params for option in parameter.opts}
        assert {a for a in arguments if a.startswith("--")} <= known


def test_links_and_pictures_are_there() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (README.parent / target).exists(), target


def test_the_commands_of_the_makefile_are_the_readme_s() -> None:
    targets = re.findall(r"^([a-z]+):", (README.parent / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
