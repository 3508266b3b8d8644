"""`dataset label --people`: people's labels and the panel's go to the items, with how far each can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.analysis import drawn
from mindgauge.analysis.dataset import build as records
from mindgauge.analysis.dataset import checked
from mindgauge.analysis.dataset.checked import DISPUTED, LABELS, OF_PANEL, UNDECIDED, LabelRecord
from mindgauge.annotation import ratings
from mindgauge.annotation.project import Annotation
from mindgauge.commands.command import command
from mindgauge.commands.dataset import opened
from mindgauge.records import RaterKind, Status
from mindgauge.records.command_result import Tabular
from mindgauge.records.drawn import DRAWN
from mindgauge.records.english import named
from mindgauge.records.errors import DataError
from mindgauge.records.rounding import count, percent, plural
from mindgauge.records.shell import command_line
from mindgauge.reports.export.folder import ExportFolder
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.dataset.checked import ClassShare
    from mindgauge.commands.dataset.opened import PanelRun
    from mindgauge.records import Rating

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
