"""`annotate export`: people's labels and the gold, for other tools."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import msgspec

from mindgauge.annotation import exchange, ratings
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Phase
from mindgauge.benchmarks import restricted
from mindgauge.benchmarks.registry import find_one, names
from mindgauge.commands.command import CommandOption, command
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.english import nearest, ranges
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private
from mindgauge.records.rounding import plural
from mindgauge.reports.export.folder import ExportFolder, Written
from mindgauge.store import Store, manifest


class ExportedLabels(Tabular, msgspec.Struct, frozen=True):
    """What was written, file by file.

    `labels` counts people's independent ones; of the `batches`, `open` ones are still worked on.
    """

    project: str
    to: str
    path: str
    files: list[Written]
    batches: list[int]
    open: list[int]
    labels: int
    notes: list[str]

    def summary(self) -> list[str]:
        """Say how many labels were written where, and of how many batches people are still at work."""
        still = f", {plural(len(self.open), 'batch', 'batches')} still open" if self.open else ""
        return [
            f"{plural(self.labels, 'label')} of {plural(len(self.batches), 'batch', 'batches')}{still} ({self.to}) of {self.project}",
            *noted(self.notes, 3),
            self.path,
        ]

    def _listed(self) -> list[Written]:
        return self.files


@command()
def annotate_export(
    folder: str | Path,
    *,
    to: str = "csv",
    out: str | Path | None = None,
    everything: Annotated[bool, CommandOption(flag="--all")] = False,
) -> ExportedLabels:
    """Write people's labels, their history and the gold for other tools.

    Args:
        folder: The project's folder.
        to: csv, parquet, label-studio or potato.
        out: The folder to write; DIR/export-FORMAT if not given.
        everything: Also batches that are not closed; people who see those labels are no longer blind.

    Raises:
        UsageError: there is no project, the format is unknown, nothing is closed, or `out` is somebody else's.
        DatabaseError: the labels cannot be read.
    """
    if to not in exchange.FORMATS:
        hint = nearest(to.lower(), exchange.FORMATS, f"known are {', '.join(exchange.FORMATS)}", 0.4)
        raise UsageError(f"unknown format {to!r}: {hint}")
    folder = Path(folder)
    with Annotation.open(folder) as a:
        batches = [batch for batch in a.batches() if batch.number]
        unfinished = [batch.number for batch in batches if batch.phase is not Phase.CLOSED]
        chosen = [batch.number for batch in batches if everything or batch.number not in unfinished]
        if not chosen:
            raise UsageError(
                f"{folder}: no batch is closed yet; --all exports what there is, for readers who need not be blind"
            )
        flowed = ratings.flow(a)
        content = exchange.content(a, chosen)
    about = manifest.read(folder)
    planned = [find_one(name) for name in about.get("plan", {}).get("benchmarks", ()) if name in names()]
    with Store(folder) if planned else contextlib.nullcontext() as store:
        restrictions = restricted.notes(store, planned, about) if store is not None else []
    target = Path(out) if out is not None else folder / f"export-{to}"
    if out is None:
        private.refuse_link(target)
    with ExportFolder(target) as files:
        for name, part in exchange.files(content, to).items():
            if isinstance(part, str):
                files.text(name, part)
            elif name.endswith(".parquet"):
                files.parquet(name, part)
            else:
                files.csv(name, part)
    labels = sum(len(item.labels) for item in content.labelled)
    open_batches = [number for number in unfinished if number in chosen]
    notes = _notes(open_batches, unfinished, to) + ([flowed.note] if flowed.note else []) + restrictions
    return ExportedLabels(str(folder), to, str(files.out), files.written, chosen, open_batches, labels, notes)


def _notes(open_batches: list[int], unfinished: list[int], to: str) -> list[str]:
    notes = []
    if open_batches:
        notes.append(f"{_batches(open_batches)} not closed: people who label there must not see these files")
    elif unfinished:
        notes.append(f"{_batches(unfinished)} not closed and left out; --all exports what there is")
    if to in {exchange.LABEL_STUDIO, exchange.POTATO}:
        notes.append(f"what {to} has no place for is in history.csv")
    return notes


def _batches(numbers: list[int]) -> str:
    return f"batch {numbers[0]} is" if len(numbers) == 1 else f"batches {ranges(numbers)} are"
