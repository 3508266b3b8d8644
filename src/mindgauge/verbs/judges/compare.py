"""`judges compare`: judges and methods of judging on the same replies, beside what people said of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge import benchmark as benchmarks
from mindgauge import manifest
from mindgauge.analysis import continued, fitness, frame
from mindgauge.analysis import qualify as qualify_
from mindgauge.analysis.judging import compare as judging
from mindgauge.analysis.judging.compare import Options
from mindgauge.errors import UsageError
from mindgauge.models.spec import Settings
from mindgauge.records import Status, digest
from mindgauge.verbs import directory, length, plan
from mindgauge.verbs import own_family as kinship
from mindgauge.verbs.entry_test import announce, entry_tests, remember, take
from mindgauge.verbs.estimate import DryRun, foresee_judging
from mindgauge.verbs.judges import labelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mindgauge.analysis.judging.result import Judging
    from mindgauge.engine import Progress
    from mindgauge.models.request import Model
    from mindgauge.tables import Frame


def compare(
    name: str,
    *,
    replies: str | Path | Frame,
    judge: str | Model | Sequence[str | Model],
    method: str | Sequence[str] = ("general", "rule", "chain"),
    judge_runs: int = 3,
    reference: str | Sequence[str] = (),
    out: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    mode: str = "joint",
    protocol: str = plan.GOLD,
    judge_temperature: float | None = 0.0,
    max_cost: float | None = None,
    own_family: bool = False,
    qualify: bool | None = None,
    anchors: int | None = None,
    settings: Settings | None = None,
    dry_run: bool = False,
    resamples: int = 2000,
    seed: int = 0,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
    command: str = "",
) -> Judging | DryRun:
    """Judge the same replies by several models and methods, and say what differs; the same call goes on where it stopped.

    Everything goes into a run of its own, so that a run whose replies are judged stays as it is. Of a run with people's
    ratings, only the replies that they rated are judged; judges that rated them before are compared, too.

    Args:
        name: an open benchmark.
        replies: a run directory, or a file or table as `rate` reads it, with people's labels in columns
            `label.CRITERION`.
        judge: models that judge.
        method: of judging: `general`, `rule`, `chain`.
        judge_runs: judgements per reply, judge and method.
        reference: the raters of the run to compare with; people if not given.
        out: the directory of the comparison's own run; if not given, one that follows from the plan.
        columns: our name → the file's name of a column.
        limit: at most this many replies, whole dialogues, drawn evenly over the samples.
        mode: `joint` or `split`.
        protocol: `gold` or `recognised`, see `run`.
        judge_temperature: of the judges; None for their own default.
        max_cost: US dollars.
        own_family: let models judge replies by models of their own family, too.
        qualify: whether judges first rate replies of ours whose level is known, by each method, see `run`.
        anchors: at most this many of those, spread over levels and protocols, see `run`.
        settings: how endpoints are called.
        dry_run: only say what it would take.
        resamples: of conversations, for the intervals of systems' correlations.
        seed: of the generators.
        progress: told stage, calls done and calls in all.
        notice: told, before anything is sent, what will probably be too long for a model.
        command: what the user typed, for the manifest.

    Raises:
        UsageError: a name, a file or the plan is wrong, or a model would judge its own family.
        DataError: the replies or their labels cannot be read.
        EndpointError: a judge cannot be reached.
        BudgetError: the next call could pass `max_cost`.
    """
    asked = plan.Asked(
        judge_runs=judge_runs, mode=plan.mode_of(mode), methods=plan.methods_of(plan.listed(method)), protocol=protocol,
        judge_temperature=judge_temperature, max_cost=max_cost, settings=Settings.of(settings, dry_run=dry_run),
    )  # fmt: skip
    benchmark = benchmarks.asked_one(name)
    if benchmark.closed:
        raise UsageError(f"{name} is a closed question: there are no replies to judge; mindgauge compare compares ways")
    judges = plan.open_models(plan.listed(judge), asked)
    if not judges:
        raise UsageError("name a judge with --judge")
    tests = entry_tests([benchmark], judges, asked, qualify=qualify, limit=anchors)
    named = plan.listed(reference) if reference else []
    found = labelled.read(replies, benchmark, columns or {}, named)
    found = found.limited(limit) if limit is not None else found
    made = {i.rater(m.name) for m in judges for i in plan.instruments(benchmark, asked)}
    kept = [rating for rating in found.ratings if rating.rater not in made]
    written = Counter(reply.model for reply in found.replies if reply.status is Status.OK)
    kin = kinship.judged(judges, written, asked.sending.specs, allowed=own_family)
    whole = directory.whole_plan(
        [benchmark], [found.samples], asked,
        replies=digest(sorted(r.id for r in found.replies)), judges=[m.name for m in judges], compared=True,
    )  # fmt: skip
    folder = Path(out) if out is not None else directory.folder_for(whole)
    by_id = {sample.id: sample for sample in found.samples}
    judged = [(by_id[reply.sample], reply) for reply in found.replies]
    length.judged(notice, benchmark, judges, judged, asked)
    announce(folder, tests, asked, notice)
    if dry_run:
        return foresee_judging(folder, benchmark, [], judged, [], plan.Raters(judges, [], []), tests, asked)
    with directory.begun(folder, whole, command) as store:
        kinship.keep(folder, kin)
        directory.keep_samples(store, benchmark, found.samples)
        for reply in found.replies:
            store.add_reply(benchmark.name, reply)
        for rating in kept:
            store.add_rating(benchmark.name, rating)
        store.flush()
        take(store, tests, asked, progress)
        plan.work(store, asked, progress, [lambda session: plan.judging(session, benchmark, judges, asked)])
        compared = judging.compare(store, benchmark, folder, named, Options(resamples, seed))
        older = continued.last(store, manifest.read(folder))
        tested = qualify_.qualify(store, [benchmark], resamples=resamples, seed=seed)
        unfit = qualify_.unfit(store, benchmark, frame.ratings(store, benchmark))
    remember(tests, tested, asked)
    compared.qualifications.extend(tested)
    compared.notes.extend([*fitness.told(unfit), *found.notes, *kinship.notes(kin), *older])
    return compared
