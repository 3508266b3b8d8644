"""Scores: the rating's own level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.metrics.table import Metric, Table, mean_of

if TYPE_CHECKING:
    from mindgauge.metrics.table import Floats, Mask
    from mindgauge.records import Value


def _numbers(table: Table) -> Floats:
    levels = np.array([float(level) for level in table.levels])
    return np.where(table.ok, levels[table.code], np.nan)


def _where_ok(table: Table, hits: Mask) -> Floats:
    return np.where(table.ok, hits.astype(float), np.nan)


mean_level = mean_of("mean", _numbers, "higher")


def share_at_most(level: int) -> Metric:
    """Return the share of ratings at this level or below; lower is better."""
    return mean_of(
        f"share_at_most_{level}", lambda table: _where_ok(table, _numbers(table) <= level), "lower", exact=True
    )


def share_of(*values: Value, name: str = "") -> Metric:
    """Return the share of ratings with this value, or with one of several, which then need a name together."""
    hits = f"share_{name or values[0]}"
    return mean_of(hits, lambda table: _where_ok(table, np.isin(table.code, table.codes(*values))), exact=True)
