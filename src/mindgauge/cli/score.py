"""`mindgauge score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import entry_test, fidelity, options, render
from mindgauge.cli.report import ShowUnreliable  # noqa: TC001 - typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Collection

    from mindgauge.analysis.score import Scores


def score(
    runs: Annotated[list[Path], typer.Argument(help="Run directories.")],
    show_unreliable: ShowUnreliable = False,
    json: options.Json = False,
) -> None:
    """Compute the metrics of runs, from what they hold."""
    from mindgauge.commands.score import score as function

    result = [function(run) for run in runs]
    if json:
        render.as_json(result[0] if len(result) == 1 else result)
        return
    for scores in result:
        show(scores, show_unreliable=show_unreliable)


def show(result: Scores, *, show_unreliable: bool = False, told_before: Collection[str] = ()) -> None:
    """Print what the benchmarks of a run go by, as the report's tables, what went wrong, and where to read on.

    Args:
        result: the scores.
        show_unreliable: whether scores of judges that agree too little with people are shown, marked, and not withheld.
        told_before: notes that the command has printed already.
    """
    from mindgauge.analysis import fitness
    from mindgauge.reports import drawn_tables, score_tables
    from mindgauge.reports.standing import masked, of_run

    cards = of_run(Path(result.run), shown=show_unreliable)
    fidelity.show(result.fidelity)
    for sentence in fitness.told(result.unfit):
        print(sentence)
    allowed = masked(result, cards)
    if (drawn := drawn_tables.of_frames(result.frames)) is not None:
        render.sheet(drawn)
    for table in score_tables.headlines(allowed, cards):
        render.sheet(table)
    for sentence in score_tables.remarks(allowed, cards):
        print(sentence)
    if any(card.limited for card in cards.cards.values()):
        display = "are marked" if cards.shown else "are not shown; --show-unreliable shows them"
        print(f"Scores of judges that agree too little with people {display} (mindgauge reliability {result.run})")
    worst = score_tables.worst_cells(allowed, cards)
    if worst is not None:
        render.sheet(worst)
    render.told(result, told_before=told_before)
    for table in score_tables.labels(allowed):
        render.sheet(table)
    entry_test.show(result.qualifications)
