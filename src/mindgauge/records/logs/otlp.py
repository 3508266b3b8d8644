"""OTLP/JSON: a line for each export, spans and log records in any order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records.logs import attributes
from mindgauge.records.logs.lines import decoded, lines, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.files.folder import Readable
    from mindgauge.records.logs.calls import LoggedCall


_INTEGER = re.compile(r"-?[0-9]{1,19}")


class _Attribute(msgspec.Struct):
    key: str
    value: msgspec.Raw = msgspec.Raw(b"null")


class _SpanEvent(msgspec.Struct):
    name: str = ""
    attributes: list[_Attribute] = []


class OtlpSpan(msgspec.Struct):
    """A span of OTLP/JSON; what is not named here is skipped."""

    traceId: str = ""  # noqa: N815 - OTLP's names
    spanId: str = ""  # noqa: N815
    startTimeUnixNano: str | int = 0  # noqa: N815
    attributes: list[_Attribute] = []
    events: list[_SpanEvent] = []


class OtlpRecord(msgspec.Struct):
    """A log record of OTLP/JSON, which is how events travel that belong to no span's own list."""

    traceId: str = ""  # noqa: N815
    spanId: str = ""  # noqa: N815
    timeUnixNano: str | int = 0  # noqa: N815
    observedTimeUnixNano: str | int = 0  # noqa: N815
    eventName: str = ""  # noqa: N815
    body: msgspec.Raw = msgspec.Raw(b"null")
    attributes: list[_Attribute] = []


class _Spans(msgspec.Struct):
    spans: list[OtlpSpan] = []


class _Records(msgspec.Struct):
    logRecords: list[OtlpRecord] = []  # noqa: N815


class _SpanResource(msgspec.Struct):
    scopeSpans: list[_Spans] = []  # noqa: N815


class _RecordResource(msgspec.Struct):
    scopeLogs: list[_Records] = []  # noqa: N815


class OtlpLine(msgspec.Struct):
    """What one export sends: spans, or log records."""

    resourceSpans: list[_SpanResource] = []  # noqa: N815
    resourceLogs: list[_RecordResource] = []  # noqa: N815


def calls(file: Readable) -> Iterator[LoggedCall | None]:
    """Yield the calls of a file; None for each that does not say what was said."""
    decoder = msgspec.json.Decoder(OtlpLine)
    for number, line in lines(file):
        try:
            export = decoder.decode(line)
        except (ValueError, RecursionError):
            export = decoded(file, number, line, OtlpLine)
        for resource in export.resourceSpans:
            for scope in resource.scopeSpans:
                yield from (call for span in scope.spans for call in _of_span(span))
        yield from _of_records([r for resource in export.resourceLogs for scope in resource.scopeLogs for r in scope.logRecords])  # fmt: skip


def _of_span(span: OtlpSpan) -> Iterator[LoggedCall | None]:
    facts = _facts(span.attributes)
    events = [(event.name, _facts(event.attributes, whole=True)) for event in span.events]
    call = attributes.call(facts, events, span.traceId, span.spanId, nanoseconds(span.startTimeUnixNano))
    if call is not None or attributes.of_call(facts):
        yield call


def _of_records(records: list[OtlpRecord]) -> Iterator[LoggedCall | None]:
    """Return the calls of events: one event that holds all, or, before 1.37, an event for each message of a span."""
    by_span: dict[tuple[str, str], list[tuple[str, dict[str, Any]]]] = {}
    times: dict[tuple[str, str], int] = {}
    for record in records:
        facts = _facts(record.attributes, whole=True)
        body = _plain(msgspec.json.decode(record.body))
        name = record.eventName or str(facts.get("event.name", ""))
        if not name.startswith("gen_ai."):
            continue
        facts |= body if isinstance(body, dict) and any(key.startswith("gen_ai.") for key in body) else {"body": body}
        key = (record.traceId, record.spanId)
        by_span.setdefault(key, []).append((name, facts))
        moment = nanoseconds(record.timeUnixNano) or nanoseconds(record.observedTimeUnixNano)
        times[key] = min(times.get(key, moment), moment)
    for (trace, span), events in by_span.items():
        shared = {name: value for _, facts in events for name, value in facts.items() if name != "body"}
        yield attributes.call(shared, events, trace, span, times[trace, span])


def _facts(listed: list[_Attribute], *, whole: bool = False) -> dict[str, Any]:
    """Return attributes as plain values: those that say something of a call, or all."""
    return {
        entry.key: _plain(msgspec.json.decode(entry.value))
        for entry in listed
        if whole or entry.key.startswith(attributes.PREFIXES)
    }


def _plain(value: Any) -> Any:
    """Return an OTLP value as a plain one; None for what is none."""
    if not isinstance(value, dict):
        return value
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if name in value:
            return value[name]
    if "intValue" in value:
        number = value["intValue"]  # a text, since JSON has no integers of 64 bits
        return int(number) if _INTEGER.fullmatch(str(number)) else number
    if "arrayValue" in value:
        return [_plain(item) for item in _values(value["arrayValue"])]
    if "kvlistValue" in value:
        entries = [item for item in _values(value["kvlistValue"]) if isinstance(item, dict)]
        return {str(entry.get("key", "")): _plain(entry.get("value")) for entry in entries}
    return value


def _values(listed: Any) -> list[Any]:
    values = listed.get("values") if isinstance(listed, dict) else None
    return values if isinstance(values, list) else []
