"""`rate`: models, classifiers and rules rate replies that exist already, from a file or in a run."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import msgspec

from mindgauge.analysis.score import Scores, score
from mindgauge.benchmarks import hub_layout, instrument_folder, standalone_rubric
from mindgauge.commands.command import Count, command
from mindgauge.commands.judges.compare import remember
from mindgauge.records.errors import UsageError
from mindgauge.records.files import tables
from mindgauge.records.shell import command_line
from mindgauge.runs import (
    as_published,
    dialogue_files,
    inputs,
    languages,
    plan,
    prompt_styles,
    run_folder,
)
from mindgauge.runs import self_preference as kinship
from mindgauge.runs.entry_test import announce, entry_tests, note_untested, take
from mindgauge.runs.forecast import DryRun, foresee, warn_of_length
from mindgauge.runs.options import RateOptions, RunConfig
from mindgauge.store import manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample
    from mindgauge.records.files.texts import Frame
    from mindgauge.runs.options import AnyModel


@command(first="judge rubric replies dialogues unit limit judge_runs method max_cost out dry_run concurrency")
def rate(
    name: str | None = None,
    *,
    replies: str | Path | Frame | None = None,
    judge: AnyModel | Sequence[AnyModel],
    rubric: str | Path | None = None,
    dialogues: str | Path | Frame | None = None,
    unit: str | None = None,
    data: str | Path | None = None,
    out: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    limit: Count | None = None,
    text: bool = True,
    dry_run: bool = False,
    **options: Unpack[RateOptions],
) -> Scores | DryRun:
    """Rate replies that exist already, on an open benchmark or by a closed question about replies (dialogue_safety); the same command continues where it stopped.

    Args:
        name: A benchmark; leave it out with --rubric, or with a run that has but one.
        replies: A table of replies with their dialogues (CSV, Excel, JSON, JSONL, Parquet), or a run directory; in
            Python also a table in memory.
        judge: Who rates: a model, files/DIR (answers by hand), classifier/FOLDER, or a rule (rule/refusal). May be
            repeated; in Python also functions.
        rubric: A rubric file of your own, in place of a benchmark (docs/tasks/own_rubric.md), or a variant of a benchmark's
            by name: psycrisis/likert.
        dialogues: Dialogues of several turns: a table of `messages` or of single messages (CSV, Excel, JSON, JSONL,
            Parquet), text with `user:` and `chatbot:`, or a folder or zip of such files (docs/tasks/transcripts.md).
        data: The authors' released files, where judges are to rate by the questions in them (vera_mh).
        unit: Of --dialogues, rate every `turn` of the assistant, the whole `dialogue`, each message of the person alone
            (`client`), or several: `turn,client,dialogue`; `both` is `turn,dialogue`.
        out: The run directory; if not given, one that follows from the plan.
        columns: our name → the file's name of a column.
        limit: At most this many replies of the file.
        text: Keep hashes and places of quotes instead of what people and models said; in Python `text=False`.
        dry_run: Only say what it would take.
        options: How models are asked and judge, and what it may cost: the fields of `Asking`, `Judging`, `Settings` and
            `RunConfig` in `mindgauge.runs.options`, each with its sentence there.

    Raises:
        TypeError: there is no such option.
        UsageError: a name, a file or the plan is wrong, or a model would judge its own family.
        DataError: the file, or an anchor, cannot be read.
        EndpointError: a judge cannot be reached.
    """
    write_items = options.pop("write_items", None)
    config = RunConfig.of(options, RateOptions, rate, dry_run=dry_run)
    existing, content = manifest.of_source(replies)
    (benchmark,) = instrument_folder.one([standalone_rubric.asked(name, rubric, existing, content)], config.instrument)
    benchmark, config, table = as_published.judging(benchmark, config)
    benchmark = _with_tree(benchmark, data)
    _need_replies(benchmark, existing)
    dialogue_files.one_source(benchmark, replies, dialogues, unit, write_items)
    judges = _raters(judge, benchmark, config)
    _need_judge(judges)
    tests = entry_tests([benchmark], judges.models, config)
    if dialogues is not None:
        provided = _dialogues(write_items, dialogues, benchmark, columns or {}, unit, limit, judges, config)
    else:
        provided = _replies(
            replies, benchmark, columns or {}, limit, out, with_people=table is not None and not table.people
        )
    provided = provided.in_table(table)
    _need_criteria(benchmark, provided.samples)
    inputs.need_a_protocol(provided, judges, config)
    kin = kinship.judged(judges.models, provided.written(), config, provided.run)
    questions = prompt_styles.questions(benchmark, None, config, provided.samples)
    if provided.run is not None and not text:
        raise UsageError(f"--no-text is for a new run, and {provided.run} keeps its texts")
    if provided.run is not None:
        prompt_styles.same_examples(provided.run, benchmark, judges.models, questions)
    prompt_record = prompt_styles.planned([benchmark], [provided.samples], [questions], config.asking)
    raters = {"models" if benchmark.closed else "judges": judges.names}
    record = run_folder.plan_record(
        [benchmark], [provided.samples], config, text=text, **raters, **provided.named, **prompt_record
    )
    folder = provided.run or (Path(out) if out is not None else run_folder.folder_for(record, [benchmark]))
    benchmark = run_folder.for_calls(benchmark, folder, record)
    steps = plan.rating(benchmark, provided.planned, provided.size, judges, config, questions, provided.scope)
    warn_of_length(steps, config.notice)
    languages.announce(benchmark, provided.samples, config.notice)
    provided.announce(folder, config.notice)
    announce(folder, tests, config)
    if dry_run:
        if provided.run is None:
            run_folder.warn_of_refusal(folder, record, config)
        test_steps = chain.from_iterable(test.steps(folder, config) for test in tests)
        return foresee(folder, [benchmark], [*steps, *test_steps], config)
    with provided.kept(
        folder,
        record,
        config,
        chain(steps, *(test.steps(folder, config) for test in tests)),
        judges.classifiers,
        text=text,
    ) as store:
        run_folder.keep_classifiers(folder, judges.classifiers)
        kinship.keep(folder, kin)
        if provided.run is not None:
            _note(folder, judges, config.command)
        note_untested(folder, [benchmark], judges.models, config)
        take(store, tests, config)
        plan.perform(store, steps, config)
    scores = score(folder)
    remember(folder, tests, scores.qualifications, config)
    return scores


def _need_judge(judges: plan.Raters) -> None:
    if not judges.names:
        raise UsageError("name a judge with --judge")


def _need_replies(benchmark: Benchmark, existing: Path | None) -> None:
    """See that a question is about replies.

    Raises:
        UsageError: it is about what the person says.
    """
    if benchmark.closed and not (benchmark.about_reply or (benchmark.standalone and existing)):
        raise UsageError(
            f"{benchmark.name} is a closed question about what the person says: there are no replies to rate; "
            f"use `{command_line('run', benchmark.name)}`"
        )


def _raters(judge: AnyModel | Sequence[AnyModel], benchmark: Benchmark, config: RunConfig) -> plan.Raters:
    """Find who rates: those who answer a closed question, or judge replies."""
    if benchmark.closed:
        return plan.open_tested(plan.as_models(judge), [benchmark], config, config.judged)
    return plan.open_judges(plan.as_models(judge), [benchmark], config)


def _need_criteria(benchmark: Benchmark, samples: Sequence[Sample]) -> None:
    """See that something is asked about what was read; a run that is rated has shown its samples before.

    Raises:
        UsageError: no criterion is about any of it.
    """
    criteria = benchmark.rubric.criteria
    if not samples or any(criterion.about(sample.tags) for sample in samples for criterion in criteria):
        return
    units = [unit for unit in ("dialogue",) if any(unit in criterion.applies.get("unit", ()) for criterion in criteria)]
    raise UsageError(f"{benchmark.name} asks nothing about single turns; rate with --unit {units[0]}" if units else f"no criterion of {benchmark.name} is about what was read")  # fmt: skip


def _with_tree(benchmark: Benchmark, data: str | Path | None) -> Benchmark:
    """Return a benchmark as it is asked with the authors' files, where they decide how judges rate."""
    if data is None:
        return benchmark
    if benchmark.read_tree is None:
        raise UsageError(f"{benchmark.name} is rated by its own rubric, whatever lies below --data; leave out --data")
    return msgspec.structs.replace(benchmark, tree=benchmark.read_tree(Path(data)))


def _dialogues(
    write_items: str | Path | None,
    source: str | Path | Frame,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    unit: str | None,
    limit: int | None,
    judges: plan.Raters,
    config: RunConfig,
) -> inputs.Inputs:
    """Take what of transcripts a benchmark asks about, and write the items that they are cut into, if wanted."""
    if write_items is not None:
        units = dialogue_files.units_of(unit)
        dialogue_files.write(Path(write_items), dialogue_files.cut(source, benchmark, columns, units, limit))
    if benchmark.closed:
        return inputs.cut_replies(source, benchmark, columns, limit)
    return inputs.several_turns(source, benchmark, columns, unit, limit, judges, config)


def _replies(
    source: str | Path | Frame | None,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    limit: int | None,
    out: str | Path | None,
    *,
    with_people: bool = False,
) -> inputs.Inputs:
    """Take replies from a file or a run, with what people said of them if wanted, or the dialogues that a closed question is about."""
    if source is None:
        raise UsageError(dialogue_files.ONE_SOURCE)
    if tables.is_run(source):
        assert isinstance(source, str | Path)
        if limit is not None or out is not None:
            raise UsageError("--limit and --out go with a file of replies; a run is rated whole, where it is")
        return inputs.run(Path(source), benchmark)
    if isinstance(source, str | Path) and hub_layout.is_one(Path(source)):
        return inputs.in_layout(Path(source), benchmark, columns, limit)
    if with_people:
        return inputs.labelled_replies(source, benchmark, columns, limit)
    read = inputs.classified if benchmark.closed else inputs.replies
    return read(source, benchmark, columns, limit)


def _note(folder: Path, judges: plan.Raters, command: str) -> None:
    """Write down who rates a run that was there, and when."""
    manifest.write(folder, manifest.noted(manifest.read(folder), "rated", command, judges=judges.names))
