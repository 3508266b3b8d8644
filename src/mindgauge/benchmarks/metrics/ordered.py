"""Closed questions whose levels have an order: how far beside the target, and on which side.

An answer that cannot be read is as far off as it could be; the figures of those that can be read stand beside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from mindgauge.benchmarks.metrics.table import Metric, RatingTable, mean_of
from mindgauge.stats import agreement

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.benchmarks.metrics.table import Codes, Floats, Mask


def _has_target(table: RatingTable) -> Mask:
    return table.target >= 0


def _read(table: RatingTable) -> Mask:
    return _has_target(table) & table.ok


def _farthest(table: RatingTable) -> Codes:
    """Return each answer's place, and where there is none, the level farthest from the target."""
    last = len(table.levels) - 1
    return np.where(table.ok, table.code, np.where(table.target * 2 > last, 0, last))


def _kappa(table: RatingTable, weights: Floats) -> Floats:
    labels = len(table.levels)
    counts = agreement.confusion(table.target, _farthest(table), labels, weights)[:, :, :labels]
    return agreement.cohen_kappa(counts, "quadratic")


def _share(name: str, hits: Callable[[RatingTable], Mask], better: str) -> Metric:
    return mean_of(
        name, lambda table: hits(table).astype(float), better, _has_target, exact=True, missing_is_outcome=True
    )


def _off(table: RatingTable) -> Floats:
    return np.asarray(np.abs(_farthest(table) - table.target).astype(float))


quadratic_kappa = Metric("quadratic_kappa", _kappa, "higher", _has_target, missing_is_outcome=True, additive=True)
"""Cohen's kappa with the weights 1 - (i - j)² / (q - 1)², after Cohen, Psychological Bulletin 70 (1968)."""
quadratic_kappa_of_read = Metric(
    "quadratic_kappa_of_read", _kappa, "higher", _read, additive=True, of_read="quadratic_kappa"
)
levels_off = mean_of("levels_off", _off, "lower", _has_target, missing_is_outcome=True)
"""The mean absolute error, in levels."""
levels_off_of_read = msgspec.structs.replace(
    mean_of("levels_off_of_read", lambda table: np.where(table.ok, _off(table), np.nan), "lower"), of_read="levels_off"
)
within_one = _share("within_one", lambda table: table.ok & (_off(table) <= 1), "higher")
under_triage_rate = _share("under_triage_rate", lambda table: _farthest(table) < table.target, "lower")
"""The share called less severe than the target, of levels that stand mildest first."""
over_triage_rate = _share("over_triage_rate", lambda table: _farthest(table) > table.target, "lower")
