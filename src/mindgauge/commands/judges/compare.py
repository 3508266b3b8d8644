"""`judges compare`: judges and methods of judging on the same replies, beside what people said of them."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from mindgauge.analysis import fitness, frame, scoring_views
from mindgauge.analysis import fitness as qualify_
from mindgauge.analysis.judge_comparison import compare as judging
from mindgauge.analysis.judge_comparison.compare import IntervalOptions
from mindgauge.benchmarks import instrument_folder, standalone_rubric
from mindgauge.benchmarks.anchors import EntryResult
from mindgauge.commands.command import Count, FromZero, Resamples, command
from mindgauge.models.replay import Replay
from mindgauge.models.scripted import Scripted
from mindgauge.records import Status, digest
from mindgauge.records.errors import UsageError
from mindgauge.runs import entry_test, labelled, plan, run_folder
from mindgauge.runs import self_preference as kinship
from mindgauge.runs.entry_test import announce, entry_tests, take
from mindgauge.runs.forecast import DryRun, foresee, warn_of_length
from mindgauge.runs.options import COMPARED, CompareOptions, RunConfig, listed
from mindgauge.runs.steps import PlannedSubject
from mindgauge.store import ReplyScope, Store, continued, manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.fitness import Qualification
    from mindgauge.analysis.judge_comparison.compare import JudgeComparison
    from mindgauge.records.files.texts import Frame
    from mindgauge.runs.entry_test import EntryTest
    from mindgauge.runs.options import AnyModel


@command(
    first="replies judge rubric reference judge_runs method limit out max_cost dry_run seed",
    without="batch",
    defaults=COMPARED,
)
def judges_compare(
    name: str | None = None,
    *,
    replies: str | Path | Frame,
    judge: AnyModel | Sequence[AnyModel],
    rubric: str | Path | None = None,
    reference: str | Sequence[str] = (),
    out: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    limit: Count | None = None,
    dry_run: bool = False,
    resamples: Resamples = 2000,
    seed: FromZero = 0,
    **options: Unpack[CompareOptions],
) -> JudgeComparison | DryRun:
    """Judge the same replies by several models and methods: agreement with people, stability, cost, real differences.

    Everything goes into a run of its own, so that a run whose replies are judged stays as it is. Of a run with people's
    ratings, only the replies that they rated are judged; judges that rated them before are compared, too.

    Args:
        name: A benchmark; leave it out with --rubric, or with a run that has but one.
        replies: A run directory, or a table of replies (CSV, Excel, JSON, JSONL, Parquet) with people's labels as
            label.CRITERION or label.PERSON.CRITERION.
        judge: Who rates: a model, files/DIR (answers by hand), classifier/FOLDER, or a rule (rule/refusal). May be
            repeated; in Python also functions.
        rubric: A rubric file of your own, in place of a benchmark (docs/tasks/own_rubric.md), or a variant of a benchmark's
            by name: psycrisis/likert.
        reference: Raters of the run to compare with; people if not given. May be repeated.
        out: The run directory; if not given, one that follows from the plan.
        columns: our name → the file's name of a column.
        limit: At most this many replies, whole dialogues.
        dry_run: Only say what it would take.
        resamples: Of conversations.
        seed: Of the resampling.
        options: How judges judge, and what it may cost: the fields of `Judging`, `Settings` and `RunConfig` in
            `mindgauge.runs.options`, each with its sentence there.

    Raises:
        TypeError: there is no such option.
        UsageError: a name, a file or the plan is wrong, or a model would judge its own family.
        DataError: the replies or their labels cannot be read.
        EndpointError: a judge cannot be reached.
        BudgetError: the next call could pass `max_cost`.
    """
    config = RunConfig.of(options, CompareOptions, judges_compare, judging=COMPARED, dry_run=dry_run)
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


def remember(
    folder: Path, tests: Sequence[EntryTest], qualifications: Sequence[Qualification], config: RunConfig
) -> None:
    """Note on this machine which judges of a run passed: on a criterion at least, and failed on none."""
    if not tests:
        return
    with Store(folder) as store:
        worst = scoring_views.entry_tests(store, [test.benchmark for test in tests])
    for test in tests:
        for judge in test.judges:
            if isinstance(judge, Scripted | Replay):
                continue
            for instrument in plan.instruments(test.benchmark, config.judging):
                pair = (test.benchmark.name, instrument.rater(judge.name))
                results = {q.result for q in qualifications if (q.benchmark, q.judge) == pair}
                if EntryResult.PASSED in results and EntryResult.FAILED not in results:
                    by_criterion = {name: why for (b, name, j), why in worst.items() if (b, j) == pair}
                    entry_test.remember(judge, instrument, by_criterion)
