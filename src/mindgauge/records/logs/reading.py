"""Which file is a log, and of which kind: OTLP/JSON, spans of Phoenix, observations of Langfuse."""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any

from mindgauge.records.files import tables
from mindgauge.records.files.input_table import RecordTable
from mindgauge.records.logs import attributes, otlp
from mindgauge.records.logs.calls import LoggedCall, dialogue
from mindgauge.records.logs.lines import decoded, first_object, lines, nanoseconds
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mindgauge.records.files.folder import Readable


_FLAT = ("attributes.llm.", "attributes.openinference", "attributes.gen_ai")
_GROUPS = {"llm", "session", "user", "input", "output", "openinference", "gen_ai", "conversation"}


def is_span(first: Mapping[str, Any]) -> bool:
    """Whether an object is a span."""
    placed = bool(first.keys() & {"context", "span_id", "spanId", "trace_id", "traceId"})
    return has_columns(first) or (isinstance(first.get("attributes"), dict) and placed)


def has_columns(names: Iterable[str]) -> bool:
    """Whether columns are those of spans in a table."""
    return any(name.startswith(_FLAT) for name in names)


def span_calls(file: Readable) -> Iterator[LoggedCall | None]:
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


_HOLDING = {"GENERATION", "AGENT", "CHAIN", "SPAN"}
_KINDS = {*_HOLDING, "EVENT", "TOOL", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}


def is_observation(first: Mapping[str, Any]) -> bool:
    """Whether an object is an observation."""
    told = bool(first.keys() & {"input", "output"}) and bool(first.keys() & {"traceId", "trace_id"})
    timed = bool(first.keys() & {"sessionId", "session_id", "startTime", "start_time"})
    return told and (str(first.get("type", "")).upper() in _KINDS or timed)


def langfuse_calls(file: Readable) -> Iterator[LoggedCall | None]:
    """Yield the calls of a file; None for each that does not say what was said."""
    for number, line in lines(file):
        row = decoded(file, number, line)
        if isinstance(row, dict):
            yield from _of_observation({_snake(key): value for key, value in row.items()})


def _snake(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


def _of_observation(row: Mapping[str, Any]) -> Iterator[LoggedCall | None]:
    kind = str(row.get("type", "")).upper()
    if kind in _KINDS - _HOLDING:
        return
    sent, answered = attributes.either(row.get("input"), "user"), attributes.either(row.get("output"), "assistant")
    if not (sent or answered):
        if kind == "GENERATION":
            yield None
        return
    first = {name: str(next((row[key] for key in keys if row.get(key)), "")) for name, keys in (
        ("session", ("session_id",)), ("trace", ("trace_id",)), ("model", ("model", "provided_model_name")), ("person", ("user_id",)),
        ("ident", ("id",)),
    )}  # fmt: skip
    yield LoggedCall(
        first["session"], first["trace"], first["ident"], nanoseconds(row.get("start_time")), first["model"], first["person"],
        tuple(sent), tuple(answered), "", kind in {"GENERATION", ""},
    )  # fmt: skip


_FORMATS: dict[Callable[[Readable], Iterator[LoggedCall | None]], str] = {
    otlp.calls: "logs of OpenTelemetry (OTLP/JSON)", span_calls: "spans of OpenInference", of_table: "spans of OpenInference (a table)",
    langfuse_calls: "observations of Langfuse",
}  # fmt: skip
_LINES = (".jsonl", ".ndjson", ".json", ".log")


class GatheredCalls:
    """The calls of several files: a conversation that goes on in the next file, since logs are rotated, is one."""

    def __init__(self, left_out: list[str]) -> None:
        """Begin with none.

        Args:
            left_out: is told what holds no dialogue, and why.
        """
        self._left_out = left_out
        self._calls: dict[str, list[LoggedCall]] = {}
        self._files: dict[str, Readable] = {}
        self._formats: dict[Readable, str] = {}

    def take(self, file: Readable) -> bool:
        """Read the calls of a file; False where it is no log.

        Raises:
            DataError: a line is broken; the message names the file and the line.
        """
        kind = _kind(file)
        if kind is None:
            return False
        self._formats[file] = _FORMATS[kind]
        silent = spoken = 0
        for number, call in enumerate(kind(file), 1):
            if call is None:
                silent += 1
                continue
            spoken += 1
            conversation = call.conversation or call.trace or call.span or f"{file.stem}-{number}"
            self._calls.setdefault(conversation, []).append(call)
            self._files.setdefault(conversation, file)
        if not spoken:
            self._left_out.append(f"{file}: {_without_words(silent)}")
        elif silent:
            self._left_out.append(f"{file}: {plural(silent, 'call')} to models without what was said in them")
        return True

    def tables(self) -> Iterator[tuple[Readable, RecordTable, str]]:
        """Yield the dialogues that begin in each file as a table of rows with messages, and in words how the file holds them."""
        by_file: dict[Readable, list[dict[str, Any]]] = {}
        joined: Counter[Readable] = Counter()
        for conversation, calls in self._calls.items():
            row = dialogue(conversation, calls)
            if row is not None:
                by_file.setdefault(self._files[conversation], []).append(row)
                joined[self._files[conversation]] += len(calls)
        for file, rows in by_file.items():
            shape = f"{self._formats[file]}, put together from {plural(joined[file], 'call')}"
            yield file, RecordTable(file, functools.partial(enumerate, rows, 1)), shape


def _without_words(silent: int) -> str:
    if not silent:
        return "spans are in it, but none of a call to a model (gen_ai.…, llm.…), so there is no dialogue"
    return (
        f"{plural(silent, 'call')} to models are in it, and none says what was said; let your tracing keep the content of messages "
        "(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, or what your library calls it)"
    )


def _kind(file: Readable) -> Callable[[Readable], Iterator[LoggedCall | None]] | None:
    """Return the reader of a file's kind of log."""
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        return of_table if has_columns(tables.open_table(file).headers) else None
    first = first_object(file) if suffix in _LINES else None
    if first is None:
        return None
    if first.keys() & {"resourceSpans", "resourceLogs"}:
        return otlp.calls
    if is_span(first):
        return span_calls
    return langfuse_calls if is_observation(first) else None
