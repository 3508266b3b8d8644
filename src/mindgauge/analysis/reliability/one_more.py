"""Whether a judge is as good as one more clinician: the alternative annotator test on one criterion's ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.reliability.card import BesideOnePerson, Bound, OneMorePerson
from mindgauge.analysis.reliability.pairs import numbered
from mindgauge.records.rounding import bounded, decimal, percent, plural
from mindgauge.stats.alternative import alternative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.rule import ReliabilityRule
    from mindgauge.analysis.reliability.scale import ValueScale
    from mindgauge.stats.alternative import BesidePerson

AS_GOOD, NOT_SHOWN, CANNOT_TELL = "as good as one more person", "not shown to be as good", "cannot tell"


def one_more(
    judge_rows: pl.DataFrame, first: pl.DataFrame, raters: Sequence[str], scale: ValueScale, rule: ReliabilityRule,
    selected: str = "",
) -> OneMorePerson:  # fmt: skip
    """Hold a judge against each person as one more of them.

    Of a judge's or a person's repeats the first value counts, since one more person would say it once. A missing verdict
    loses.

    Args:
        judge_rows: the judge's rows, missing verdicts included: subject, cluster, run, number.
        first: first ratings of each subject by people whose values are their own: subject, rater, number.
        raters: these people.
        scale: of the values.
        rule: ε and the least numbers, fixed beforehand.
        selected: why people rated just these subjects, where that depended on the judge.
    """
    limits = rule.one_more
    rows = judge_rows.select("subject", "cluster", "run", "number")
    table = rows.sort(pl.col("number").is_null(), pl.col("run"), maintain_order=True)
    table = table.unique("subject", keep="first").sort("subject")
    subject, cluster = (table[name].to_numpy() for name in ("subject", "cluster"))
    values = first.filter(pl.col("subject").is_in(table["subject"].implode()))
    people = np.full((len(table), len(raters)), np.nan)
    names, code = numbered(values["rater"])
    row = np.searchsorted(subject, values["subject"].to_numpy())
    people[row, np.array([raters.index(name) for name in names], dtype=np.intp)[code]] = values["number"].to_numpy()
    judge = table["number"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    test = alternative(
        judge, people, cluster, ordered=scale.ordered, epsilon=limits.epsilon,
        subjects=limits.subjects, fewest=rule.data.clusters, rate=limits.rate,
    )  # fmt: skip
    persons = [_person(name, part) for name, part in zip(raters, test.people, strict=True)]
    outcome, reason = _outcome(test.counted, test.winning, persons, rule, selected)
    unknown = outcome == CANNOT_TELL
    advantage = Bound(None, note=reason) if unknown else Bound(*test.advantage)
    return OneMorePerson(
        outcome, reason, limits.epsilon, test.counted, None if unknown else test.winning, advantage, persons
    )


def _person(name: str, part: BesidePerson) -> BesideOnePerson:
    return BesideOnePerson(
        name,
        part.n,
        part.missing,
        Bound(*part.judge),
        Bound(*part.person),
        Bound(*part.worse),
        part.adjusted,
        part.wins,
    )


def _outcome(
    counted: int, winning: float | None, persons: Sequence[BesideOnePerson], rule: ReliabilityRule, selected: str
) -> tuple[str, str]:
    limits = rule.one_more
    if selected:
        return CANNOT_TELL, f"people rated a selection that depends on a judge ({selected})"
    if len(persons) < limits.people:
        return CANNOT_TELL, f"it takes {limits.people} people who rated apart from each other, here are {len(persons)}"
    if counted < limits.people or winning is None:
        short = "; ".join(f"{person.rater} {person.worse.note}" for person in persons if person.worse.note)
        return CANNOT_TELL, (
            f"it takes {limits.people} people with {limits.subjects} subjects in {rule.data.clusters} conversations each that "
            f"others rated, too, here are {counted}: {short}"
        )
    return (AS_GOOD if winning >= limits.winning else NOT_SHOWN), ""


def sentence(result: OneMorePerson) -> str:
    """Say in one clause what came of it."""
    if result.outcome == CANNOT_TELL:
        return f"whether it is as good as one more person cannot be told: {result.reason}"
    wins = sum(person.wins for person in result.persons)
    advantage = bounded(result.advantage.value, result.advantage.low, result.advantage.high)
    return (
        f"{result.outcome}: it wins against {wins} of {plural(result.counted, 'person', 'people')} (at most "
        f"{percent(result.epsilon)} of replies worse; winning rate {decimal(result.winning or 0.0)}), and is at least as close "
        f"to the others as a person with chance {advantage}"
    )
