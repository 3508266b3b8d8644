"""Samples of a log as replies and as dialogues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.models.scripted import Scripted
from mindgauge.records import Message, Status, transcripts
from mindgauge.runs.reply_tables import read_replies
from tests.records.inspect_logs import logs
from tests.runs.test_dialogue_files import judge

if TYPE_CHECKING:
    from pathlib import Path

OPEN = benchmarks.find_one("mentalbench")
ERROR = {"message": "Connection lost\nafter 5 tries", "traceback": "t", "traceback_ansi": "t"}
SAID = [{"role": "user", "content": "Are you there?"}]


def one(path: Path, **more: Any) -> tuple[Any, Any]:
    samples, replies = read_replies(
        logs.deflated(path / "log.eval", logs.members([logs.sample("a", 3, **more)])), OPEN, {}
    )
    return samples[0], replies[0]


def test_the_last_answer_is_the_reply_and_all_before_it_the_dialogue(tmp_path: Path) -> None:
    sample, reply = one(tmp_path)
    assert sample.messages == (Message("system", "Be kind."), Message("user", "I have not slept since Monday, a."))
    assert (reply.text, reply.model, reply.run) == ("That is hard.\n\nWhat kept you awake?", "openai/gpt-x", 2)
    assert sample.tags == {"language": "en", "topic": "sleep", "urgent": "yes"}
    assert (sample.cluster, sample.target) == ("c1", "rest")
    assert reply.provenance["source_id"] == "a"


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, Status.OK),
        ({"error": ERROR}, Status.FAILED),
        ({"invalidation": {"author": "lin", "reason": "the server was down"}}, Status.FAILED),
        ({"limit": {"type": "token", "limit": 5}}, Status.OK),
        ({"limit": {"type": "time", "limit": 5}, "messages": SAID, "output": {}}, Status.FAILED),
        ({"messages": SAID, "output": {}}, Status.UNPARSABLE),
        ({"messages": SAID, "output": {"choices": [{"stop_reason": "content_filter"}]}}, Status.FILTERED),
        ({"messages": SAID, "output": {"error": "no such model"}}, Status.FAILED),
        ({"messages": SAID, "output": {"choices": [{"message": {"content": "Here."}, "stop_reason": "stop"}]}}, Status.OK),
        ({"messages": [], "input": "Are you there?", "output": {}, "error": ERROR}, Status.FAILED),
    ],
)  # fmt: skip
def test_errors_and_limits_are_statuses(tmp_path: Path, more: dict[str, Any], status: Status) -> None:
    _, reply = one(tmp_path, **more)
    assert reply.status is status
    assert bool(reply.text) is (status is Status.OK)


def test_a_model_is_named_by_the_log_else_by_its_output_else_by_the_file(tmp_path: Path) -> None:
    for model, output, name in (("a/b", "c", "a/b"), ("none/none", "c", "c"), ("", "", "log")):
        files = logs.members([logs.sample("a", output={"model": output})], logs.header(eval={"model": model}))
        _, (reply,) = read_replies(logs.deflated(tmp_path / "log.eval", files), OPEN, {})
        assert reply.model == name


def test_dialogues_are_whole_conversations(tmp_path: Path) -> None:
    talk = [
        {"role": "system", "content": "Be kind."},
        {"role": "assistant", "content": "Hello, who is there?"},
        {"role": "user", "content": [{"type": "text", "text": "Ada."}, {"type": "image", "image": "data:x"}]},
        {"role": "assistant", "content": "Hello, Ada.", "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "x", "tool_call_id": "1"},
        {"role": "user", "content": "I cannot sleep."},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Since when?"}]},
    ]  # fmt: skip
    broken = logs.sample("broken", error=ERROR)
    path = logs.zstandard(tmp_path / "log.eval", logs.members([logs.sample("talk", messages=talk), broken]))
    read, account = transcripts.read(path)
    (transcript,) = read
    assert (transcript.id, transcript.model, transcript.run, transcript.cluster) == ("talk", "openai/gpt-x", 0, "c1")
    assert [(m.role, m.content) for m in transcript.messages] == [
        ("assistant", "Hello, who is there?"), ("user", "Ada."), ("assistant", "Hello, Ada."), ("user", "I cannot sleep."),
        ("assistant", "Since when?"),
    ]  # fmt: skip
    assert transcript.system == "Be kind."
    line = (
        f"Left out: {path}, samples/broken_epoch_1.json: the sample ended with an error: Connection lost after 5 tries"
    )
    assert line in account.lines()


def test_rate_takes_logs_as_replies_and_as_dialogues(tmp_path: Path) -> None:
    samples = [logs.sample("a"), logs.sample("b"), logs.sample("c", error=ERROR)]
    path = logs.plain(tmp_path / "log.eval", logs.members(samples, logs.header(status="error")))
    notices: list[str] = []
    rater = Scripted("acme/judge", judge)
    scores = mindgauge.rate(
        "mentalbench", replies=path, judge=rater, out=tmp_path / "run", qualify=False, notice=notices.append
    )
    assert isinstance(scores, Scores)
    assert scores.models == ["openai/gpt-x"]
    assert {c.status: c.n for c in scores.statuses_by if c.kind == "reply"} == {"ok": 2, "failed": 1}
    assert (
        f"{path}: the evaluation did not finish (error), so its log holds the samples that were done by then" in notices
    )
    talked = mindgauge.rate(
        "mentalbench", dialogues=path, judge=rater, out=tmp_path / "talked", qualify=False, unit="both"
    )
    assert isinstance(talked, Scores)
    assert [(c.name, c.status, c.n) for c in talked.statuses_by if c.kind == "reply"] == [
        ("openai/gpt-x", "ok", 2), ("openai/gpt-x (whole dialogue)", "ok", 2),
    ]  # fmt: skip


def test_the_system_message_of_a_benchmark_is_no_part_of_the_dialogue(tmp_path: Path) -> None:
    """A log of a task of ours shows it; judges rate by the bare dialogue, and samples keep their ids."""
    task = benchmarks.find_one("trustmh/emotional_support")
    asked = next(sample for sample in task.own_samples() if sample.tags["language"] == "en")
    spoken = [{"role": m.role, "content": m.content} for m in task.asked(asked)]
    assert spoken[0]["role"] == "system"
    sample = logs.sample("x", messages=[*spoken, {"role": "assistant", "content": "I see."}])
    (read,), _ = read_replies(logs.deflated(tmp_path / "log.eval", logs.members([sample])), task, {})
    assert read.messages == asked.messages
