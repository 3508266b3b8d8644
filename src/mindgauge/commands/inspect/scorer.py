"""The scorer: a judge rates every reply by the benchmark's rubric, and says all criteria in one score.

A criterion without a value is NaN, which Inspect leaves out of what it computes, and `status` says why. Of dialogues a
criterion of a turn is `criterion@turn`. What the score's metadata holds is what `mindgauge export --to inspect` writes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
from inspect_ai.scorer import Score, scorer

from mindgauge.commands.inspect import model as adapter
from mindgauge.commands.inspect.figures import RECORD, ScoreRecord, figures
from mindgauge.commands.inspect.instrument import TaskMaterial, TaskOptions
from mindgauge.commands.inspect.solvers import REPLIES
from mindgauge.records import HELD, REASONING, Message, Rating, Reply, Sample
from mindgauge.reports.export.inspect_logs import RatedPart, explanation_of, levels_of, metadata_of
from mindgauge.runs.judge_work import JudgeWork
from mindgauge.runs.steps import parted

if TYPE_CHECKING:
    from collections.abc import Sequence


def _judge(
    benchmark: str,
    language: str = "",
    data: str = "",
    mode: str = "joint",
    method: str = "rule",
    own_family: bool = False,
    turns: int = 0,
    person: str = "",
    clients: list[str] | None = None,
) -> Any:
    """Rate replies with the model that has the role of the grader; the arguments are those of the task."""
    options = TaskOptions(
        benchmark=benchmark, language=language, data=data, mode=mode, method=method, own_family=own_family, turns=turns,
        person=person, clients=tuple(clients or ()),
    )  # fmt: skip
    material = TaskMaterial(options)

    async def score(state: Any, _: Any) -> Any:
        grader = adapter.grader(str(state.model), own_family=own_family)
        judge = material.judge(grader)
        rated: list[tuple[Sample, Reply, list[Rating]]] = []
        for sample, reply in _subjects(material, state):
            ratings: list[Rating] = [reading.rate(sample, reply) for reading in material.benchmark.readings]
            find, keep = material.by_id.__getitem__, ratings.append
            await JudgeWork(material.benchmark, judge, grader.ask, find=find, keep=keep).rate(sample, reply, 0)
            rated.append((sample, reply, ratings))
        return _score(material, judge.rater, rated)

    return score


def _subjects(material: TaskMaterial, state: Any) -> list[tuple[Sample, Reply]]:
    """Return what is rated of a sample of Inspect's: the reply, or each turn of a dialogue, and the whole."""
    turns = state.store.get(REPLIES)
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


def _score(material: TaskMaterial, rater: str, rated: Sequence[tuple[Sample, Reply, list[Rating]]]) -> Any:
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


judge = scorer(metrics=[figures()], name="judge")(_judge)
