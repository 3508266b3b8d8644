"""Observations as Langfuse exports them, in snake or in camel case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.records.logs import attributes
from mindgauge.records.logs.calls import LoggedCall
from mindgauge.records.logs.lines import decoded, lines, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mindgauge.records.files.folder import Readable

_HOLDING = {"GENERATION", "AGENT", "CHAIN", "SPAN"}
_KINDS = {*_HOLDING, "EVENT", "TOOL", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}


def is_observation(first: Mapping[str, Any]) -> bool:
    """Whether an object is an observation."""
    told = bool(first.keys() & {"input", "output"}) and bool(first.keys() & {"traceId", "trace_id"})
    timed = bool(first.keys() & {"sessionId", "session_id", "startTime", "start_time"})
    return told and (str(first.get("type", "")).upper() in _KINDS or timed)


def calls(file: Readable) -> Iterator[LoggedCall | None]:
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
