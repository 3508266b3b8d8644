"""A metric is a function of weighted ratings: `compute(table, weights) -> (B,)`, one row of weights per resample.

So every metric, a newcomer's too, gets clustered intervals, slices, repeats and bounds for missing ratings from the
framework. Metric names say their direction.
"""

from mindgauge.benchmarks.metrics.closed import (
    STATUS_RATES,
    accuracy,
    accuracy_of_read,
    binary,
    call_rate,
    cohen_kappa,
    fleiss_kappa,
    levels_off,
    levels_off_of_read,
    macro_f1,
    macro_precision,
    macro_recall,
    node_accuracy,
    over_triage_rate,
    precision,
    quadratic_kappa,
    quadratic_kappa_of_read,
    recall,
    repeat_stability,
    status_rate,
    under_triage_rate,
    weighted_f1,
    weighted_precision,
    weighted_recall,
    within_one,
)
from mindgauge.benchmarks.metrics.estimates import Estimate, estimate
from mindgauge.benchmarks.metrics.own import guarded, metric
from mindgauge.benchmarks.metrics.scores import (
    distribution_of,
    label_of,
    mean_level,
    rate_of,
    sd_level,
    share,
    share_at,
    share_at_most,
    share_of,
    share_reaching,
    with_others,
)
from mindgauge.benchmarks.metrics.table import Metric, RatingTable, mean_of

UNMOVED = frozenset(metric.name for metric in (fleiss_kappa, repeat_stability, *STATUS_RATES))
"""What says nothing of values: what became of verdicts, and whether repeats agree."""
SHARES_OF_YES = frozenset(make("yes").name for make in (share_of, share_reaching, rate_of))
"""How often yes was said, whichever of the levels it is."""

__all__ = [
    "SHARES_OF_YES",
    "STATUS_RATES",
    "UNMOVED",
    "Estimate",
    "Metric",
    "RatingTable",
    "accuracy",
    "accuracy_of_read",
    "binary",
    "call_rate",
    "cohen_kappa",
    "distribution_of",
    "estimate",
    "fleiss_kappa",
    "guarded",
    "label_of",
    "levels_off",
    "levels_off_of_read",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "mean_level",
    "mean_of",
    "metric",
    "node_accuracy",
    "over_triage_rate",
    "precision",
    "quadratic_kappa",
    "quadratic_kappa_of_read",
    "rate_of",
    "recall",
    "repeat_stability",
    "sd_level",
    "share",
    "share_at",
    "share_at_most",
    "share_of",
    "share_reaching",
    "status_rate",
    "under_triage_rate",
    "weighted_f1",
    "weighted_precision",
    "weighted_recall",
    "with_others",
    "within_one",
]
