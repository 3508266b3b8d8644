"""`--rule mentalbench`: a judge classified by the source's own rule, for comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.reliability.card import GOOD, LIMITED, MODERATE, NOT_ESTIMABLE, Licence
from mindgauge.benchmarks.mentalbench import source_rule
from mindgauge.rounding import decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.pairs import Pairs

VERDICTS = {"GR": GOOD, "MR": MODERATE, "PR": LIMITED}


def licence(judge: str, systems: Sequence[str], pairs: Pairs) -> Licence:
    """Classify a judge by the width of the source's interval of ICC(C,1) between the systems' means.

    Args:
        judge: its own system does not count.
        systems: the names of those that are present.
        pairs: people's values beside the judge's.
    """
    places = source_rule.counted(judge, systems)
    if not pairs.scale.ordered or len(places) < 2:
        return Licence(NOT_ESTIMABLE, ["no interval of ICC(C,1) over systems"])
    sums = pairs.moments(pairs.whole())[0][places]
    low, high, kept = source_rule.interval((sums[:, 1:3] / sums[:, :1])[None])
    if not kept[0]:
        return Licence(NOT_ESTIMABLE, ["no resample of the systems has an ICC(C,1) between 0 and 1"])
    width = float(high[0] - low[0])
    found = source_rule.classify(width)
    discarded = source_rule.RESAMPLES - int(kept[0])
    resamples = f"{source_rule.RESAMPLES:,} resamples of {len(places)} systems" + (
        f", {discarded} of them discarded" if discarded else ""
    )
    limit = source_rule.LIMITS.get(found)
    told = f"at most {decimal(limit, 3)}" if limit is not None else f"more than {decimal(source_rule.LIMITS['MR'], 3)}"
    return Licence(
        VERDICTS[found],
        [
            f"the interval of ICC(C,1) over systems is {decimal(width, 3)} wide ({resamples}), {told}: {found} of the source"
        ],
    )
