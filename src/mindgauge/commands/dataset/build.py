"""`dataset build`: sources through the steps of a recipe, to items and to what was dropped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.dataset import recipe as recipes
from mindgauge.analysis.dataset.build import DROPPED_FILE as DROPPED
from mindgauge.analysis.dataset.build import ITEMS_FILE as ITEMS
from mindgauge.analysis.dataset.build import RECIPE, RECORD, DatasetRecord, build
from mindgauge.commands.command import command
from mindgauge.commands.dataset import opened
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.rounding import count, plural
from mindgauge.reports.export.folder import ExportFolder
from mindgauge.store.manifest import software

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.dataset.build import StepAccount


class DatasetBuilt(Tabular, DatasetRecord, frozen=True, kw_only=True):
    """A data set that was built, and where: `rows` came from its sources, of which `items` are kept and the others dropped."""

    out: str

    def summary(self) -> Iterator[str]:
        """Say how many rows became items, what each step dropped, and how items are split."""
        yield f"{self.out}: {plural(self.rows, 'row')} from {plural(len(self.sources), 'source')}, {plural(self.items, 'item')} and {count(self.dropped)} dropped"
        if self.splits:
            yield f"split: {_counted(self.splits)}"
        reasons = {f"{step.step.partition(' ')[2]}: {reason}": n for step in self.steps for reason, n in step.reasons.items()}  # fmt: skip
        if reasons:
            yield f"dropped: {_counted(dict(sorted(reasons.items(), key=lambda pair: -pair[1])))}"
        if self.scrubbed:
            yield f"replaced: {_counted(self.scrubbed)}"
        yield from noted(self.notes, 3)

    def _listed(self) -> Sequence[StepAccount]:
        return self.steps


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count(number)}" for name, number in counts.items())


@command(doing="Building")
def dataset_build(recipe: str | Path, *, out: str | Path) -> DatasetBuilt:
    """Build a data set: every row of its sources becomes an item, or is dropped with a reason.

    The folder holds `items.parquet`, `dropped.parquet` with a reason for each row, the recipe, what became of each row in
    `dataset.json`, and checksums. The same contents give the same tables to the byte, in whatever order files and rows
    stand.

    Args:
        recipe: RECIPE.toml: sources with their licences, and steps in order.
        out: The folder to write.

    Raises:
        UsageError: the recipe is wrong, or the folder holds something else, or labels of people.
        DataError: a source is not there, or is broken.
    """
    path = Path(recipe)
    stated = recipes.load(path)
    opened.unlabelled(out)
    with ExportFolder(Path(out)) as folder:
        built = build(stated, path.parent)
        rows = sum(source.rows for source in built.sources)
        parts = built.items.drop_nulls("split").group_by("split").len().sort("len", "split", descending=[True, False])
        splits = dict(parts.rows())
        folder.parquet(ITEMS, built.items)
        folder.parquet(DROPPED, built.dropped)
        record = DatasetRecord(
            name=stated.name, about=stated.about, licence=stated.licence, seed=stated.seed, software=software(), rows=rows,
            items=built.items.height, dropped=built.dropped.height, splits=splits, sources=built.sources,
            steps=built.steps, scrubbed=built.scrubbed, notes=built.notes,
        )  # fmt: skip
        folder.json(RECORD, msgspec.to_builtins(record))
        folder.text(RECIPE, path.read_text(encoding="utf-8"))
    return DatasetBuilt(out=str(out), **msgspec.structs.asdict(record))
