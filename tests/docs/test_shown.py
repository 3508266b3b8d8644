"""Outputs and pictures in the documents are those that `make docs` makes; making them takes longer than a test may."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from docs_build import pictures, shown
from tests.test_documented import parsed, verb_of

if TYPE_CHECKING:
    from pathlib import Path

MADE = ("lessons/first_report.md", "lessons/read_a_report.md", "lessons/gate.md")
"""Pages all of whose outputs are made."""


@pytest.mark.parametrize("name", MADE)
def test_every_output_is_marked_and_there(name: str) -> None:
    text = (shown.DOCS / name).read_text(encoding="utf-8")
    blocks = shown.transcripts(text)
    assert len(blocks) == text.count("```console") == text.count(shown.MARK)
    for block in blocks:
        printed = text[block.start : block.end].splitlines()
        assert printed[0] == f"$ {block.commands[0]}"
        assert len(printed) > len(block.commands), "what it prints is missing: make docs"


def test_figures_in_sentences_are_those_of_the_output() -> None:
    text = (
        (shown.DOCS / "lessons" / "read_a_report.md")
        .read_text(encoding="utf-8")
        .replace(" of the ", " of ")
        .replace(" of these ", " of ")
    )
    [block] = shown.transcripts(text)
    sentences = text[: block.start] + text[block.end :]
    shares = set(re.findall(r"\b\d+ of \d+\b", sentences))
    assert len(shares) >= 3
    assert shares <= set(re.findall(r"\b\d+ of \d+\b", text[block.start : block.end]))


@pytest.mark.parametrize("page", shown.pages(), ids=lambda page: page.stem)
def test_every_command_of_a_marked_block_is_understood(page: Path) -> None:
    for block in shown.transcripts(page.read_text(encoding="utf-8")):
        assert block.commands
        for command in block.commands:
            verb, _, rest = verb_of(shlex.split(command)[1:])
            assert parsed(verb, rest)[0] == "", command


def test_blocks_are_known_by_their_mark_alone() -> None:
    text = f"```console\n$ mindgauge list\n```\n{shown.MARK}\n```console\n$ mindgauge list \\\n  --json\nout\n```\n"
    [block] = shown.transcripts(text)
    assert block.commands == ["mindgauge list \\\n  --json"]


def test_pictures_are_small_and_shown() -> None:
    pages = "".join(
        page.read_text(encoding="utf-8")
        for page in (pictures.LESSONS / "read_a_report.md", shown.DOCS.parent / "README.md")
    )
    for name in pictures.PICTURES:
        assert re.search(rf"!\[[^\]]+\]\((?:docs/lessons/)?{re.escape(name)}\)", pages), name
        path = pictures.LESSONS / name
        assert path.stat().st_size <= pictures.LARGEST
        with Image.open(path) as image:
            assert image.width <= pictures.WIDTH
