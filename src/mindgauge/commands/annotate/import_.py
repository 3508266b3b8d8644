"""`annotate import`: labels that people gave elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from mindgauge.annotation import exchange
from mindgauge.annotation.project import Annotation
from mindgauge.commands.command import CommandOption, command
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.ratings import NOTHING_SAID
from mindgauge.records.rounding import count, plural
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.records.ratings import RatingLayout


class ImportedLabels(Tabular, msgspec.Struct, frozen=True):
    """What became of a file's labels.

    `labels` and `handed_on` count what is new, `superseded` how many of these took the place of another, `same` what was
    there already. `batches` were added to; `closed` of them met their gate.
    """

    project: str
    file: str
    form: str
    labels: int
    handed_on: int
    superseded: int
    same: int
    batches: list[int]
    closed: list[int]
    notes: list[str]

    def summary(self) -> list[str]:
        """Say how many labels are new, and which batches they finish."""
        closed = f", which closes {plural(len(self.closed), 'batch', 'batches')}" if self.closed else ""
        return [
            (
                f"{self.file} ({self.form}): {plural(self.labels, 'new label')}, {count(self.handed_on)} handed on, "
                f"{count(self.superseded)} superseded, {count(self.same)} there already{closed}"
            ),
            *noted(self.notes, 3),
            f'{self.project}: mindgauge.annotate_status("{self.project}") says what is next.',
        ]

    def _listed(self) -> list[dict[str, Any]]:
        names = ("file", "labels", "handed_on", "superseded", "same")
        return [{name: getattr(self, name) for name in names}]


@command()
def annotate_import(
    folder: str | Path,
    file: str | Path,
    *,
    form: Annotated[str, CommandOption(flag="--from")] = "",
    names: Mapping[str, str] | None = None,
    supersede: bool = False,
    layout: RatingLayout = NOTHING_SAID,
) -> ImportedLabels:
    """Take labels that people gave elsewhere into the labelling phase: all of a file, or nothing.

    Args:
        folder: The project's folder.
        file: Ratings (CSV, Excel, JSON, JSONL, Parquet; also folders) in any shape, Label Studio's JSON, or
            Potato's annotations.jsonl.
        form: csv, parquet, label-studio or potato; seen from the file if not given.
        names: ours → the file's: of a column, a person or a criterion.
        supersede: Add labels that contradict those that are there; both are kept.
        layout: how ratings stand in tables, where that is not seen from them.

    Raises:
        UsageError: there is no project, or a name or the format is none of ours.
        DataError: the file is broken, names what the project does not know, or contradicts itself or the project.
        DatabaseError: the labels cannot be kept; nothing of them was.
    """
    path = Path(file)
    with Annotation.open(Path(folder)) as a:
        rubrics = {batch.number: batch.rubric for batch in a.batches()}
        project = exchange.Known(
            a.people(), a.items(), lambda item: a.rubric_for(item, rubrics[item.batch]), names, _called(a)
        )
        recognised, entries, reading = exchange.read(path, project, form, layout)
        count, batches, closed = exchange.take_in(a, entries, path.name, supersede=supersede)
    notes = [*reading, *([f"{count['open']} items are labelled in part and stay open"] if count["open"] else [])]
    return ImportedLabels(
        str(folder), str(file), recognised, count["labels"], count["handed_on"], count["superseded"], count["same"],
        batches, closed, notes,
    )  # fmt: skip


def _called(a: Annotation) -> dict[str, list[str]]:
    """Return the id that dialogues had in the file that the project was made from → the subjects of their ratings."""
    if not (a.folder / "run.sqlite").is_file():
        return {}
    with Store(a.folder) as store:
        named = store.select("SELECT json_extract(provenance, '$.source_id'), id FROM replies").fetchall()
        for (benchmark,) in store.select("SELECT DISTINCT benchmark FROM samples").fetchall():
            named += [(sample.tags.get("id"), sample.id) for sample in store.samples(benchmark)]
    subjects_of: dict[str, list[str]] = {}
    for name, subject in named:
        if name:
            subjects_of.setdefault(str(name), []).append(subject)
    return subjects_of
