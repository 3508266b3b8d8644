"""Whether clients are fit for their part, as the terminal says it, before any score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.fidelity import Fidelity


def show(judged: Sequence[Fidelity]) -> None:
    """Print the verdicts with their reasons, then the tables; nothing where no client plays."""
    if not judged:
        return
    from mindgauge.reports import fidelity

    print(fidelity.TITLE)
    for sentence in fidelity.sentences(judged):
        print(sentence)
    for table in fidelity.tables(judged):
        render.sheet(table)
