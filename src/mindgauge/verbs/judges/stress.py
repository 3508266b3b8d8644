"""`judges stress`: does a judge rate what a reply says, or how it is put?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge import anchors, manifest, reader
from mindgauge import benchmark as benchmarks
from mindgauge.analysis.stress import judged
from mindgauge.engine import rate
from mindgauge.engine.budget import tokens
from mindgauge.errors import DataError, UsageError
from mindgauge.models.spec import Settings
from mindgauge.raters.family import same_family
from mindgauge.raters.judge import Mode
from mindgauge.records import RaterKind, Status, digest
from mindgauge.reports import stress_page
from mindgauge.store import Store
from mindgauge.stress import items as its
from mindgauge.stress import probes as trials
from mindgauge.stress.items import Item
from mindgauge.verbs import ahead, directory, plan
from mindgauge.verbs.estimate import DryRun
from mindgauge.verbs.forecast import forecast
from mindgauge.verbs.replies import read_replies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.analysis.stress.found import Stress
    from mindgauge.anchors import Anchor
    from mindgauge.benchmark import Benchmark
    from mindgauge.engine import Progress, Session
    from mindgauge.engine import Step as Work
    from mindgauge.models.request import Model
    from mindgauge.raters.judge import Judge
    from mindgauge.records import Rating, Reply, Sample
    from mindgauge.tables import Frame

EACH = 4
"""Replies that each injection is tried on."""


class _Task(NamedTuple):
    """A judge with one instrument, and the replies it is to rate, under the name that a run keeps them by."""

    benchmark: Benchmark
    judge: Judge
    replies: list[tuple[Sample, Reply]]
    purpose: str


def stress(
    judge: str | Model,
    *,
    benchmark: str,
    replies: str | Path | Frame | None = None,
    columns: Mapping[str, str] | None = None,
    probes: str | Sequence[str] = (),
    limit: int | None = None,
    each: int = EACH,
    judge_runs: int = 2,
    mode: str = "joint",
    method: str = "rule",
    judge_temperature: float | None = 0.0,
    max_cost: float | None = None,
    out: str | Path | None = None,
    settings: Settings | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    command: str = "",
) -> Stress | DryRun:
    """Put the same replies to a judge in other forms, and say which forms move it. The same call continues where it stopped.

    Args:
        judge: a model.
        benchmark: an open one, whose rubric and prompts the judge works with.
        replies: what is rated: a file or table as `rate` reads it, or a run with replies to the benchmark and perhaps
            people's ratings; the benchmark's anchors if not given.
        columns: our name → the file's name of a column.
        probes: which ones; all if not given.
        limit: at most this many replies; of the anchors, some of every language.
        each: replies that each injection is tried on.
        judge_runs: verdicts on each version; two at least say how often the judge changes its mind by itself.
        mode: `joint` or `split`; the other is one of the probes.
        method: `general`, `rule` or `chain`.
        judge_temperature: of the judge; None for its own default.
        max_cost: US dollars.
        out: the run directory; one that holds a run of the benchmark gains the stress test, and its report a line.
        settings: how endpoints are called.
        dry_run: only say what it would take.
        progress: told stage, calls done and calls in all.
        command: what the user typed, for the manifest.

    Raises:
        UsageError: a name, a file or the plan is wrong.
        DataError: the replies or the anchors are missing or bad.
        EndpointError: the judge cannot be reached.
        BudgetError: the next call could pass `max_cost`.
    """
    asked = plan.Asked(
        judge_runs=judge_runs, mode=plan.mode_of(mode), methods=plan.methods_of([method]),
        judge_temperature=judge_temperature, max_cost=max_cost, settings=Settings.of(settings, dry_run=dry_run),
    )  # fmt: skip
    found = benchmarks.asked_one(benchmark)
    if found.closed:
        raise UsageError(f"{benchmark} is a closed question: it has no judge to put under stress")
    if each < 1:
        raise UsageError("--each must be at least 1")
    judges = plan.open_judges([judge], [found], asked)
    if not judges.models:
        raise UsageError(f"{judges.names[0]} reads no instructions; name a model to put under stress")
    models = judges.models
    names = trials.named(plan.listed(probes))
    items, known = _items(found, replies, columns or {}, limit, models[0].name)
    tasks = _tasks(found, models[0], items, names, each, asked)
    whole = directory.whole_plan(
        [found], [[item.sample for item in items]], asked,
        stress={"probes": list(names), "each": each, "replies": digest([item.reply.id for item in items])},
    )  # fmt: skip
    path = Path(out) if out is not None else directory.folder_for({**whole, "benchmarks": [f"{found.name}-stress"]})
    if dry_run:
        return _foreseen(path, found.name, models[0], tasks, asked)
    with Store(path, write=True) as store:
        _begin(path, whole, models[0].name, command)
        _keep(store, tasks, known)
        plan.work(store, asked, progress, [lambda session: [_work(session, task, models[0], asked) for task in tasks]])
        result = judged.stress(store, found, tasks[0].judge.rater)
    stress_page.write(result, path)
    return result


def _begin(path: Path, whole: dict[str, object], judge: str, command: str) -> None:
    """Open a run for the test, or note it in a run of replies that is there."""
    content = manifest.read(path)
    if not content or "stress" in content.get("plan", {}):
        manifest.begin(path, whole, command)
        return
    if whole["benchmarks"] != [b for b in content.get("plan", {}).get("benchmarks", []) if b in whole["benchmarks"]]:  # type: ignore[operator]  # a list of names
        raise UsageError(f"{path} holds a run of another benchmark; choose another --out")
    noted = {"judge": judge, "at": manifest.now(), "command": command, "plan": whole["stress"]}
    manifest.write(path, {**content, "stressed": [*content.get("stressed", []), noted]})


def _items(
    benchmark: Benchmark, source: str | Path | Frame | None, columns: Mapping[str, str], limit: int | None, judge: str
) -> tuple[list[Item], list[Rating]]:
    """Return the replies to be rated, and what their authors, people or judges of other families gave them."""
    if source is None:
        taken = _anchors(benchmark, limit)
        return [Item.of(anchor) for anchor in taken], [
            rating for anchor in taken for rating in anchor.records(benchmark.rubric.name)[1]
        ]
    if isinstance(source, str | Path) and reader.is_run(source):
        directory.need_text(Path(source))
        with Store(Path(source)) as store:
            found = [r for r in store.replies(benchmark.name) if r.status is Status.OK]
            if not found:
                raise DataError(f"{source}: no replies to {benchmark.name} in this run")
            find = partial(store.sample, benchmark.name)
            shown = (benchmark.shown(find(reply.sample), reply, find) for reply in found)
            items = [Item(*one) for one in shown if one is not None]
            ratings = [r for r in store.ratings(benchmark.name) if _is_beside(r, judge)]
    else:
        samples, replies = read_replies(source, benchmark, columns, None)
        there = {sample.id: sample for sample in samples}
        items = [Item(there[reply.sample], reply) for reply in replies if reply.status is Status.OK]
        ratings = []
    if not items:
        raise DataError(
            f"{source if isinstance(source, str | Path) else 'table'}: none of the replies has a text to rate"
        )
    # Whole conversations, so that a judge's kin and others are seen on the same ones.
    items = sorted(items, key=lambda item: item.sample.cluster)[:limit]
    subjects = {item.reply.id for item in items}
    return items, [rating for rating in ratings if rating.subject in subjects]


def _is_beside(rating: Rating, judge: str) -> bool:
    """Whether a rating is of use beside the judge's: people's, and those of judges of other families."""
    other = rating.rater_kind is RaterKind.MODEL and not same_family(judge, rating.rater)
    return other or rating.rater_kind in {RaterKind.GOLD, RaterKind.PERSON}


def _anchors(benchmark: Benchmark, limit: int | None) -> list[Anchor]:
    """Return the anchors; as many of every language where there is a limit, each spread over levels and protocols."""
    spoken: dict[str, list[Anchor]] = {}
    for anchor in benchmark.anchors():
        spoken.setdefault(Item.of(anchor).language, []).append(anchor)
    if limit is None:
        return benchmark.anchors()
    shares = [(limit + place) // len(spoken) for place in reversed(range(len(spoken)))]
    taken = zip(spoken.values(), shares, strict=True)
    return [anchor for all_, share in taken for anchor in anchors.spread(all_, share, benchmark.protocol)]


def _tasks(
    benchmark: Benchmark, model: Model, items: list[Item], names: Sequence[str], each: int, asked: plan.Asked
) -> list[_Task]:
    """Return what the judge is to rate: the items with every instrument, their versions with the usual one."""
    (usual,) = plan.instruments(benchmark, asked)
    rater = usual.rater(model.name)
    kept, changed = its.store_names(benchmark.name, rater)
    other = Mode.SPLIT if asked.mode is Mode.JOINT else Mode.JOINT
    turned = trials.turns(usual, benchmark.instrument(other, method=usual.method), names)
    samples = [item.sample for item in items]
    originals = list(zip(samples, its.originals(items), strict=True))
    setting = trials.Setting(model.name, frozenset(usual.prompts))
    criteria = trials.ordinal(benchmark.rubric.criteria)
    versions = [
        (version.sample, version.record(item, probe))
        for probe, item, version in trials.versions(items, names, setting, criteria, each)
    ]
    under = msgspec.structs.replace(benchmark, name=kept)
    tasks = [_Task(under, plan.judging_by(model, usual, asked), originals, "originals")]
    tasks += [_Task(under, plan.judging_by(model, turn, asked), originals, turn.version) for turn in turned]
    rewritten = msgspec.structs.replace(benchmark, name=changed)
    return [*tasks, _Task(rewritten, plan.judging_by(model, usual, asked), versions, "versions")]


def _keep(store: Store, tasks: Sequence[_Task], known: Sequence[Rating]) -> None:
    """Put items, versions and what is known of them into the run, as far as they are not there."""
    for task in {task.benchmark.name: task for task in tasks}.values():
        name = task.benchmark.name
        there = set(store.sample_ids(name))
        store.put_samples(name, {s.id: s for s, _ in task.replies if s.id not in there}.values())
        rated = {reply.id for reply in store.replies(name)}
        for _, reply in task.replies:
            if reply.id not in rated:
                store.add_reply(name, reply)
    for rating in known:
        store.add_rating(tasks[0].benchmark.name, rating)
    store.flush()


def _work(session: Session, task: _Task, model: Model, asked: plan.Asked) -> tuple[Model, Work]:
    return model, lambda: rate(session, task.benchmark, task.judge, model, runs=asked.judge_runs)


def _foreseen(path: Path, benchmark: str, model: Model, tasks: Sequence[_Task], asked: plan.Asked) -> DryRun:
    """Count calls, each once however many probes want it, and those that the run holds already."""
    seen: set[bytes] = set()
    steps = []
    store = Store(path) if (path / "run.sqlite").is_file() else None
    done = 0
    for task in tasks:
        calls = prompt = 0
        for key, size in _calls(task, model, asked):
            if key in seen:
                continue
            seen.add(key)
            if store is not None and store.exchange(key) is not None:
                done += 1
                continue
            calls, prompt = calls + 1, prompt + size
        written = calls * ahead.VERDICT_TOKENS
        cost = model.price.of(prompt, written) if model.price is not None else None
        steps.append(ahead.Step(model.name, task.purpose, calls, calls, prompt, written, cost))
    if store is not None:
        store.close()
    totals = [sum(getattr(step, part) for step in steps) for part in ("calls", "prompt_tokens", "completion_tokens")]
    cost = None if model.price is None else sum(step.cost or 0.0 for step in steps)
    return DryRun(
        str(path),
        benchmark,
        totals[0],
        done,
        totals[1],
        totals[2],
        cost,
        steps,
        forecast(path, [(step, False) for step in steps], [model], asked.settings),
    )


def _calls(task: _Task, model: Model, asked: plan.Asked) -> Iterator[tuple[bytes, int]]:
    """Yield the key and the estimated prompt tokens of every call."""
    for sample, reply in task.replies:
        protocol = sample.tags.get(task.benchmark.protocol) if task.benchmark.protocol else None
        if task.benchmark.protocol and protocol is None:
            continue
        for request in task.judge.requests(sample, reply, protocol):
            for run in range(asked.judge_runs):
                again = msgspec.structs.replace(request, run=run, parameters={**request.parameters, "seed": run})
                yield again.key(model.name), tokens(request.messages)
