"""Spans as Phoenix and console exporters write them: an object, or a row of a table, each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.records.files import tables
from mindgauge.records.logs import attributes
from mindgauge.records.logs.lines import decoded, lines, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mindgauge.records.files.folder import Readable
    from mindgauge.records.logs.calls import LoggedCall

_FLAT = ("attributes.llm.", "attributes.openinference", "attributes.gen_ai")
_GROUPS = {"llm", "session", "user", "input", "output", "openinference", "gen_ai", "conversation"}


def is_span(first: Mapping[str, Any]) -> bool:
    """Whether an object is a span."""
    placed = bool(first.keys() & {"context", "span_id", "spanId", "trace_id", "traceId"})
    return has_columns(first) or (isinstance(first.get("attributes"), dict) and placed)


def has_columns(names: Iterable[str]) -> bool:
    """Whether columns are those of spans in a table."""
    return any(name.startswith(_FLAT) for name in names)


def calls(file: Readable) -> Iterator[LoggedCall | None]:
    """Yield the calls of a file of lines; None for each that does not say what was said."""
    for number, line in lines(file):
        span = decoded(file, number, line)
        if isinstance(span, dict):
            yield from _of_span(span)


def of_table(file: Readable) -> Iterator[LoggedCall | None]:
    """Yield the calls of a table, likewise."""
    table = tables.open_table(file)
    for _, row in table.rows({header: header for header in table.headers}):
        yield from _of_span(row)


def _of_span(span: Mapping[str, Any]) -> Iterator[LoggedCall | None]:
    facts = dict(_object(span.get("attributes")))
    facts |= {key.removeprefix("attributes."): value for key, value in span.items() if key.startswith("attributes.") and value is not None}  # fmt: skip
    facts = _flattened(facts)
    if span.get("span_kind") and "openinference.span.kind" not in facts:
        facts["openinference.span.kind"] = span["span_kind"]
    context = span.get("context")
    place = (
        context if isinstance(context, dict) else {key.removeprefix("context."): value for key, value in span.items()}
    )
    trace, ident = (str(next((place[key] for key in keys if place.get(key)), "")) for keys in (("trace_id", "traceId"), ("span_id", "spanId")))  # fmt: skip
    started = nanoseconds(
        next((span[key] for key in ("start_time", "startTime", "startTimeUnixNano") if span.get(key)), 0)
    )
    listed = span.get("events")
    events = [(str(e.get("name", "")), _object(e.get("attributes"))) for e in listed if isinstance(e, dict)] if isinstance(listed, list) else []  # fmt: skip
    call = attributes.call(facts, events, trace, ident, started)
    if call is not None or attributes.of_call(facts):
        yield call


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _flattened(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes that stand within each other (`{"llm": {"model_name": …}}`) under their whole names."""
    flat: dict[str, Any] = {}
    for key, value in facts.items():
        if isinstance(value, dict) and key.partition(".")[0] in _GROUPS:  # fmt: skip
            flat |= _flattened({f"{key}.{inner}": item for inner, item in value.items()})
        else:
            flat[key] = value
    return flat
