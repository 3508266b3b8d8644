"""Estimates with their intervals, and why an estimate is not there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mindgauge.records.rounding import bounded

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import Bound

_NAMED = 3


def bound(estimate: "Bound | None", *, share: bool = False) -> str:
    """Write an estimate as `0.50 [0.40, 0.60]`: a dash where it is not defined, nothing where it is not asked."""
    if estimate is None:
        return ""
    return bounded(estimate.value, estimate.low, estimate.high, "share" if share else "level")


def missing(estimates: Iterable[tuple[str, str, "Bound"]]) -> list[str]:
    """Say why estimates or their intervals are not there, each reason once.

    Args:
        estimates: of whom, the measure, and what was found.
    """
    reasons: dict[str, dict[str, list[str]]] = {}
    for owner, measure, estimate in estimates:
        if estimate.note and (estimate.value is None or estimate.low is None):
            reasons.setdefault(estimate.note, {}).setdefault(owner, []).append(measure)
    return [f"{reason}: {_listed(by_owner)}" for reason, by_owner in reasons.items()]


def _listed(by_owner: dict[str, list[str]]) -> str:
    parts = [f"{owner} ({', '.join(measures)})" for owner, measures in list(by_owner.items())[:_NAMED]]
    return "; ".join(parts) + (f"; and {len(by_owner) - _NAMED} more" if len(by_owner) > _NAMED else "")
