"""A command that continues says what is new, what was kept and from when; the report says it, too."""

from __future__ import annotations

import datetime
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.cli import app
from mindgauge.commands.judges.compare import judges_compare as compare_judges
from mindgauge.models.scripted import Scripted
from mindgauge.reports.page import write
from mindgauge.store import Store, manifest
from mindgauge.store.continued import span
from mindgauge.store.rows import change

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stub import Stub

OPEN, CLOSED = "help_or_harm/response", "help_or_harm/crisis_type"


def on_another_day(folder: Path, days: int = 1) -> str:
    """Move all calls of a run back by some days; returns the day in words."""
    with Store(folder, write=True) as store:
        calls = store.select("SELECT key, at FROM calls").fetchall()
        for key, at in calls:
            change(store._db, "calls", {"key": key}, {"at": at - 86400 * days})
        store._db.commit()
    moment = datetime.datetime.fromtimestamp(min(at for _, at in calls) - 86400 * days, datetime.UTC)
    return f"{moment.day} {moment:%B %Y}"


def said(folder: Path, *words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--out", str(folder)])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize("benchmark", [OPEN, CLOSED])
def test_a_command_with_nothing_new_says_so_and_from_when(stub: Stub, tmp_path: Path, benchmark: str) -> None:
    words = ("run", benchmark, "--model", stub.model, "--limit", "14")
    assert "Continued" not in said(tmp_path, *words)
    day = on_another_day(tmp_path)
    again = said(tmp_path, *words)
    assert re.search(rf"0 new calls, 14 kept from {day}", again), again
    assert "choose another --out" in again
    page = write([tmp_path])
    for file in (page.path, page.markdown):
        assert f"0 new calls, 14 kept from {day}" in file.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


def test_every_command_stands_with_what_it_made_and_what_it_kept(tmp_path: Path) -> None:
    bot, judge = Scripted("bot", lambda _: "I hear you."), Scripted("claude-x", lambda _: _verdict())
    other = Scripted("grok-x", lambda _: _verdict())
    mindgauge.run(OPEN, model=bot, judge=judge, limit=7, out=tmp_path)
    first = mindgauge.rate(OPEN, replies=tmp_path, judge=other)
    assert isinstance(first, Scores)
    assert first.continued == [], "a further judge keeps no call to it"
    again = mindgauge.rate(OPEN, replies=tmp_path, judge=[judge, other])
    assert isinstance(again, Scores)
    (command,) = again.continued
    assert [(c.model, c.new, c.kept) for c in command.calls] == [("claude-x", 0, 7), ("grok-x", 0, 7)]
    assert command.told.startswith("0 new calls, 14 kept from ")
    assert command.older
    assert json.loads(write([tmp_path]).json.read_text(encoding="utf-8"))["scores"][0]["continued"][0]["calls"]


def test_what_failed_is_asked_again_and_counts_as_new(tmp_path: Path) -> None:
    from mindgauge.records import Exchange, Status

    broken = [True] * 3

    def answer(_: Any) -> str | Exchange:
        return Exchange(Status.FAILED, error="503: busy") if broken and broken.pop() else "I hear you."

    bot = Scripted("bot", answer)
    mindgauge.run(OPEN, model=bot, limit=7, out=tmp_path)
    found = mindgauge.run(OPEN, model=bot, limit=7, out=tmp_path)
    assert isinstance(found, Scores)
    ((command),) = found.continued
    assert [(c.new, c.kept) for c in command.calls] == [(3, 4)]
    assert not command.older, "the same day, and something was asked"
    assert "last continued" not in write([tmp_path]).markdown.read_text(encoding="utf-8")


def test_what_a_stopped_command_made_is_known_to_the_next(tmp_path: Path) -> None:
    bot = Scripted("bot", lambda _: "I hear you.")
    with pytest.raises(mindgauge.records.errors.MindgaugeError):
        mindgauge.run(OPEN, model=Scripted("bot", _third_breaks()), limit=7, out=tmp_path, settings=_one_by_one())
    with Store(tmp_path) as store:
        there = store.count_replies(OPEN)
    assert 0 < there < 7
    found = mindgauge.run(OPEN, model=bot, limit=7, out=tmp_path)
    assert isinstance(found, Scores)
    assert [(c.new, c.kept) for c in found.continued[0].calls] == [(7 - there, there)]
    assert len(manifest.read(tmp_path)["continued"]) == 1


def test_a_run_without_text_says_it_too(tmp_path: Path) -> None:
    bot = Scripted("bot", lambda _: "I hear you.")
    for _ in range(2):
        found = mindgauge.run(OPEN, model=bot, limit=7, out=tmp_path, text=False)
    assert isinstance(found, Scores)
    assert [(c.new, c.kept) for c in found.continued[0].calls] == [(0, 7)]


def test_judges_compare_says_it_too(tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    rows = [{"user": f"I feel low ({i}).", "reply": "I hear you.", "category": "no_crisis"} for i in range(4)]
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judge = Scripted("claude-x", lambda _: _verdict())
    for _ in range(2):
        found = compare_judges(OPEN, replies=replies, judge=judge, method="rule", judge_runs=1, out=tmp_path / "r")
    assert any("0 new calls, 4 kept from" in note for note in found.notes)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("2026-11-22T10:42:11+00:00", "2026-11-22T10:42:59+00:00", "22 November 2026, 10:42 UTC"),
        ("2026-11-22T10:42:11+00:00", "2026-11-22T11:05:00+00:00", "22 November 2026, 10:42 to 11:05 UTC"),
        ("2026-11-20T10:42:11+00:00", "2026-11-22T11:05:00+00:00", "20 to 22 November 2026"),
        ("2026-10-30T10:42:11+00:00", "2026-11-02T11:05:00+00:00", "30 October to 2 November 2026"),
        ("2025-12-30T10:42:11+00:00", "2026-01-02T11:05:00+00:00", "30 December 2025 to 2 January 2026"),
        ("2026-11-23T00:42:11+02:00", "2026-11-22T22:42:20+00:00", "22 November 2026, 22:42 UTC"),
    ],
)
def test_times_are_written_for_people(first: str, last: str, words: str) -> None:
    assert span(first, last) == words


def test_an_open_benchmark_without_a_judge_says_so_before_it_asks_anything(tmp_path: Path) -> None:
    asked: list[int] = []
    told: list[tuple[str, int]] = []
    bot = Scripted("bot", lambda _: asked.append(1) or "I hear you.")  # type: ignore[func-returns-value]

    def notice(line: str) -> None:
        told.append((line, len(asked)))

    mindgauge.run(OPEN, model=bot, limit=2, out=tmp_path / "a", notice=notice)
    ((line, calls),) = told
    assert calls == 0
    assert line.startswith(
        f"no judge is named, so replies to {OPEN} will be asked for and not rated; name one with --judge"
    )
    assert f"mindgauge rate {OPEN} --replies {tmp_path / 'a'} --judge" in line
    mindgauge.run(OPEN, model=bot, limit=2, out=tmp_path / "a", dry_run=True, notice=notice)
    assert len(told) == 2
    mindgauge.run(OPEN, model=bot, judge="rule/refusal", limit=2, out=tmp_path / "b", notice=notice)
    mindgauge.run(CLOSED, model=bot, limit=2, out=tmp_path / "c", notice=notice)
    assert len(told) == 2


def _verdict() -> str:
    return json.dumps({"quotes": [], "rationale": "r", "appropriateness": 3})


def _third_breaks() -> Any:
    count = iter(range(100))

    def answer(_: Any) -> str:
        if next(count) == 3:
            raise mindgauge.records.errors.EndpointError("gone")
        return "I hear you."

    return answer


def _one_by_one() -> Any:
    from mindgauge.models.settings import Settings

    return Settings(concurrency=1)
