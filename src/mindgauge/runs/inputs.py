"""What a command works on: the benchmarks whose data is at hand, or replies and dialogues that exist already."""

from __future__ import annotations

import contextlib
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks import own_columns, own_texts, standalone_rubric
from mindgauge.benchmarks.hub_layout.records import reply_table
from mindgauge.raters.window import Unit
from mindgauge.records import RaterKind, Status, digest
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, MissingDataError, UsageError
from mindgauge.records.files import mapping
from mindgauge.records.rounding import plural
from mindgauge.runs import dialogue_files, labelled, languages, run_folder
from mindgauge.runs.reply_tables import names_models, read_dialogues, read_replies, remarks
from mindgauge.runs.steps import PlannedSubject
from mindgauge.store import ReplyScope, Store, manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.replica import JudgesTable
    from mindgauge.records import Rating, Reply, Sample
    from mindgauge.records.files.tables import Source
    from mindgauge.records.files.texts import Frame
    from mindgauge.runs import plan
    from mindgauge.runs.options import Notice, RunConfig
    from mindgauge.runs.rating_steps import ClassifierStep
    from mindgauge.runs.steps import Step

_BY_MODEL = "SELECT model, count(*) FROM replies WHERE benchmark = ? AND status = 'ok' GROUP BY model ORDER BY model"


# -- benchmarks ----------------------------------------------------------------------------------------------------------


class Available(NamedTuple):
    """The benchmarks that can be run, their samples, and why others cannot: by name, in one line."""

    benchmarks: list[Benchmark]
    samples: list[list[Sample]]
    missing: dict[str, str]
    """Their data is not there; the line says how to get it."""
    broken: dict[str, str]
    """Their data is there and cannot be used."""

    notes: list[str]
    """What is odd about the data of those that can be run."""
    own: list[str]
    """Those of them that are asked about texts of the user's own."""
    populations: list[Callable[[], list[Sample]]]
    """Each returns all that a limit takes the samples of one from."""

    @property
    def told(self) -> dict[str, Any]:
        """What the manifest says of all that."""
        not_run = {kind: reason for kind, reason in (("missing", self.missing), ("broken", self.broken)) if reason}
        return {**({"not_run": not_run} if not_run else {}), **({"remarks": self.notes} if self.notes else {})}

    @property
    def lines(self) -> list[str]:
        """The same for a reader, a line each."""
        return [
            *(f"{name} is not run: {reason}" for name, reason in {**self.missing, **self.broken}.items()),
            *self.notes,
        ]


def at_hand(
    benchmarks: Sequence[Benchmark],
    data: Path | None,
    where: dict[str, tuple[str, ...]] | None,
    limit: int | None,
    columns: Mapping[str, str] | None = None,
    *,
    by_protocol: bool = False,
) -> Available:
    """Read the samples of each benchmark; of several, one that has none does not keep the others from running.

    Args:
        benchmarks: that are asked for.
        data: the authors' files or the user's, see `own_texts.take`; our own samples if not given.
        where: tag → values to keep.
        limit: at most this many samples of each.
        columns: our name → the user's column.
        by_protocol: whether judges rate by the protocol that a sample's tag names.

    Raises:
        DataError: none of them has samples; the message is about the first.
        UsageError: columns are mapped, and there is no table, or none of the benchmarks reads one of them.
    """
    bare = next((benchmark for benchmark in benchmarks if benchmark.standalone), None)
    if bare is not None and data is None and not standalone_rubric.is_variant(bare):
        raise UsageError(f"{bare.name}: a rubric brings no messages; name a table of them with --data FILE")
    if columns and data is None:
        raise UsageError("--map says how a table is read; name the table with --data")
    if columns:
        names = dict.fromkeys(name for benchmark in benchmarks for name in own_columns.names(benchmark))
        mapping.read(columns, names, {prefix for benchmark in benchmarks for prefix in own_columns.prefixes(benchmark)})
    available = Available([], [], {}, {}, [], [], [])
    first: DataError | None = None
    refused: dict[str, str] = {}
    for benchmark in benchmarks:
        try:
            samples, notes, own, population = own_texts.take(
                benchmark, data, where, limit, columns, by_protocol=by_protocol
            )
            notes = [*benchmark.remarks, *(benchmark.own_notes if data is None else ()), *notes]
            if benchmark.standalone:
                samples = languages.told(samples)
                standalone_rubric.need_wording(benchmark, samples, str(data))
            elif own and benchmark.read is own_texts.unreleased:
                sole = benchmark.card.languages[0] if len(benchmark.card.languages) == 1 else ""
                samples = languages.told(samples, sole)
        except DataError as error:
            first = first or error
            refused.update({benchmark.name: error.refusal} if isinstance(error, own_texts.NeitherError) else {})
            (available.missing if isinstance(error, MissingDataError) else available.broken)[benchmark.name] = str(
                error
            )
            continue
        available.benchmarks.append(benchmark)
        available.samples.append(samples)
        available.populations.append(population)
        available.own.extend([benchmark.name] if own else [])
        available.notes.extend(note for note in notes if note not in available.notes)
    if first is not None and (len(benchmarks) == 1 or not available.benchmarks):
        raise first
    if len(available.own) < len(available.benchmarks):  # it is the authors' folder, so that nobody meant texts in it
        available.missing.update(refused)
    return available


# -- replies and dialogues -----------------------------------------------------------------------------------------------


class Inputs(NamedTuple):
    """Samples, and replies where the benchmark is open. Of a run that is there, replies stay in it: they may be many."""

    benchmark: Benchmark
    samples: list[Sample]
    replies: list[Reply]
    named: dict[str, Any]
    """What the plan of a new run says of them."""
    source: str
    notes: Sequence[str] = ()
    """What is to be said of how the file was read."""
    run: Path | None = None
    """The run, where it is one that is there."""
    model: str = ""
    """What the replies of a file that names no models count as: a model by the file's name."""
    selection: frozenset[str] | None = None
    """Of a run: the replies that are rated; all of them if not given."""
    ratings: Sequence[Rating] = ()
    """What people said of the replies of a file, which the run keeps beside what judges say."""

    @property
    def size(self) -> int:
        """How many replies, or dialogues of a closed question, there are."""
        if self.selection is not None:
            return len(self.selection)
        if self.run is None or self.benchmark.closed:
            return len(self.samples if self.benchmark.closed else self.replies)
        with Store(self.run) as store:
            return store.count_replies(self.benchmark.name)

    @property
    def scope(self) -> ReplyScope | None:
        """Which of the replies in the run are rated; all that are there, of a run."""
        if self.selection is not None:
            return ReplyScope.of_ids(self.selection)
        return None if self.run is not None else ReplyScope.of_ids(reply.id for reply in self.replies)

    def planned(self) -> Iterator[PlannedSubject]:
        """Return what is rated: every reply as a judge is shown it, or every dialogue of a closed question."""
        if self.benchmark.closed:
            yield from map(PlannedSubject, self.samples)
            return
        by_id = {sample.id: sample for sample in self.samples}
        with Store(self.run) if self.run is not None else contextlib.nullcontext() as store:
            find = by_id.__getitem__ if store is None else partial(store.sample, self.benchmark.name)
            for sample, reply in self.subjects():
                presented = self.benchmark.shown(sample, reply, find)
                if presented is not None:
                    yield PlannedSubject(*presented)

    def subjects(self) -> Iterator[tuple[Sample, Reply]]:
        """Return every reply with its sample."""
        if self.run is None:
            samples = {sample.id: sample for sample in self.samples}
            yield from ((samples[reply.sample], reply) for reply in self.replies)
            return
        with Store(self.run) as store:
            for reply in store.replies(self.benchmark.name):
                if self.selection is not None and reply.id not in self.selection:
                    continue
                yield store.sample(self.benchmark.name, reply.sample), reply

    def in_table(self, table: JudgesTable | None) -> Inputs:
        """Return of a run the replies that a paper's judges rated, or people gave a value; all where there is no table.

        Raises:
            UsageError: these are no replies of a run, none of these raters rated any, or their texts are not here.
        """
        if table is None or (self.run is None and not table.people):
            return self
        if self.run is None:
            raise UsageError(
                f"{self.source}: no run; load the paper's replies and people's ratings with `mindgauge papers load`"
            )
        raters = table.rated_by or table.people
        with Store(self.run) as store:
            ratings = [r for r in store.ratings(self.benchmark.name) if table.rated_by or r.value is not None]
            textless = [r.id for r in store.replies(self.benchmark.name) if r.status is Status.OK and not r.text]
        subjects = {r.subject for r in ratings if (r.rater in raters if raters else r.rater_kind is RaterKind.PERSON)}
        if not subjects:
            whose = named(raters, "or") if raters else "a person"
            raise UsageError(f"{self.run}: no rating of {whose} is in this run; load the paper's release")
        if count := len(subjects.intersection(textless)):
            raise UsageError(
                f"{self.run}: {plural(count, 'reply has', 'replies have')} no text here, so no judge can read them; put the "
                "file with the replies' texts among the data, and `mindgauge papers load` them again"
            )
        return self._replace(selection=frozenset(subjects))

    def announce(self, folder: Path, notice: Notice) -> None:
        """Say how a file was read, and where replies join a run as another model's only because their file names no model."""
        for line in self.notes:
            notice(line)
        if not self.model:
            return
        with Store.begun(folder) as store:
            if store is None:
                return
            models = sorted(Counter(dict(store.select(_BY_MODEL, (self.benchmark.name,)).fetchall())))
        if models and self.model not in models:
            notice(
                f"the replies of {self.source} join {folder} as those of a further model, {self.model}, beside {named(models)}: the "
                "file has no column that names the model, so its own name stands for one; add a column `model` (or name it with "
                "--map) if one of these wrote them"
            )

    def written(self) -> Counter[str]:
        """Count the replies by each model, as far as it is known."""
        if self.benchmark.closed:
            return Counter(sample.tags["model"] for sample in self.samples if "model" in sample.tags)
        if self.run is None:
            return Counter(reply.model for reply in self.replies if reply.status is Status.OK)
        with Store(self.run) as store:
            return Counter(dict(store.select(_BY_MODEL, (self.benchmark.name,)).fetchall()))

    def kept(
        self,
        folder: Path,
        record: dict[str, Any],
        config: RunConfig,
        steps: Iterable[Step] = (),
        classifiers: Sequence[ClassifierStep] = (),
        *,
        text: bool = True,
    ) -> Store:
        """Open the run that is there, or put all this into the one of a plan; see `run_folder.open_run`.

        Raises:
            UsageError: the folder holds a run with another plan, or somebody is not who answered in it.
        """
        samples, replies = {self.benchmark.name: self.samples}, {self.benchmark.name: self.replies}
        with contextlib.ExitStack() as undone:
            if self.run is not None:
                store = Store(self.run, write=True)
                undone.callback(store.close)
                asked = run_folder.with_criteria(self.run, record)
                run_folder.admit(store, steps, classifiers, config)
                if asked:
                    manifest.grow(self.run, asked, config.command)
            else:
                store = run_folder.open_run(
                    folder, record, config, text=text, samples=samples, replies=replies if self.replies else {},
                    steps=steps, classifiers=classifiers,
                )  # fmt: skip
                undone.callback(store.close)
                if self.notes:
                    manifest.write(folder, {**manifest.read(folder), "notes": [*self.notes]})
                run_folder.keep_samples(store, self.benchmark, self.samples, config.command)
                run_folder.keep_replies(store, self.benchmark, self.replies, config.command, self.ratings)
            undone.pop_all()
        return store


def run(folder: Path, benchmark: Benchmark) -> Inputs:
    """Take a run whose replies, or dialogues, are to be rated by more.

    Raises:
        UsageError: it keeps no text.
        DataError: it has none to this benchmark.
    """
    run_folder.need_text(folder)
    with Store(folder) as store:
        samples = list(store.samples(benchmark.name)) if benchmark.closed else []
        if not (samples or store.count_replies(benchmark.name)):
            raise DataError(f"{folder}: no replies to {benchmark.name} in this run")
    return Inputs(benchmark, samples, [], {}, str(folder), run=folder)


def replies(source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str], limit: int | None) -> Inputs:
    """Read a file of replies.

    Raises:
        DataError: it cannot be read.
    """
    notes = remarks(source, columns)
    samples, read = read_replies(source, benchmark, columns, limit, notes)
    if benchmark.standalone:
        samples = languages.told(samples)
        standalone_rubric.need_wording(benchmark, samples, _name(source))
    return Inputs(
        benchmark, samples, read, _identified(read), _name(source), notes, model=_unnamed(source, columns)
    )  # fmt: skip


def labelled_replies(
    source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str], limit: int | None
) -> Inputs:
    """Read the replies of a file that people rated in its columns `label.CRITERION`, and what they said.

    Raises:
        DataError: it cannot be read, or nobody said anything.
    """
    content = labelled.read(source, benchmark, columns, [])
    subjects = {rating.subject for rating in content.ratings}
    content = content.of([reply for reply in content.replies if reply.id in subjects])
    content = content if limit is None else content.limited(limit)
    if not content.ratings:
        raise DataError(f"{_name(source)}: no column label.CRITERION or label.PERSON.CRITERION with what people said; name it with --map")  # fmt: skip
    return Inputs(
        benchmark, content.samples, content.replies, _identified(content.replies), _name(source), content.notes,
        model=_unnamed(source, {ours: name for ours, name in columns.items() if not ours.startswith(mapping.LABEL)}),
        ratings=content.ratings,
    )  # fmt: skip


def in_layout(source: Path, benchmark: Benchmark, columns: Mapping[str, str], limit: int | None) -> Inputs:
    """Read the replies of a folder in the Hugging Face layout; of a closed question, each with the dialogue before it.

    Raises:
        UsageError: columns are mapped.
        DataError: they cannot be read.
    """
    if columns:
        raise UsageError(f"{source}: its columns are those of the Hugging Face layout, so --map has no use here")
    read = reply_table(benchmark, source)
    taken = (classified if benchmark.closed else replies)(read.table, benchmark, {}, limit)
    return taken._replace(source=str(source), notes=[*read.notes, *taken.notes])


def several_turns(
    source: str | Path | Frame,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    unit: str | None,
    limit: int | None,
    judges: plan.Raters,
    config: RunConfig,
) -> Inputs:
    """Read a file of dialogues that are rated by the turn, by the person's message, or as a whole.

    Raises:
        UsageError: somebody cannot rate what is rated at once, or nothing is asked about it.
        DataError: the file cannot be read.
    """
    units = dialogue_files.units_of(unit)
    dialogue_files.check_units(benchmark, units, judges)
    dialogues = dialogue_files.read(source, benchmark, columns, units, limit)
    plan_entries = {**_identified(dialogues.replies), **dialogue_files.plan_of(benchmark, units, config)}
    return Inputs(
        benchmark,
        dialogues.samples,
        dialogues.replies,
        plan_entries,
        _name(source),
        dialogues.lines,
        model=dialogues.model,
    )


def cut_replies(
    source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str], limit: int | None
) -> Inputs:
    """Read dialogues of which each reply is asked about by a closed question, with the dialogue before it.

    Raises:
        DataError: the file cannot be read.
    """
    items = dialogue_files.cut(source, benchmark, columns, (Unit.TURN,), limit)
    read = classified(items.shared, benchmark, {}, None)
    return read._replace(source=_name(source), notes=[*items.lines, *read.notes])


def classified(source: Source, benchmark: Benchmark, columns: Mapping[str, str], limit: int | None) -> Inputs:
    """Read a file of dialogues whose last reply a closed question is about.

    Raises:
        DataError: it cannot be read.
    """
    dialogues, repeated, absent = read_dialogues(source, benchmark, columns, limit)
    notes = remarks(source, columns)
    if repeated:
        notes.append(f"{repeated} rows repeat a dialogue and its reply word for word; each counts once")
    if absent:
        notes.append(f"{plural(absent, 'row')} without a reply, since none came, left out: there is nothing to classify")  # fmt: skip
    return Inputs(benchmark, dialogues, [], {"rate": True}, _name(source), notes)


def need_a_protocol(provided: Inputs, judges: plan.Raters, config: RunConfig) -> None:
    """Check that judges can be told by which protocol to rate; a run that is there may say so of some of its samples.

    Raises:
        DataError: no reply has a tag that says so.
    """
    tag = provided.benchmark.protocol
    if provided.run is not None or config.judging.recognises or not (judges.models and tag):
        return
    if not any(tag in sample.tags for sample in provided.samples):
        found = ", or let the judge find it with --protocol recognised" if provided.benchmark.recognised_by else ""
        raise DataError(
            f"{provided.source}: no reply has a {tag}, which chooses its protocol; add a column `{tag}` (or name it with "
            f"--map){found}"
        )


def _name(source: Source) -> str:
    return str(source) if isinstance(source, str | Path) else "the table"


def _unnamed(source: str | Path | Frame, columns: Mapping[str, str]) -> str:
    return "" if names_models(source, columns) else Path(_name(source)).stem


def _identified(replies: list[Reply]) -> dict[str, Any]:
    return {"replies": digest(sorted(reply.id for reply in replies)), "rate": True}
