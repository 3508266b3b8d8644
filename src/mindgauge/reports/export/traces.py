"""Ratings as tracing tools take them back: events of OpenTelemetry, and annotations of OpenInference.

A rating goes to the span that answered, where its dialogue was read from a log that names it (the tags `spans` and `trace`);
one of a whole dialogue, or of a dialogue without spans, goes to the session. A verdict that is missing is an event with an
error, or an annotation without score and label: never a 0, and never left out.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.records import RaterKind, Status
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Rating, Reply, Sample, Value
    from mindgauge.reports.export.folder import ExportFolder
    from mindgauge.store import Store

EVENT = "gen_ai.evaluation.result"
_SCHEMA = "https://opentelemetry.io/schemas/1.37.0"
_ANNOTATORS = {RaterKind.PERSON: "HUMAN", RaterKind.GOLD: "HUMAN", RaterKind.MODEL: "LLM", RaterKind.PANEL: "LLM"}
"""Whoever else rates is code."""
_YES = {"yes": 1.0, "no": 0.0}
_BILLION = 1_000_000_000


class RatedSpan(NamedTuple):
    """A rating, and what in a log it is of; what is not known is empty."""

    benchmark: str
    rating: Rating
    session: str
    trace: str
    span: str
    response: str


def write_events(files: ExportFolder, store: Store, benchmarks: list[Benchmark], made: str) -> list[str]:
    """Write an event for each rating, as OTLP/JSON lines; return what is to be said of it.

    Args:
        files: where to write.
        store: of the run.
        benchmarks: its benchmarks.
        made: when the run was made, as ISO 8601: the time of the events.
    """
    time = str(int(datetime.datetime.fromisoformat(made).timestamp() * _BILLION)) if made else "0"
    return _written(files, "evaluations.jsonl", store, benchmarks, lambda rated: _event(rated, time))


def write_annotations(files: ExportFolder, store: Store, benchmarks: list[Benchmark]) -> list[str]:
    """Write an annotation for each rating, a line of JSON each; return what is to be said of it."""
    return _written(files, "annotations.jsonl", store, benchmarks, _annotation)


def _written(files: ExportFolder, name: str, store: Store, benchmarks: list[Benchmark], line: Any) -> list[str]:
    loose = 0
    with files.binary(name) as file:
        for benchmark in benchmarks:
            for rated in rated_spans(store, benchmark):
                loose += not rated.span
                file.write(msgspec.json.encode(line(rated)) + b"\n")
    return [f"{plural(loose, 'rating is', 'ratings are')} of no span that the run knows, and {'goes' if loose == 1 else 'go'} by dialogue or reply"] if loose else []  # fmt: skip


def rated_spans(store: Store, benchmark: Benchmark) -> Iterator[RatedSpan]:
    """Yield the ratings of a benchmark with what they are of."""
    samples = {sample.id: sample for sample in store.samples(benchmark.name)}
    replies = {reply.id: reply for reply in store.replies(benchmark.name)}
    for rating in store.ratings(benchmark.name):
        reply = replies.get(rating.subject)
        sample = samples.get(reply.sample if reply is not None else rating.subject)
        yield RatedSpan(benchmark.name, rating, *_place(sample, reply))


def _place(sample: Sample | None, reply: Reply | None) -> tuple[str, str, str, str]:
    """Return the session, trace, span and response that a reply is in a log."""
    tags = sample.tags if sample is not None else {}
    provenance = reply.provenance if reply is not None else {}
    session = str(provenance.get("source_id") or (sample.id if sample is not None else ""))
    turn = provenance.get("turn")
    if not isinstance(turn, int) or provenance.get("unit") == "dialogue":
        return session, "", "", ""
    span, trace, response = (_of_turn(tags.get(name, ""), turn) for name in ("spans", "trace", "responses"))
    return session, trace or tags.get("trace", "").partition(",")[0], span, response


def _of_turn(listed: str, turn: int) -> str:
    parts = listed.split(",")
    return parts[turn - 1] if turn <= len(parts) else ""


def _score(value: Value | None) -> float | None:
    """Return a level as a number: itself, or 1 for yes and 0 for no; None for a name."""
    if isinstance(value, str):
        return _YES.get(value)
    return None if value is None else float(value)


def _event(rated: RatedSpan, time: str) -> dict[str, Any]:
    rating = rated.rating
    facts: dict[str, Any] = {
        "gen_ai.evaluation.name": rating.criterion, "gen_ai.evaluation.score.value": _score(rating.value),
        "gen_ai.evaluation.score.label": None if rating.value is None else str(rating.value),
        "gen_ai.evaluation.explanation": rating.rationale, "gen_ai.response.id": rated.response, "gen_ai.conversation.id": rated.session,
        "error.type": rating.status.value if rating.value is None else "", **_about(rated),
    }  # fmt: skip
    record = {
        "timeUnixNano": time, "observedTimeUnixNano": time, "eventName": EVENT, "traceId": rated.trace, "spanId": rated.span,
        "attributes": [_attribute(name, value) for name, value in facts.items() if value not in (None, "")],
    }  # fmt: skip
    scope = {"scope": {"name": "mindgauge"}, "logRecords": [record], "schemaUrl": _SCHEMA}
    return {"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [scope]}]}


def _attribute(name: str, value: object) -> dict[str, Any]:
    if isinstance(value, float):
        return {"key": name, "value": {"doubleValue": value}}
    if isinstance(value, int):
        return {"key": name, "value": {"intValue": str(value)}}
    return {"key": name, "value": {"stringValue": str(value)}}


def _about(rated: RatedSpan) -> dict[str, Any]:
    """Return what neither convention has a name for: who rated by what, and what became of it."""
    rating = rated.rating
    return {
        "mindgauge.benchmark": rated.benchmark, "mindgauge.rater": rating.rater, "mindgauge.rater.kind": rating.rater_kind.value,
        "mindgauge.instrument": rating.instrument, "mindgauge.status": rating.status.value, "mindgauge.repeat": rating.run,
        "mindgauge.subject": rating.subject,
    }  # fmt: skip


def _annotation(rated: RatedSpan) -> dict[str, Any]:
    rating = rated.rating
    place = {"span_id": rated.span, "trace_id": rated.trace} if rated.span else {"session_id": rated.session}
    result: dict[str, Any] = {
        "score": _score(rating.value),
        "label": None if rating.value is None else str(rating.value),
    }
    missing = "" if rating.status is Status.OK else f"no verdict: {rating.status.value}"
    explanation = rating.rationale or missing
    # A session may hold several replies, where a span is one: without it their annotations would take each other's place.
    reply = "" if rated.span else rating.subject
    identifier = ":".join(filter(None, (rating.rater, rating.instrument, str(rating.run), reply)))
    return {
        **{name: value for name, value in place.items() if value}, "name": rating.criterion,
        "annotator_kind": _ANNOTATORS.get(rating.rater_kind, "CODE"), **{name: value for name, value in result.items() if value is not None},
        **({"explanation": explanation} if explanation else {}), "identifier": identifier,
        "metadata": {name.removeprefix("mindgauge."): value for name, value in _about(rated).items() if value != ""},
    }  # fmt: skip
