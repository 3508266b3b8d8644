"""Which file is a log, and of which kind: OTLP/JSON, spans of Phoenix, observations of Langfuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.errors import DataError
from mindgauge.records.files import tables
from mindgauge.records.files.input_table import RecordTable
from mindgauge.records.logs import langfuse, otlp, spans
from mindgauge.records.logs.calls import LoggedCall, dialogues
from mindgauge.records.logs.lines import first_object
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mindgauge.records.files.folder import Readable

_LINES = (".jsonl", ".ndjson", ".json", ".log")


def is_log(file: Readable) -> bool:
    """Whether a file holds logs of calls, by its first object, or its columns."""
    return _kind(file) is not None


def opened(file: Readable, left_out: list[str]) -> RecordTable | None:
    """Return the dialogues of a log as a table of rows with messages; None where the file is no log.

    Args:
        file: JSON lines, JSON or Parquet.
        left_out: is told what holds no dialogue, and why.

    Raises:
        DataError: a line is broken, or no call says what was said; the message names the file and the line.
    """
    kind = _kind(file)
    if kind is None:
        return None
    silent = 0

    def noted() -> Iterator[LoggedCall]:
        nonlocal silent
        for call in kind(file):
            if call is None:
                silent += 1
            else:
                yield call

    rows = list(dialogues(noted()))
    if not rows:
        raise DataError(f"{file}: {_without_words(silent)}")
    if silent:
        left_out.append(f"{file}: {plural(silent, 'call')} to models without what was said in them")
    return RecordTable(file, lambda: enumerate(rows, 1))


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
