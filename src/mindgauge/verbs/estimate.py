"""What a command would take, before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.engine.session import tokens
from mindgauge.engine.steps import reply_request
from mindgauge.records import Reply, Status
from mindgauge.rubric import Method
from mindgauge.store import Store
from mindgauge.verbs import plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.anchors import Anchor
    from mindgauge.benchmark import Benchmark
    from mindgauge.models.request import Model
    from mindgauge.raters.judge import Instrument, Judge
    from mindgauge.records import Sample
    from mindgauge.verbs.classifying import Classifying
    from mindgauge.verbs.entry_test import EntryTest
    from mindgauge.verbs.plan import Asked, Raters

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


class DryRun(msgspec.Struct, frozen=True):
    """What a command would take. `done` counts what the run directory holds already."""

    run: str
    benchmark: str
    calls: int
    done: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    steps: list[Step]


def foresee(
    path: Path,
    benchmarks: Sequence[Benchmark],
    samples: Sequence[Sequence[Sample]],
    instruments: Sequence[Sequence[Instrument]],
    tested: Raters,
    judges: Raters,
    tests: Sequence[EntryTest],
    asked: Asked,
) -> DryRun:
    """Count calls and estimate tokens and cost; nothing is written or sent."""
    steps = [_classifying(one, path, samples[benchmarks.index(one.benchmark)], 1) for one in tested.classifiers]
    replies = asked.runs * len(tested.models)
    steps += [_classifying(one, path, samples[benchmarks.index(one.benchmark)], replies) for one in judges.classifiers]
    done = 0
    for benchmark, found, its in zip(benchmarks, samples, instruments, strict=True):
        for model in tested.models:
            for instrument in its:
                have, step = _asking(path, benchmark, found, model, plan.judge_for(model, instrument, {}), asked)
                done += have
                steps.append(step)
            if not benchmark.closed:
                have = _answered(path, benchmark, model)
                per_call = sum(tokens(reply_request(benchmark, s, 0, {}).messages) for s in found) / len(found)
                done += have
                steps.append(_step(model, "reply", len(found) * asked.runs - have, per_call, REPLY_TOKENS))
        for model in judges.models if not benchmark.closed else ():
            subjects = [(sample, "x" * 4 * REPLY_TOKENS) for sample in found]
            each = replies * asked.judge_runs
            have, more = _judging(path, benchmark, model, asked, subjects, each, "judge")
            done += have
            steps += more
    for benchmark, anchors in tests:
        once = msgspec.structs.replace(asked, judge_runs=1)
        subjects = _anchors(path, benchmark.anchored, anchors)
        for model in judges.models:
            have, more = _judging(path, benchmark.anchored, model, once, subjects, 1, "entry test")
            done += have
            steps += more
    return _summed(path, ", ".join(b.name for b in benchmarks), done, steps)


def foresee_judging(
    path: Path, benchmark: Benchmark, replies: Sequence[tuple[Sample, str]], judges: Sequence[Model], asked: Asked
) -> DryRun:
    """Count the calls that judging replies which exist already would take; nothing is written or sent."""
    steps: list[Step] = []
    done = 0
    for model in judges:
        have, more = _judging(path, benchmark, model, asked, replies, asked.judge_runs, "judge")
        done += have
        steps += more
    return _summed(path, benchmark.name, done, steps)


def _summed(path: Path, benchmark: str, done: int, steps: list[Step]) -> DryRun:
    costs = [step.cost for step in steps]
    return DryRun(
        str(path), benchmark, sum(s.calls for s in steps), done, sum(s.prompt_tokens for s in steps),
        sum(s.completion_tokens for s in steps), None if None in costs else sum(c for c in costs if c is not None), steps,
    )  # fmt: skip


def _classifying(one: Classifying, path: Path, found: Sequence[Sample], each: int) -> Step:
    """Return the step of a classifier, which makes no calls and costs nothing."""
    left = len(found) * each - _rated(path, one.benchmark, one.rater.name, [one.rater.criterion.name])[0]
    purpose = f"classify {max(0, left)} {'samples' if one.benchmark.closed else 'replies'}"
    return Step(one.rater.name, purpose, 0, 0, 0, 0, 0.0)


def _asking(
    path: Path, benchmark: Benchmark, found: Sequence[Sample], model: Model, judge: Judge, asked: Asked
) -> tuple[int, Step]:
    """Return how many calls of a closed question in one way are done already, and what the others take."""
    each = len(judge.requests(found[0]))
    rated, made = _rated(path, benchmark, judge.rater)
    left = max(0, len(found) * asked.runs - rated)
    right = sum(part.calls_to(s.target) for s in found for part in judge.instrument.parts(None)) / len(found)
    way = judge.rater.removeprefix(model.name)
    step = _step(model, f"classify{way}", left * each, _prompt_tokens(judge, [(s, "") for s in found]), VERDICT_TOKENS)
    return made or rated * each, msgspec.structs.replace(step, expected_calls=round(left * right))


def _judging(
    path: Path,
    benchmark: Benchmark,
    model: Model,
    asked: Asked,
    subjects: Sequence[tuple[Sample, str]],
    each: int,
    purpose: str,
) -> tuple[int, list[Step]]:
    """Return how many calls of judging replies, each so many times, are done already, and what the others take."""
    protocol = _any_protocol(benchmark)
    steps: list[Step] = []
    done = 0
    for instrument in plan.instruments(benchmark, asked):
        judge = plan.judge_for(model, instrument, {})
        parts = len(instrument.parts(protocol))
        have = _rated(path, benchmark, judge.rater)[0] * parts
        per_call = _prompt_tokens(judge, subjects, protocol)
        written = VERDICT_TOKENS
        if instrument.method is Method.CHAIN:
            written = max(VERDICT_TOKENS, CHAIN_TOKENS * len(instrument.rubric.criteria) // parts)
        how = judge.rater.removeprefix(model.name)
        steps.append(_step(model, f"{purpose}{how}", len(subjects) * each * parts - have, per_call, written))
        done += have
    if asked.protocol == "recognised" and benchmark.recognised_by is not None:
        seen = {sample.id: (sample, "") for sample, _ in subjects}
        judge = plan.judge_for(model, benchmark.recognised_by.instrument(asked.mode), {})
        per_call = _prompt_tokens(judge, list(seen.values()))
        steps.append(_step(model, "recognise", len(seen) * asked.judge_runs, per_call, VERDICT_TOKENS))
    return done, steps


def _step(model: Model, purpose: str, calls: int, prompt: float, completion: int) -> Step:
    calls = max(0, calls)
    cost = model.price.of(calls * prompt, calls * completion) if model.price is not None else None
    return Step(model.name, purpose, calls, calls, round(calls * prompt), calls * completion, cost)


def _any_protocol(benchmark: Benchmark) -> str | None:
    return next((p for c in benchmark.rubric.criteria for p in c.protocols), None)


def _prompt_tokens(judge: Judge, subjects: Sequence[tuple[Sample, str]], protocol: str | None = None) -> float:
    """Estimate the prompt tokens of one call about a dialogue and its reply, or the dialogue alone, on average."""
    total = calls = 0
    for sample, text in subjects:
        reply = Reply.of(sample.id, "", 0, Status.OK, text) if text else None
        for request in judge.requests(sample, reply, protocol):
            total += tokens(request.messages)
            calls += 1
    return total / calls


def _anchors(path: Path, benchmark: Benchmark, anchors: Sequence[Anchor]) -> list[tuple[Sample, str]]:
    """Return the anchors that would be rated: those asked for, and those that the run holds from before."""
    found = {anchor.records("")[0].id: (anchor.sample, anchor.reply) for anchor in anchors}
    if (path / "run.sqlite").is_file():
        with Store(path) as store:
            for reply in store.replies(benchmark.name):
                found[reply.id] = (store.sample(benchmark.name, reply.sample), reply.text)
    return list(found.values())


def _answered(path: Path, benchmark: Benchmark, model: Model) -> int:
    if not (path / "run.sqlite").is_file():
        return 0
    with Store(path) as store:
        return len(store.answered(benchmark.name, model.name))


def _rated(path: Path, benchmark: Benchmark, rater: str, criteria: Sequence[str] | None = None) -> tuple[int, int]:
    """Count what is rated on every criterion (the rubric's, if not given); and the calls of those that took a path."""
    if not (path / "run.sqlite").is_file():
        return 0, 0
    with Store(path) as store:
        names = criteria or [c.name for c in benchmark.rubric.criteria]
        rated = (store.rated(benchmark.name, rater, name) for name in names)
        return len(set.intersection(*rated)), store.select(_PATHS, (benchmark.name, rater)).fetchone()[0]
