"""`demo`: the whole way on the embedded model, as subject and as judge, on samples of our own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.score import Scores
from mindgauge.commands.command import command
from mindgauge.commands.report import report
from mindgauge.commands.run import run
from mindgauge.records.command_result import LINES, Tabular

if TYPE_CHECKING:
    import polars as pl

    from mindgauge.runs.session import Progress

MODEL = "local/smollm2-135m"
LIMIT = 14
"""Two samples of each class: enough to see every part work, few enough for three minutes on two cores."""
ANCHORS = 10
"""Two replies of each known level for the judge's entry test."""
WARNING = (
    "This demonstration is real, its judge is not to be trusted: a model of 135 million parameters, reading English only, "
    "rates its own replies. Take the report as a picture of what Mindgauge does, not of any model."
)


class Demonstration(Tabular, msgspec.Struct, frozen=True):
    """What the demonstration found, and where its report lies."""

    scores: Scores
    report: str
    warning: str = WARNING

    @property
    def table(self) -> pl.DataFrame:
        """Its scores as a table, one row each."""
        return self.scores.table

    def summary(self) -> list[str]:
        """Say what the scores say, and what they are worth."""
        lines = str(self.scores).splitlines()
        return [*lines[: LINES - 2], "Its judge is not to be trusted: .warning says why.", f"The report: {self.report}"]


@command(without="limit anchors")
def demo(
    *,
    out: str | Path = "demo-run",
    limit: int = LIMIT,
    anchors: int = ANCHORS,
    progress: Progress | None = None,
    command: str = "",
) -> Demonstration:
    """Run the embedded model end to end, on samples of our own, and write the report.

    Args:
        out: The run directory.
        limit: samples per member, spread evenly over the classes.
        anchors: replies of known level on which the judge is tested first.
        progress: called with the stage, and how many of its calls are done, of how many.
        command: what the user typed, for the manifest.
    """
    scores = run(
        "help_or_harm", model=MODEL, judge=[MODEL, "rule/outside_help"], out=out, limit=limit,
        where={"language": ("en",)}, own_family=True, qualify=True, anchors=anchors, progress=progress, command=command,
    )  # fmt: skip
    assert isinstance(scores, Scores)
    return Demonstration(scores, str(report([Path(out)]).path))
