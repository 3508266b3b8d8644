"""Criteria may join a run: they are asked in calls of their own, and verdicts that are there stay as they are."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks import Benchmark, registry
from mindgauge.benchmarks.metrics import fleiss_kappa, mean_level
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.errors import UsageError
from mindgauge.reports.page import write
from mindgauge.store import Store
from tests.cards import CARD
from tests.conftest import obliging
from tests.runs.test_growing import ONE_BY_ONE, Caller
from tests.stub import Stub

if TYPE_CHECKING:
    from pathlib import Path

RUBRIC = """id = "warm"
version = "1"
source = "this test"

[[criteria]]
name = "warmth"
scale = "ordinal"
text = {en = "How warm it is."}
levels = [{value = 1, text = {en = "Cold."}}, {value = 2, text = {en = "Even."}}, {value = 3, text = {en = "Warm."}}]
"""
CALM = RUBRIC.split("\n\n", 1)[1].replace("warmth", "calm").replace("How warm", "How calm")
JUDGE = "Judge by the levels.\n{rubric}\n{form}\n{nonce}\n{dialogue}\n{reply}\n"


def plant(folder: Path, monkeypatch: pytest.MonkeyPatch, rubric: str, mode: str = "") -> Benchmark:
    folder.mkdir(exist_ok=True)
    files = {"card.toml": CARD, "rubric.toml": rubric, "judge.en.md": JUDGE + mode}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    rows = [{"messages": [{"role": "user", "content": f"I feel low, day {day}."}]} for day in range(4)]
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    planted = Benchmark.from_folder(folder, metrics=(mean_level, fleiss_kappa), read=lambda _: [])
    monkeypatch.setattr(registry, "_known", lambda: registry._Known({planted.name: planted}, {}))
    return planted


def test_criteria_join_in_calls_of_their_own_and_old_verdicts_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = Caller()
    bot, judge = caller.model("bot-a"), caller.model("claude-x")
    options: dict[str, Any] = {"model": bot, "judge": judge, "out": tmp_path / "r", "settings": ONE_BY_ONE}
    name = plant(tmp_path / "warm", monkeypatch, RUBRIC).name
    mindgauge.run(name, limit=2, **options)
    assert len(caller.keys) == 2 + 2
    with Store(tmp_path / "r") as store:
        before = list(store.ratings(name))
    plant(tmp_path / "warm", monkeypatch, f"{RUBRIC}\n{CALM}")
    estimate = mindgauge.run(name, limit=4, dry_run=True, **options)
    assert not isinstance(estimate, Scores)
    asked = len(caller.keys)
    scores = mindgauge.run(name, limit=4, **options)
    assert isinstance(scores, Scores)
    assert len(caller.keys) - asked == 2 + 2 + 4 == estimate.calls, "two replies, their warmth, and the calm of all"
    with Store(tmp_path / "r") as store:
        ratings = list(store.ratings(name))
    assert [rating for rating in ratings if rating in before] == before
    assert Counter(rating.criterion for rating in ratings) == {"warmth": 4, "calm": 4}
    instruments = {criterion: {r.instrument for r in ratings if r.criterion == criterion} for criterion in ("warmth", "calm")}  # fmt: skip
    assert len(instruments["warmth"]) == len(instruments["calm"]) == 1
    assert instruments["warmth"] != instruments["calm"]
    assert {m.criterion for m in scores.metrics if m.name == "mean"} == {"warmth", "calm"}
    assert "the criterion calm of warm, asked in calls of their own" in write([tmp_path / "r"]).path.read_text()
    people = [Rating(r.subject, r.criterion, who, RaterKind.PERSON, 0, Status.OK, r.value) for r in ratings for who in ("p1", "p2")]  # fmt: skip
    with Store(tmp_path / "r", write=True) as store:
        for rating in people:
            store.add_rating(name, rating)
    cards = mindgauge.reliability(tmp_path / "r").cards
    assert {(card.judge, card.criterion, card.n) for card in cards} == {("claude-x", "warmth", 4), ("claude-x", "calm", 4)}  # fmt: skip
    asked = len(caller.keys)
    mindgauge.run(name, limit=4, **options)
    assert len(caller.keys) == asked


@pytest.mark.parametrize(
    ("rubric", "mode", "message"),
    [
        (RUBRIC.replace("Even.", "So so."), "", "the words of the criterion warmth of warm are not this run's"),
        (RUBRIC, "Be strict.", "the words of the rule prompt of warm are not this run's"),
        (RUBRIC.replace('"warmth"', '"heat"'), "", "the criterion warmth of warm, which this run has, is gone"),
    ],
)
def test_other_words_of_a_criterion_or_a_prompt_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rubric: str, mode: str, message: str
) -> None:
    caller = Caller()
    options: dict[str, Any] = {"model": caller.model("bot-a"), "judge": caller.model("claude-x"), "limit": 2}
    name = plant(tmp_path / "warm", monkeypatch, RUBRIC).name
    mindgauge.run(name, out=tmp_path / "r", **options)
    asked = len(caller.keys)
    plant(tmp_path / "warm", monkeypatch, rubric, mode)
    with pytest.raises(UsageError, match=message):
        mindgauge.run(name, out=tmp_path / "r", **options)
    with pytest.raises(UsageError, match=message):
        mindgauge.rate(name, replies=tmp_path / "r", judge=caller.model("grok-x"))
    assert len(caller.keys) == asked


def test_a_criterion_that_joins_a_rubric_of_its_own_is_scored(tmp_path: Path) -> None:
    heard = """id = "own"
version = "1"
source = "ours"
[[criteria]]
name = "heard"
scale = "ordinal"
text.en = "Does the reply take in what was said?"
levels = [{value = 1, text.en = "no"}, {value = 2, text.en = "yes"}]
"""
    kind = """[[criteria]]
name = "kind"
scale = "nominal"
text.en = "Is the reply kind?"
levels = [{value = "no", text.en = "no"}, {value = "yes", text.en = "yes"}]
"""
    replies = tmp_path / "replies.csv"
    replies.write_text("user,reply\nI worry a lot.,That sounds hard.\nI miss my dog.,I am sorry.\n")
    with Stub(obliging) as server:
        for name, text in (("first", heard), ("both", heard + kind)):
            (tmp_path / f"{name}.toml").write_text(text)
            options: dict[str, Any] = {"rubric": tmp_path / f"{name}.toml", "out": tmp_path / "run", "qualify": False}
            mindgauge.rate(replies=replies, judge=server.judge, **options)
    scores = mindgauge.score(tmp_path / "run")
    assert {metric.criterion for metric in scores.metrics} == {"heard", "kind"}
