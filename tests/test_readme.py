"""What the README and the pages in docs promise runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
PAGES = pytest.mark.parametrize(
    "page", [README, *sorted((README.parent / "docs").glob("*.md"))], ids=lambda page: page.stem
)


def blocks(language: str, page: Path = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "runs" / "mine" / "report.html").is_file()


def test_the_readme_shows_commands() -> None:
    assert "\n".join(blocks("sh")).count("bin/mindgauge ") >= 4


@PAGES
def test_links_and_pictures_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    for target in re.findall(r"\]\((?!https://)([^)]+)\)", text):
        file, _, heading = target.partition("#")
        assert (page.parent / file).exists() if file else heading in headings, target


def test_the_commands_of_the_makefile_are_the_readme_s() -> None:
    targets = re.findall(r"^([a-z]+):", (README.parent / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
