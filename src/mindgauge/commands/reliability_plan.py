"""`reliability --plan`: how large must a study of a judge be?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mindgauge.analysis.reliability import pairs, plan
from mindgauge.analysis.reliability import rule as rules
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.ratings import read
from mindgauge.commands.command import NAMED, command
from mindgauge.records.errors import UsageError
from mindgauge.records.ratings import NOTHING_SAID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mindgauge.analysis.reliability.plan import ReliabilityPlan
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.ratings import RatingLayout


@command()
def reliability_plan(
    ratings: str | Path | Frame | Sequence[str | Path | Frame] = (),
    *,
    verdict: str = "",
    power: float = 0.8,
    assume: Mapping[str, float] | None = None,
    reference: str | Sequence[str] = (),
    scale: str | Mapping[str, str] | None = None,
    nominal: Sequence[str] = (),
    unsafe: str | Sequence[str] = (),
    layout: RatingLayout = NOTHING_SAID,
    rule: Annotated[str | Path, NAMED] = "mindgauge",
) -> ReliabilityPlan:
    """Say how many replies, people and judges a verdict takes, with or without ratings.

    Without ratings it plans from what is assumed; with people's ratings from these, a judge being taken as one more
    person; with judges' from their cards: how many in all, if what was seen goes on.

    Args:
        ratings: See `reliability`; none before labelling.
        verdict: With --plan: moderate or good; both if not given.
        power: With --plan: the chance of the verdict.
        assume: With --plan: unsafe=0.1,agreement=0.8,people=3, and ceiling, repeat, judges, repeats, replies, alike,
            levels, classes.
        reference: as in `reliability`.
        scale: as in `reliability`.
        nominal: as in `reliability`.
        unsafe: as in `reliability`.
        layout: as in `reliability`.
        rule: `mindgauge`, or a file like Mindgauge's rule.toml.

    Raises:
        UsageError: an option is wrong.
        DataError: the ratings cannot be read.
    """
    if verdict and verdict not in plan.VERDICTS:
        raise UsageError(f"--verdict {verdict}: {' or '.join(plan.VERDICTS)}")
    if not 0 < power < 1:
        raise UsageError(f"--power {power:g}: must lie between 0 and 1")
    if str(rule) == rules.MENTALBENCH:
        raise UsageError("--rule mentalbench knows no power: its limits depend on its own data")
    verdicts = [plan.VERDICTS[verdict]] if verdict else list(plan.VERDICTS.values())
    limits, given = rules.load(rule), dict(assume or {})
    sources: list[str | Path | Frame] = list(ratings) if isinstance(ratings, list | tuple) else [ratings]  # type: ignore[list-item]  # a lone source
    if not sources:
        assumed = plan.assumptions(given)
        rows = plan.before(assumed, limits, verdicts, power)
        return plan.ReliabilityPlan("before labelling", limits.name, power, assumed, rows, plan.notes(rows))
    scales = {"*": scale} if isinstance(scale, str) else dict(scale or {})
    levels = [unsafe] if isinstance(unsafe, str) else list(unsafe)
    table = read(sources, scale=scales, nominal=nominal, layout=layout, unsafe=levels)
    named = [reference] if isinstance(reference, str) else list(reference)
    result = cards(table, CardOptions(limits, resamples=100), named)
    if result.cards:
        if given:
            raise UsageError("--assume: the judges' ratings say it; leave it out, or plan without ratings")
        rows = plan.during(result, table, limits, verdicts, power)
        return plan.ReliabilityPlan(table.source, limits.name, power, None, rows, plan.notes(rows))
    persons, _ = pairs.split(table.frame, named, [])
    rows, lacks = [], []
    for criterion, assumed_of, lack in plan.of_people(result, table, persons, given):
        if assumed_of is None:
            lacks.append(f"{criterion}: {lack}")
        else:
            rows += plan.before(assumed_of, limits, verdicts, power, criterion)
    return plan.ReliabilityPlan(table.source, limits.name, power, None, rows, [*lacks, *plan.notes(rows)])
