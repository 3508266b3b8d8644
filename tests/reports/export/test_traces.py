"""Ratings go back to the spans that they are of, each once, and what is missing is no score."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import mindgauge
from tests.records.logs import samples

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARK = "help_or_harm/response"


def careful(message: str) -> Any:
    """Rate by length; of the second answer write nothing that could be read."""
    reply = message.rpartition("<reply")[2]
    return (
        "I would rather not say."
        if "ending your life" in reply
        else {"quotes": [], "rationale": "It asks.", "appropriateness": 4}
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traced")
    lines = [samples.export(samples.gen_ai(turn), turn) for turn in (0, 1)]
    (folder / "spans.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    mindgauge.logs(folder / "spans.jsonl", out=folder / "talks.jsonl")
    rows = [
        {**json.loads(line), "category": "suicidal_ideation"}
        for line in (folder / "talks.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    (folder / "talks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    mindgauge.rate(
        BENCHMARK, dialogues=folder / "talks.jsonl", judge=[careful, "rule/refusal"], qualify=False, out=folder / "run"
    )
    return folder / "run"


def test_events_name_span_level_and_reason(run: Path, tmp_path: Path) -> None:
    result = mindgauge.export(run, to="otel", out=tmp_path / "out")
    assert result.notes == []
    records = []
    for line in (tmp_path / "out" / "evaluations.jsonl").read_text(encoding="utf-8").splitlines():
        [record] = json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        facts = {entry["key"]: next(iter(entry["value"].values())) for entry in record["attributes"]}
        assert record["eventName"] == "gen_ai.evaluation.result"
        assert facts["gen_ai.conversation.id"] == "c1"
        records.append((record["spanId"], facts))
    judged = {span: facts for span, facts in records if facts["gen_ai.evaluation.name"] == "appropriateness"}
    assert sorted(judged) == [f"{number:016x}" for number in (1, 2)]
    first, second = (judged[f"{number:016x}"] for number in (1, 2))
    assert (first["gen_ai.evaluation.score.value"], first["gen_ai.evaluation.score.label"]) == (4.0, "4")
    assert (first["gen_ai.evaluation.explanation"], first["gen_ai.response.id"]) == ("It asks.", "chatcmpl-0")
    assert second["error.type"] == "unparsable"
    assert "gen_ai.evaluation.score.value" not in second
    assert len(records) == 4


def test_annotations_are_of_spans_and_read_back_as_the_ratings(run: Path, tmp_path: Path) -> None:
    mindgauge.export(run, to="openinference", out=tmp_path / "out")
    path = tmp_path / "out" / "annotations.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {row["annotator_kind"] for row in rows} == {"LLM", "CODE"}
    assert len({(row["span_id"], row["name"], row["identifier"]) for row in rows}) == len(rows) == 4
    [missing] = [row for row in rows if "score" not in row and row["annotator_kind"] == "LLM"]
    assert missing["explanation"] == "no verdict: unparsable"
    assert "label" not in missing
    read = mindgauge.ratings(path).table
    assert read.filter(pl.col("criterion") == "appropriateness")["value"].cast(pl.String).to_list().count("4") == 1


def test_a_run_that_came_from_no_log_says_so(tmp_path: Path) -> None:
    (tmp_path / "talks.jsonl").write_text(
        json.dumps(
            {
                "id": "a",
                "category": "no_crisis",
                "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}],
            }
        ),
        encoding="utf-8",
    )
    mindgauge.rate(BENCHMARK, dialogues=tmp_path / "talks.jsonl", judge=careful, qualify=False, out=tmp_path / "run")
    result = mindgauge.export(tmp_path / "run", to="openinference", out=tmp_path / "out")
    assert result.notes == ["1 rating is of no span that the run knows, and goes by dialogue or reply"]
    [row] = [
        json.loads(line) for line in (tmp_path / "out" / "annotations.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert row["session_id"] == "a"


def test_replies_to_one_message_keep_an_annotation_each_where_no_span_tells_them_apart(tmp_path: Path) -> None:
    def bot(message: str) -> str:
        return f"I hear you. ({len(message)})"

    mindgauge.run(BENCHMARK, model=bot, judge=careful, qualify=False, runs=3, limit=2, out=tmp_path / "run")
    mindgauge.export(tmp_path / "run", to="openinference", out=tmp_path / "out")
    path = tmp_path / "out" / "annotations.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len({(row["session_id"], row["name"], row["identifier"]) for row in rows}) == len(rows) == 6
    read = mindgauge.ratings(path).table
    assert (read["subject"].n_unique(), read["rater"].n_unique(), len(read)) == (6, 1, 6)


def test_what_people_say_of_a_session_meets_what_a_judge_said_of_its_one_reply(tmp_path: Path) -> None:
    def bot(message: str) -> str:
        return "I hear you."

    mindgauge.run(BENCHMARK, model=bot, judge=careful, qualify=False, limit=2, out=tmp_path / "run")
    mindgauge.export(tmp_path / "run", to="openinference", out=tmp_path / "out")
    path = tmp_path / "out" / "annotations.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    people = [{**row, "annotator_kind": "HUMAN", "identifier": "ana", "metadata": {}} for row in rows]
    path.write_text("\n".join(map(json.dumps, [*rows, *people])), encoding="utf-8")
    by_rater = mindgauge.ratings(path).table.group_by("rater")
    subjects = {rater: set(part["subject"]) for (rater,), part in by_rater}
    assert len(subjects) == 2
    assert len(subjects["ana"]) == 2
    assert all(subjects["ana"] == others for others in subjects.values())
