"""A built data set, and the run of its panel, as the commands that go on with them find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis.dataset import panel as panels
from mindgauge.analysis.dataset import record as records
from mindgauge.benchmarks import standalone_rubric
from mindgauge.records.errors import DataError, UsageError
from mindgauge.reports.export.folder import stranger_in
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.dataset.panel import PanelLabels
    from mindgauge.analysis.dataset.record import DatasetRecord
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample
    from mindgauge.records.rubric import Criterion


def dataset(place: Path) -> DatasetRecord:
    """Read the record of a data set that is as it was written.

    Raises:
        UsageError: there is none.
        DataError: somebody changed it.
    """
    record = records.read(place)
    changed = stranger_in(place)
    if changed is not None:
        raise DataError(f"{place}: {changed} is not as dataset build wrote it; build it again")
    return record


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
        DataError: no model has said anything yet.
    """
    if not (run / "run.sqlite").is_file():
        raise UsageError(f"{run}: no run of a panel here; make one with mindgauge dataset label DIR --out {run}")
    benchmark = standalone_rubric.asked(None, None, run, manifest.read(run))
    with Store(run) as store:
        samples = {sample.tags.get("id", ""): sample for sample in store.samples(benchmark.name)}
        rows = frame.ratings(store, benchmark)
    about = criterion_of(benchmark, criterion)
    ids = {sample.id: ident for ident, sample in samples.items()}
    verdicts = rows.filter(
        pl.col("criterion") == about.name, pl.col("rater_kind").is_in(["model", "classifier"])
    ).with_columns(id=pl.col("subject").replace_strict(ids, default=None, return_dtype=pl.String))
    if verdicts.is_empty():
        raise DataError(f"{run}: no model has labelled anything; go on with the command that made the run")
    return PanelRun(benchmark, about, samples, panels.labels(verdicts, list(samples)))


def criterion_of(benchmark: Benchmark, name: str | None) -> Criterion:
    """Return the criterion that is labelled.

    Raises:
        UsageError: there is none of this name, or several and none is named.
    """
    by_name = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
    if name is None and len(by_name) == 1:
        return next(iter(by_name.values()))
    if name not in by_name:
        raise UsageError(f"{benchmark.name}: name what is labelled with --criterion: {', '.join(by_name)}")
    return by_name[name]
