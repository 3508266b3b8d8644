"""`dataset label`: a panel of models labels the items of a data set by a rubric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import msgspec
import polars as pl

from mindgauge.analysis import drawn
from mindgauge.analysis.dataset import build as records
from mindgauge.analysis.dataset import checked
from mindgauge.analysis.dataset.checked import DISPUTED, LABELS, OF_PANEL, UNDECIDED, LabelFigure, LabelRecord
from mindgauge.annotation import ratings
from mindgauge.annotation.project import Annotation
from mindgauge.benchmarks import standalone_rubric
from mindgauge.commands.annotate.new import NewProject, annotate_new
from mindgauge.commands.command import COMMAS, Count, FromZero, command
from mindgauge.commands.dataset import opened
from mindgauge.commands.run import run
from mindgauge.records import RaterKind, Status
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.drawn import DRAWN
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import count, percent, plural
from mindgauge.records.shell import command_line
from mindgauge.reports.export.folder import ExportFolder
from mindgauge.runs.forecast import DryRun
from mindgauge.runs.options import OF_REPLIES
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.dataset.checked import ClassShare
    from mindgauge.commands.dataset.opened import PanelRun
    from mindgauge.records import Rating
    from mindgauge.runs.options import AnyModel, RunOptions

ALONE = "one judge is no panel: its own label stands. It took no entry test, which labelling has none of: only people say how far it errs"


class PanelLabel(msgspec.Struct, frozen=True):
    """How many items the panel gives a label; ties and unreadable ones count as labels of their own."""

    label: str
    items: int


class LabelledByPanel(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What a panel says of a data set, and where its run is."""

    run: str
    rubric: str
    criterion: str
    judges: list[str]
    runs: int
    items: int
    labels: list[PanelLabel]
    coefficient: str
    agreement: LabelFigure
    notes: list[str] = []

    def summary(self) -> Iterator[str]:
        """Say who labelled what, how far they agree, and what each label got."""
        yield f"{self.run}: {plural(self.items, 'item')} labelled by {named(self.judges)}, {plural(self.runs, 'run')} each, on {self.criterion}"
        if len(self.judges) > 1:
            yield f"{self.coefficient} among judges {self.agreement.written()}"
        yield ", ".join(f"{entry.label} {count(entry.items)}" for entry in self.labels)
        yield from noted(self.notes)

    def _listed(self) -> list[PanelLabel]:
        return self.labels


@command(
    first="judge out rubric benchmark criterion runs annotators number panel people max_cost dry_run",
    without=f"{' '.join(OF_REPLIES)} system header label fresh instrument as_published show_requests",
)
def dataset_label(
    folder: str | Path,
    *,
    judge: AnyModel | Sequence[AnyModel],
    out: str | Path,
    rubric: str | Path | None = None,
    benchmark: str | None = None,
    criterion: str | None = None,
    dry_run: bool = False,
    **options: Unpack[RunOptions],
) -> LabelledByPanel | DryRun:
    """Let a panel of models label the items; then people a part of them (--annotators), and say how far the panel is from people (--people).

    A judge's label is what more than half of its runs say, the panel's what more than half of its judges do.

    Args:
        folder: A data set that was built; with --annotators, the run of the panel.
        judge: A model that labels: provider/name, http://HOST:PORT/v1#name, local/…. May be repeated.
        out: The run directory, or what is written by the other steps.
        rubric: A rubric file of your own about what a person says (docs/tasks/own_rubric.md).
        benchmark: In place of a rubric: a benchmark with a closed question about what a person says.
        criterion: Which criterion the labels are, where the rubric has several.
        dry_run: Only say what it would take.
        options: how models are asked, and what it may cost, as `run` takes them: `runs`, `temperature`, `max_cost`, …

    Raises:
        UsageError: there is no data set, or not just one question about messages.
        DataError: somebody changed the data set, or its items cannot be labelled.
        EndpointError: a judge cannot be reached.
    """
    place = Path(folder)
    opened.dataset(place, out)
    names = [benchmark] if benchmark is not None else []
    benchmarks = standalone_rubric.all_asked(names, rubric, *([] if rubric is None else [standalone_rubric.MESSAGES]))
    if len(benchmarks) != 1 or not benchmarks[0].closed or benchmarks[0].about_reply:
        raise UsageError(f"{benchmark}: items are what people say; name one benchmark with a closed question about that, or a rubric")  # fmt: skip
    opened.criterion_of(benchmarks[0], criterion)
    _labellable(place)
    about: dict[str, Any] = {} if rubric is None else {"rubric": rubric, "about": standalone_rubric.MESSAGES}
    result = run(names, model=judge, data=place / records.ITEMS_FILE, out=out, dry_run=dry_run, **about, **options)
    if isinstance(result, DryRun):
        return result
    source = opened.panel_run(Path(out), criterion)
    panel = source.panel
    counts = panel.items["outcome"].value_counts(sort=True).rows()
    notes = [ALONE] if len(panel.judges) == 1 else []
    if failed := result.calls["failed"]:
        notes.insert(0, f"{plural(failed, 'call')} failed, so the labels may change; run the same command to ask again")
    agreement = checked.among_members(panel.members.drop("id"), source.groups["group"].to_list(), source.criterion)
    return LabelledByPanel(
        run=str(out), rubric=source.benchmark.rubric.name, criterion=source.criterion.name, judges=panel.names, runs=panel.runs,
        items=panel.items.height, labels=[PanelLabel(*row) for row in counts],
        coefficient=checked.coefficient(source.criterion), agreement=agreement, notes=notes,
    )  # fmt: skip


def _labellable(place: Path) -> None:
    """See that each item is a text of its own, and ends with what the person says.

    Raises:
        DataError: one is not.
    """
    items = records.read_items(place)
    repeated = items.height - items["id"].n_unique()
    if repeated:
        raise DataError(f'{place}: {plural(repeated, "item")} with the text of another; build it with a step `do = "exact"`')  # fmt: skip
    last = items["messages"].list.last().struct.field("role")
    if (last == "assistant").any():
        raise DataError(f'{place}: dialogues that end with an answer; build it with a step `do = "cut"` or `do = "person"`')  # fmt: skip


@command(without="adjudicator batch gate seed")
def dataset_check(
    run: str | Path,
    *,
    annotators: Annotated[str | Sequence[str], COMMAS],
    out: str | Path,
    number: Count = 200,
    disputed: FromZero = 50,
    criterion: str | None = None,
    adjudicator: str | None = None,
    batch: int = 200,
    gate: float = 0.4,
    training: FromZero = 10,
    seed: FromZero = 0,
    command: str = "",
) -> NewProject:
    """Let people label a part of what a panel labelled, blind: set up their project, and print a link for each of them.

    Those that verdicts differ most on come first, each for itself; of the others as many are drawn of each label of the
    panel, ties and unreadable ones among them, so that they stand for all of theirs.

    Args:
        run: The run of `dataset label`.
        annotators: Let these people label a part of what the panel labelled, blind: names, separated by commas.
        out: The annotation project's folder.
        number: With --annotators: items drawn at random, as many of each label of the panel.
        disputed: With --annotators: at most this many come first because the panel disagrees most.
        criterion: Which criterion the labels are, where the rubric has several.
        adjudicator: With --annotators: who decides what is left after discussion; the owner if not given.
        batch: With --annotators: items that meet the gate together.
        gate: With --annotators: the least agreement of people, 0 to 1.
        training: With --annotators: texts with known levels that each person labels first, where a benchmark has them.
        seed: With --annotators: of the lot.
        command: what the user typed, for the manifest.

    Raises:
        UsageError: there is no such run, or too few are drawn.
        DataError: the run has no labels.
    """
    labelled = opened.panel_run(Path(run), criterion)
    chosen = checked.check(labelled.panel, labelled.groups, number, disputed, seed)
    samples = [labelled.samples[ident] for ident in chosen["id"]]
    items = chosen.with_columns(
        messages=pl.Series([[{"role": m.role, "content": m.content} for m in sample.messages] for sample in samples]),
        language=pl.Series([sample.tags.get("language", "") for sample in samples], dtype=pl.String),
        cluster=pl.Series([sample.cluster for sample in samples], dtype=pl.String),
    )
    own = labelled.benchmark.standalone
    return annotate_new(
        out, items=items, order=chosen.select("id"), annotators=annotators, adjudicator=adjudicator, command=command,
        rubric=Path(run) / standalone_rubric.FILE if own else None, benchmark=None if own else labelled.benchmark.name,
        batch=batch, gate=gate, training=0 if own else training, seed=seed,
    )  # fmt: skip


_BY = "by "
"""How the columns with each person's own labels begin."""


class DatasetLabelled(Tabular, LabelRecord, frozen=True, kw_only=True):
    """A data set with labels, and where it is."""

    out: str
    items: int

    def summary(self) -> Iterator[str]:
        """Say what people labelled and how far they agree, and what the shares of classes are by them."""
        yield f"{self.out}: {plural(self.items, 'item')} with a label of the panel ({named(self.judges)}), {count(self.gold)} with gold of {named(self.people)}, who labelled {count(self.checked)}"
        yield f"{self.coefficient} among people {self.people_agreement.written()}: {self.standing}; among judges {self.panel_agreement.written()}"
        for entry in self.classes[:6]:
            of_people = (
                "" if entry.people.note == OF_PANEL else f"by people {entry.people.written('share')} of all items, "
            )
            yield f"{entry.label}: {of_people}by the panel {percent(entry.panel)}"

    def _listed(self) -> list[ClassShare]:
        return self.classes


@command()
def dataset_gold(
    folder: str | Path, *, panel: str | Path, people: str | Path, criterion: str | None = None, out: str | Path | None = None
) -> DatasetLabelled:  # fmt: skip
    """Give the items people's labels and the panel's, and say how far the panel is from people.

    Gold is people's alone: what more than half of those who labelled an item say, or the adjudicator. The panel's label stands
    beside it and never takes its place.

    Args:
        folder: A data set that was built.
        panel: With --people: the run of the panel.
        people: Give the items people's labels and the panel's, and compare them: the project of --annotators.
        criterion: Which criterion the labels are, where the rubric has several.
        out: The folder to write; if not given, the data set's own.

    Raises:
        UsageError: a folder holds none of what it should.
        DataError: they are not of one data set, or people have finished nothing.
    """
    place = Path(folder)
    record = opened.dataset(place)
    source = opened.panel_run(Path(panel), criterion)
    items = records.read_items(place)
    items = items.drop(name for name in LABELS if name in items.columns)
    if set(items["id"]) != set(source.samples):
        raise DataError(f"{panel}: labels of other items than those of {place}; label it with mindgauge dataset label")
    checks, gate = _labelled(Path(people), source)
    labels = source.panel.items.join(checks.select("id", "gold", "gold_status"), on="id", how="left")
    result = _record(source, checks, gate)
    with ExportFolder(Path(out or folder)) as target:
        target.parquet(records.ITEMS_FILE, items.join(labels.select("id", *LABELS), on="id", how="left", maintain_order="left"))  # fmt: skip
        target.json(records.RECORD, msgspec.to_builtins(msgspec.structs.replace(record, labels=result)))
        for name in (records.DROPPED_FILE, records.RECIPE, records.SAMPLE):
            if (place / name).is_file():
                with target.binary(name) as file:
                    file.write((place / name).read_bytes())
    return DatasetLabelled(out=str(out or folder), items=items.height, **msgspec.structs.asdict(result))


def _labelled(project: Path, source: PanelRun) -> tuple[pl.DataFrame, float]:
    """Read what people labelled of a panel's draw: a row an item, with a column for each person; and the gate.

    Raises:
        DataError: it is no check of this panel, or nobody has finished a batch.
    """
    name = source.criterion.name
    with Annotation.open(project) as annotation, Store(project) as store:
        if annotation.rubric().hash != source.benchmark.rubric.hash:
            raise DataError(f"{project}: people labelled by {annotation.rubric().name} with other words than the panel's {source.benchmark.rubric.name}")  # fmt: skip
        ids = {sample.id: sample.tags.get("id", "") for sample in store.samples(source.benchmark.name)}
        persons = [f"{_BY}{person.name}" for person in annotation.annotators()]
        by_people = [rating for rating in ratings.ratings(annotation) if rating.criterion == name]
        gate = annotation.project.gate
    rows: dict[str, dict[str, object]] = {}
    for rating in by_people:
        row = rows.setdefault(ids.get(rating.subject, ""), dict(rating.provenance.get(DRAWN, {})))
        if rating.rater_kind is RaterKind.GOLD:
            row["gold"], row["gold_status"] = _decided(rating)
        else:
            row[f"{_BY}{rating.rater}"] = _word(rating)
    if not rows:
        raise DataError(f"{project}: no batch is closed yet; see {command_line('annotate', 'status', project)}")
    frame = pl.DataFrame(
        [{"id": ident, **row} for ident, row in rows.items()],
        {"id": pl.String, **drawn.COLUMNS, **dict.fromkeys(["gold", "gold_status", *persons], pl.String)},
    )
    if (frame["draw"].fill_null("") != source.panel.draw).any():
        raise DataError(
            f"{project}: not drawn from what this panel says now; make it anew with mindgauge dataset label"
        )
    return frame, gate


def _word(rating: Rating) -> str | None:
    if rating.status is Status.NOT_APPLICABLE:
        return Status.NOT_APPLICABLE.value
    return str(rating.value) if rating.status is Status.OK else None


def _decided(rating: Rating) -> tuple[str | None, str]:
    """Return gold and its status: what an adjudicator says, or more than half of those who labelled it."""
    about, word = rating.provenance, _word(rating)
    if word is None:
        return None, "handed_on" if rating.status is Status.REFUSED else str(about.get("said", "tie"))
    if "by" not in about and 2 * about["votes"].get(word, 0) <= about["people"]:
        return None, "tie"
    return word, "ok"


def _record(source: PanelRun, checks: pl.DataFrame, gate: float) -> LabelRecord:
    panel, criterion = source.panel, source.criterion
    persons = [name for name in checks.columns if name.startswith(_BY)]
    outcomes = panel.items["outcome"]
    about = panel.items.select("id", "outcome").join(source.groups.rename({"group": "cluster"}), on="id")
    rows = checks.join(about, on="id").with_columns(people=pl.col("gold").fill_null(UNDECIDED))
    among_people = checked.among_people(rows, persons, criterion)
    status = panel.items["panel_status"]
    return LabelRecord(
        rubric=source.benchmark.rubric.name, criterion=criterion.name, judges=panel.names, runs=panel.runs,
        ties=int((status == "tie").sum()), unreadable=int((status == "unreadable").sum()),
        coefficient=checked.coefficient(criterion),
        panel_agreement=checked.among_members(panel.members.drop("id"), source.groups["group"].to_list(), criterion),
        people=[name.removeprefix(_BY) for name in persons], people_agreement=among_people, gate=gate,
        passed=checked.reaches(among_people, gate), checked=rows.height,
        disputed=int(rows["stratum"].str.starts_with(DISPUTED).sum()), gold=rows["gold"].count(), undecided=rows["gold"].null_count(),
        classes=checked.classes(rows, outcomes, criterion), confusion=checked.confusion(rows, outcomes, criterion),
    )  # fmt: skip
