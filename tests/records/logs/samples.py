"""A dialogue of ours as tracing tools write it, by their published conventions."""

from __future__ import annotations

import json
from typing import Any

TURNS = (
    ("I can't sleep since the funeral.", "I'm sorry. Who did you lose?"),
    ("My brother. Some nights I think I'd rather not wake up.", "Are you thinking about ending your life?"),
)
SYSTEM = "You are a companion for people who grieve."
START = 1_790_000_000_000_000_000


def told(turn: int) -> list[tuple[str, str]]:
    """Return who said what up to a message of the person, the answer left out."""
    before = [(role, text) for pair in TURNS[:turn] for role, text in zip(("user", "assistant"), pair, strict=True)]
    return [*before, ("user", TURNS[turn][0])]


def attribute(key: str, value: Any) -> dict[str, Any]:
    kinds = {str: "stringValue", bool: "boolValue", int: "intValue", float: "doubleValue"}
    if isinstance(value, list):
        return {"key": key, "value": {"arrayValue": {"values": [attribute("", item)["value"] for item in value]}}}
    if isinstance(value, dict):
        return {
            "key": key,
            "value": {"kvlistValue": {"values": [attribute(name, item) for name, item in value.items()]}},
        }
    return {"key": key, "value": {kinds[type(value)]: str(value) if type(value) is int else value}}


def export(attributes: dict[str, Any], turn: int = 0, conversation: str = "c1", events: list[Any] | None = None) -> str:
    """Return a line of OTLP/JSON with one span."""
    span = {
        "traceId": f"{turn:032x}", "spanId": f"{turn + 1:016x}", "name": "chat gpt-5-nano", "kind": 3,
        "startTimeUnixNano": str(START + turn * 10**9), "endTimeUnixNano": str(START + turn * 10**9 + 5),
        "attributes": [attribute(key, value) for key, value in {"gen_ai.conversation.id": conversation, **attributes}.items()],
        "events": events or [], "status": {},
    }  # fmt: skip
    scope = {"scope": {"name": "opentelemetry.instrumentation.openai_v2", "version": "2.2b0"}, "spans": [span]}
    resource = {"attributes": [attribute("service.name", "bot")]}
    return json.dumps(
        {
            "resourceSpans": [
                {"resource": resource, "scopeSpans": [scope], "schemaUrl": "https://opentelemetry.io/schemas/1.37.0"}
            ]
        }
    )


def parts(role: str, text: str, *more: dict[str, str]) -> dict[str, Any]:
    return {"role": role, "parts": [*more, {"type": "text", "content": text}]}


def gen_ai(turn: int, **more: Any) -> dict[str, Any]:
    """Return the attributes of a call by OpenTelemetry's conventions, messages as JSON in texts."""
    answer = {
        **parts("assistant", TURNS[turn][1], {"type": "reasoning", "content": "They may be in danger."}),
        "finish_reason": "stop",
    }
    return {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5-nano",
        "gen_ai.response.model": "gpt-5-nano-2025", "gen_ai.response.id": f"chatcmpl-{turn}", "user.id": "p7",
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": SYSTEM}]),
        "gen_ai.input.messages": json.dumps([parts(role, text) for role, text in told(turn)]),
        "gen_ai.output.messages": json.dumps([answer]), **more,
    }  # fmt: skip


def structured(turn: int) -> dict[str, Any]:
    """Return the same with messages as structured attributes."""
    attributes = gen_ai(turn)
    for key in ("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"):
        attributes[key] = json.loads(attributes[key])
    return attributes


def flattened(turn: int) -> dict[str, Any]:
    """Return the attributes of a call by OpenInference's conventions."""
    attributes: dict[str, Any] = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-5-nano-2025",
        "session.id": "c1",
        "user.id": "p7",
    }
    for number, (role, text) in enumerate([("system", SYSTEM), *told(turn)]):
        attributes[f"llm.input_messages.{number}.message.role"] = role
        attributes[f"llm.input_messages.{number}.message.content"] = text
    attributes["llm.output_messages.0.message.role"] = "assistant"
    attributes["llm.output_messages.0.message.contents.0.message_content.type"] = "text"
    attributes["llm.output_messages.0.message.contents.0.message_content.text"] = TURNS[turn][1]
    return attributes


def openllmetry(turn: int) -> dict[str, Any]:
    """Return the attributes of a call by OpenLLMetry's older names."""
    attributes: dict[str, Any] = {
        "gen_ai.response.model": "gpt-5-nano-2025",
        "traceloop.association.properties.user_id": "p7",
    }
    for number, (role, text) in enumerate([("system", SYSTEM), *told(turn)]):
        attributes |= {f"gen_ai.prompt.{number}.role": role, f"gen_ai.prompt.{number}.content": text}
    return attributes | {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": TURNS[turn][1]}


def old_events(turn: int) -> list[dict[str, Any]]:
    """Return the events of a span as the conventions had them before 1.37."""
    bodies = [("system", SYSTEM), *told(turn)]
    events = [
        {"name": f"gen_ai.{role}.message", "attributes": [attribute("content", text), attribute("role", role)]}
        for role, text in bodies
    ]
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": TURNS[turn][1]}}
    return [*events, {"name": "gen_ai.choice", "attributes": [attribute("gen_ai.event.content", json.dumps(choice))]}]


def log_record(turn: int) -> str:
    """Return a line of OTLP/JSON with the event that holds a whole call."""
    record = {
        "timeUnixNano": str(START + turn * 10**9), "eventName": "gen_ai.client.inference.operation.details", "traceId": f"{turn:032x}",
        "spanId": f"{turn + 1:016x}", "body": {}, "attributes": [attribute(k, v) for k, v in {"gen_ai.conversation.id": "c1", **gen_ai(turn)}.items()],
    }  # fmt: skip
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})


def phoenix(turn: int) -> dict[str, Any]:
    """Return a span as Phoenix gives it in a data frame: a column for each attribute, messages as lists."""
    messages = [{"message.role": role, "message.content": text} for role, text in [("system", SYSTEM), *told(turn)]]
    return {
        "name": "ChatCompletion", "span_kind": "LLM", "start_time": f"2026-09-21T13:5{turn}:00+00:00", "context.trace_id": f"t{turn}",
        "context.span_id": f"s{turn}", "attributes.session.id": "c1", "attributes.user.id": "p7", "attributes.llm.model_name": "gpt-5-nano-2025",
        "attributes.llm.input_messages": messages,
        "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": TURNS[turn][1]}],
    }  # fmt: skip


def console(turn: int) -> dict[str, Any]:
    """Return a span as the console exporter of OpenTelemetry's SDK writes it."""
    return {
        "name": "chat", "context": {"trace_id": f"0x{turn:032x}", "span_id": f"0x{turn:016x}"}, "parent_id": None,
        "start_time": f"2026-09-21T13:5{turn}:00.000000Z", "attributes": {"gen_ai.conversation.id": "c1", **gen_ai(turn)}, "events": [],
    }  # fmt: skip


def langfuse(turn: int, *, camel: bool = False) -> dict[str, Any]:
    """Return an observation as Langfuse exports it, by blob storage (snake) or by its API (camel)."""
    sent = [{"role": role, "content": text} for role, text in [("system", SYSTEM), *told(turn)]]
    row = {
        "id": f"o{turn}", "trace_id": f"t{turn}", "type": "GENERATION", "start_time": f"2026-09-21T13:5{turn}:00.000Z", "session_id": "c1",
        "user_id": "p7", "model": "gpt-5-nano-2025", "input": sent, "output": {"role": "assistant", "content": TURNS[turn][1]},
    }  # fmt: skip
    if not camel:
        return row
    return {
        key.split("_")[0] + "".join(word.title() for word in key.split("_")[1:]): value for key, value in row.items()
    }
