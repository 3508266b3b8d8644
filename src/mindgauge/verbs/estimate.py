"""What a command would take, before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.engine.session import tokens
from mindgauge.engine.steps import reply_request
from mindgauge.prompt import transcript
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.anchors import Anchor
    from mindgauge.benchmark import Benchmark
    from mindgauge.models.request import Model
    from mindgauge.records import Sample
    from mindgauge.verbs.entry_test import EntryTest
    from mindgauge.verbs.plan import Asked

REPLY_TOKENS = 400
"""A reply's length where it is not known yet: between the published means of 228 and 550 words, in tokens."""
VERDICT_TOKENS = 150


class Step(msgspec.Struct, frozen=True):
    """The calls to one model for one purpose. Tokens are estimates from the texts' sizes; cost is None without a price."""

    model: str
    purpose: str
    calls: int
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
    models: Sequence[Model],
    judges: Sequence[Model],
    tests: Sequence[EntryTest],
    asked: Asked,
) -> DryRun:
    """Count calls and estimate tokens and cost; nothing is written or sent."""
    steps: list[Step] = []
    done = 0
    for benchmark, found in zip(benchmarks, samples, strict=True):
        for model in models:
            if benchmark.closed:
                have = _rated(path, benchmark, model)
                per_call = _judging_tokens(benchmark, [(sample, "") for sample in found], asked)
            else:
                have = _answered(path, benchmark, model)
                per_call = sum(tokens(reply_request(benchmark, s, 0, {}).messages) for s in found) / len(found)
            purpose = "classify" if benchmark.closed else "reply"
            done += have
            calls = len(found) * asked.runs - have
            steps.append(_step(model, purpose, calls, per_call, VERDICT_TOKENS if benchmark.closed else REPLY_TOKENS))
        for model in judges if not benchmark.closed else ():
            subjects = [(sample, "x" * 4 * REPLY_TOKENS) for sample in found]
            each = asked.runs * len(models) * asked.judge_runs
            have, more = _judging(path, benchmark, model, asked, subjects, each, "judge")
            done += have
            steps += more
    for benchmark, anchors in tests:
        once = msgspec.structs.replace(asked, judge_runs=1)
        subjects = _anchors(path, benchmark.anchored, anchors)
        for model in judges:
            have, more = _judging(path, benchmark.anchored, model, once, subjects, 1, "entry test")
            done += have
            steps += more
    costs = [step.cost for step in steps]
    return DryRun(
        str(path), ", ".join(b.name for b in benchmarks), sum(s.calls for s in steps), done,
        sum(s.prompt_tokens for s in steps), sum(s.completion_tokens for s in steps),
        None if None in costs else sum(c for c in costs if c is not None), steps,
    )  # fmt: skip


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
    parts = len(benchmark.instrument(asked.mode).parts(_any_protocol(benchmark)))
    have = _rated(path, benchmark, model) * parts
    per_call = _judging_tokens(benchmark, subjects, asked)
    steps = [_step(model, purpose, len(subjects) * each * parts - have, per_call, VERDICT_TOKENS)]
    if asked.protocol == "recognised" and benchmark.recognised_by is not None:
        seen = {sample.id: (sample, "") for sample, _ in subjects}
        per_call = _judging_tokens(benchmark.recognised_by, list(seen.values()), asked)
        steps.append(_step(model, "recognise", len(seen) * asked.judge_runs, per_call, VERDICT_TOKENS))
    return have, steps


def _step(model: Model, purpose: str, calls: int, prompt: float, completion: int) -> Step:
    calls = max(0, calls)
    cost = model.price.of(calls * prompt, calls * completion) if model.price is not None else None
    return Step(model.name, purpose, calls, round(calls * prompt), calls * completion, cost)


def _any_protocol(benchmark: Benchmark) -> str | None:
    return next((p for c in benchmark.rubric.criteria for p in c.protocols), None)


def _judging_tokens(benchmark: Benchmark, subjects: Sequence[tuple[Sample, str]], asked: Asked) -> float:
    """Estimate the prompt tokens of one call about a dialogue and its reply, on average."""
    instrument = benchmark.instrument(asked.mode)
    part = instrument.parts(_any_protocol(benchmark))[0]
    total = 0
    for sample, reply in subjects:
        language = sample.tags.get("language", "en")
        prompt = instrument.prompts.get(language) or next(iter(instrument.prompts.values()))
        text = prompt.text + part.render(language) + part.form + transcript(sample.messages) + reply
        total += len(text.encode()) // 3
    return total / len(subjects)


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


def _rated(path: Path, benchmark: Benchmark, model: Model) -> int:
    """Count what is rated on every criterion; the engine asks for the rest again."""
    if not (path / "run.sqlite").is_file():
        return 0
    with Store(path) as store:
        return len(
            set.intersection(*(store.rated(benchmark.name, model.name, c.name) for c in benchmark.rubric.criteria))
        )
