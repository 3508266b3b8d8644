"""`dataset label --annotators`: people label a part of what a panel labelled, blind: what it disagrees on, and a part drawn by lot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl

from mindgauge.analysis.dataset import checked
from mindgauge.benchmarks import standalone_rubric
from mindgauge.commands.annotate.new import NewProject, annotate_new
from mindgauge.commands.command import COMMAS, Count, FromZero, command
from mindgauge.commands.dataset import opened

if TYPE_CHECKING:
    from collections.abc import Sequence


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
