"""What commands print, in the documents: a block that is marked is written anew by running its commands.

A page's blocks run one after another in an empty folder beside the files of `docs/examples/start`, with no key, no network
and a state of their own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from docs_build import sample_run

DOCS = Path(__file__).parent.parent / "docs"
FILES = DOCS / "examples" / "start"
MARK = "<!-- run by `make docs` -->"
PROMPT = "$ mindgauge "
SAMPLE = "runs/sample"
"""Where the run of `sample_run` lies, for pages that name it."""
_BLOCK = re.compile(rf"^{re.escape(MARK)}\n```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)

_TIME = re.compile(r", (?:<1|\d+) s$")


class Transcript(NamedTuple):
    """A marked block: its commands, without the prompt."""

    commands: list[str]
    start: int
    end: int


def pages() -> list[Path]:
    """Return the pages that have marked blocks."""
    return [page for page in sorted(DOCS.glob("*/*.md")) if MARK in page.read_text(encoding="utf-8")]


def transcripts(text: str) -> list[Transcript]:
    """Return the marked blocks of a page."""
    return [Transcript(_commands(match[1]), match.start(1), match.end(1)) for match in _BLOCK.finditer(text)]


def _commands(block: str) -> list[str]:
    lines = block.replace("\\\n", "\\\0").splitlines()
    return [line.replace("\0", "\n").removeprefix("$ ") for line in lines if line.startswith(PROMPT)]


def refresh() -> None:
    """Run the marked blocks of every page, and write what they print."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder) / "here"
            shutil.copytree(FILES, here)
            if SAMPLE in text:
                sample_run.make(here / SAMPLE)
            printed = ["".join(_run(command, here) for command in block.commands) for block in transcripts(text)]
        for block, content in reversed([*zip(transcripts(text), printed, strict=True)]):
            text = text[: block.start] + content + text[block.end :]
        page.write_text(text, encoding="utf-8")


def _run(command: str, here: Path) -> str:
    """Run a command as its reader types it; what it prints stands below it, without how long it took."""
    words = shlex.split(command.replace("\\\n", " "))
    environment = {"PATH": os.environ["PATH"], "HOME": str(here.parent), "COLUMNS": "80", "LANG": "C.UTF-8"}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    program = str(Path(sys.executable).with_name(words[0]))
    done = subprocess.run([program, *words[1:]], cwd=here, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in ({0, 1, 3} if words[1] == "gate" else {0}):
        raise RuntimeError(f"{command}: exit code {done.returncode}: {done.stderr}")
    lines = (_TIME.sub("", line.rstrip()) for line in done.stdout.splitlines())
    return "\n".join((f"$ {command}", *lines)) + "\n"


if __name__ == "__main__":
    refresh()
