"""The steps ahead of a command: calls to one model for one purpose, less those that its run holds already."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.engine.budget import tokens
from mindgauge.engine.steps import reply_request
from mindgauge.rubric import Method
from mindgauge.store import Store
from mindgauge.verbs import plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.benchmark import Benchmark
    from mindgauge.models.request import Model
    from mindgauge.raters.judge import Instrument, Judge
    from mindgauge.records import Reply, Sample
    from mindgauge.verbs.classifying import Classifying
    from mindgauge.verbs.plan import Asked

REPLY_TOKENS = 400
"""A reply's length where it is not known yet: between the published means of 228 and 550 words, in tokens."""
VERDICT_TOKENS = 150
CHAIN_TOKENS = 120
"""A chain of reasoning about one criterion."""
_PATHS = """
SELECT coalesce(sum(json_array_length(provenance, '$.path')), 0) FROM ratings
WHERE benchmark = ? AND rater = ? AND status != 'failed'"""


class Step(msgspec.Struct, frozen=True):
    """The calls to one model for one purpose. Tokens are estimates from the texts' sizes; cost is None without a price.

    A question that is asked node by node ends at the first yes: `calls`, tokens and cost are those it takes at most,
    `expected_calls` those it takes if every answer is right. Repairs of unreadable answers come on top.
    """

    model: str
    purpose: str
    calls: int
    expected_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


class Ahead(NamedTuple):
    """A step, how many calls of it are done already, and whether it waits until replies are written."""

    step: Step
    done: int = 0
    later: bool = False

    def named(self, benchmark: str) -> Ahead:
        """Return it with the benchmark's name, where a command has several."""
        return self._replace(step=msgspec.structs.replace(self.step, purpose=f"{benchmark}: {self.step.purpose}"))


def classifying(one: Classifying, path: Path, count: int) -> Ahead:
    """Return the step of a classifier, which makes no calls and costs nothing."""
    left = count - len(_rated(path, one.benchmark, one.rater.name, [one.rater.criterion.name]))
    purpose = f"classify {max(0, left)} {'samples' if one.benchmark.closed else 'replies'}"
    return Ahead(Step(one.rater.name, purpose, 0, 0, 0, 0, 0.0))


def asking(
    path: Path, benchmark: Benchmark, found: Sequence[Sample], model: Model, instrument: Instrument, runs: int
) -> Ahead:
    """Return the step of a closed question that is put in one way."""
    judge = plan.judge_for(model, instrument, {})
    each = len(judge.requests(found[0]))
    rated, walked = len(_rated(path, benchmark, judge.rater)), _walked(path, benchmark, judge.rater)
    left = max(0, len(found) * runs - rated)
    right = sum(part.calls_to(s.target) for s in found for part in instrument.parts(None)) / len(found)
    way = judge.rater.removeprefix(model.name)
    step = _step(
        model, f"classify{way}", left * each, _prompt_tokens(judge, [(s, None) for s in found]), VERDICT_TOKENS
    )
    return Ahead(msgspec.structs.replace(step, expected_calls=round(left * right)), walked or rated * each)


def replying(path: Path, benchmark: Benchmark, found: Sequence[Sample], model: Model, runs: int) -> Ahead:
    """Return the step in which a model replies to samples."""
    if not found:
        return Ahead(_step(model, "reply", 0, 0, REPLY_TOKENS))
    idents = {sample.id for sample in found}
    done = sum(ident in idents for ident, _ in _answered(path, benchmark, model))
    per_call = sum(tokens(reply_request(benchmark, s, 0, {}).messages) for s in found) / len(found)
    return Ahead(_step(model, "reply", len(found) * runs - done, per_call, REPLY_TOKENS), done)


def judging(
    path: Path,
    benchmark: Benchmark,
    model: Model,
    asked: Asked,
    subjects: Sequence[tuple[Sample, Reply]],
    each: int,
    purpose: str,
) -> list[Ahead]:
    """Return the steps of judging replies, each so many times, by every method.

    Replies by nobody stand for those that are not written yet.
    """
    protocol = next((p for c in benchmark.rubric.criteria for p in c.protocols), None)
    written = {reply.id for _, reply in subjects if reply.model}
    found = []
    for instrument in plan.instruments(benchmark, asked):
        judge = plan.judging_by(model, instrument, asked)
        sizes = {reply.id: _sizes(judge, sample, reply, protocol) for sample, reply in subjects}
        asked_of = {ident: len(its) for ident, its in sizes.items()}  # a criterion may not apply to a sample
        usual = sum(asked_of.values()) / max(1, len(subjects))
        rated = _rated(path, benchmark, judge.rater)
        known = [asked_of[ident] for ident, run in rated if ident in written and run < each]
        done = sum(known) if written else round(usual * len(rated))
        parts = max(1, len(instrument.parts(protocol)))
        chain = CHAIN_TOKENS * len(instrument.rubric.criteria) // parts if instrument.method is Method.CHAIN else 0
        how = judge.rater.removeprefix(model.name)
        calls = sum(asked_of.values()) * each - done
        per_call = _mean([size for its in sizes.values() for size in its])
        found.append(
            Ahead(_step(model, f"{purpose}{how}", calls, per_call, max(VERDICT_TOKENS, chain)), done, later=True)
        )
    if asked.protocol == plan.RECOGNISED and benchmark.recognised_by is not None:
        found.append(_recognising(path, benchmark, model, asked, {sample.id: sample for sample, _ in subjects}))
    return found


def _recognising(path: Path, benchmark: Benchmark, model: Model, asked: Asked, seen: dict[str, Sample]) -> Ahead:
    """Return the step in which a judge says itself which protocol each dialogue falls under."""
    assert benchmark.recognised_by is not None
    judge = plan.judge_for(model, benchmark.recognised_by.instrument(asked.mode), {})
    criteria = [criterion.name for criterion in benchmark.recognised_by.rubric.criteria]
    done = sum(ident in seen and n < asked.judge_runs for ident, n in _rated(path, benchmark, judge.rater, criteria))
    per_call = _prompt_tokens(judge, [(sample, None) for sample in seen.values()])
    return Ahead(
        _step(model, "recognise", len(seen) * asked.judge_runs - done, per_call, VERDICT_TOKENS), done, later=True
    )


def _step(model: Model, purpose: str, calls: int, prompt: float, completion: int) -> Step:
    calls = max(0, calls)
    cost = model.price.of(calls * prompt, calls * completion) if model.price is not None else None
    return Step(model.name, purpose, calls, calls, round(calls * prompt), calls * completion, cost)


def _prompt_tokens(judge: Judge, subjects: Sequence[tuple[Sample, Reply | None]], protocol: str | None = None) -> float:
    """Estimate the prompt tokens of one call about a dialogue and its reply, or the dialogue alone, on average."""
    return _mean([size for sample, reply in subjects for size in _sizes(judge, sample, reply, protocol)])


def _sizes(judge: Judge, sample: Sample, reply: Reply | None, protocol: str | None) -> list[int]:
    return [tokens(request.messages) for request in judge.requests(sample, reply, protocol)]


def _mean(sizes: Sequence[int]) -> float:
    return sum(sizes) / max(1, len(sizes))


def _answered(path: Path, benchmark: Benchmark, model: Model) -> set[tuple[str, int]]:
    if not (path / "run.sqlite").is_file():
        return set()
    with Store(path) as store:
        return store.answered(benchmark.name, model.name)


def _rated(path: Path, benchmark: Benchmark, rater: str, criteria: Sequence[str] | None = None) -> set[tuple[str, int]]:
    """Return the subjects, with their repeats, that are rated on every criterion (the rubric's, if not given)."""
    if not (path / "run.sqlite").is_file():
        return set()
    with Store(path) as store:
        names = criteria or [c.name for c in benchmark.rubric.criteria]
        return set.intersection(*(store.rated(benchmark.name, rater, name) for name in names))


def _walked(path: Path, benchmark: Benchmark, rater: str) -> int:
    """Count the calls of answers that took a path from node to node."""
    if not (path / "run.sqlite").is_file():
        return 0
    with Store(path) as store:
        count: int = store.select(_PATHS, (benchmark.name, rater)).fetchone()[0]
        return count
