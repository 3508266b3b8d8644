"""Logs of calls, whoever wrote them, are the dialogue that was held: the same words, once, in their order."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from mindgauge.records import transcripts
from mindgauge.records.errors import DataError
from mindgauge.records.logs import calls
from mindgauge.records.logs.lines import nanoseconds
from tests.records.logs import samples

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.transcripts.transcript import Transcript

SPOKEN = [(role, text) for pair in samples.TURNS for role, text in zip(("user", "assistant"), pair, strict=True)]
BOTH = (0, 1)
KINDS = {
    "otlp, messages as text": [samples.export(samples.gen_ai(turn), turn) for turn in BOTH],
    "otlp, messages as attributes": [samples.export(samples.structured(turn), turn) for turn in BOTH],
    "otlp, openinference": [samples.export(samples.flattened(turn), turn) for turn in BOTH],
    "otlp, openllmetry": [samples.export(samples.openllmetry(turn), turn) for turn in BOTH],
    "otlp, an event for each message": [
        samples.export({"gen_ai.response.model": "gpt-5-nano-2025", "user.id": "p7"}, turn, events=samples.old_events(turn)) for turn in BOTH
    ],
    "otlp, log records": [samples.log_record(turn) for turn in BOTH],
    "phoenix": [json.dumps(samples.phoenix(turn)) for turn in BOTH],
    "console": [json.dumps(samples.console(turn)) for turn in BOTH],
    "langfuse": [json.dumps(samples.langfuse(turn)) for turn in BOTH],
    "langfuse, camel case": [json.dumps(samples.langfuse(turn, camel=True)) for turn in BOTH],
}  # fmt: skip
each = pytest.mark.parametrize("lines", KINDS.values(), ids=KINDS)


def read(folder: Path, lines: list[str], name: str = "log.jsonl") -> list[Transcript]:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return transcripts.read(path).transcripts


def spoken(transcript: Transcript) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in transcript.messages]


@each
def test_every_kind_is_the_one_dialogue_with_what_is_known_of_it(tmp_path: Path, lines: list[str]) -> None:
    [transcript] = read(tmp_path, lines)
    assert spoken(transcript) == SPOKEN
    assert (transcript.id, transcript.model, transcript.cluster) == ("c1", "gpt-5-nano-2025", "p7")
    assert transcript.system == samples.SYSTEM
    assert transcript.tags["month"] == "2026-09"
    assert len(transcript.tags["spans"].split(",")) == 2


@each
def test_the_order_of_the_lines_does_not_matter_and_what_comes_twice_counts_once(
    tmp_path: Path, lines: list[str]
) -> None:
    [transcript] = read(tmp_path, [*reversed(lines), *lines])
    assert spoken(transcript) == SPOKEN


@each
def test_a_list_in_a_json_file_is_read_alike(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps([json.loads(line) for line in lines], indent=1), encoding="utf-8")
    [transcript] = transcripts.read(path).transcripts
    assert spoken(transcript) == SPOKEN


def test_one_export_may_hold_spans_of_many_conversations(tmp_path: Path) -> None:
    lines = [
        samples.export(samples.gen_ai(turn), turn, conversation=f"c{number}") for number in range(5) for turn in BOTH
    ]
    merged = json.loads(lines[0])
    for line in lines[1:]:
        merged["resourceSpans"] += json.loads(line)["resourceSpans"]
    random.Random(0).shuffle(merged["resourceSpans"])
    found = read(tmp_path, [json.dumps(merged)])
    assert sorted(transcript.id for transcript in found) == [f"c{number}" for number in range(5)]
    assert all(spoken(transcript) == SPOKEN for transcript in found)


def test_phoenix_as_parquet_is_read_alike(tmp_path: Path) -> None:
    pl.DataFrame([samples.phoenix(turn) for turn in BOTH]).write_parquet(tmp_path / "spans.parquet")
    [transcript] = transcripts.read(tmp_path / "spans.parquet").transcripts
    assert spoken(transcript) == SPOKEN


def test_scout_s_transcripts_are_read(tmp_path: Path) -> None:
    messages = [{"id": f"m{number}", "role": role, "content": text} for number, (role, text) in enumerate(SPOKEN)]
    row = {
        "transcript_id": "c1",
        "source_type": "phoenix",
        "source_id": "x",
        "model": "gpt-5-nano",
        "messages": json.dumps(messages),
        "score": 1.0,
    }
    pl.DataFrame([row]).write_parquet(tmp_path / "scout.parquet")
    [transcript] = transcripts.read(tmp_path / "scout.parquet").transcripts
    assert spoken(transcript) == SPOKEN
    assert (transcript.id, transcript.model) == ("c1", "gpt-5-nano")


def test_a_log_that_tells_each_message_once_is_put_together(tmp_path: Path) -> None:
    """Some applications send only what is new, and keep the history on the server."""
    lines = []
    for turn in BOTH:
        last = json.dumps([samples.parts("user", samples.TURNS[turn][0])])
        lines.append(samples.export(samples.gen_ai(turn, **{"gen_ai.input.messages": last}), turn))
    [transcript] = read(tmp_path, lines)
    assert spoken(transcript) == SPOKEN


def test_a_conversation_goes_on_in_the_next_file_for_logs_are_rotated(tmp_path: Path) -> None:
    """Read file by file, its beginning would count twice, or its end would stand without what was said before."""
    for number in range(2):
        (tmp_path / f"{number}.jsonl").write_text(
            samples.export(samples.gen_ai(number), number) + "\n", encoding="utf-8"
        )
    for source in (tmp_path, [tmp_path / "1.jsonl", tmp_path / "0.jsonl"]):
        [transcript] = transcripts.read(source).transcripts
        assert spoken(transcript) == SPOKEN[:4]


def test_calls_that_name_neither_conversation_nor_trace_are_not_put_together(tmp_path: Path) -> None:
    def line(user: str) -> str:
        sent = {"llm.model_name": "m", "llm.input_messages": [{"role": "user", "content": user}], "llm.output_messages": [{"role": "assistant", "content": "Yes?"}]}  # fmt: skip
        return json.dumps({"span_kind": "LLM", "context": {}, "attributes": sent}) + "\n"

    (tmp_path / "l.jsonl").write_text(line("One.") + line("Two."), encoding="utf-8")
    assert [spoken(t)[0][1] for t in transcripts.read(tmp_path / "l.jsonl").transcripts] == ["One.", "Two."]


def test_a_file_of_other_spans_beside_one_of_calls_is_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_text(samples.export({"http.method": "GET"}) + "\n", encoding="utf-8")
    (tmp_path / "1.jsonl").write_text(samples.export(samples.gen_ai(0)) + "\n", encoding="utf-8")
    result = transcripts.read(tmp_path)
    assert len(result.transcripts) == 1
    assert any("none of a call to a model" in line for line in result.account.left_out)


@pytest.mark.parametrize(
    ("time", "month"),
    [
        (1767225600, "2026-01"), (1767225600.5, "2026-01"), (1767225600_000, "2026-01"), (1767225600_000_000, "2026-01"),
        (1767225600_000_000_000, "2026-01"), ("1767225600000", "2026-01"), ("2026-01-01T00:00:00Z", "2026-01"), ("9" * 5000, ""),
        (10**30, ""), (1e300, ""), (-5, ""), ("9999-12-31T23:59:59-23:59", ""), ("0001-01-01T00:00:00", ""), (True, "1970-01"), ("soon", ""),
    ],
)  # fmt: skip
def test_times_are_read_in_any_unit_and_what_is_none_is_none(time: Any, month: str) -> None:
    started = nanoseconds(time)
    assert (calls.month(started) if started else "") == month


VALUES: tuple[Any, ...] = (
    {"intValue": "one"}, {"intValue": [1]}, {"arrayValue": [1]}, {"arrayValue": {"values": None}}, {"kvlistValue": {"values": [1, {"key": [2]}]}},
    {"kvlistValue": 3}, {"stringValue": None}, None, [], {}, {"other": 1},
)  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_a_value_of_the_wrong_kind_is_none(tmp_path: Path, value: Any) -> None:
    line = json.loads(samples.export(samples.gen_ai(0)))
    line["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"] += [{"key": "gen_ai.odd", "value": value}, {"key": "user.id", "value": value}]  # fmt: skip
    [transcript] = read(tmp_path, [json.dumps(line)])
    assert spoken(transcript) == SPOKEN[:2]


@pytest.mark.parametrize("attributes", [None, True, [], "text", 5])
def test_an_event_of_a_span_may_have_anything_for_its_attributes(tmp_path: Path, attributes: Any) -> None:
    span = {"context": {"trace_id": "t", "span_id": "s"}, "span_kind": "LLM", "attributes": samples.flattened(0), "events": [{"name": "gen_ai.user.message", "attributes": attributes}]}  # fmt: skip
    [transcript] = read(tmp_path, [json.dumps(span)])
    assert spoken(transcript) == SPOKEN[:2]


def test_a_window_that_slides_over_the_dialogue_is_put_together(tmp_path: Path) -> None:
    window = json.dumps([samples.parts(role, text) for role, text in samples.told(1)[1:]])
    lines = [
        samples.export(samples.gen_ai(0), 0),
        samples.export(samples.gen_ai(1, **{"gen_ai.input.messages": window}), 1),
    ]
    [transcript] = read(tmp_path, lines)
    assert spoken(transcript) == SPOKEN


def test_an_answer_that_was_asked_for_again_is_the_last_one(tmp_path: Path) -> None:
    again = json.dumps([samples.parts("assistant", "Would you tell me more?")])
    lines = [
        samples.export(samples.gen_ai(0), 0),
        samples.export(samples.gen_ai(0, **{"gen_ai.output.messages": again}), 1),
    ]
    [transcript] = read(tmp_path, lines)
    assert spoken(transcript) == [SPOKEN[0], ("assistant", "Would you tell me more?")]


def test_calls_of_tools_and_thoughts_are_nothing_that_was_said(tmp_path: Path) -> None:
    sent = [samples.parts(*SPOKEN[0]), {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "look_up"}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "nothing"}]}]  # fmt: skip
    [transcript] = read(tmp_path, [samples.export(samples.gen_ai(0, **{"gen_ai.input.messages": json.dumps(sent)}))])
    assert spoken(transcript) == SPOKEN[:2]


def test_an_application_around_the_model_counts_where_the_model_says_nothing(tmp_path: Path) -> None:
    chain = {
        "openinference.span.kind": "CHAIN",
        "session.id": "c1",
        "input.value": SPOKEN[0][1],
        "output.value": json.dumps({"answer": SPOKEN[1][1]}),
    }
    [transcript] = read(tmp_path, [samples.export(chain)])
    assert spoken(transcript) == SPOKEN[:2]
    [transcript] = read(tmp_path, [samples.export(chain), samples.export(samples.flattened(0))])
    assert spoken(transcript) == SPOKEN[:2]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (samples.export(samples.gen_ai(0))[:300], "half a line of JSON"),
        (samples.export({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}), "CAPTURE_MESSAGE_CONTENT"),
        (samples.export({"http.method": "GET"}), "none of a call to a model"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": 7}]}]}]}', "is it of another version"),
        (samples.export(samples.gen_ai(0, **{"gen_ai.input.messages": "[]"})), "no transcripts|nobody|never"),
    ],
)
def test_what_is_no_dialogue_is_said_in_a_line(tmp_path: Path, line: str, reason: str) -> None:
    lines = [line] if reason != "half a line of JSON" else [samples.export(samples.gen_ai(1)), line]
    if "nobody" in reason:
        [transcript] = read(tmp_path, lines)
        assert [role for role, _ in spoken(transcript)] == ["assistant"]
        return
    with pytest.raises(DataError, match=reason):
        read(tmp_path, lines)


def test_a_call_without_words_beside_others_is_counted(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(
        samples.export(samples.gen_ai(0)) + "\n" + samples.export({"gen_ai.request.model": "m"}, 5) + "\n",
        encoding="utf-8",
    )
    result = transcripts.read(tmp_path / "log.jsonl")
    assert len(result.transcripts) == 1
    assert any("1 call to models without what was said" in line for line in result.account.left_out)
