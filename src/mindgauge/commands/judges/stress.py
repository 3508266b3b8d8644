"""`judges stress`: does a judge rate what a reply says, or how it is put?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import msgspec

from mindgauge.analysis.stress import probes as trials
from mindgauge.analysis.stress import reading
from mindgauge.analysis.stress.probes import OriginalReply
from mindgauge.benchmarks import anchors, standalone_rubric
from mindgauge.commands.command import COMMAS, Count, command
from mindgauge.raters.judge import Mode
from mindgauge.records import RaterKind, Status, digest
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import private, tables
from mindgauge.reports import stress as stress_page
from mindgauge.runs import plan, run_folder
from mindgauge.runs.forecast import DryRun, foresee
from mindgauge.runs.options import STRESSED, CommandOptions, RunConfig, listed
from mindgauge.runs.rating_steps import RatingStep
from mindgauge.runs.reply_tables import read_replies
from mindgauge.runs.steps import PlannedSubject
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.stress.effects import Stress
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.anchors import Anchor
    from mindgauge.raters.judge import Instrument
    from mindgauge.records import Rating
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.request import Model
    from mindgauge.runs.options import AnyModel


class StressOptions(CommandOptions, total=False):
    """How the judge judges, as keyword arguments."""

    judge_runs: int
    mode: str
    method: str | Sequence[str]
    judge_temperature: float | None
    judge_max_tokens: int | None


@command(
    first="benchmark rubric replies probes limit judge_runs method each out max_cost dry_run",
    without="batch",
    defaults=STRESSED,
)
def judges_stress(
    judge: AnyModel,
    *,
    benchmark: str | None = None,
    rubric: str | Path | None = None,
    replies: str | Path | Frame | None = None,
    columns: Mapping[str, str] | None = None,
    probes: Annotated[str | Sequence[str], COMMAS] = (),
    limit: Count | None = None,
    each: Count = 4,
    out: str | Path | None = None,
    dry_run: bool = False,
    **options: Unpack[StressOptions],
) -> Stress | DryRun:
    """Put the same replies to a judge in other forms: does it rate what they say, or how it is put?

    Args:
        judge: The model to put under stress.
        benchmark: An open benchmark, whose rubric and prompts it works with.
        rubric: A rubric file of your own, in place of a benchmark (docs/tasks/own_rubric.md), or a variant of a benchmark's
            by name: psycrisis/likert.
        replies: Replies to rate: a file or a run; the benchmark's anchors if not given.
        columns: our name → the file's name of a column.
        probes: Which probes, separated by commas; all if not given.
        limit: At most this many replies.
        each: Replies that each injection is tried on.
        out: The run directory; if not given, one that follows from the plan.
        dry_run: Only say what it would take.
        options: how the judge judges, and what it may cost:

            judge_runs: Verdicts on each version; two at least say how often the judge changes its mind by itself.
            method: One of general, rule or chain.

    Raises:
        TypeError: there is no such option.
        UsageError: a name, a file or the plan is wrong.
        DataError: the replies or the anchors are missing or bad.
        EndpointError: the judge cannot be reached.
        BudgetError: the next call could pass `max_cost`.
    """
    config = RunConfig.of(options, StressOptions, judges_stress, judging=STRESSED, dry_run=dry_run)
    if len(config.judging.method) > 1:
        raise UsageError("--method is one of general, rule, chain: a judge is put under stress with one at a time")
    task = standalone_rubric.asked(benchmark, rubric, *manifest.of_source(replies))
    if task.closed:
        raise UsageError(f"{task.name} is a closed question: it has no judge to put under stress")
    if each < 1:
        raise UsageError("--each must be at least 1")
    judges = plan.open_judges(plan.as_models(judge), [task], config)
    if not judges.models:
        raise UsageError(f"{judges.names[0]} reads no instructions; name a model to put under stress")
    model, *_ = judges.models
    names = trials.named(listed(probes))
    items, ratings = _items(task, replies, columns or {}, limit)
    steps = _steps(task, model, items, names, each, config)
    record = run_folder.plan_record(
        [task], [[item.sample for item in items]], config,
        stress={"probes": list(names), "each": each, "replies": digest([item.reply.id for item in items])},
    )  # fmt: skip
    path = Path(out or run_folder.folder_for({**record, "benchmarks": [f"{task.name}-stress"]}, [task]))
    if dry_run:
        return foresee(path, [task], steps, config)
    with Store(path, write=True) as store:
        content = _run_of_replies(path, record)
        plan.admit(store, steps, config)
        if content:
            content = manifest.noted(content, "stressed", config.command, judge=model.name, plan=record["stress"])
            manifest.write(path, content)
        else:
            manifest.begin(path, record, config.command)
        if task.standalone:
            run_folder.keep_rubric(path, task)
        for name, subjects in {step.benchmark.name: step.subjects for step in steps}.items():
            about = [*subjects()]
            run_folder.put_known(store, name, (s.sample for s in about), (s.reply for s in about if s.reply))
        run_folder.put_known(store, steps[0].benchmark.name, ratings=ratings)
        plan.perform(store, steps, config)
        result = reading.stress(store, task, steps[0].judge.rater)
    private.write(path / stress_page.PAGE, stress_page.page(result))
    return result


def _run_of_replies(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest of a run of replies that is to hold the test, too; empty where the run is new, or the test's own.

    Raises:
        UsageError: the run there is another.
    """
    content = manifest.read(path)
    standing = content.get("plan", {})
    if "stress" in standing:
        manifest.refuse_another(path, record)
        return {}
    if content and record["benchmarks"] != [b for b in standing.get("benchmarks", []) if b in record["benchmarks"]]:
        raise UsageError(f"{path} holds a run of another benchmark; choose another --out")
    return content


def _items(
    benchmark: Benchmark, source: str | Path | Frame | None, columns: Mapping[str, str], limit: int | None
) -> tuple[list[OriginalReply], list[Rating]]:
    """Return the replies to be rated, and what their authors or people gave them."""
    ratings: list[Rating] = []
    if source is None:
        taken = _anchors(benchmark, limit)
        ratings = [rating for anchor in taken for rating in anchor.records(benchmark.rubric.name)[1]]
        return [OriginalReply.of(anchor) for anchor in taken], ratings
    if isinstance(source, str | Path) and tables.is_run(source):
        run_folder.need_text(Path(source))
        with Store(Path(source)) as store:
            run_replies = [r for r in store.replies(benchmark.name) if r.status is Status.OK]
            if not run_replies:
                raise DataError(f"{source}: no replies to {benchmark.name} in this run")
            find = partial(store.sample, benchmark.name)
            presented = (benchmark.shown(find(reply.sample), reply, find) for reply in run_replies)
            items = [OriginalReply(*pair) for pair in presented if pair is not None]
            ratings = [r for r in store.ratings(benchmark.name) if r.rater_kind in {RaterKind.GOLD, RaterKind.PERSON}]
    else:
        samples, replies = read_replies(source, benchmark, columns, None)
        by_id = {sample.id: sample for sample in samples}
        items = [OriginalReply(by_id[reply.sample], reply) for reply in replies if reply.status is Status.OK]
    if not items:
        name = source if isinstance(source, str | Path) else "table"
        raise DataError(f"{name}: none of the replies has a text to rate")
    # Whole conversations, which are what the tests count.
    items = sorted(items, key=lambda item: item.sample.cluster)[:limit]
    subjects = {item.reply.id for item in items}
    return items, [rating for rating in ratings if rating.subject in subjects]


def _anchors(benchmark: Benchmark, limit: int | None) -> list[Anchor]:
    """Return the anchors; as many of every language where there is a limit, each spread over levels and protocols."""
    if limit is None:
        return benchmark.anchors()
    spoken: dict[str, list[Anchor]] = {}
    for anchor in benchmark.anchors():
        spoken.setdefault(OriginalReply.of(anchor).language, []).append(anchor)
    shares = [(limit + place) // len(spoken) for place in reversed(range(len(spoken)))]
    taken = zip(spoken.values(), shares, strict=True)
    return [anchor for all_, share in taken for anchor in anchors.spread(all_, share, benchmark.protocol)]


def _steps(
    benchmark: Benchmark, model: Model, items: list[OriginalReply], names: Sequence[str], each: int, config: RunConfig
) -> list[RatingStep]:
    """Return what the judge is to rate: the items with every instrument, their versions with the usual one."""
    (usual,) = plan.instruments(benchmark, config.judging)
    unchanged, changed = trials.store_names(benchmark.name, usual.rater(model.name))
    other = Mode.SPLIT if config.judging.mode is Mode.JOINT else Mode.JOINT
    turned = trials.turns(usual, benchmark.instrument(other, method=usual.method), names)
    samples = [item.sample for item in items]
    originals = [*map(PlannedSubject, samples, trials.originals(items))]
    versions = [
        PlannedSubject(version.sample, version.record(item, probe))
        for probe, item, version in trials.versions(items, names, usual, model.name, each)
    ]

    def step(name: str, instrument: Instrument, subjects: list[PlannedSubject], purpose: str) -> RatingStep:
        return RatingStep(
            benchmark=msgspec.structs.replace(benchmark, name=name), model=model, repeats=config.judging.judge_runs,
            purpose=purpose, subjects=lambda: subjects, judge=plan.judging_by(model, instrument, config),
        )  # fmt: skip

    return [
        step(unchanged, usual, originals, "originals"),
        *(step(unchanged, turn, originals, turn.version) for turn in turned),
        step(changed, usual, versions, "versions"),
    ]
