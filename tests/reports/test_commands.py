"""A report lists every command that a run grew by, and these commands make the run again."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.models.scripted import Scripted
from mindgauge.reports.page import write
from mindgauge.store import Store, manifest
from tests import in_process
from tests.conftest import obliging
from tests.stub import Stub

if TYPE_CHECKING:
    from pathlib import Path

OPEN = "help_or_harm/response"


def made(run: Path) -> dict[str, Any]:
    page = write([run])
    told: dict[str, Any] = json.loads(page.json.read_text(encoding="utf-8"))["how"]["runs"][0]
    html = page.path.read_text(encoding="utf-8")
    assert all(command.replace("'", "&#39;") in html for command in told["commands"])
    return told


def contents(run: Path) -> tuple[Any, ...]:
    with Store(run) as store:
        samples = store.select("SELECT id FROM samples ORDER BY id").fetchall()
        replies = store.select("SELECT id FROM replies ORDER BY id").fetchall()
        ratings = store.select("SELECT count(*) FROM rated").fetchone()
    return manifest.read(run)["plan"], samples, replies, ratings


@pytest.mark.long
def test_the_commands_in_a_report_make_a_grown_run_again(tmp_path: Path) -> None:
    with Stub(obliging) as stub:
        first = ["run", OPEN, "--model", stub.model, "--out", str(tmp_path / "r"), "--no-qualify", "--limit", "2"]
        commands = [
            first,
            first,  # goes on, and joins nothing
            [*first[:-1], "3"],
            [*first[:-1], "3", "--runs", "2"],
            ["rate", OPEN, "--replies", str(tmp_path / "r"), "--judge", stub.judge, "--no-qualify"],
            [*first[:-1], "4", "--runs", "2", "--judge", stub.judge],
        ]
        for command in commands:
            done = in_process.mindgauge(*command)
            assert done.returncode == 0, done.stderr
        told = made(tmp_path / "r")
        expected = [shlex.join(["mindgauge", *command]) for command in commands]
        assert (told["commands"], told["unrecorded"]) == ([expected[0], *expected[2:]], 0)
        for command in told["commands"]:
            done = in_process.mindgauge(*shlex.split(command.replace(str(tmp_path / "r"), str(tmp_path / "again")))[1:])
            assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "again") == contents(tmp_path / "r")


def test_what_was_called_from_python_is_said_to_be_missing_among_the_commands(tmp_path: Path) -> None:
    bot = Scripted("bot", lambda _: "I hear you.")
    mindgauge.run(OPEN, model=bot, limit=1, out=tmp_path)
    mindgauge.run(OPEN, model=bot, limit=2, out=tmp_path)
    assert (made(tmp_path)["commands"], made(tmp_path)["unrecorded"]) == ([], 1)
    mindgauge.run(OPEN, model=bot, limit=3, out=tmp_path, command="mindgauge run as typed")
    assert (made(tmp_path)["commands"], made(tmp_path)["unrecorded"]) == (["mindgauge run as typed"], 1)
