"""Which file is a log, and of which kind: OTLP/JSON, spans of Phoenix, observations of Langfuse."""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records.files import tables
from mindgauge.records.files.input_table import RecordTable
from mindgauge.records.logs import langfuse, otlp, spans
from mindgauge.records.logs.calls import LoggedCall, dialogue
from mindgauge.records.logs.lines import first_object
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mindgauge.records.files.folder import Readable

_FORMATS: dict[Callable[[Readable], Iterator[LoggedCall | None]], str] = {
    otlp.calls: "logs of OpenTelemetry (OTLP/JSON)", spans.calls: "spans of OpenInference", spans.of_table: "spans of OpenInference (a table)",
    langfuse.calls: "observations of Langfuse",
}  # fmt: skip
_LINES = (".jsonl", ".ndjson", ".json", ".log")


class GatheredTable(NamedTuple):
    """The dialogues that begin in one file, as a table of rows with messages, and how they lay there, in words."""

    file: Readable
    table: RecordTable
    shape: str


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

    def tables(self) -> Iterator[GatheredTable]:
        """Yield the dialogues that begin in each file."""
        by_file: dict[Readable, list[dict[str, Any]]] = {}
        joined: Counter[Readable] = Counter()
        for conversation, calls in self._calls.items():
            row = dialogue(conversation, calls)
            if row is not None:
                by_file.setdefault(self._files[conversation], []).append(row)
                joined[self._files[conversation]] += len(calls)
        for file, rows in by_file.items():
            shape = f"{self._formats[file]}, put together from {plural(joined[file], 'call')}"
            yield GatheredTable(file, RecordTable(file, functools.partial(enumerate, rows, 1)), shape)


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
        return spans.of_table if spans.has_columns(tables.open_table(file).headers) else None
    first = first_object(file) if suffix in _LINES else None
    if first is None:
        return None
    if first.keys() & {"resourceSpans", "resourceLogs"}:
        return otlp.calls
    if spans.is_span(first):
        return spans.calls
    return langfuse.calls if langfuse.is_observation(first) else None
