"""`judges compare`: judges and methods of judging on the same replies, beside what people said of them."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from mindgauge.analysis import fitness, frame
from mindgauge.analysis import fitness as qualify_
from mindgauge.analysis.judge_comparison import compare as judging
from mindgauge.analysis.judge_comparison.compare import IntervalOptions
from mindgauge.benchmarks import instrument_folder, standalone_rubric
from mindgauge.commands.qualified import remember
from mindgauge.records import Status, digest
from mindgauge.records.errors import UsageError
from mindgauge.runs import labelled, plan, run_folder
from mindgauge.runs import self_preference as kinship
from mindgauge.runs.entry_test import announce, entry_tests, take
from mindgauge.runs.forecast import DryRun, foresee, warn_of_length
from mindgauge.runs.options import COMPARED, CompareOptions, RunConfig, listed
from mindgauge.runs.steps import PlannedSubject
from mindgauge.store import ReplyScope, continued, manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.judge_comparison.compare import JudgeComparison
    from mindgauge.records.files.texts import Frame
    from mindgauge.runs.options import AnyModel


def compare(
    name: str | None = None,
    *,
    replies: str | Path | Frame,
    judge: AnyModel | Sequence[AnyModel],
    rubric: str | Path | None = None,
    reference: str | Sequence[str] = (),
    out: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    dry_run: bool = False,
    resamples: int = 2000,
    seed: int = 0,
    **options: Unpack[CompareOptions],
) -> JudgeComparison | DryRun:
    """Judge the same replies by several models and methods, and say what differs; the same call goes on where it stopped.

    Everything goes into a run of its own, so that a run whose replies are judged stays as it is. Of a run with people's
    ratings, only the replies that they rated are judged; judges that rated them before are compared, too.

    Args:
        name: an open benchmark; of a run with one benchmark, or with a rubric of its own, that one if not given.
        replies: a run directory, or a file or table as `rate` reads it, with people's labels in columns
            `label.CRITERION`.
        judge: models that judge.
        rubric: in place of a name, a rubric file.
        reference: the raters of the run to compare with; people if not given.
        out: the directory of the comparison's own run; if not given, one that follows from the plan.
        columns: our name → the file's name of a column.
        limit: at most this many replies, whole dialogues, drawn evenly over the samples.
        dry_run: only say what it would take.
        resamples: of conversations, for the intervals of systems' correlations.
        seed: of the generators.
        options: how judges judge, and what it may cost:

            method: of judging: `general`, `rule`, `chain`.
            judge_runs: judgements per reply, judge and method.
            mode: `joint` or `split`.
            protocol: `gold` or `recognised`, see `run`.
            judge_temperature: of the judges; None for their own default.
            judge_max_tokens: the longest answer asked of a judge.
            instrument: a folder with prompts and a rubric of another instrument, such as the authors' (docs/own_prompts.md): judges rate by
                it and by the benchmark's own, so that both stand beside people on the same replies.
            max_cost: US dollars.
            own_family: let models judge replies by models of their own family, too.
            qualify: whether judges first rate replies of ours whose level is known, by each method, see `run`.
            anchors: at most this many of those, spread over levels and protocols, see `run`.
            settings: how endpoints are called.
            progress: called with the stage, and how many of its calls are done, of how many.
            notice: called, before anything is sent, with what will probably be too long for a model.
            command: what the user typed, for the manifest.

    Raises:
        TypeError: there is no such option.
        UsageError: a name, a file or the plan is wrong, or a model would judge its own family.
        DataError: the replies or their labels cannot be read.
        EndpointError: a judge cannot be reached.
        BudgetError: the next call could pass `max_cost`.
    """
    config = RunConfig.of(options, CompareOptions, compare, judging=COMPARED, dry_run=dry_run)
    benchmark = standalone_rubric.asked(name, rubric, *manifest.of_source(replies))
    (other,) = instrument_folder.one([benchmark], config.instrument)
    if benchmark.closed:
        raise UsageError(
            f"{benchmark.name} is a closed question: there are no replies to judge; mindgauge compare compares ways"
        )
    judges = plan.open_models(plan.as_models(judge), config, config.judged)
    if not judges:
        raise UsageError("name a judge with --judge")
    tests = entry_tests([benchmark], judges, config)
    named = listed(reference) if reference else []
    labelled_replies = labelled.read(replies, benchmark, columns or {}, named)
    labelled_replies = labelled_replies.limited(limit) if limit is not None else labelled_replies
    versions = [benchmark] if other is benchmark else [benchmark, other]
    rater_names = {i.rater(m.name) for m in judges for b in versions for i in plan.instruments(b, config.judging)}
    existing_ratings = [rating for rating in labelled_replies.ratings if rating.rater not in rater_names]
    reply_counts = Counter(reply.model for reply in labelled_replies.replies if reply.status is Status.OK)
    kin = kinship.judged(judges, reply_counts, config)
    record = run_folder.plan_record(
        [benchmark], [labelled_replies.samples], config,
        replies=digest(sorted(r.id for r in labelled_replies.replies)), judges=[m.name for m in judges], compared=True,
    )  # fmt: skip
    record["words"][benchmark.name] |= run_folder.words(other, config)
    folder = Path(out) if out is not None else run_folder.folder_for(record, versions)
    benchmark = run_folder.for_calls(benchmark, folder, record)
    by_id = {sample.id: sample for sample in labelled_replies.samples}
    judged = [PlannedSubject(by_id[reply.sample], reply) for reply in labelled_replies.replies]
    scope = ReplyScope.of_ids(reply.id for reply in labelled_replies.replies)
    versions = [benchmark, *versions[1:]]
    steps = [step for b in versions for step in plan.judging(b, lambda: judged, judges, config, scope=scope)]
    warn_of_length(steps, config.notice)
    announce(folder, tests, config)
    if dry_run:
        run_folder.warn_of_refusal(folder, record, config)
        test_steps = chain.from_iterable(test.steps(folder, config) for test in tests)
        return foresee(folder, [benchmark], [*steps, *test_steps], config)
    samples, rated = {benchmark.name: labelled_replies.samples}, {benchmark.name: labelled_replies.replies}
    looked_at = chain(steps, *(test.steps(folder, config) for test in tests))
    with run_folder.open_run(folder, record, config, samples=samples, replies=rated, steps=looked_at) as store:
        kinship.keep(folder, kin)
        run_folder.keep_samples(store, benchmark, labelled_replies.samples, config.command)
        run_folder.keep_replies(store, benchmark, labelled_replies.replies, config.command, existing_ratings)
        take(store, tests, config)
        plan.perform(store, steps, config)
        compared = judging.compare(store, benchmark, folder, named, IntervalOptions(resamples, seed))
        older = continued.last(store, manifest.read(folder))
        tested = qualify_.qualify(store, [benchmark], resamples=resamples, seed=seed)
        unfit = qualify_.unfit(store, benchmark, frame.ratings(store, benchmark))
    remember(folder, tests, tested, config)
    compared.qualifications.extend(tested)
    compared.notes.extend([*fitness.told(unfit), *labelled_replies.notes, *kinship.notes(kin), *older])
    return compared
