"""Judges' answers are kept by what was asked: another run pays for what changed, and a model under test is always asked."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import MindgaugeError
from mindgauge.cli import render
from tests.in_process import mindgauge as mindgauge_command
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

BENCHMARK = "help_or_harm/response"
VERDICT = json.dumps({"quotes": [], "rationale": "As it reads.", "appropriateness": 4})


def server(reply: str = "That sounds heavy.") -> Any:
    """Answer messages with a reply, which may hang on the message, and replies with a verdict."""

    def answer(body: dict[str, Any], _: int) -> web.Response:
        judged = "response_format" in body
        return says(VERDICT if judged else reply.replace("?", "?" if "?" in words(body) else "."))

    return Stub(answer)


def run(folder: Path, name: str, stub: Any, **options: Any) -> int:
    """Make a run of its own; return how often the judge was asked for it."""
    settings: dict[str, Any] = {"limit": 6, "qualify": False, "cache": str(folder / "cache"), **options}
    # One address for all runs: who a judge is, is part of what is asked.
    before = len(stub.bodies)
    mindgauge.run(BENCHMARK, model=stub.model, judge=stub.judge, out=folder / name, **settings)
    return sum("response_format" in body for body in stub.bodies[before:])


def test_a_run_of_its_own_pays_for_no_verdict_twice_and_asks_the_model_anew(tmp_path: Path) -> None:
    with server() as stub:
        assert run(tmp_path, "first", stub) == 6
        asked = len(stub.bodies)
        assert run(tmp_path, "second", stub) == 0
        assert len(stub.bodies) - asked >= 6, "the model under test is what is measured"
    first, second = (mindgauge.score(tmp_path / name) for name in ("first", "second"))
    assert [(s.name, s.value, s.n) for s in first.metrics] == [(s.name, s.value, s.n) for s in second.metrics]
    report = mindgauge.report(tmp_path / "second", out=tmp_path / "r.html")
    assert "6 of these calls were answered from what judges had answered" in (tmp_path / "r.html").read_text(
        encoding="utf-8"
    ), report


def test_only_what_changed_is_judged(tmp_path: Path) -> None:
    replies = ["That sounds heavy.", "Who is near you?", "I am glad you wrote."]
    rows = [
        {"user": f"Day {number} is hard.", "reply": text, "category": "no_crisis"}
        for number, text in enumerate(replies)
    ]

    def rate(name: str, stub: Any) -> int:
        (tmp_path / "replies.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        before = len(stub.bodies)
        mindgauge.rate(
            BENCHMARK,
            replies=tmp_path / "replies.jsonl",
            judge=stub.judge,
            out=tmp_path / name,
            qualify=False,
            cache=str(tmp_path / "c"),
        )
        return len([body for body in stub.bodies[before:] if "response_format" in body])

    with server() as stub:
        assert rate("a", stub) == 3
        rows[1]["reply"] = "I do not know."
        assert rate("b", stub) == 1
        assert mindgauge.rate(
            BENCHMARK, replies=tmp_path / "replies.jsonl", judge=stub.judge, out=tmp_path / "c2", qualify=False
        )
        assert len([body for body in stub.bodies if "response_format" in body]) == 7, (
            "without a folder nothing is taken"
        )


def test_another_temperature_or_repeat_is_another_question(tmp_path: Path) -> None:
    with server() as stub:
        assert run(tmp_path, "first", stub) == 6
        assert run(tmp_path, "repeated", stub, judge_runs=2) == 6
        assert run(tmp_path, "warmer", stub, judge_temperature=0.5) == 6


def test_a_damaged_entry_is_asked_for_anew(tmp_path: Path) -> None:
    with server() as stub:
        run(tmp_path, "first", stub)
        entries = sorted((tmp_path / "cache").rglob("*.json"))
        assert len(entries) == 6
        entries[0].write_bytes(entries[0].read_bytes().replace(b"appropriateness", b"appropriatenesz"))
        entries[1].write_bytes(b"{half")
        entries[2].write_bytes(b"")
        assert run(tmp_path, "second", stub) == 3
        assert run(tmp_path, "third", stub) == 0


def test_a_call_that_failed_is_not_kept(tmp_path: Path) -> None:
    broken = Stub(
        lambda body, _: says(None, finish_reason="content_filter") if "response_format" in body else says("Hm.")
    )
    with broken as stub:
        run(tmp_path, "first", stub)
    assert not list((tmp_path / "cache").rglob("*.json"))


def test_the_environment_names_the_folder_and_the_command_says_what_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINDGAUGE_CACHE", str(tmp_path / "kept"))
    with server() as stub:
        command = (
            "run",
            BENCHMARK,
            "--model",
            stub.model,
            "--judge",
            stub.judge,
            "--limit",
            4,
            "--no-qualify",
            "--out",
        )
        assert "taken from" not in mindgauge_command(*command, tmp_path / "a").stderr
        assert (
            f"4 answers of judges taken from {tmp_path / 'kept'}" in mindgauge_command(*command, tmp_path / "b").stderr
        )


def test_a_folder_that_cannot_be_made_is_said_before_anything_is_paid_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with server() as stub, pytest.raises(MindgaugeError, match="verdicts-1: cannot write here"):
        run(tmp_path, "first", stub, cache=str(tmp_path / "file"))


def test_where_nobody_watches_a_line_says_now_and_then_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(render, "HALF_A_MINUTE", 0.02)
    with render.progress() as told:
        assert told is not None
        told("judge ratings", 1200, 5000)
        time.sleep(0.2)
    assert "judge ratings: 1,200 of 5,000" in capsys.readouterr().err
