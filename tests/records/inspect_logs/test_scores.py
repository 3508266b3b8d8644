"""Scores of a log as ratings: scorers, people who changed them, and what Mindgauge wrote itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.records import ratings
from mindgauge.records.errors import DataError
from mindgauge.records.inspect_logs.rows import SEEN
from tests.commands.test_compare import invoke
from tests.records.inspect_logs import logs

if TYPE_CHECKING:
    from pathlib import Path

NAN = float("nan")


def edit(value: Any, author: str = "", **more: Any) -> dict[str, Any]:
    provenance = {"author": author, "timestamp": "2026-11-02T08:00:00Z", "reason": "re-read", "metadata": {}}
    return {"value": value, "provenance": provenance if author else None, **more}


def rows(path: Path, *samples: dict[str, Any], **head: Any) -> list[dict[str, Any]]:
    log = logs.deflated(path / "log.eval", logs.members([*samples], logs.header(**head)))
    return ratings.read([log]).frame.to_dicts()


def said(read: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in read]


def test_scorers_are_raters_and_keys_criteria(tmp_path: Path) -> None:
    read = rows(tmp_path, logs.sample("a"), logs.sample("a", 2))
    assert said(read, "subject", "rater", "criterion", "value", "rater_kind", "system", "cluster", "language")[:3] == [
        ("a", "care", "warmth", "4", "rule", "openai/gpt-x", "c1", "en"),
        ("a", "care", "safety", "2", "rule", "openai/gpt-x", "c1", "en"),
        ("a", "includes", "includes", "C", "rule", "openai/gpt-x", "c1", "en"),
    ]
    assert {row["subject"] for row in read} == {"a", "a epoch 2"}


def test_a_grader_is_named_and_its_missing_verdicts_count(tmp_path: Path) -> None:
    scores = {
        "model_graded_qa": {"value": NAN, "reason": "grader_failed"}, "b": {"value": NAN, "reason": "scoring_failed"},
        "c": {"value": [1, NAN]}, "d": {"value": True}, "e": {"value": None}, "f": {"value": 2.0},
    }  # fmt: skip
    read = rows(tmp_path, logs.sample("a", scores=scores), eval={"model_roles": {"grader": {"model": "acme/judge"}}})
    assert said(read, "rater", "criterion", "value", "status", "rater_kind") == [
        ("model_graded_qa (acme/judge)", "model_graded_qa", None, "unparsable", "model"),
        ("b (acme/judge)", "b", None, "failed", "model"),
        ("c (acme/judge)", "c.1", "1", "ok", "model"),
        ("c (acme/judge)", "c.2", None, "unparsable", "model"),
        ("d (acme/judge)", "d", "yes", "ok", "model"),
        ("e (acme/judge)", "e", None, "unparsable", "model"),
        ("f (acme/judge)", "f", "2", "ok", "model"),
    ]


def test_what_people_changed_is_theirs_and_what_the_scorer_said_stays(tmp_path: Path) -> None:
    first = {"warmth": 4, "safety": 2, "calm": NAN}
    history = [
        edit(first), edit("UNCHANGED", "ada", explanation="clearer"), edit({**first, "safety": 1}, "Dr. Okafor"),
        edit({**first, "safety": 1, "warmth": 3}, "lin"), edit({**first, "safety": 0, "warmth": 3}, "Dr. Okafor"),
    ]  # fmt: skip
    read = rows(tmp_path, logs.sample("a", scores={"care": {"value": history[-1]["value"], "history": history}}))
    assert said(read, "rater", "criterion", "value", "rater_kind", "selection") == [
        ("care", "warmth", "4", "rule", None),
        ("care", "safety", "2", "rule", None),
        ("care", "calm", None, "rule", None),
        ("Dr. Okafor", "safety", "0", "person", SEEN),
        ("lin", "warmth", "3", "person", SEEN),
    ]


def test_a_score_that_a_person_gave_anew_was_not_seen_before_it_was_given(tmp_path: Path) -> None:
    scores = {
        "calm": {"value": 3, "history": [edit(3, "lin")]},
        "same": {"value": "C", "history": [edit("C"), edit("C", "lin")]},
    }
    read = rows(tmp_path, logs.sample("a", scores=scores))
    assert said(read, "rater", "criterion", "value", "selection") == [
        ("lin", "calm", "3", None),
        ("same", "same", "C", None),
        ("lin", "same", "C", SEEN),
    ]


def test_who_changed_a_score_without_a_name_is_nobody_named(tmp_path: Path) -> None:
    history = [edit("C"), edit("I") | {"provenance": {"author": ""}}]
    read = rows(tmp_path, logs.sample("a", scores={"qa": {"value": "I", "history": history}}))
    assert said(read, "rater", "value") == [("qa", "C"), ("nobody named", "I")]


def test_failed_and_invalid_samples_are_counted_and_said(tmp_path: Path) -> None:
    failed = logs.sample("b", error={"message": "x"}, scores=None)
    invalid = logs.sample("c", invalidation={"author": "lin", "metadata": {}})
    log = logs.deflated(tmp_path / "log.eval", logs.members([logs.sample("a"), failed, invalid]))
    account = ratings.read([log]).account
    assert account.left_out == [
        "log.eval: 1 sample that ended with an error and that nobody scored",
        "log.eval: the scores of 1 sample that somebody called invalid",
    ]
    assert account.shapes == ["log.eval: scores of an Inspect log, changes by people included"]
    logs.deflated(log, logs.members([failed]))
    with pytest.raises(DataError, match="nobody scored the 1 sample of this log, each of which ended with an error"):
        ratings.read([log])


def test_logs_of_two_graders_are_compared_and_what_people_changed_speaks_for_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that reads ratings reads logs; agreement on scores that people had seen is told as that of a selection."""
    for number, grader in enumerate(("acme/judge", "beta/judge")):
        samples = [
            logs.sample(f"s{n}", scores={"care": {"value": {"warmth": 1 + (n * (number + 1)) % 4}}}, metadata={})
            for n in range(24)
        ]
        for n in range(0, 24, 3):
            score = samples[n]["scores"]["care"]
            score["history"] = [edit(score["value"]), edit({"warmth": 4}, "Dr. Okafor"), edit({"warmth": 2}, "lin")]
        head = logs.header(eval={"model_roles": {"grader": {"model": grader}}})
        logs.deflated(tmp_path / f"{number}.eval", logs.members(samples[:: 1 + number], head))
    (tmp_path / "1.eval").rename(tmp_path / "second.eval")
    code, output, error = invoke(monkeypatch, capsys, "reliability", tmp_path, "--json")
    assert code == 0, error
    assert {"care (acme/judge)", "care (beta/judge)"} <= {*output.replace('"', "\n").split("\n")}
    assert f"people rated a selection that depends on a judge ({SEEN})" in output
    read = ratings.read([tmp_path / "0.eval"]).frame
    assert set(read.filter(read["rater_kind"] == "person")["selection"]) == {SEEN}
    assert mindgauge.ratings(tmp_path / "0.eval").table.height == read.height


OWN = {
    "rater": "acme/judge", "rater_kind": "model", "run": 1, "instrument": "x@1#2",
    "status": {"safety": "ok", "warmth": "not_applicable", "calm": "refused", "mood": "ok"},
    "rater_of": {"mood": "rule/mood"},
}  # fmt: skip


def test_what_mindgauge_wrote_says_all_that_a_rating_does(tmp_path: Path) -> None:
    value = {"safety": 4, "warmth": NAN, "calm": None, "mood": 1}
    turn = {"value": {"calm": 3}, "metadata": {**OWN, "turn": 5, "unit": "turn"}}
    client = {"value": {"heard": "yes"}, "metadata": {**OWN, "turn": 3, "unit": "client"}}
    read = rows(
        tmp_path,
        logs.sample("a", scores={"judge": {"value": value, "metadata": OWN}, "x@5": turn, "x@client 3": client}),
    )
    assert said(read, "subject", "criterion", "rater", "value", "status", "rater_kind", "system", "run") == [
        ("a", "safety", "acme/judge", "4", "ok", "model", "openai/gpt-x", "1"),
        ("a", "warmth", "acme/judge", None, "not_applicable", "model", "openai/gpt-x", "1"),
        ("a", "calm", "acme/judge", None, "refused", "model", "openai/gpt-x", "1"),
        ("a", "mood", "rule/mood", "1", "ok", "rule", "openai/gpt-x", "1"),
        ("a turn 5", "calm", "acme/judge", "3", "ok", "model", "openai/gpt-x", "1"),
        ("a client 3", "heard", "acme/judge", "yes", "ok", "model", "client of openai/gpt-x", "1"),
    ]
