"""Which judges cannot be used at all: those that failed their entry test, and those that always say the same.

Passing says that a judge can read the rubric and its scale. Whether it may replace people, only people's ratings say (see
`reliability`); a judge that fails here says nothing of replies, so nothing that it says is shown as a share or a mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import polars as pl

from mindgauge.benchmarks.entry_limits import EntryResult, limits
from mindgauge.records import RaterKind
from mindgauge.records.rounding import bounded, count, decimal, percent
from mindgauge.records.rubric import Scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from mindgauge.analysis.reliability.card import Bound
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion

NO_JUDGES = {RaterKind.GOLD.value, RaterKind.PERSON.value, RaterKind.RULE.value}


class Unfit(msgspec.Struct, frozen=True):
    """A judge that cannot be used on one criterion, or on a composite that hangs on `part`, and why in one clause."""

    benchmark: str
    judge: str
    criterion: str
    reason: str
    part: str = ""


class Test(NamedTuple):
    """What a judge made of `n` replies that stand at `levels` different known levels.

    Of `missing` there is no usable verdict; the commonest level was given `times`; `kappa` is the agreement beyond chance.
    """

    n: int
    levels: int
    missing: int
    commonest: str
    times: int
    kappa: Bound


def result(test: Test) -> tuple[EntryResult, str]:
    """Say whether a judge passed on one criterion, and if not, why, in one clause."""
    n, levels, kappa = test.n, test.levels, test.kappa
    limit = limits().anchors
    if n < limit.replies or levels < 2 or kappa.value is None:
        return EntryResult.UNDECIDED, f"{count(n)} replies of {count(levels)} known levels decide nothing"
    over_chance = kappa.low is not None and kappa.low > limit.chance
    guessing = kappa.value < limit.enough and not over_chance
    if guessing or (kappa.high is not None and kappa.high < limit.enough):
        return EntryResult.FAILED, _why(test)
    return (
        (EntryResult.PASSED, "")
        if over_chance
        else (EntryResult.UNDECIDED, f"{_agreement(test)}, too few to tell it from guessing")
    )


def _why(test: Test) -> str:
    """Say in one clause what a judge did that failed."""
    replies = f"{count(test.n)} replies"
    if test.missing > test.n / 2:
        return f"it gave no usable verdict on {count(test.missing)} of {replies} of known level"
    if test.times >= limits().constant.same * (test.n - test.missing):
        return f"it gave the level {test.commonest} to {count(test.times)} of {replies} that stand at {count(test.levels)} different levels"
    if test.kappa.low is not None and test.kappa.low > limits().anchors.chance:
        return f"{_agreement(test)}, surely below the {decimal(limits().anchors.enough)} that such clear cases ask for"
    return f"{_agreement(test)}, no better than guessing"


def _agreement(test: Test) -> str:
    kappa = bounded(test.kappa.value, test.kappa.low, test.kappa.high)
    return f"on {count(test.n)} replies of known level its agreement beyond chance is {kappa}"


def constant(
    rows: pl.DataFrame, benchmark: Benchmark, passed: AbstractSet[tuple[str, str]] = frozenset()
) -> Iterator[Unfit]:
    """Find judges that give the same level again and again though the replies differ, or can hardly all be so.

    Args:
        rows: ratings of the benchmark, as `frame.ratings` returns them.
        benchmark: an open one.
        passed: judges, each with a criterion, that told replies of known levels apart: these may really be all alike.
    """
    valued = rows.filter(pl.col("status") == "ok")
    for criterion in () if benchmark.closed else benchmark.rubric.criteria:
        criterion_rows = valued.filter(pl.col("criterion") == criterion.name)
        people = criterion_rows.filter(pl.col("rater_kind") == RaterKind.PERSON.value)
        judged = criterion_rows.filter(~pl.col("rater_kind").is_in(list(NO_JUDGES)))
        for (judge,), verdicts in sorted(judged.group_by("rater"), key=lambda group: str(group[0])):
            reason = _constant(verdicts, people, criterion, able=(str(judge), criterion.name) in passed)
            if reason:
                yield Unfit(benchmark.name, str(judge), criterion.name, reason)


def _constant(verdicts: pl.DataFrame, people: pl.DataFrame, criterion: Criterion, *, able: bool) -> str:
    """Say why verdicts count as constant; empty where they do not."""
    limit = limits().constant
    replies = verdicts["subject"].n_unique()
    if replies < limit.verdicts or verdicts["cluster"].n_unique() < limit.verdicts / 2:
        return ""
    level, times, share = _commonest(verdicts)
    if share < limit.same:
        return ""
    statement = f"it gave {level} in {count(times)} of {count(verdicts.height)} verdicts"
    people_rows = people.join(verdicts, on="subject", how="semi")
    if people_rows["subject"].n_unique() >= limit.verdicts:
        *_, people_share = _commonest(people_rows)
        comparison = f"of what people said of the same replies at most {percent(people_share)} stands at one level"
        return f"{statement}, and {comparison}" if people_share <= limit.known else ""
    ends = {str(criterion.values[0]), str(criterion.values[-1])}
    if able or criterion.scale is not Scale.ORDINAL or level in ends:
        return ""
    return f"{statement} on {count(replies)} different replies, neither the worst level nor the best"


def _commonest(rows: pl.DataFrame) -> tuple[str, int, float]:
    """Return the level that was given most often, how often, and its share."""
    level, times = rows.group_by("value").len().sort("len", "value", descending=[True, False]).row(0)
    return str(level), int(times), times / rows.height


def told(unfit: Sequence[Unfit]) -> list[str]:
    """Say which judges cannot be used, a sentence for each judge of each benchmark."""
    groups: dict[tuple[str, str], list[Unfit]] = {}
    for entry in unfit:
        if not entry.part:
            groups.setdefault((entry.benchmark, entry.judge), []).append(entry)
    sentences = []
    for (benchmark, judge), entries in groups.items():
        names = [entry.criterion.replace("_", " ") for entry in entries]
        criteria = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        first = f" on {names[0]}" if len({entry.reason for entry in entries}) > 1 else ""
        sentences.append(
            f"The judge {judge} cannot be used on {criteria} ({benchmark}):{first} {entries[0].reason}. "
            "Its verdicts on those replies are not shown."
        )
    return sentences
