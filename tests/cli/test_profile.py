"""`mindgauge compare` over a suite: what stands in its tables, and its JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from mindgauge.cli import app
from mindgauge.records.errors import UsageError
from tests.analysis.answered import planted
from tests.analysis.test_profile import SUITE, right, with_suite, written

if TYPE_CHECKING:
    from pathlib import Path

    from tests.analysis.answered import Planted

__all__ = ["planted"]


@pytest.fixture
def run(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> Path:
    small = with_suite(planted, monkeypatch, SUITE)
    answers = {"A": right(30, 40), "B": right(28, 40)[::-1], "C": right(4, 40)}
    levels = {(model, "J"): [2, 4] * 20 for model in "ABC"}
    return written(small, "run", answers, levels, judges=["J"])


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    app(["compare", *map(str, arguments)], standalone_mode=False)
    return capsys.readouterr().out


def line(text: str, *words: str) -> str:
    return next(one for one in text.splitlines() if all(word in one for word in words))


def test_tables_say_who_stands_where_and_how_sure_that_is(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, run, "--resamples", 500, "--full")
    assert "small: dimensions, replies rated by J" in text
    first = line(text, "Seeing", " A ")
    assert "0.75 [0.59, 0.87]" in first, "exact bounds"
    assert "1.00 [1.00, 2.00]" in first
    assert first.split()[-1] == "B", "cannot be told apart"
    assert "B, C" in line(text, "Speaking", " A ")
    kind = line(text, "Kind", " A ")
    assert "0.33" in kind, "what guessing scores"
    assert re.search(r" mean +warmth +3\.00 \[\S+ \S+ +higher ", line(text, "Warmth", " A ")), (
        "mean of warmth, higher is better"
    )
    who = text.partition("defined by")[2]
    assert "the data set’s own paper" in line(who, "Kind", " A ") and "our definition" in line(who, "Warmth", " A ")
    assert "mean of task ranks" not in text


def test_the_source_s_ranks_are_shown_where_asked_for(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, run, "--ranks", "--resamples", 50)
    assert "mean of task ranks" in text
    assert line(text, "Speaking", " A ").split()[-2:] == ["2.00", "1.00"], "three are tied: mean rank 2, all first"


def test_json_is_the_whole_profile(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, run, "--json", "--resamples", 50))
    assert found.keys() == {"suite", "runs", "models", "judge", "tasks", "dimensions", "lacking", "notes"}
    assert [found["tasks"][0][key] for key in ("task", "model", "defined")] == ["kind", "A", "upstream"]
    assert len(found["dimensions"]) == 6


def test_lacking_tasks_and_notes_stand_below(
    planted: Planted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = with_suite(planted, monkeypatch, SUITE)
    answers = {"Meditron-8B": right(3, 4), "meditron_8b": right(2, 3)}
    text = said(capsys, written(small, "run", answers), "--resamples", 50, "--full")
    assert "lacking: Warmth (warmth): not in these runs" in text
    assert "Note: Meditron-8B and meditron_8b" in text
    assert "Note: Kind: 3 of 4 samples are common to all 2 models" in text


def test_an_unknown_judge_is_refused(run: Path) -> None:
    with pytest.raises(UsageError, match="no ratings of replies by K"):
        app(["compare", str(run), "--judge", "K"], standalone_mode=False)
