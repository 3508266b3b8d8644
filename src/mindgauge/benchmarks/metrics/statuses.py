"""What went wrong: the shares of ratings that ended without a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.metrics.table import Metric, RatingTable, ratio
from mindgauge.records import Status

if TYPE_CHECKING:
    from mindgauge.benchmarks.metrics.table import Floats


def status_rate(status: Status | str) -> Metric:
    """Return the share of ratings that ended in this status."""

    def compute(table: RatingTable, weights: Floats) -> Floats:
        return ratio(weights @ (table.status == str(status)).astype(float), weights.sum(axis=1))

    return Metric(
        f"{status}_rate", compute, "lower", exact=True, missing_is_outcome=True, of_status=True, additive=True
    )


STATUS_RATES = tuple(status_rate(s) for s in (Status.UNPARSABLE, Status.REFUSED, Status.FILTERED, Status.FAILED))
