"""`annotate new`: a project for people to label in, whose folder is a run directory, too: made whole, or not at all."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

import msgspec

from mindgauge.analysis.escalation.review import NO_JUDGE, DrawPlan, draw, is_judged, queue
from mindgauge.analysis.reliability.plan import needed
from mindgauge.annotation import people, setup
from mindgauge.annotation.items import batched, chosen, known, read_draw, read_queue
from mindgauge.annotation.items import training as training_items
from mindgauge.annotation.people import link
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Person, Policy, Project, Role
from mindgauge.benchmarks import anchors as known_levels
from mindgauge.benchmarks import standalone_rubric
from mindgauge.commands.annotate import source
from mindgauge.commands.command import COMMAS, CommandOption, Count, FromZero, command
from mindgauge.raters.window import Unit
from mindgauge.records import transcripts
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import private, tables
from mindgauge.records.files.texts import Frame
from mindgauge.records.rounding import plural
from mindgauge.runs import run_folder
from mindgauge.runs.options import RunConfig, refuse_unknown
from mindgauge.store import Store, locks, manifest
from mindgauge.store.failures import one_line
from mindgauge.store.soundness import seal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.annotation.records import Item
    from mindgauge.benchmarks import Benchmark
    from mindgauge.commands.annotate.source import LabelSource
    from mindgauge.records.drawn import Drawn


class Link(msgspec.Struct, frozen=True):
    """A personal invitation, good once; whoever has it comes in as this person."""

    name: str
    role: Role
    link: str


class NewProject(Tabular, msgspec.Struct, frozen=True):
    """What was set up. `batches` has the sizes of the batches, in order; `training` counts anchors before the first."""

    folder: str
    benchmark: str
    rubric: str
    items: int
    crisis: int
    graphic: int
    batches: list[int]
    training: int
    gate: float
    policy: Policy
    database: str
    links: list[Link]
    needed: str
    """How many unsafe replies people must meet before a judge can be called good; empty where no level is unsafe."""
    notes: list[str]

    def summary(self) -> list[str]:
        """Say what people will label, how, and where their links are."""
        first = f" after {plural(self.training, 'anchor')}" if self.training else ""
        return [
            f"{self.folder}: {plural(self.items, 'item')} of {self.benchmark or self.rubric} in {plural(len(self.batches), 'batch', 'batches')}{first}",
            f"People: {named([link.name for link in self.links], limit=8)}; their links, each good once, are in .links",
            f"A batch closes at an agreement of {self.gate:g}; gold is {self.policy}.",
            *([self.needed] if self.needed else []),
            *noted(self.notes),
            f'mindgauge.annotate_serve("{self.folder}") opens the page.',
        ]

    def _listed(self) -> list[Link]:
        return self.links


@command(first="items annotators benchmark rubric adjudicator batch gate training order limit draw unit")
def annotate_new(
    folder: str | Path,
    *,
    items: str | Path | Frame,
    annotators: Annotated[str | Sequence[str], COMMAS],
    benchmark: str | None = None,
    rubric: str | Path | None = None,
    adjudicator: str | None = None,
    owner: str | None = None,
    database: str | None = None,
    command: str = "",
    **options: Unpack[LabellingOptions],
) -> NewProject:
    """Set up a project in which people label, and print one invitation link for each of them.

    The folder is a run directory with the same samples and replies, of a run also with all its ratings; people's
    ratings join them when a batch closes. It is made whole or not at all.

    Args:
        folder: The project's folder, which is a run directory, too.
        items: What is labelled: a table of dialogues (CSV, Excel, JSON, JSONL, Parquet), or a run directory.
        annotators: Who labels: names, separated by commas.
        benchmark: Whose rubric is used; a run knows its own.
        rubric: A rubric file, in place of a benchmark; `rationales` asks about the reasons that a run's judges gave.
        adjudicator: Who decides what is left after discussion; the owner if not given.
        owner: Who sees how far the work is and gives out links; owner if not given.
        database: postgresql://USER@HOST/NAME, for a team; a file in DIR if not given.
        command: what the user typed, for the manifest.
        options: how people label:

            batch: Items that meet the gate together; 200 if not given.
            gate: The least agreement with which a batch closes, 0 to 1; 0.4 if not given.
            training: Anchors that everybody labels first; 0 for none, 10 if not given.
            policy: How gold is read off the labels: adjudicated (if not given) or majority.
            order: What comes first: review.csv of `export --to review`, or a table with `subject` or `id`; with a
                column `probability`, just that is labelled.
            anchors: Texts with known levels for the training round, like an anchors.jsonl.
            language: en or zh: of the page at first, and of items that name none.
            url: Under which people reach the page; http://127.0.0.1:8765 if not given.
            columns: our name → the file's name of a column.
            draw: Of a run: label N replies, drawn with known probabilities: those that need people most, and --random
                of the rest. Or blocks of that order: 100=60,400=40,rest=50.
            random: With --draw: how many are drawn at random from the rest; 50 if not given.
            limit: At most this many items: the first of --order, then at random.
            unit: Of a run of dialogues: label each whole `dialogue` (if not given), each `turn`, or each message of the
                person (`client`); of a file: it holds transcripts, which are cut into these.
            write_items: Write the items that transcripts are cut into by --unit: .csv, .jsonl or .parquet.
            seed: Of the gate's resamples, and of --draw.

    Raises:
        TypeError: there is no such option.
        UsageError: an option is wrong, or the folder holds something.
        DataError: items, queue or anchors cannot be read or labelled; the message names the first that cannot.
        DatabaseError: the database cannot be written.
    """
    path = Path(folder)
    refuse_unknown(options, LabellingOptions, annotate_new)
    names, language = [annotators] if isinstance(annotators, str) else annotators, options.get("language") or ""
    people = people_of(names, adjudicator, owner, language)
    labelling = Labelling(**options)
    if str(rubric) == source.RATIONALES and not Path(source.RATIONALES).exists():
        rubric, items = source.RUBRIC, source.reasons(items)
    task = _asked(benchmark, rubric, items, labelling)
    label_source, subjects, remarks = _work(task, items, labelling)
    people_task = _put(task, subjects)
    project = Project(
        name=path.resolve().name, benchmark="" if task.standalone else task.name, batch=labelling.batch,
        gate=labelling.gate, training=sum(not item.batch for item in subjects), seed=labelling.seed,
        policy=Policy(labelling.policy), protocol=task.protocol, url=labelling.url.rstrip("/"), created=manifest.now(),
    )  # fmt: skip
    notes = [*label_source.notes, *remarks]
    if sum(person.role is Role.ANNOTATOR for person in people) == 1:
        notes.append("one annotator: there is no agreement to measure, so every batch passes the gate as it is")
    with locks.made_whole(path) as draft:
        keep(draft, people_task, label_source, command)
        with Annotation.create(draft, project, people_task.rubric, people, subjects, database or "") as annotation:
            links = [Link(p.name, p.role, link(annotation, p.id, project.url)) for p in annotation.people()]
            database_path = annotation.database.name if database else str(path / "annotation.sqlite")
    setup.remember(path, database or "")
    labelled = [item for item in subjects if item.batch]
    sizes = Counter(item.batch for item in labelled)
    plan = needed(people_task.rubric.restricted([criterion.name for criterion in task.rubric.criteria]))
    return NewProject(
        str(path), project.benchmark, people_task.rubric.name, len(labelled), sum(item.crisis for item in labelled),
        sum(item.graphic for item in labelled), [sizes[number] for number in sorted(sizes)], project.training, project.gate,
        project.policy, database_path, links, plan.sentence if plan else "", notes,
    )  # fmt: skip


def _asked(name: str | None, rubric: str | Path | None, items: str | Path | Frame, labelling: Labelling) -> Benchmark:
    """Find what is asked: a benchmark, a rubric, or the one instrument of a run.

    Raises:
        UsageError: none of them, or two.
    """
    run = _run_of(items, labelling)
    if run is None and rubric is not None and name is None:
        replied = bool(labelling.unit) or source.replied(items, labelling.columns or {})
        return standalone_rubric.alone(rubric, messages=not replied)
    content = {} if run is None else manifest.read(run)
    planned = content.get("plan", {}).get("benchmarks", [])
    if run is None and name is None:
        raise UsageError("name what is asked with --benchmark NAME or --rubric FILE")
    if run is not None and not planned:
        raise UsageError(
            f"{run}: no run here; --items takes a run directory, a file of a table, or, with --unit, transcripts"
        )
    if name is None and rubric is None and len(planned) > 1:
        raise UsageError(f"{run}: several benchmarks are in this run; name one with --benchmark: {', '.join(planned)}")
    task = standalone_rubric.asked(name, rubric, run, content)
    if run is not None and task.name not in planned:
        raise UsageError(f"{run}: {task.name} is not in this run, which has {', '.join(planned)}")
    return task


def _run_of(items: str | Path | Frame, labelling: Labelling) -> Path | None:
    """Return the run that is labelled; None where it is a file, or transcripts that a unit is cut from."""
    if not (isinstance(items, str | Path) and tables.is_run(items)):
        return None
    run = Path(items)
    present = (run / "run.sqlite").exists() or (run / "manifest.toml").exists()
    return run if present or not labelling.unit else None


def _work(
    task: Benchmark, items: str | Path | Frame, labelling: Labelling
) -> tuple[LabelSource, list[Item], list[str]]:
    """Return where items are from, what is labelled (batch by batch, the training round first), and what is to be noted."""
    columns, language = labelling.columns or {}, labelling.language or ""
    run = _run_of(items, labelling)
    if labelling.write_items is not None and (run is not None or not labelling.unit):
        raise UsageError("--write-items writes what transcripts are cut into: name them with --items, and --unit")
    if run is not None:
        if columns:
            raise UsageError("--map goes with a file of items; a run knows its own columns")
        label_source = source.of_run(run, task, language, Unit(labelling.unit) if labelling.unit else None)
    elif labelling.unit:
        label_source = source.of_dialogues(items, task, columns, language, Unit(labelling.unit), labelling.write_items)
    elif isinstance(items, str | Path) and Path(items).suffix.lower() in transcripts.TEXTS and Path(items).is_file():
        raise UsageError(
            f"{items}: a text is a transcript; say what of it is labelled with --unit (turn, dialogue or client)"
        )
    else:
        label_source = source.of_file(items, task, columns, language)
    order = labelling.order
    queue = [] if order is None else read_queue(order, label_source.names, label_source.unlabelled)
    drawn, remarks = _drawn(task, items, label_source, labelling)
    if drawn:
        if labelling.limit is not None:
            raise UsageError("--limit would cut what was drawn, and its probabilities would be wrong; draw fewer")
        selected = [
            msgspec.structs.replace(item, drawn=drawn[item.subject])
            for item in label_source.items
            if item.subject in drawn
        ]
        queue = []
    else:
        selected = chosen(label_source.items, labelling.limit, queue)
    first, notes = _training(task, labelling.anchors, selected, labelling.training)
    ordered = batched(selected, labelling.batch, queue, by_lot=bool(drawn))
    return label_source, [*first, *ordered], [*remarks, *notes]


def _put(task: Benchmark, items: Sequence[Item]) -> Benchmark:
    """Return what is asked as it is put to people: of dialogues, what is about the items, and what people alone are asked.

    Nothing is asked about a model's reasoning, which they are not shown.
    """
    about_reply = [criterion for criterion in task.rubric.criteria if not criterion.of_reasoning]
    if not any(item.unit for item in items):
        return msgspec.structs.replace(task, rubric=msgspec.structs.replace(task.rubric, criteria=tuple(about_reply)))
    turns = max(item.turns for item in items)
    additions = task.asked_of_people(turns) if task.asked_of_people is not None else ()
    criteria = [c for c in (*additions, *about_reply) if any(c.about(item.tags) for item in items)]
    return msgspec.structs.replace(task, rubric=msgspec.structs.replace(task.rubric, criteria=tuple(criteria)))


def _drawn(
    task: Benchmark, items: str | Path | Frame, label_source: source.LabelSource, labelling: Labelling
) -> tuple[dict[str, Drawn], list[str]]:
    """Return what is labelled of a draw, of ours or of the user's own, and what is to be known of it; nothing where all is.

    Raises:
        UsageError: the draw cannot be read, or there is no run to draw from.
        DataError: only some of a file's rows say how probable they were.
    """
    if labelling.draw is not None:
        if not (isinstance(items, str | Path) and tables.is_run(items)):
            raise UsageError("--draw takes the order of need from a run; --items names a file")
        plan = DrawPlan.read(str(labelling.draw), labelling.random)
        drawn, notes = of_run(Path(items), task, label_source, plan, labelling.seed)
        return drawn, [*notes, _BY_LOT]
    drawn = {item.subject: item.drawn for item in label_source.items if item.drawn is not None}
    if labelling.order is not None:
        drawn = read_draw(labelling.order, label_source.names)
    elif drawn and len(drawn) < len(label_source.items):
        raise DataError(
            f"{items}: only {len(drawn)} of {len(label_source.items)} rows say with which probability they were drawn"
        )
    if not drawn:
        return {}, []
    return drawn, [
        f"{plural(len(drawn), 'item')} were drawn with known probabilities, which go with their ratings",
        _BY_LOT,
    ]


_BY_LOT = "batches are cut by lot, and not by need, so that those that are finished are a part like the rest"


def _training(
    task: Benchmark, anchors: str | Path | None, labelled: list[Item], count: int
) -> tuple[list[Item], list[str]]:
    """Return the training round, and what is to be known of it where it is not as long as was asked for."""
    if not count:
        return [], []
    levels = known(task) if anchors is None else known_levels.read(Path(anchors), task.rubric, task.protocol)
    round_items = training_items(task, levels, labelled, count)
    if len(round_items) == count:
        return round_items, []
    if round_items:
        return round_items, [f"the training round has {len(round_items)} anchors; there are no more that fit"]
    reason = "no anchors in the items' language that are not among them" if levels else "no anchors"
    return [], [f"no training round: there are {reason}; give some with --anchors FILE"]


# Who takes part in an annotation project: their names, under which labels go.


def people_of(annotators: Sequence[str], adjudicator: str | None, owner: str | None, language: str) -> list[Person]:
    """Return everybody, annotators first; their ids are given by the project.

    Raises:
        UsageError: nobody labels, or a name is empty, too long, reserved, or there twice.
    """
    named = [(name, Role.ANNOTATOR) for name in annotators]
    named += [(adjudicator, Role.ADJUDICATOR)] if adjudicator is not None else []
    named.append((owner if owner is not None else Role.OWNER.value, Role.OWNER))
    if not annotators:
        raise UsageError("name who labels with --annotators ana,ben,chi")
    by_name: dict[str, Person] = {}
    for entered, role in named:
        name = people.tidy_name(entered)
        if not people.readable_name(name):
            excerpt = name[: people.LONGEST_NAME]
            raise UsageError(
                f"{role} {excerpt!r}: a name has 1 to {people.LONGEST_NAME} characters, none of them invisible"
            )
        if people.reserved_name(name):
            raise UsageError(f"{role} {name!r}: that is what a data set's own labels are called; choose another name")
        if name.casefold() in by_name:
            raise UsageError(f"two people are called {name!r}; each needs a name of their own, since labels go by it")
        by_name[name.casefold()] = Person("", name, role, language)
    return list(by_name.values())


# The folder of an annotation project as a run directory: made whole, or not at all.


def keep(folder: Path, benchmark: Benchmark, source: LabelSource, command: str) -> None:
    """Make the folder a run: a copy of the one that was given, or one with what the file holds."""
    provided = source.given
    if provided.run is not None:
        _copy(provided.run, folder)
    else:
        config = RunConfig(command=command)
        plan = run_folder.plan_record([benchmark], [provided.samples], config, **provided.named)
        provided.kept(folder, plan, config).close()
    about = {"rubric": benchmark.rubric.name, "items": provided.source, "since": manifest.now()}
    annotation: dict[str, Any] = about | ({} if benchmark.standalone else {"benchmark": benchmark.name})
    if benchmark.asked_of_people is not None:
        additions = {criterion.name for criterion in benchmark.asked_of_people(1)}
        annotation["asked_of_people"] = [c.name for c in benchmark.rubric.criteria if c.name in additions]
    manifest.write(folder, {**manifest.read(folder), "annotation": annotation})


def _copy(run: Path, folder: Path) -> None:
    """Copy a run as it is now, and the rubrics of classifiers in it, which people may go on to write elsewhere."""
    with one_line(folder / "run.sqlite"), Store(run) as store:
        private.new(folder / "run.sqlite")
        store.select("VACUUM INTO ?", (os.fspath(folder / "run.sqlite"),))
    seal(folder / "run.sqlite")
    manifest.write(folder, manifest.read(run))
    private.copy_files(run / "rubrics", folder / "rubrics")


LANGUAGES = ("en", "zh")
URL = "http://127.0.0.1:8765"
"""Where `annotate serve` listens if nothing else is said."""


class Labelling(msgspec.Struct, frozen=True, kw_only=True):
    """How items come to people and when their labels count; see `annotate_new`."""

    batch: int = 200
    gate: float = 0.4
    training: int = 10
    policy: str = Policy.ADJUDICATED.value
    order: str | Path | Frame | None = None
    anchors: str | Path | None = None
    language: str | None = None
    url: str = URL
    columns: Mapping[str, str] | None = None
    limit: int | None = None
    draw: int | str | None = None
    random: int | None = None
    seed: int = 0
    unit: str | None = None
    write_items: str | Path | None = None

    def __post_init__(self) -> None:
        if self.batch < 1 or (self.limit is not None and self.limit < 1):
            raise UsageError("--batch and --limit must be at least 1")
        if self.draw is not None and (self.order is not None or self.limit is not None):
            raise UsageError("--draw chooses what is labelled; it has no use with --order or --limit")
        if self.draw is None and self.random is not None:
            raise UsageError("--random says how many of what --draw NUMBER draws come from the rest; give --draw, too")
        if self.training < 0:
            raise UsageError("--training must be 0 or more")
        if not (math.isfinite(self.gate) and 0 <= self.gate <= 1):
            raise UsageError("--gate is an agreement from 0 (no better than chance) to 1 (perfect), for example 0.4")
        if self.unit is not None and self.unit not in set(Unit):
            raise UsageError(f"--unit is {', '.join(Unit)}, not {self.unit!r}")
        if self.policy not in set(Policy):
            raise UsageError(f"--policy is {' or '.join(Policy)}, not {self.policy!r}")
        if self.language is not None and self.language not in LANGUAGES:
            raise UsageError(f"--language is {' or '.join(LANGUAGES)}, not {self.language!r}")
        if not re.fullmatch(r"https?://([^\s/?#@\[\]:]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?(/\S*)?", self.url):
            raise UsageError(
                f"--url {self.url!r}: write http://HOST:PORT or https://HOST, as people will reach the page"
            )


class LabellingOptions(TypedDict, total=False):
    """`Labelling` as keyword arguments."""

    batch: Count
    gate: float
    training: FromZero
    policy: str
    order: str | Path | Frame | None
    anchors: str | Path | None
    language: str | None
    url: str
    columns: Mapping[str, str] | None
    limit: Count | None
    draw: Annotated[int | str | None, CommandOption(metavar="N")]
    random: Count | None
    seed: FromZero
    unit: str | None
    write_items: str | Path | None


_DONE = "SELECT DISTINCT subject FROM ratings WHERE benchmark = ? AND rater_kind = 'person' AND status = 'ok'"


def of_run(
    folder: Path, benchmark: Benchmark, source: LabelSource, plan: DrawPlan, seed: int
) -> tuple[dict[str, Drawn], list[str]]:
    """Draw from what can be labelled and no person has rated; where no judge rated anything, each is as probable as any other.

    Raises:
        DataError: nothing is left to draw from.
    """
    items = {item.subject: item for item in source.items}
    with Store(folder) as store:
        judged = is_judged(store, benchmark.name)
        rated = {subject for (subject,) in store.select(_DONE, (benchmark.name,))}
        order = [entry.subject for entry in queue(store, benchmark)[0]] if judged else []
    notes = []
    if not judged:
        plan = plan.at_random
        notes.append(NO_JUDGE)
    places = {subject: place for place, subject in enumerate(order)}
    frame = sorted((s for s in items if s not in rated), key=lambda s: (places.get(s, len(places)), s))
    if not frame:
        raise DataError(f"{folder}: people have rated every reply of {benchmark.name}; nothing is left to draw from")
    drawn, remarks = draw(frame, {subject: items[subject].cluster for subject in frame}, plan, seed)
    if rated:
        notes.append(f"{len(rated)} replies that people have rated are not in the frame; estimates are for the others")
    return drawn, [*remarks, *notes]
