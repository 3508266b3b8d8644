"""What spans say of a call to a model, by the conventions of OpenTelemetry and of OpenInference, newest and older ones.

OpenTelemetry's semantic conventions for generative AI (in development): `gen_ai.input.messages` and `gen_ai.output.messages`
on spans or on the event `gen_ai.client.inference.operation.details`; before 1.37 one event for each message
(`gen_ai.user.message`, `gen_ai.choice`); and, of OpenLLMetry, `gen_ai.prompt.0.content`. OpenInference:
`llm.input_messages.0.message.content`, or the same as a list under `llm.input_messages`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mindgauge.records import content
from mindgauge.records.logs.calls import LoggedCall, LoggedMessage, message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PREFIXES = (
    "gen_ai.", "llm.", "session.", "user.", "enduser.", "input.", "output.", "openinference.", "conversation.", "traceloop.", "langfuse.",
)  # fmt: skip
"""How the names of attributes begin that say something of a call."""
_CONVERSATION = (
    "gen_ai.conversation.id", "session.id", "conversation.id", "langfuse.session.id", "traceloop.association.properties.session_id",
)  # fmt: skip
_PERSON = ("user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id")
_MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
_RESPONSE = ("gen_ai.response.id", "llm.response.id")
_FLAT = re.compile(r"(?:gen_ai\.(prompt|completion)|llm\.(input_messages|output_messages))\.(\d+)\.(?:message\.)?(.+)")
_OLD = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message|gen_ai\.(choice)")
_TEXT = re.compile(r"(?:contents\.(\d+)\.message_content\.text|content)")


def call(
    attributes: Mapping[str, Any], events: Iterable[tuple[str, Mapping[str, Any]]], trace: str, span: str, started: int
) -> LoggedCall | None:
    """Return the call that a span or an event is of; None where it is of none, or says nothing of what was said.

    Args:
        attributes: of the span or event, values as plain objects.
        events: of the span: the name and the attributes, or body, of each.
        trace: hexadecimal, as the log has it.
        span: likewise.
        started: in nanoseconds since 1970.
    """
    sent, answered, whole = _messages(attributes, list(events))
    if not (sent or answered):
        return None
    first = {name: next((str(attributes[key]) for key in keys if attributes.get(key)), "") for name, keys in (
        ("conversation", _CONVERSATION), ("model", _MODEL), ("person", _PERSON), ("response", _RESPONSE),
    )}  # fmt: skip
    return LoggedCall(
        first["conversation"], trace, span, started, first["model"], first["person"], tuple(sent), tuple(answered),
        first["response"], whole,
    )  # fmt: skip


def of_call(attributes: Mapping[str, Any]) -> bool:
    """Whether a span is one of a call to a model, whatever it says of it."""
    return (
        "gen_ai.operation.name" in attributes or "gen_ai.request.model" in attributes or "llm.model_name" in attributes
    )


def _messages(
    attributes: Mapping[str, Any], events: list[tuple[str, Mapping[str, Any]]]
) -> tuple[list[LoggedMessage], list[LoggedMessage], bool]:
    """Return what was sent and what was answered, and whether this is a model's own call."""
    for facts in (attributes, *(facts for _, facts in events)):
        if "gen_ai.input.messages" in facts or "gen_ai.output.messages" in facts:
            told = [*_system(facts.get("gen_ai.system_instructions")), *listed(facts.get("gen_ai.input.messages"))]
            return told, listed(facts.get("gen_ai.output.messages"), "assistant"), True
    if "llm.input_messages" in attributes or "llm.output_messages" in attributes:
        return (
            listed(attributes.get("llm.input_messages")),
            listed(attributes.get("llm.output_messages"), "assistant"),
            True,
        )
    flat = _flat(attributes)
    if flat[0] or flat[1]:
        return *flat, True
    old = _by_event(events)
    if old[0] or old[1]:
        return *old, True
    kind = str(attributes.get("openinference.span.kind", "")).upper()
    if kind in {"CHAIN", "AGENT", "LLM"} and ("input.value" in attributes or "output.value" in attributes):
        return (
            either(attributes.get("input.value"), "user"), either(attributes.get("output.value"), "assistant"), kind == "LLM",
        )  # fmt: skip
    return [], [], True


def listed(value: Any, usual: str = "user") -> list[LoggedMessage]:
    """Return the messages of a list, also of one that stands as JSON in a text."""
    value = decoded(value)
    if isinstance(value, dict):
        value = value.get("messages", [value])
    return [m for item in value if (m := _message(item, usual)) is not None] if isinstance(value, list) else []


def either(value: Any, role: str) -> list[LoggedMessage]:
    """Return the messages of what may be a list of them, an object with one, or simply a text."""
    value = decoded(value)
    if isinstance(value, str):
        spoken = message(role, value)
        return [spoken] if spoken is not None else []
    if isinstance(value, dict) and not {"messages", "role", "content", "message"} & value.keys():
        texts = [text for text in value.values() if isinstance(text, str)]
        return either(texts[0], role) if len(texts) == 1 else []
    if isinstance(value, dict) and isinstance(value.get("message"), dict | str):
        return either(value["message"], role)
    if isinstance(value, dict) and "role" not in value and "content" in value:
        value = {**value, "role": role}
    return listed(value, role)


def decoded(value: Any) -> Any:
    """Return what stands as JSON in a text, or the text."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _message(item: Any, usual: str) -> LoggedMessage | None:
    if isinstance(item, dict) and isinstance(item.get("message"), dict):
        item = item["message"]
    if not isinstance(item, dict):
        return message(usual, item) if isinstance(item, str) else None
    item = {key.removeprefix("message."): value for key, value in item.items()}
    value = next((item[key] for key in ("parts", "content", "contents", "text") if item.get(key) is not None), None)
    if isinstance(value, list):
        value = [_inner(part) for part in value]
    parts = content.read(value)
    calls = sum(bool(item.get(name)) for name in ("tool_calls", "function_call"))
    return message(item.get("role", usual), parts.text(), parts.others + calls) if parts is not None else None


def _inner(part: Any) -> Any:
    """Return a part of a message without the names that OpenInference puts before each key."""
    if not isinstance(part, dict):
        return part
    inner = part["message_content"] if isinstance(part.get("message_content"), dict) else part
    return {key.removeprefix("message_content."): value for key, value in inner.items()}


def _system(value: Any) -> list[LoggedMessage]:
    parts = content.read(decoded(value))
    spoken = message("system", parts.text()) if parts is not None and parts.texts else None
    return [spoken] if spoken is not None else []


def _flat(attributes: Mapping[str, Any]) -> tuple[list[LoggedMessage], list[LoggedMessage]]:
    """Return the messages that stand with a number in the names of attributes."""
    numbered: dict[tuple[bool, int], dict[str, Any]] = {}
    for key, value in attributes.items():
        match = _FLAT.fullmatch(key)
        if match is not None:
            answered = (match[1] or match[2]) in {"completion", "output_messages"}
            numbered.setdefault((answered, int(match[3])), {})[match[4]] = value
    sides: tuple[list[LoggedMessage], list[LoggedMessage]] = ([], [])
    for (answered, _), fields in sorted(numbered.items()):
        texts = {key: value for key, value in fields.items() if _TEXT.fullmatch(key) and isinstance(value, str)}
        others = any("tool_call" in key or "image" in key for key in fields)
        text = "\n\n".join(texts[key] for key in sorted(texts, key=_place))
        spoken = message(fields.get("role", "assistant" if answered else "user"), text, int(others))
        if spoken is not None:
            sides[answered].append(spoken)
    return sides


def _place(key: str) -> int:
    match = _TEXT.fullmatch(key)
    return int(match[1]) if match is not None and match[1] else -1


def _by_event(events: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[list[LoggedMessage], list[LoggedMessage]]:
    """Return the messages that have an event each, as the conventions had it before 1.37."""
    sent: list[LoggedMessage] = []
    answered: list[LoggedMessage] = []
    for name, facts in events:
        match = _OLD.fullmatch(name)
        if match is None:
            continue
        body = decoded(facts.get("body", facts.get("gen_ai.event.content", facts)))
        fields = body if isinstance(body, dict) else {"content": body}
        spoken = _message({"role": match[1] or "assistant", **fields}, match[1] or "assistant")
        if spoken is not None:
            (answered if match[2] else sent).append(spoken)
    return sent, answered
