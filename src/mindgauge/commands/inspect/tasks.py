"""Each benchmark with open questions as a task of Inspect's: its samples, and a scorer, in which a judge rates every reply.

A criterion without a value is NaN, which Inspect leaves out of what it computes, and `status` says why. What the score's
metadata holds is what `mindgauge export --to inspect` writes. The figures are those that `mindgauge score` computes of the
same ratings, by the same code. Inspect hands a metric one score for each sample, so that `every` puts the epochs of one
into it, each with its record. Tasks take the options of `mindgauge run` with `-T`.
"""

from __future__ import annotations

import math
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, metric, score_reducer, scorer

from mindgauge import benchmarks
from mindgauge.analysis.score import score
from mindgauge.commands.inspect import solvers
from mindgauge.commands.run import run
from mindgauge.records import REASONING, Message, Rating, Reply, Sample, Status
from mindgauge.reports.export.inspect_logs import explanation_of, levels_of, metadata_of, title_of
from mindgauge.runs import plan
from mindgauge.runs.inputs import at_hand
from mindgauge.runs.judge_work import JudgeWork
from mindgauge.runs.options import RunConfig, RunOptions
from mindgauge.runs.steps import parted
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.score import Scores
    from mindgauge.benchmarks import Benchmark

RECORD, EPOCHS = "record", "epochs"
"""In a score's metadata: what was rated, without words; and, of a sample, this for each of its epochs."""


class TaskMaterial:
    """The samples of a task and what its judge works with, read when they are first needed."""

    def __init__(self, benchmark: str, language: str, data: str, mode: str, method: str) -> None:
        """Describe it; nothing is read. Each is the option of `mindgauge run` of this name."""
        self._name, self._language, self._data = benchmark, language, Path(data) if data else None
        self._judged = {"mode": mode, "method": method}

    @cached_property
    def config(self) -> RunConfig:
        """How models judge.

        Raises:
            UsageError: an option has no such value.
        """
        return RunConfig.of(self._judged, RunOptions, run)

    @cached_property
    def benchmark(self) -> Benchmark:
        """The benchmark.

        Raises:
            UsageError: there is none of this name.
            DataError: the authors' files are there, and cannot be used.
        """
        return benchmarks.find_one(self._name).on(self._data)

    @cached_property
    def samples(self) -> dict[str, Sample]:
        """What is asked about, by id.

        Raises:
            DataError: nothing is there, or nothing is left.
        """
        tags = {"language": tuple(self._language.split(","))} if self._language else None
        samples = at_hand([self.benchmark], self._data, tags, None, by_protocol=True).samples[0]
        return {sample.id: sample for sample in samples}


class ScoreRecord(msgspec.Struct, frozen=True):
    """What a score says, as records of ours; values stand in the score alone, where people may change them."""

    benchmark: str
    sample: Sample
    reply: Reply
    ratings: list[Rating]


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
            store.put_samples(name, {record.sample.id: record.sample for _, record in epochs}.values())
            for value, record in epochs:
                store.add_reply(name, record.reply)
                for rating in record.ratings:
                    store.add_rating(name, _valued(rating, value.get(rating.criterion)))
        return score(folder)


def _judge(
    benchmark: str,
    language: str = "",
    data: str = "",
    mode: str = "joint",
    method: str = "rule",
    own_family: bool = False,
) -> Any:
    """Rate replies with the model that has the role of the grader; the arguments are those of the task."""
    material = TaskMaterial(benchmark, language, data, mode, method)

    async def rate(state: Any, _: Any) -> Any:
        grader = solvers.grader(str(state.model), own_family=own_family)
        own, samples = material.benchmark, material.samples
        (instrument,) = plan.instruments(own, material.config.judging)
        judge = plan.judging_by(grader, instrument, material.config)
        sample = samples.get(str(state.sample_id)) or _brought(state)
        reply = _reply(sample, state)
        ratings = [reading.rate(sample, reply) for reading in own.readings]
        work = JudgeWork(own, judge, grader.ask, find=samples.__getitem__, keep=ratings.append)
        await work.rate(sample, reply, 0)
        return _put_together(own, judge.rater, sample, reply, ratings)

    return rate


def _reply(sample: Sample, state: Any) -> Reply:
    exchange = parted(solvers.exchange(state.output))
    return Reply.of(
        sample.id, str(state.model), state.epoch - 1, exchange.status, exchange.text,
        finish_reason=exchange.finish_reason, usage=exchange.usage,
        provenance={
            "model": exchange.model_resolved, **({"error": exchange.error} if exchange.error else {}),
            **({REASONING: exchange.reasoning} if exchange.reasoning else {}),
        },
    )  # fmt: skip


def _brought(state: Any) -> Sample:
    """Return a sample that is none of the benchmark's: of a log that is scored anew, or a dataset of the user's own."""
    text = state.input if isinstance(state.input, str) else None
    spoken = [Message("user", text)] if text is not None else [Message(m.role, m.text) for m in state.input]
    tags = {name: str(value) for name, value in state.metadata.items() if isinstance(value, str | int | float)}
    cluster = tags.pop("cluster", str(state.sample_id))
    return Sample(str(state.sample_id), tuple(spoken), tags=tags, cluster=cluster)


def _put_together(benchmark: Benchmark, rater: str, sample: Sample, reply: Reply, ratings: Sequence[Rating]) -> Any:
    """Put all ratings of a reply into one score."""
    about = {criterion.name for criterion in benchmark.criteria if criterion.about(sample.tags)}
    value = {r.criterion: math.nan if r.value is None else r.value for r in ratings if r.criterion in about}
    judged = [(rating.criterion, rating) for rating in ratings if rating.criterion in value and rating.rater == rater]
    error = reply.provenance.get("error")
    bare = [msgspec.structs.replace(r, value=None, rationale="", evidence=(), provenance={}) for r in ratings]
    record = ScoreRecord(
        benchmark.name, msgspec.structs.replace(sample, messages=()), msgspec.structs.replace(reply, text=""), bare
    )
    facts = {rating.criterion: rating for rating in ratings if rating.criterion in value}
    metadata = {
        **metadata_of(judged, levels_of(benchmark, sample.tags.get("language", "en"))),
        "status": {name: facts[name].status.value for name in value},
        "rater_of": {name: facts[name].rater for name in value if facts[name].rater != rater},
    }
    return Score(
        value=value,
        explanation=explanation_of(judged) or (f"no reply came: {error}" if error else None),
        metadata={**metadata, RECORD: msgspec.to_builtins(record)},
    )


def _task(benchmark: Benchmark) -> Any:
    """Return what makes the task of a benchmark."""

    def build(
        language: str = "", data: str = "", mode: str = "joint", method: str = "rule", own_family: bool = False
    ) -> Any:
        options = {"benchmark": benchmark.name, "language": language, "data": data, "mode": mode, "method": method}
        with solvers.in_a_line():
            material = TaskMaterial(**options)
            own, samples = material.benchmark, material.samples.values()
            (instrument,) = plan.instruments(own, material.config.judging)
        dataset = [
            InspectSample(
                id=sample.id, input=solvers.messages(own.asked(sample)),
                target="" if sample.target is None else str(sample.target),
                metadata={**sample.tags, "cluster": sample.cluster},
            )
            for sample in samples
        ]  # fmt: skip
        return Task(
            dataset=MemoryDataset(dataset, name=own.name),
            setup=solvers.judged_by_another(own_family=own_family),
            solver=solvers.reply(),
            scorer=judge(**options, own_family=own_family),
            config=GenerateConfig(max_tokens=solvers.TOKENS),
            epochs=Epochs(1, [every()]),
            name=own.name,
            version=own.rubric.version,
            metadata={"instrument": instrument.name, "notes": [*own.remarks, *own.own_notes]},
        )

    build.__name__, build.__doc__ = benchmark.name, benchmark.card.title
    return task(name=benchmark.name)(build)


every = score_reducer(name="every")(_every)
figures = metric(name="figures")(_figures)
judge = scorer(metrics=[figures()], name="judge")(_judge)
TASKS: dict[str, Any] = {
    name: _task(benchmark)
    for name in benchmarks.names()
    for benchmark in benchmarks.find(name)
    if not benchmark.closed and not benchmark.holds_dialogues
}
"""Name of the benchmark → what makes its task; dialogues are held by `mindgauge run` alone."""
