"""`dataset label`: a panel of models labels the items of a data set by a rubric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from mindgauge.analysis.dataset import build as records
from mindgauge.analysis.dataset import checked
from mindgauge.analysis.dataset.checked import LabelFigure
from mindgauge.benchmarks import standalone_rubric
from mindgauge.commands.command import command
from mindgauge.commands.dataset import opened
from mindgauge.commands.run import run
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import count, plural
from mindgauge.runs.forecast import DryRun
from mindgauge.runs.options import OF_REPLIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
