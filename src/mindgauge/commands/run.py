"""`run`: models answer a benchmark's samples, judges rate the replies, and the scores say what came of it."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import msgspec

from mindgauge import benchmarks
from mindgauge.analysis.score import Scores, score
from mindgauge.benchmarks import instrument_folder, standalone_rubric
from mindgauge.commands.command import Count, command
from mindgauge.commands.judges.compare import remember
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.shell import command_line
from mindgauge.runs import as_published, conversations, languages, plan, prompt_styles, run_folder
from mindgauge.runs import self_preference as kinship
from mindgauge.runs.entry_test import announce, entry_tests, note_untested, take
from mindgauge.runs.forecast import DryRun, foresee, warn_of_length
from mindgauge.runs.inputs import at_hand
from mindgauge.runs.options import RunConfig, RunOptions, listed
from mindgauge.runs.step_outputs import of_dialogues
from mindgauge.runs.steps import CallStep
from mindgauge.store import ReplyScope, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.raters.judge import Instrument
    from mindgauge.records.request import Model
    from mindgauge.runs.inputs import Available
    from mindgauge.runs.options import AnyModel
    from mindgauge.runs.steps import Step


_NAMED = 3
WITHOUT_PROTOCOL = ("rule/", "classifier/")
"""How raters are named that need no protocol."""


@command(
    first="model judge rubric data where limit runs max_cost out dry_run concurrency",
)
def run(
    names: str | Sequence[str] = (),
    *,
    model: AnyModel | Sequence[AnyModel],
    judge: AnyModel | Sequence[AnyModel] = (),
    rubric: str | Path | None = None,
    about: Literal["replies", "messages"] = "replies",
    data: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    out: str | Path | None = None,
    limit: Count | None = None,
    where: dict[str, tuple[str, ...]] | None = None,
    text: bool = True,
    dry_run: bool = False,
    **options: Unpack[RunOptions],
) -> Scores | DryRun:
    """Run benchmarks on models; the same command continues where it stopped.

    Of several benchmarks, one whose data is missing or broken is named, and the others run.

    Args:
        names: Benchmarks, or families of them; none with --rubric.
        model: A model under test: provider/name, http://HOST:PORT/v1#name, local/…, replay/FILE, files/DIR (answers by
            hand); for a closed question also classifier/FOLDER, which answers once and without calls. May be repeated;
            in Python also plain functions of `message`, or objects (`Function`, `Scripted`).
        judge: Who rates: a model, files/DIR (answers by hand), classifier/FOLDER, or a rule (rule/refusal). May be
            repeated; in Python also functions.
        rubric: A rubric file of your own, in place of a benchmark (docs/tasks/own_rubric.md), or a variant of a benchmark's
            by name: psycrisis/likert.
        about: What --rubric is about: `replies`, or `messages`, which models then rate themselves.
        data: A copy of the authors' released files, whole or in part, or texts of your own: a table with a column user
            or messages (or --map), or a folder of them.
        columns: our name → the column of a table of your own, and how it is read, see `rate`; it takes the place of the
            `columns.toml` beside the table.
        out: The run directory; if not given, one that follows from the plan.
        limit: At most this many, each with its variants, spread evenly over the classes; of dialogues each with another
            person.
        where: Keep samples whose tag has a value: language=zh, or one of several: made=released,ours. May be repeated.
        text: Keep hashes and places of quotes instead of what people and models said; in Python `text=False`.
        dry_run: Only say what it would take.
        options: How models are asked and judge, and what it may cost: the fields of `Asking`, `Judging`, `Settings` and
            `RunConfig` in `mindgauge.runs.options`, each with its sentence there.

    Raises:
        TypeError: there is no such option.
        UsageError: a name, a file or the plan is wrong, or a model would judge its own family.
        DataError: samples or anchors are missing or bad.
        EndpointError: a model cannot be reached.
        BudgetError: the next call could pass `max_cost`.
    """
    config = RunConfig.of(options, RunOptions, run, dry_run=dry_run)
    asked = listed(names)
    chosen = instrument_folder.one(standalone_rubric.all_asked(asked, rubric, about), config.instrument)
    if config.as_published:
        benchmark, config = as_published.protocol(chosen, config, where)
        chosen = [benchmark]
    named = {b.name: b for b in chosen}
    return hold(
        named, config, asked=asked, model=model, judge=judge, data=data, columns=columns, out=out, limit=limit, where=where,
        text=text, dry_run=dry_run,
    )  # fmt: skip


def _path(data: object) -> Path | None:
    """Return where data lies, None where there is none.

    Raises:
        UsageError: it lies in memory, from where a run cannot go on.
    """
    if data is not None and not isinstance(data, str | os.PathLike):
        raise UsageError(f"data: expected a path, found {type(data).__name__}; write a table to a file and name that")
    return Path(data) if data is not None else None


def hold(
    named: Mapping[str, Benchmark],
    config: RunConfig,
    *,
    model: AnyModel | Sequence[AnyModel],
    judge: AnyModel | Sequence[AnyModel] = (),
    asked: Sequence[str] = (),
    data: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    out: str | Path | None = None,
    limit: int | None = None,
    where: dict[str, tuple[str, ...]] | None = None,
    text: bool = True,
    dry_run: bool = False,
) -> Scores | DryRun:
    """Run benchmarks that are at hand; see `run`.

    Args:
        named: the benchmarks.
        config: how models are asked and judge.
        model: see `run`, as all that follows.
        judge: who rates.
        asked: the names that were asked for, of which some may be broken.
        data: the authors' files, or texts of one's own.
        columns: our name → the column of a table of one's own.
        out: the run directory.
        limit: of samples.
        where: which samples.
        text: whether texts are kept.
        dry_run: only say what it would take.
    """
    folder = _path(data)
    named = {name: benchmark.on(folder) for name, benchmark in named.items()}
    rates = any(not (isinstance(entry, str) and entry.startswith(WITHOUT_PROTOCOL)) for entry in listed(judge))
    by_protocol = rates and not config.judging.recognises
    models, judging, playing = (plan.as_models(specs) for specs in (model, judge, config.asking.client))
    settings = plan.tested_settings(models, config)
    clients = plan.open_models(playing, config, config.settings)
    dialogues = conversations.held([*named.values()], [c.name for c in clients], config, folder, text=text)
    available = at_hand(dialogues.benchmarks, folder, where, limit, columns, by_protocol=by_protocol)
    available.broken.update(
        (other, reason)
        for name in asked
        if name not in named  # which is found, and alone
        for other, reason in benchmarks.broken(name).items()
    )
    tested = plan.open_tested(models, available.benchmarks, config, settings)
    by_name = {entry.name: entry for entry in tested.models}
    clients = [by_name.get(entry.name, entry) for entry in clients]  # one that talks with itself is opened once
    if not tested.names:
        raise UsageError("name a model under test with --model")
    judges = plan.open_judges(judging, available.benchmarks, config)
    questions = [
        prompt_styles.questions(benchmark, None, config, samples)
        if benchmark.name in available.own
        else prompt_styles.questions(benchmark, folder, config)
        for benchmark, samples in zip(available.benchmarks, available.samples, strict=True)
    ]
    tests = entry_tests(available.benchmarks, judges.models, config, where)
    opened = [(b, samples) for b, samples in zip(available.benchmarks, available.samples, strict=True) if not b.closed]
    count = sum(len(samples) for _, samples in opened) * config.asking.runs
    kin = kinship.judged(judges.models, {entry.name: count for entry in (*tested.models, *clients) if count}, config)
    record = run_folder.plan_record(
        available.benchmarks, available.samples, config, text=text,
        models=tested.names, judges=judges.names,
        data=[str(folder)] if folder else None, own_texts=available.own or None, **dialogues.record, **prompt_styles.planned(available.benchmarks, available.samples, questions, config.asking),
    )  # fmt: skip
    path = Path(out) if out is not None else _folder(record, available, config)
    available = available._replace(benchmarks=[run_folder.for_calls(b, path, record) for b in available.benchmarks])
    steps = _steps(path, available, questions, (tested, clients, judges), config)
    warn_of_length(steps, config.notice)
    lacking = as_published.to_bring(config.replica, available.benchmarks[0], folder, available.samples[0], judges.names)
    worded = [
        line for each in zip(available.benchmarks, available.samples, strict=True) for line in languages.notes(*each)
    ]
    for line in (
        *available.lines,
        *worded,
        *conversations.notes(clients, tested.models, available.benchmarks),
        *as_published.told(config.replica, lacking),
        *_unjudged(available.benchmarks, judges, path),
    ):
        config.notice(line)
    announce(path, tests, config)
    if dry_run:
        run_folder.warn_of_refusal(path, record, config)
        test_steps = chain.from_iterable(test.steps(path, config) for test in tests)
        return foresee(path, available.benchmarks, [*steps, *test_steps], config)
    asked_about = dict(zip((b.name for b in available.benchmarks), available.samples, strict=True))
    looked_at, classifiers = (
        chain(steps, *(test.steps(path, config) for test in tests)),
        [*tested.classifiers, *judges.classifiers],
    )
    with run_folder.open_run(
        path, record, config, text=text, samples=asked_about, steps=looked_at, classifiers=classifiers
    ) as store:
        run_folder.keep_classifiers(path, classifiers)
        kinship.keep(path, kin)
        manifest.write(path, {**manifest.read(path), **available.told, **as_published.noted(config.replica, lacking)})
        for benchmark, samples in zip(available.benchmarks, available.samples, strict=True):
            run_folder.keep_samples(store, benchmark, samples, config.command)
            if not text and not benchmark.closed:
                rating = (step for step in steps if step.benchmark.name == benchmark.name and not step.within)
                store.ask_again(benchmark.name, (entry for step in rating for entry in step.ratings()))
        plan.perform(store, [step for step in steps if not step.later], config)
        note_untested(path, available.benchmarks, judges.models, config)
        take(store, tests, config)
        plan.perform(store, [step for step in steps if step.later], config)
    scores = score(path)
    remember(path, tests, scores.qualifications, config)
    return scores


def _folder(record: dict[str, Any], available: Available, config: RunConfig) -> Path:
    """Return the run directory where the user names none: one that is new with --fresh, else always the same."""
    hashes = [plan.samples_hash(sample.id for sample in population()) for population in available.populations]
    path = run_folder.folder_for(record, available.benchmarks, hashes)
    if not config.asking.fresh:
        return path
    path = run_folder.unused(path)
    config.notice(f"asked again in {path}; go on with it by --out {path}")
    return path


def _steps(
    folder: Path,
    available: Available,
    questions: Sequence[Sequence[Instrument]],
    people: tuple[plan.Raters, Sequence[Model], plan.Raters],
    config: RunConfig,
) -> list[Step]:
    """Return the steps of the run, those without calls first, then benchmark by benchmark.

    Args:
        folder: of the run.
        available: the benchmarks, and their samples.
        questions: what each closed one is put with.
        people: who is tested, who plays the person, who judges.
        config: how.
    """
    tested, clients, judges = people
    counts = {
        benchmark.name: len(samples) for benchmark, samples in zip(available.benchmarks, available.samples, strict=True)
    }
    replies = config.asking.runs * len(tested.models)
    local: list[Step] = [
        msgspec.structs.replace(step, count=counts[step.benchmark.name]) for step in tested.classifiers
    ]
    calls: list[Step] = []
    for benchmark, samples, instruments in zip(available.benchmarks, available.samples, questions, strict=True):
        calls += plan.answering(benchmark, samples, tested.models, instruments, config, clients)
        if benchmark.closed:
            continue
        to_come = plan.replies_to_come(folder, benchmark, samples, tested.models, config.asking.runs)
        scope = ReplyScope(
            frozenset(sample.id for sample in samples),
            frozenset(_repliers(benchmark, tested.models)),
            config.asking.runs,
        )
        rating = plan.rating(benchmark, to_come, len(samples) * replies, judges, config, scope=scope)
        local += [step for step in rating if not isinstance(step, CallStep)]
        calls += [step for step in rating if isinstance(step, CallStep)]
    return [*local, *calls]


def _repliers(benchmark: Benchmark, models: Sequence[Model]) -> Iterator[str]:
    """Return what replies of a benchmark call those who wrote them; of dialogues, three names for each model."""
    clients = () if benchmark.dialogues is None else benchmark.dialogues.clients
    for model in models:
        yield from (output.name for output in of_dialogues(model.name, clients, 1))


def _unjudged(opened: Sequence[Benchmark], judges: plan.Raters, path: Path) -> Iterator[str]:
    """Say which replies will be paid for and rated by nobody."""
    read = {benchmark.name for benchmark in opened if benchmark.readings}
    open_names = [benchmark.name for benchmark in opened if not benchmark.closed]
    judges_there = manifest.read(path).get("plan", {}).get("judges", []) if open_names and not judges.names else []
    if judges_there:
        yield (
            f"no judge is named: what is said of replies is kept, by {named(judges_there, limit=_NAMED)}, and replies that are new "
            f"are not rated; name {'it' if len(judges_there) == 1 else 'them'} again with --judge"
        )
    elif open_names and not judges.names:
        names = ", ".join(open_names[:_NAMED]) + (
            f" and {len(open_names) - _NAMED} more" if len(open_names) > _NAMED else ""
        )
        exception = " but by rule" if read.issuperset(open_names) else ""
        yield (
            f"no judge is named, so replies to {names} will be asked for and not rated{exception}; name one with --judge, or "
            f"rate the run afterwards: {command_line('rate', open_names[0], '--replies', path, '--judge', 'NAME')}"
        )
