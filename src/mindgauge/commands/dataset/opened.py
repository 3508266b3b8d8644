"""A built data set, and the run of its panel, as the commands that go on with them find them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis.dataset import build as records
from mindgauge.analysis.dataset import checked as panels
from mindgauge.analysis.dataset.checked import NO_LABELS
from mindgauge.benchmarks import standalone_rubric
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.shell import command_line
from mindgauge.records.short_names import short_names
from mindgauge.reports.export.folder import stranger_in
from mindgauge.runs.step_outputs import recorded
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.dataset.build import DatasetRecord
    from mindgauge.analysis.dataset.checked import PanelLabels
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample
    from mindgauge.records.rubric import Criterion
    from mindgauge.runs.step_outputs import StepOutput


def dataset(place: Path, *targets: str | Path | None) -> DatasetRecord:
    """Read the record of a data set that is as it was written.

    Args:
        place: its folder.
        targets: what is to be written; nothing of it may come into that folder, or in its place.

    Raises:
        UsageError: there is none, or something would be written into it.
        DataError: somebody changed it.
    """
    record = records.read_record(place)
    changed = stranger_in(place)
    if changed is not None:
        raise DataError(f"{place}: {changed} is not as it was written; make it again")
    for target in targets:
        if target is not None:
            apart(target, place)
    return record


def apart(target: str | Path, place: str | Path) -> None:
    """See that what is to be written does not come into the folder of a data set.

    Raises:
        UsageError: it does.
    """
    if Path(target).resolve().is_relative_to(Path(place).resolve()):
        raise UsageError(f"{target}: {place} is for a data set alone; write it beside that")


def unlabelled(target: str | Path) -> None:
    """See that what is to be written replaces no data set with labels of people, which nobody can build again.

    Raises:
        UsageError: it would.
    """
    if (Path(target) / records.RECORD).is_file() and records.read_record(Path(target)).labels is not None:
        raise UsageError(f"{target}: labels of people stand here, which this would drop; choose another --out, or remove the folder")  # fmt: skip


class PanelRun(NamedTuple):
    """The run of a panel: what was asked about which items, and what the panel says of them."""

    benchmark: Benchmark
    criterion: Criterion
    samples: dict[str, Sample]
    """By the items' ids."""
    panel: PanelLabels

    @property
    def groups(self) -> pl.DataFrame:
        """Id and group of each item, in the order of the panel's labels."""
        ids = self.panel.items["id"].to_list()
        return pl.DataFrame({"id": ids, "group": [self.samples[ident].cluster for ident in ids]})


def panel_run(run: Path, criterion: str | None) -> PanelRun:
    """Read what a panel says in a run of `dataset label`.

    Raises:
        UsageError: there is no such run, or it is not clear which of its criteria is meant.
        DataError: a judge is still to be asked about some items, or has never answered.
    """
    if (run / records.RECORD).is_file():
        raise UsageError(f"{run}: no run of a panel here, but a data set; give the folder that mindgauge dataset label wrote with --out")  # fmt: skip
    if not (run / "run.sqlite").is_file():
        raise UsageError(
            f"{run}: no run of a panel here; make one with {command_line('dataset', 'label', 'DIR', '--out', run)}"
        )
    content = manifest.read(run)
    benchmark = standalone_rubric.asked(None, None, run, content)
    with Store(run) as store:
        samples = {sample.tags.get("id", ""): sample for sample in store.samples(benchmark.name)}
        rows = frame.ratings(store, benchmark)
    about = criterion_of(benchmark, criterion)
    ids = {sample.id: ident for ident, sample in samples.items()}
    verdicts = rows.filter(
        pl.col("criterion") == about.name, pl.col("rater_kind").is_in(["model", "classifier"])
    ).with_columns(id=pl.col("subject").replace_strict(ids, default=None, return_dtype=pl.String))
    if waiting := _waiting(verdicts, recorded(content, closed=True), len(samples)):
        raise DataError(
            f"{run}: labels of {named(waiting)} are still to come; go on with the command that made the run"
        )
    return PanelRun(benchmark, about, samples, panels.panel_labels(verdicts, list(samples)))


def _waiting(verdicts: pl.DataFrame, outputs: Sequence[StepOutput], items: int) -> list[str]:
    """Name the judges of a plan that are still to be asked, or have failed each time: without them it is another panel."""
    answered = dict(
        verdicts.group_by("rater").agg(pl.when((pl.col("status") != "failed").any()).then(pl.len()).otherwise(0)).rows()
    )
    waiting = [output.name for output in outputs if answered.get(output.name, 0) < output.repeats * items]
    short = short_names([output.name for output in outputs])
    return [short.get(name, name) for name in waiting]


def criterion_of(benchmark: Benchmark, name: str | None) -> Criterion:
    """Return the criterion that is labelled.

    Raises:
        UsageError: there is none of this name, or several and none is named, or a level is called as what is no label.
    """
    by_name = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
    chosen = next(iter(by_name)) if name is None and len(by_name) == 1 else name
    if chosen not in by_name:
        raise UsageError(f"{benchmark.name}: name what is labelled with --criterion: {', '.join(by_name)}")
    criterion = by_name[chosen]
    if reserved := {str(level) for level in criterion.values} & NO_LABELS:
        raise UsageError(f"{benchmark.name}: {min(reserved)} is what an item without a label is called; name that level of {chosen} otherwise")  # fmt: skip
    return criterion
