"""`dataset check`: people label a part of what a panel labelled, blind: what it disagrees on, and a part drawn by lot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.dataset import checked
from mindgauge.benchmarks import standalone_rubric
from mindgauge.commands.annotate.new import NewProject, annotate_new
from mindgauge.commands.dataset import opened

if TYPE_CHECKING:
    from collections.abc import Sequence


def dataset_check(
    run: str | Path,
    *,
    annotators: str | Sequence[str],
    out: str | Path,
    number: int = 200,
    disputed: int = 50,
    criterion: str | None = None,
    adjudicator: str | None = None,
    batch: int = 200,
    gate: float = 0.4,
    training: int = 10,
    seed: int = 0,
    command: str = "",
) -> NewProject:
    """Set up an annotation project in which people label a part of the items, without a label or a word of the panel.

    Those that verdicts differ most on come first, each for itself; of the others as many are drawn of each label of the
    panel, ties and unreadable ones among them, so that they stand for all of theirs.

    Args:
        run: of `dataset_label`.
        annotators: who labels; the gate needs two.
        out: the project's folder (docs/annotation.md).
        number: how many are drawn by lot.
        disputed: how many come first, at most.
        criterion: whose labels are checked; needed where there are several.
        adjudicator: who decides what is left after discussion; the owner if not given.
        batch: items that meet the gate together.
        gate: the least agreement of people.
        training: texts with known levels that each labels first; a rubric of your own has none.
        seed: of the lot.
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
