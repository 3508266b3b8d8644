"""`judges compare`: judges and methods of judging on the same replies, beside what people said of them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge import benchmark as benchmarks
from mindgauge import manifest, tables
from mindgauge.analysis.judging import compare as judging
from mindgauge.analysis.judging.compare import Options
from mindgauge.errors import DataError, UsageError
from mindgauge.models.spec import Settings
from mindgauge.records import RaterKind, Rating, Status, digest
from mindgauge.store import Store
from mindgauge.verbs import length, plan
from mindgauge.verbs.estimate import DryRun, foresee_judging
from mindgauge.verbs.replies import read_replies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mindgauge.analysis.judging.result import Judging
    from mindgauge.benchmark import Benchmark
    from mindgauge.engine import Progress
    from mindgauge.models.request import Model
    from mindgauge.records import Reply, Sample
    from mindgauge.rubric import Criterion
    from mindgauge.tables import Frame

LABEL = "label."
"""Before a criterion's name: the column with people's labels."""
PEOPLE = "people"


class _Material(NamedTuple):
    """What is judged, and what is known of it."""

    samples: list[Sample]
    replies: list[Reply]
    ratings: list[Rating]
    notes: list[str]


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
    judge_temperature: float | None = None,
    max_cost: float | None = None,
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
        judge_temperature: of the judges; their own default if not given.
        max_cost: US dollars.
        settings: how endpoints are called.
        dry_run: only say what it would take.
        resamples: of conversations, for the intervals of systems' correlations.
        seed: of the generators.
        progress: told stage, calls done and calls in all.
        notice: told, before anything is sent, what will probably be too long for a model.
        command: what the user typed, for the manifest.

    Raises:
        UsageError: a name, a file or the plan is wrong.
        DataError: the replies or their labels cannot be read.
        EndpointError: a judge cannot be reached.
        BudgetError: the next call could pass `max_cost`.
    """
    asked = plan.Asked(
        judge_runs=judge_runs, mode=plan.mode_of(mode), methods=plan.methods_of(plan.listed(method)), protocol=protocol,
        judge_temperature=judge_temperature, max_cost=max_cost, settings=settings or Settings(),
    )  # fmt: skip
    benchmark = benchmarks.find_one(name)
    if benchmark.closed:
        raise UsageError(f"{name} is a closed question: there are no replies to judge; mindgauge compare compares ways")
    judges = plan.open_models(plan.listed(judge), asked)
    if not judges:
        raise UsageError("name a judge with --judge")
    named = plan.listed(reference) if reference else []
    found = _material(replies, benchmark, columns or {}, named)
    found = _limited(found, limit) if limit is not None else found
    made = {i.rater(m.name) for m in judges for i in plan.instruments(benchmark, asked)}
    kept = [rating for rating in found.ratings if rating.rater not in made]
    whole = plan.whole_plan(
        [benchmark], [found.samples], asked,
        replies=digest(sorted(r.id for r in found.replies)), judges=[m.name for m in judges], compared=True,
    )  # fmt: skip
    folder = Path(out) if out is not None else plan.folder_for(whole)
    by_id = {sample.id: sample for sample in found.samples}
    judged = [(by_id[reply.sample], reply) for reply in found.replies]
    length.judged(notice, benchmark, judges, judged, asked)
    if dry_run:
        return foresee_judging(folder, benchmark, [(sample, reply.text) for sample, reply in judged], judges, asked)
    with Store(folder, write=True) as store:
        manifest.begin(folder, whole, command)
        plan.keep_samples(store, benchmark, found.samples)
        for reply in found.replies:
            store.add_reply(benchmark.name, reply)
        for rating in kept:
            store.add_rating(benchmark.name, rating)
        store.flush()
        plan.work(store, asked, progress, [lambda session: plan.judging(session, benchmark, judges, asked)])
        compared = judging.compare(store, benchmark, folder, named, Options(resamples, seed))
    compared.notes.extend(found.notes)
    return compared


def _material(
    source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str], named: Sequence[str]
) -> _Material:
    if isinstance(source, str | Path) and Path(source).is_dir():
        if columns:
            raise UsageError("--map goes with a file of replies; a run has columns of its own")
        return _of_run(Path(source), benchmark, named)
    if named:
        raise UsageError(
            "--reference names raters of a run; in a file, people's labels stand in columns label.CRITERION"
        )
    return _of_file(source, benchmark, columns)


def _of_run(folder: Path, benchmark: Benchmark, named: Sequence[str]) -> _Material:
    """Take the replies that people, or those named, have rated; all of them where nobody has."""
    criteria = {criterion.name for criterion in benchmark.rubric.criteria}
    with Store(folder) as store:
        replies = list(store.replies(benchmark.name))
        ratings = [rating for rating in store.ratings(benchmark.name) if rating.criterion in criteria]
        samples = list(store.samples(benchmark.name))
    if not replies:
        raise DataError(f"{folder}: no replies to {benchmark.name} in this run")
    known = {rating.rater for rating in ratings}
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None:
        raise UsageError(f"--reference {unknown!r}: no such rater in {folder}; raters are {', '.join(sorted(known))}")
    labelled = {
        rating.subject
        for rating in ratings
        if (rating.rater in named if named else rating.rater_kind is RaterKind.PERSON) and rating.status is Status.OK
    }
    kept = [reply for reply in replies if reply.id in labelled] or replies
    notes = [f"{len(kept)} of {len(replies)} replies are judged: those with labels"] if len(kept) < len(replies) else []
    return _reduced(samples, kept, ratings, notes)


def _of_file(source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str]) -> _Material:
    criteria = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
    labels = {ours.removeprefix(LABEL): theirs for ours, theirs in columns.items() if ours.startswith(LABEL)}
    samples, replies = read_replies(
        source, benchmark, {ours: theirs for ours, theirs in columns.items() if not ours.startswith(LABEL)}
    )
    lines = {reply.provenance["source_row"]: reply for reply in replies}
    ratings: list[Rating] = []
    off: dict[str, list[str]] = {}
    seen: set[str] = set()
    where = str(source) if isinstance(source, str | Path) else "the table"
    for line, row in tables.read_table(source):
        seen |= row.keys()
        named = {name.removeprefix(LABEL): name for name in row if name.startswith(LABEL)} | labels
        unknown = next((name for name in named if name not in criteria), None)
        if unknown is not None:
            raise DataError(
                f"{where}: {LABEL}{unknown} is no criterion of {benchmark.name}; they are {', '.join(criteria)}"
            )
        if line not in lines:
            continue
        for criterion, column in named.items():
            if column in row:
                ratings.append(_label(row[column], criteria[criterion], lines[line], line))
                if ratings[-1].status is not Status.OK:
                    off.setdefault(criterion, []).append(f"row {line}: {row[column]!r:.30}")
    missing = next((column for column in labels.values() if column not in seen), None)
    if missing is not None:
        raise DataError(f"{where}: no column {missing!r}, which --map names for people's labels")
    notes = [
        f"{name}: {len(rows)} labels are off the scale and count as missing ({rows[0]})" for name, rows in off.items()
    ]
    return _Material(samples, replies, ratings, notes)


def _label(cell: Any, criterion: Criterion, reply: Reply, line: int) -> Rating:
    """Read a person's label; one that is off the scale is no value, and stays counted."""
    value = criterion.read(cell)
    if value is None and isinstance(cell, str):
        with contextlib.suppress(ValueError):
            value = criterion.read(float(cell))
    inapplicable = criterion.not_applicable and str(cell).strip().casefold() == Status.NOT_APPLICABLE
    status = Status.NOT_APPLICABLE if inapplicable else Status.UNPARSABLE if value is None else Status.OK
    told = {"source_row": line, **({"said": f"{cell!r:.60}"} if status is Status.UNPARSABLE else {})}
    return Rating(reply.id, criterion.name, PEOPLE, RaterKind.PERSON, 0, status, value, provenance=told)


def _limited(found: _Material, limit: int) -> _Material:
    """Keep whole dialogues with their replies, in an order that no file decides, up to `limit` replies."""
    by_sample: dict[str, list[Reply]] = {}
    for reply in found.replies:
        by_sample.setdefault(reply.sample, []).append(reply)
    kept: list[Reply] = []
    for group in _shuffled(by_sample):
        if kept and len(kept) + len(group) > limit:
            break
        kept += group[:limit]
    return _reduced(found.samples, kept, found.ratings, found.notes)


def _shuffled(by_sample: dict[str, list[Reply]]) -> Iterator[list[Reply]]:
    return (by_sample[ident] for ident in sorted(by_sample, key=digest))


def _reduced(samples: list[Sample], replies: list[Reply], ratings: list[Rating], notes: list[str]) -> _Material:
    idents, about = {reply.id for reply in replies}, {reply.sample for reply in replies}
    return _Material(
        [sample for sample in samples if sample.id in about],
        replies,
        [rating for rating in ratings if rating.subject in idents],
        notes,
    )
