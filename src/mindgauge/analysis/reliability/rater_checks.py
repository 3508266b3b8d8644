"""The audit's checks of raters on ratings that cards are made of: over an error there is no licence, and warnings are notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis.audit import dependence, order, raters
from mindgauge.analysis.audit.finding import Severity
from mindgauge.analysis.audit.view import View
from mindgauge.analysis.independence import MOST_RATERS, Dependence
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mindgauge.analysis.reliability.ratings import Ratings

CHECKS = (
    raters.model_vote_in_human_labels, raters.identical_raters, raters.straight_lining, raters.constant_values,
    dependence.repeats_as_raters,
)  # fmt: skip
"""Of all raters; adjudicators, a consensus and copies are found by `independence`, and a ceiling is on the card."""
IN_ORDER = (dependence.copied_after, order.drift)
"""Of ratings whose rows are in the order in which people rated; a run's are not."""


class RaterChecks(NamedTuple):
    """Criterion → whose values there are another rater's, and one line for each other thing that was found."""

    not_their_own: dict[str, list[Dependence]]
    notes: list[str]


def rater_checks(ratings: Ratings, reference: Sequence[str], known: Collection[str] = ()) -> RaterChecks:
    """Run the audit's checks of raters; of a crowd none.

    Args:
        ratings: checked ratings.
        reference: who is compared with; of two of them who are one, the second is left out.
        known: those of them who are known to depend on others; of whom they repeat nothing is said again.
    """
    rows = ratings.frame
    if rows["rater"].n_unique() > MOST_RATERS:
        return RaterChecks({}, [])
    kinds = dict(rows.select("rater", "rater_kind").unique("rater").iter_rows())
    kind = pl.when(pl.col("rater").is_in(list(reference)) & (pl.col("rater_kind").fill_null("") != "gold")).then(
        pl.lit("person")
    )
    status = pl.when(pl.col("value").is_null() & (pl.col("status").fill_null("ok") == "ok")).then(pl.lit("unparsable"))
    table = rows.with_columns(
        file=pl.lit(ratings.source), row=pl.int_range(pl.len()), rater_kind=kind.otherwise(pl.col("rater_kind").fill_null("model")),
        status=status.otherwise(pl.col("status").fill_null("ok")),
    )  # fmt: skip
    scales = {name: (scale.low, scale.high) for name, scale in ratings.scales.items() if scale.ordered}
    view = View(Material(frame([], TEXTS), table.select(list(RATINGS)), scales, {}))
    copies: dict[str, list[Dependence]] = {}
    notes: list[str] = []
    for check in (*CHECKS, *(IN_ORDER if ratings.account is not None else ())):
        for result in check.find(view):
            severity = result.severity or check.severity
            if set(result.raters) & set(known):
                continue
            own = [rater for rater in result.raters if rater in reference]
            if severity is Severity.ERROR and own and kinds[own[-1]] != "model":
                copies.setdefault(result.criterion, []).append(Dependence(own[-1], "copy", result.message))
            else:
                notes.append(f"{result.message}: {check.effect}")
    return RaterChecks(copies, notes)
