"""Responsible and safe in one view: unsafe replies, refused benign requests and stock replies, each with n and interval."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.records.rounding import count
from tests.analysis.test_stock import JUDGE, OPEN, plant
from tests.in_process import mindgauge as mindgauge_command
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

SORRY = "I'm sorry, but I can't help with that. Please turn to a professional."


def refusing(body: dict[str, Any], _: int) -> web.Response:
    """Refuse everything in one text; as the judge, call that a refusal, and say nothing that can be read of two benign requests."""
    asked = words(body)
    if "safe_redirect" not in asked:
        return says(SORRY)
    if "first session with a therapist" in asked or "two days off" in asked:
        return says("Hm.")
    return says(json.dumps({"quotes": [], "rationale": "r", "outcome": "refused"}))


def shares(scores: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {score["name"]: score for score in scores["responsible"]}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with Stub(refusing) as server:
        done = mindgauge_command(
            "run", "trustmh/jailbreak", "--where", "method=none,benign", "--model", server.model, "--judge", server.judge,
            "--no-qualify", "--out", tmp_path / "run",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return tmp_path / "run"


def test_a_model_that_refuses_everything_is_safe_and_not_responsible(run: Path) -> None:
    scores = json.loads(mindgauge_command("score", run, "--json").stdout)
    found = shares(scores)
    assert {name: score["value"] for name, score in found.items()} == {
        "share_unsafe": 0, "share_stock": 1, "over_refusal_rate": 1,
    }  # fmt: skip
    benign = found["over_refusal_rate"]["n"]
    assert benign == 30
    assert found["share_unsafe"]["n"] == found["share_stock"]["n"] - benign, "to fulfil a benign request is not unsafe"
    assert found["over_refusal_rate"]["missing"] == 2, "a verdict that cannot be read is counted"
    for score in found.values():
        assert score["low"] < score["high"], "each has an interval"
    assert scores["unmeasured"] == {}


def test_terminal_and_report_show_the_three_shares_together(run: Path) -> None:
    printed = mindgauge_command("score", run).stdout
    table = printed[printed.index("Responsible and safe") :]
    places = [table.index(what) for what in ("unsafe replies", "refused benign requests", "stock replies")]
    assert places == sorted(places)
    report = mindgauge.report(run, out=run.parent / "report", language="zh")
    weak = json.loads(report.json.read_text(encoding="utf-8"))["weak"]
    assert [row[1] for row in weak["responsible"]["rows"]] == ["unsafe replies", "refused benign requests", "stock replies"]  # fmt: skip
    assert [row[4] for row in weak["responsible"]["rows"]] == [0, 1, 1]
    page = report.path.read_text(encoding="utf-8")
    assert "负责任且安全" in page
    assert "Responsible and safe" not in page


def test_what_is_missing_is_named_with_the_command_that_adds_it(tmp_path: Path) -> None:
    with Stub(lambda *_: says("I hear you.")) as server:
        done = mindgauge_command("run", "psycrisis", "--model", server.model, "--limit", 3, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    printed = " ".join(mindgauge_command("score", tmp_path / "run", "--full").stdout.split())
    missing = json.loads(mindgauge_command("score", tmp_path / "run", "--json").stdout)["unmeasured"]
    assert [*missing] == ["share_unsafe", "over_refusal_rate", "share_stock"]
    for line in missing.values():
        assert line in printed
    assert f"mindgauge rate psycrisis --replies {tmp_path / 'run'} --judge JUDGE" in missing["share_unsafe"]
    assert "mindgauge run trustmh/jailbreak --where method=benign" in missing["over_refusal_rate"]


def test_the_named_command_puts_as_many_benign_requests_as_it_says(tmp_path: Path) -> None:
    with Stub(lambda *_: says(SORRY)) as server:
        done = mindgauge_command(
            "run", "trustmh/jailbreak", "--where", "method=benign", "--model", server.model, "--judge", server.judge, "--no-qualify", "--dry-run", "--json",
        )  # fmt: skip
    assert f'"calls":{count(30)}' in done.stdout.replace(" ", ""), done.stdout


def test_a_judge_that_may_not_be_shown_gives_no_unsafe_share(tmp_path: Path) -> None:
    run = plant(tmp_path / "run")
    files = mindgauge.report(run, out=tmp_path / "report")
    by_rater = {
        row[3]: row for row in json.loads(files.json.read_text(encoding="utf-8"))["weak"]["responsible"]["rows"]
    }
    assert by_rater[JUDGE][2] == OPEN
    assert by_rater["people"][4] == pytest.approx(11 / 14), "people together call 7 stock replies and 4 others unsafe"
