"""docs/tasks/own_bots.md as it stands there: every file on it, every command, and the function that judges."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from mindgauge.records import Status
from mindgauge.store import Store
from tests import in_process
from tests.conftest import obliging
from tests.models.bots.careline import GREETING, Careline
from tests.models.bots.pages import OWN_BOTS, files
from tests.stub import Stub

if TYPE_CHECKING:
    from collections.abc import Iterator

SH = re.compile(r"```sh\n(.*?)```", re.DOTALL)
JUDGE = "openai/gpt-5-mini"
"""Stands on the page; a stub stands in for it."""


def commands() -> list[str]:
    blocks = SH.findall(OWN_BOTS.read_text(encoding="utf-8"))
    return [line for block in blocks for line in block.splitlines() if line.startswith("mindgauge ")]


@pytest.fixture
def here(folder: Path) -> Iterator[Path]:
    """The files of the page, a bot and a judge that answer."""
    with Careline() as bot:
        for name, text in files().items():
            (folder / name).write_text(text.replace("http://127.0.0.1:8080", bot.base), encoding="utf-8")
        yield folder


def test_the_page_has_an_example_of_each_kind() -> None:
    assert {"mindgauge.toml", "bot.py", "rater.py", "own.py", "more.toml", "commands.toml", "bot.js"} <= files().keys()
    everything = "\n".join(files().values())
    assert all(f'kind = "{kind}"' in everything for kind in ("http", "function", "command"))
    assert len(commands()) >= 8


@pytest.mark.long
def test_every_command_of_the_page_does_what_it_says(here: Path) -> None:
    with Stub(obliging) as judge:
        for command in commands():
            if "--model node" in command and shutil.which("node") is None:
                continue
            words = [judge.judge if word == JUDGE else word for word in shlex.split(command)[1:]]
            sends = words[0] in {"run", "rate"}
            out = here / f"run{len(list(here.iterdir()))}"
            if words[0] == "rate":
                _fill_in(here / "questions.csv", here / "replies.csv")
            done = in_process.mindgauge(*words, *(["--out", out, "--no-qualify"] if sends else []))
            assert done.returncode == 0, f"{command}: {done.stderr}"
            if sends:
                with Store(out) as store:
                    rows = store.select("SELECT status, count(*) FROM replies GROUP BY status").fetchall()
                    assert [status for status, _ in rows] == [Status.OK.value], f"{command}: {rows}"
                    raters = {row[0] for row in store.select("SELECT DISTINCT rater FROM series")}
                    assert ("--judge" in command) == bool(raters), command
                    held = next(iter(store.replies("psycrisis")), None) if "careline" in command else None
                    assert held is None or held.provenance["held"][0]["content"] == GREETING


def _fill_in(questions: Path, replies: Path) -> None:
    table = pl.read_csv(questions, infer_schema=False)
    table.with_columns(reply=pl.lit("I hear you.")).write_csv(replies)


def test_the_python_of_the_page_runs(here: Path) -> None:
    exec(compile((here / "own.py").read_text(encoding="utf-8"), "own.py", "exec"), {"__name__": "own"})
    assert list(Path("runs").iterdir())
