"""The judges' entry test: its table after the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import render
from mindgauge.records.rounding import bounded, decimal, interval, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.qualify import AtLevel, Qualification
    from mindgauge.analysis.reliability.card import Bound


def show(found: Sequence[Qualification]) -> None:
    """Print how judges did in their entry test; nothing where none took it."""
    if not found:
        return
    counts = sorted({q.n for q in found})
    replies = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    render.table(
        f"Entry test: agreement with {replies} replies written by Mindgauge's authors to stand at known levels (not by clinicians)",
        [
            "judge", "criterion", "result", "kappa", "n", "missing", "same level", "95 % interval", "within one", "bias",
            "95 % interval", "ICC(A,1)", "mean given at level",
        ],
        [
            [
                q.judge, f"{q.benchmark} {q.criterion}", q.result, bounded(q.kappa.value, q.kappa.low, q.kappa.high),
                str(q.n), str(q.missing), percent(q.exact.value),
                _interval(q.exact, share=True), percent(q.within_1.value), decimal(q.bias.value),
                _interval(q.bias), decimal(q.icc_a1.value), ", ".join(map(_at, q.levels)),
            ]
            for q in found
        ],
    )  # fmt: skip


def _interval(bound: Bound, *, share: bool = False) -> str:
    if bound.low is None:
        return bound.note
    return interval(bound.low, bound.high, "share" if share else "level")


def _at(level: AtLevel) -> str:
    """Write what was given at one level: the mean, or how often it was said that the criterion does not apply."""
    if level.level is None:
        return f"not applicable: {percent(level.recall)} said so"
    return f"{level.level}: {decimal(level.mean)}"
