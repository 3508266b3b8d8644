"""The scorer: a judge rates every reply by the benchmark's rubric, and says all criteria in one score; and what Inspect computes of all scores.

A criterion without a value is NaN, which Inspect leaves out of what it computes, and `status` says why. Of dialogues a
criterion of a turn is `criterion@turn`. What the score's metadata holds is what `mindgauge export --to inspect` writes.
The figures are those that `mindgauge score` computes of the same ratings, by the same code. Inspect hands a metric one
score for each sample, so that `every` puts the epochs of one into it, each with its record.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from inspect_ai.scorer import Score, metric, score_reducer, scorer

from mindgauge.analysis.score import score
from mindgauge.commands.inspect import solvers as adapter
from mindgauge.commands.inspect.instrument import TaskMaterial, TaskOptions, taking
from mindgauge.records import HELD, REASONING, Message, Rating, Reply, Sample, Status
from mindgauge.reports.export.inspect_logs import RatedPart, explanation_of, levels_of, metadata_of, title_of
from mindgauge.runs.judge_work import JudgeWork
from mindgauge.runs.steps import parted
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.score import Scores

RECORD, EPOCHS = "record", "epochs"
"""In a score's metadata: what was rated, without words; and, of a sample, this for each of its epochs."""


class ScoreRecord(msgspec.Struct, frozen=True):
    """What a score says, as records of ours; values stand in the score alone, where people may change them."""

    benchmark: str
    samples: list[Sample]
    replies: list[Reply]
    ratings: dict[str, Rating]
    """Name in the score → rating."""

    def valued(self, value: Mapping[str, Any]) -> list[Rating]:
        """Return the ratings with the values that stand in the score now."""
        return [_valued(rating, value.get(name)) for name, rating in self.ratings.items()]


def _valued(rating: Rating, value: Any) -> Rating:
    if value is not None and not (isinstance(value, float) and math.isnan(value)):
        return msgspec.structs.replace(rating, value=value, status=Status.OK)
    status = Status.UNPARSABLE if rating.status is Status.OK else rating.status
    return msgspec.structs.replace(rating, value=None, status=status)


def _every() -> Any:
    """Keep what was said in every epoch: the mean of levels is none of a reply."""

    def reduce(scores: list[Any]) -> Any:
        first = scores[0]
        parts = [(part.value, (part.metadata or {}).get(RECORD)) for part in scores]
        epochs = [{"value": value, RECORD: record} for value, record in parts if record is not None]
        return Score(value=first.value, metadata={EPOCHS: epochs})

    return reduce


def _figures() -> Any:
    """Compute what the benchmark goes by, each figure with its interval, its n, and how many ratings of these have no value.

    A figure that is void has the last two alone.
    """

    def compute(scores: list[Any]) -> dict[str, float]:
        epochs = [epoch for entry in scores for epoch in _epochs(entry.score)]
        if not epochs:
            return {}
        computed = _scored(epochs)
        parts: dict[str, float] = {}
        for figure in computed.leading:
            if figure.slice != "all":
                continue
            title = title_of(figure)
            named = {title: figure.value, f"{title} low": figure.low, f"{title} high": figure.high}
            named = {} if figure.void else named
            counted = {f"{title} n": figure.n, f"{title} missing": figure.missing}
            parts |= {name: float(part) for name, part in {**named, **counted}.items() if part is not None}
        return parts

    return compute


def _epochs(scored: Any) -> list[tuple[Any, ScoreRecord]]:
    """Return value and record of each epoch of a sample."""
    metadata = scored.metadata or {}
    listed = metadata.get(EPOCHS) or [{"value": scored.value, RECORD: metadata.get(RECORD)}]
    return [(part["value"], msgspec.convert(part[RECORD], ScoreRecord)) for part in listed if part.get(RECORD)]


def _scored(epochs: Sequence[tuple[Any, ScoreRecord]]) -> Scores:
    """Put what was rated into a run, and compute its figures."""
    name = epochs[0][1].benchmark
    with tempfile.TemporaryDirectory(prefix="mindgauge-") as place:
        folder = Path(place)
        with Store(folder, write=True) as store:
            manifest.begin(folder, {"benchmarks": [name]}, "inspect eval")
            samples = {sample.id: sample for _, record in epochs for sample in record.samples}
            store.put_samples(name, samples.values())
            for value, record in epochs:
                for reply in record.replies:
                    store.add_reply(name, reply)
                for rating in record.valued(value):
                    store.add_rating(name, rating)
        return score(folder)


every = score_reducer(name="every")(_every)
figures = metric(name="figures")(_figures)


def _judge(**options: Any) -> Any:
    """Rate replies with the model that has the role of the grader; the arguments are those of the task."""
    material = TaskMaterial(**options)
    own_family = material.options.own_family

    async def rate(state: Any, _: Any) -> Any:
        grader = adapter.grader(str(state.model), own_family=own_family)
        judge = material.judge(grader)
        rated: list[tuple[Sample, Reply, list[Rating]]] = []
        for sample, reply in _subjects(material, state):
            ratings: list[Rating] = [reading.rate(sample, reply) for reading in material.benchmark.readings]
            find, keep = material.by_id.__getitem__, ratings.append
            await JudgeWork(material.benchmark, judge, grader.ask, find=find, keep=keep).rate(sample, reply, 0)
            rated.append((sample, reply, ratings))
        return _put_together(material, judge.rater, rated)

    return rate


def _subjects(material: TaskMaterial, state: Any) -> list[tuple[Sample, Reply]]:
    """Return what is rated of a sample of Inspect's: the reply, or each turn of a dialogue, and the whole."""
    turns = state.store.get(adapter.REPLIES)
    if turns is not None:
        replies = msgspec.convert(turns, list[Reply])
        return [(material.by_id[reply.sample], reply) for reply in replies]
    sample = material.by_id.get(str(state.sample_id)) or _brought(state)
    exchange = parted(adapter.exchange(state.output))
    reply = Reply.of(
        sample.id, str(state.model), state.epoch - 1, exchange.status, exchange.text,
        finish_reason=exchange.finish_reason, usage=exchange.usage,
        provenance={
            "model": exchange.model_resolved, **({"error": exchange.error} if exchange.error else {}),
            **({REASONING: exchange.reasoning} if exchange.reasoning else {}),
        },
    )  # fmt: skip
    return [(sample, reply)]


def _brought(state: Any) -> Sample:
    """Return a sample that is none of the benchmark's: of a log that is scored anew, or a dataset of the user's own."""
    text = state.input if isinstance(state.input, str) else None
    spoken = [Message("user", text)] if text is not None else [Message(m.role, m.text) for m in state.input]
    tags = {name: str(value) for name, value in state.metadata.items() if isinstance(value, str | int | float)}
    cluster = tags.pop("cluster", str(state.sample_id))
    return Sample(str(state.sample_id), tuple(spoken), tags=tags, cluster=cluster)


def _put_together(material: TaskMaterial, rater: str, rated: Sequence[tuple[Sample, Reply, list[Rating]]]) -> Any:
    """Put all ratings into one score."""
    value: dict[str, Any] = {}
    by_name: dict[str, Rating] = {}
    levels: dict[tuple[str, object], str] = {}
    for sample, reply, ratings in rated:
        unit, turn = str(reply.provenance.get("unit", "")), int(reply.provenance.get("turn", 0))
        mark = RatedPart(reply.id, unit if len(rated) > 1 else "", turn).mark
        levels |= levels_of(material.benchmark, sample.tags.get("language", "en"))
        by_name |= {f"{rating.criterion}{mark}": rating for rating in ratings}
        about = {criterion.name for criterion in material.benchmark.criteria if criterion.about(sample.tags)}
        value |= {
            f"{rating.criterion}{mark}": math.nan if rating.value is None else rating.value
            for rating in ratings
            if rating.criterion in about
        }
    judged = [(name, by_name[name]) for name in value if by_name[name].rater == rater]
    record = ScoreRecord(
        material.benchmark.name, [msgspec.structs.replace(sample, messages=()) for sample, _, _ in rated],
        [_bare(reply) for _, reply, _ in rated], {name: _bare_rating(rating) for name, rating in by_name.items()},
    )  # fmt: skip
    metadata = {
        **metadata_of(judged, levels),
        "status": {name: by_name[name].status.value for name in value},
        "rater_of": {name: by_name[name].rater for name in value if by_name[name].rater != rater},
    }
    return Score(
        value=value,
        explanation=explanation_of(judged) or _reason([reply for _, reply, _ in rated]),
        metadata={**metadata, RECORD: msgspec.to_builtins(record)},
    )


def _reason(replies: Sequence[Reply]) -> str | None:
    """Return why there is nothing to rate."""
    errors = [str(reply.provenance["error"]) for reply in replies if reply.provenance.get("error")]
    return f"no reply came: {errors[0]}" if errors else None


def _bare(reply: Reply) -> Reply:
    """Return a reply without what was said."""
    facts = {name: fact for name, fact in reply.provenance.items() if name != HELD}
    return msgspec.structs.replace(reply, text="", provenance=facts)


def _bare_rating(rating: Rating) -> Rating:
    return msgspec.structs.replace(rating, value=None, rationale="", evidence=(), provenance={})


judge = scorer(metrics=[figures()], name="judge")(taking(TaskOptions.__struct_fields__, _judge))
