"""What a command would take, before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.records import Reply, Status
from mindgauge.verbs import ahead, plan
from mindgauge.verbs.ahead import Step
from mindgauge.verbs.entry_test import ahead_of
from mindgauge.verbs.forecast import Forecast, forecast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mindgauge.benchmark import Benchmark
    from mindgauge.models.request import Model
    from mindgauge.raters.judge import Instrument
    from mindgauge.records import Sample
    from mindgauge.verbs.ahead import Ahead
    from mindgauge.verbs.entry_test import EntryTest
    from mindgauge.verbs.plan import Asked, Raters


class DryRun(msgspec.Struct, frozen=True):
    """What a command would take. `done` counts what the run directory holds already; time and room are a `Forecast`."""

    run: str
    benchmark: str
    calls: int
    done: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    steps: list[Step]
    forecast: Forecast


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
    counts = {benchmark.name: len(found) for benchmark, found in zip(benchmarks, samples, strict=True)}
    replies = asked.runs * len(tested.models)
    steps = [ahead.classifying(one, path, counts[one.benchmark.name]) for one in tested.classifiers]
    steps += [ahead.classifying(one, path, counts[one.benchmark.name] * replies) for one in judges.classifiers]
    said: set[tuple[object, str]] = set()
    for benchmark, found, its in zip(benchmarks, samples, instruments, strict=True):
        of_this: list[ahead.Ahead] = []
        prompts = tuple(sorted((k, p.hash) for k, p in benchmark.prompts.get("reply", {}).items()))
        fresh = [sample for sample in found if (prompts, sample.id) not in said]
        for model in tested.models:
            of_this += [ahead.asking(path, benchmark, found, model, each, asked.runs) for each in its]
            if not benchmark.closed:
                of_this.append(ahead.replying(path, benchmark, fresh, model, asked.runs))
        if not benchmark.closed:
            said |= {(prompts, sample.id) for sample in fresh}
            text = "x" * 4 * ahead.REPLY_TOKENS
            unwritten = [(sample, Reply.of(sample.id, "", 0, Status.OK, text)) for sample in found]
            times = replies * asked.judge_runs
            for model in judges.models:
                of_this += ahead.judging(path, benchmark, model, asked, unwritten, times, "judge")
        steps += of_this if len(benchmarks) == 1 else [one.named(benchmark.name) for one in of_this]
    steps += ahead_of(path, tests, asked)
    models = [*tested.models, *judges.models]
    return _summed(path, ", ".join(b.name for b in benchmarks), steps, models, asked)


def foresee_judging(
    path: Path,
    benchmark: Benchmark,
    samples: Sequence[Sample],
    replies: Iterable[tuple[Sample, Reply]],
    instruments: Sequence[Instrument],
    judges: Raters,
    tests: Sequence[EntryTest],
    asked: Asked,
) -> DryRun:
    """Count the calls that rating what exists already would take; nothing is written or sent.

    Args:
        path: the run directory, which need not be there.
        benchmark: an open one, or a closed one that asks about replies.
        samples: the dialogues of a closed one.
        replies: those to an open one, with their samples.
        instruments: what models answer a closed one with.
        judges: who rates.
        tests: the anchors that judges rate first.
        asked: how.
    """
    there = list(replies)
    count = len(samples) if benchmark.closed else len(there)
    steps = [ahead.classifying(one, path, count) for one in judges.classifiers]
    readable = [(sample, reply) for sample, reply in there if _is_judged(benchmark, sample, reply, asked)]
    for model in judges.models:
        steps += [ahead.asking(path, benchmark, samples, model, each, asked.judge_runs) for each in instruments]
        if not benchmark.closed:
            steps += ahead.judging(path, benchmark, model, asked, readable, asked.judge_runs, "judge")
    steps += ahead_of(path, tests, asked)
    return _summed(path, benchmark.name, steps, judges.models, asked)


def _is_judged(benchmark: Benchmark, sample: Sample, reply: Reply, asked: Asked) -> bool:
    """Whether there is a reply to judge, and a protocol to judge it by."""
    known = not benchmark.protocol or asked.protocol == plan.RECOGNISED or benchmark.protocol in sample.tags
    return reply.status is Status.OK and known


def _summed(path: Path, benchmark: str, found: Sequence[Ahead], models: Sequence[Model], asked: Asked) -> DryRun:
    steps = [one.step for one in found]
    costs = [step.cost for step in steps]
    return DryRun(
        str(path), benchmark, sum(s.calls for s in steps), sum(one.done for one in found),
        sum(s.prompt_tokens for s in steps), sum(s.completion_tokens for s in steps),
        None if None in costs else sum(c for c in costs if c is not None), steps,
        forecast(path, [(one.step, one.later) for one in found], models, asked.settings),
    )  # fmt: skip
