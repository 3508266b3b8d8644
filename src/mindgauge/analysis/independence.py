"""Who among some raters speaks for themselves, and who saw, computed or repeats what others said.

Agreement among people is a ceiling for judges only if each person's word is their own. One who decides where others
differ, a consensus, and one person under two names raise it by construction. They are known by hand, by their names, or
by what they say (`mindgauge.stats.dependence`); the limits are fixed here.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
import polars as pl

from mindgauge.records.english import named, nearest
from mindgauge.records.errors import UsageError
from mindgauge.records.regex import regex
from mindgauge.records.rounding import count, percent, plural
from mindgauge.stats import copying, dependence
from mindgauge.stats.dependence import RaterCodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.stats.dependence import Adjudication, Departures


REPEATS = 3
"""So many repeats have a spread of their own, which passes for an interval."""
OWN_NOISE = "this interval is about the judge's own noise, not about other conversations"


def only_repeats(rated: pl.DataFrame) -> list[tuple[str, str]]:
    """Return who rated one conversation only of each system, again and again: the rater, and what that means.

    Args:
        rated: valued rows: subject, cluster (null where none), criterion, rater, system, run.
    """
    if rated["run"].n_unique() < REPEATS:
        return []
    units = rated.with_columns(unit=pl.coalesce("cluster", "subject"), system=pl.col("system").fill_null(""))
    counted = (
        units.group_by("rater", "criterion", "system")
        .agg(pl.col("unit").n_unique(), pl.col("run").fill_null(0).n_unique())
        .group_by("rater", "criterion")
        .agg(pl.col("unit").max(), pl.col("run").max())
        .filter(pl.col("unit") == 1, pl.col("run") >= REPEATS)
        .group_by("rater")
        .agg(pl.col("criterion").sort(), pl.col("run").max())
        .sort("rater")
    )
    return [
        (
            rater,
            f"{rater} rated one conversation of each system {plural(run, 'time')} ({', '.join(criteria[:4])}), and repeats are all that varies: {OWN_NOISE}",
        )
        for rater, criteria, run in counted.iter_rows()
    ]


ALPHA = 0.001
"""The chance that an honest rater is called dependent, over all raters and criteria of the material; the audit's."""
COPIES = 0.01
"""The chance that an honest person is taken for a copier of some judge, over all people, judges and criteria."""
SIDED = 0.95
"""An adjudicator takes the value of one of the others in so many of the cases in which these differ."""
SPLITS = 10
"""A rule of the others' values says nothing that chance does not where they differ less often than this."""
FOLLOWED = 0.99
"""A consensus follows its rule on so many subjects: a released one may have been edited here and there."""
MOST_RATERS = 40
"""Of more raters nobody's values are compared with everybody's: a crowd has no adjudicator that could be told."""
_NAMED = regex(r"adjudicat|arbitrat|tie[-_ ]?break|consensus|majority|aggregate", re.IGNORECASE)
"""Names of those who have seen or sum up what others said."""
_REPEAT = regex(
    r"^(?P<who>.*?)(?<![\W_])[\W_]*+(?:run|rep|repeat|repetition|seed|sample|trial|try|pass|iter|iteration)[\W_]*\d+$",
    re.IGNORECASE,
)
"""Names that say which repeat they are."""
_NUMBERED = regex(r"^(?P<who>.*\D)[\W_](?P<number>\d{1,2})$")

How: TypeAlias = Literal["by hand", "by name", "adjudicator", "consensus", "repeat", "copy"]


class Dependence(msgspec.Struct, frozen=True):
    """A rater who is not independent of others: how that is known, on whom, and the evidence in one sentence.

    `agreed` of `unanimous` subjects on which the others agree, and `sided` of `split` ones on which they differ; all 0
    where nothing was counted. `p` is the chance of as much among honest raters, None where it is no matter of chance.
    """

    rater: str
    how: How
    evidence: str
    unanimous: int = 0
    agreed: int = 0
    split: int = 0
    sided: int = 0
    p: float | None = None


class Suspicion(NamedTuple):
    """A rater who never stands alone, which a careful person may do, too."""

    rater: str
    evidence: str
    n: int


class Independence(NamedTuple):
    """Who is independent, and who is not and why; `suspected` are counted as independent."""

    independent: list[str]
    dependent: list[Dependence]
    suspected: list[Suspicion]

    def without(self, others: Sequence[Dependence]) -> Independence:
        """Return the same with some more who are not independent."""
        names = {entry.rater for entry in others}
        added = [entry for entry in others if entry.rater in self.independent]
        return self._replace(
            independent=[rater for rater in self.independent if rater not in names], dependent=[*self.dependent, *added]
        )

    def sentences(self, reference: Sequence[str]) -> list[str]:
        """Say of each who is not independent why that is so, and what is done about it; `reference` is compared with judges."""
        lines = []
        for entry in self.dependent:
            if entry.how == "copy":
                effect = "such a person's values say nothing of their own about a judge, and are left out; both figures, with and without, are given"
            elif len(self.independent) < 2:
                effect = "fewer than two people are independent, so people's agreement among themselves is not known"
            elif entry.rater in reference:
                effect = "left out of people's agreement among themselves, and compared with judges since --reference names them"
            else:
                effect = "left out of people's agreement and of what judges are compared with; both figures, with and without, are given"
            lines.append(f"{entry.evidence}: {effect}")
        return lines + [
            f"{suspicion.evidence}: an adjudicator, or somebody more careful than the others; if the former, --adjudicator {suspicion.rater}"
            for suspicion in self.suspected
        ]


def by_name(rater: str) -> bool:
    """Whether a rater's name says that they have seen what others said."""
    return _NAMED.search(rater) is not None


def repeats_by_name(raters: Sequence[str]) -> dict[str, list[str]]:
    """Return who stands under several names that say which repeat they are: the common part → the names."""
    groups: dict[str, list[str]] = {}
    for rater in raters:
        if match := _REPEAT.match(rater):
            groups.setdefault(match["who"].casefold(), []).append(rater)
    return {stem: names for stem, names in groups.items() if len(names) > 1}


def numbered(raters: Sequence[str]) -> dict[str, list[str]]:
    """Return names that differ in a number at their end only, which counts from 0 or 1: the common part → the names."""
    groups: dict[str, dict[int, str]] = {}
    for rater in raters:
        if match := _NUMBERED.match(rater):
            groups.setdefault(match["who"].casefold(), {})[int(match["number"])] = rater
    return {
        stem: [names[number] for number in sorted(names)]
        for stem, names in groups.items()
        if len(names) > 1 and sorted(names) in (list(range(len(names))), list(range(1, len(names) + 1)))
    }


def repeated(judges: Sequence[str]) -> list[str]:
    """Say which judges are by their names repeats of one."""
    return [
        f"{named(names, limit=8)} are by their names repeats of one judge: agreement between them is the judge's with itself; give them one "
        "name and number them in a column run"
        for names in repeats_by_name(judges).values()
    ]


def settle(
    rated: pl.DataFrame, persons: Sequence[str], adjudicators: Sequence[str] = (), judges: Sequence[str] = ()
) -> Independence:
    """Say who of some people is independent: by hand, by name, and by what they say.

    Args:
        rated: rows: subject, cluster (null where none), criterion, rater, run, number and value (text, null where none).
        persons: the raters in question.
        adjudicators: raters who are not independent, whatever they are called.
        judges: whose verdicts a person may have copied.

    Raises:
        UsageError: an adjudicator is no rater here.
    """
    names = sorted(set(rated["rater"].unique()) | set(persons))
    for rater in adjudicators:
        if rater not in names:
            hint = nearest(rater, names, f"raters are {', '.join(names[:8])}")
            raise UsageError(f"--adjudicator {rater!r}: no such rater; {hint}")
    dependent = [
        Dependence(rater, "by hand", f"{rater} is said to be an adjudicator")
        if rater in adjudicators
        else Dependence(rater, "by name", f"{rater} has, by the name, seen or summed up what others said")
        for rater in persons
        if rater in adjudicators or by_name(rater)
    ]
    dependent_names = {entry.rater for entry in dependent}
    own = [rater for rater in persons if rater not in dependent_names]
    values = rated.filter(pl.col("value").is_not_null())
    observed, suspected = detect(values.filter(pl.col("rater").is_in(own)), own)
    repeats = {entry.rater for entry in observed}
    observed += copiers(values, [rater for rater in own if rater not in repeats], judges)
    dependent += observed
    dependent_names |= {entry.rater for entry in observed}
    return Independence([rater for rater in own if rater not in dependent_names], dependent, suspected)


def detect(rated: pl.DataFrame, raters: Sequence[str]) -> tuple[list[Dependence], list[Suspicion]]:
    """Find a consensus, an adjudicator and repeats among raters by what they say, the surest first.

    Each rater is put beside those who are not yet known to depend on others.
    """
    dependent = _repeats(rated, raters)  # first: whoever has a double never stands alone
    doubles = {entry.rater for entry in dependent}
    remaining = [rater for rater in raters if rater not in doubles]
    suspected: list[Suspicion] = []
    while 3 <= len(remaining) <= MOST_RATERS:
        criteria = coded(rated, remaining)
        limit = ALPHA / (len(remaining) * (len(criteria) + 1))
        cases = {name: dependence.departures(ratings.codes) for name, ratings in criteria.items()}
        verdicts = [_seen(criteria, cases, remaining, place, limit) for place in range(len(remaining))]
        certain = [entry for entry in verdicts if isinstance(entry, Dependence)]
        suspected = [entry for entry in verdicts if isinstance(entry, Suspicion)]
        if not certain:
            break
        surest = min(certain, key=lambda entry: (entry.how != "consensus", entry.p or 0.0, entry.rater))
        dependent.append(surest)
        remaining.remove(surest.rater)
    return dependent, suspected


def copiers(rated: pl.DataFrame, people: Sequence[str], judges: Sequence[str]) -> list[Dependence]:
    """Find the people who give a judge's verdicts back; nobody can be told to do so who is the only person.

    Args:
        rated: as `settle` takes them, with a value each.
        people: who may have copied.
        judges: from whom.
    """
    raters = [*people, *judges]
    if len(people) < 2 or not judges or len(raters) > MOST_RATERS:
        return []
    criteria = coded(rated, raters)
    parts = [[name] for name in criteria] if len(criteria) < 2 else [list(criteria), *([name] for name in criteria)]
    limit = COPIES / max(len(people) * len(judges) * len(parts), 1)
    dependents: list[Dependence] = []
    for person, rater in enumerate(people):
        others = [place for place in range(len(people)) if place != person]
        tests = [
            (copying.copying([criteria[name] for name in names], person, len(people) + place, others), judge, names)
            for place, judge in enumerate(judges)
            for names in parts
        ]
        if not tests:
            continue
        copy, judge, names = min(tests, key=lambda test: test[0].p)
        if copy.p > limit:
            continue
        scope = f" on {names[0]}" if len(names) < len(criteria) else ""
        share = copy.farther / (copy.farther + copy.nearer)
        text = (
            f"{rater} repeats {judge}{scope}, or both err far less than the others: the same value on {count(copy.equal)} of {plural(copy.n, 'rating')}, other people on "
            f"{percent(copy.others)}; where {rater} and another person are not equally far from {judge}, {rater} is the farther one in {percent(share)}"
        )
        dependents.append(Dependence(rater, "copy", text, p=copy.p))
    return dependents


def coded(rated: pl.DataFrame, raters: Sequence[str]) -> dict[str, RaterCodes]:
    """Return each criterion's values by subject and rater, of the first run; criteria in which nobody rates are left out."""
    value = pl.coalesce(pl.col("number").cast(pl.String), pl.col("value").str.strip_chars())
    rows = rated.filter(pl.col("rater").is_in(list(raters))).with_columns(
        unit=pl.coalesce("cluster", "subject"), word=value
    )
    coded_by_criterion: dict[str, RaterCodes] = {}
    for criterion in rows["criterion"].unique().sort():
        own = rows.filter(pl.col("criterion") == criterion).sort("run", nulls_last=False, maintain_order=True)
        own = own.unique(["subject", "rater"], keep="first", maintain_order=True)
        if own.filter(pl.len().over("subject") > 1).is_empty():
            continue
        names = own["subject"].unique(maintain_order=True)
        places = {rater: place for place, rater in enumerate(raters)}
        subject = own["subject"].replace_strict(dict(zip(names, range(len(names)), strict=True)), return_dtype=pl.Int64)
        index = subject.to_numpy(), own["rater"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
        codes = np.full((len(names), len(raters)), dependence.MISSING)
        codes[index] = own["word"].rank("dense").to_numpy().astype(np.intp) - 1
        numbers = None
        if own["number"].null_count() == 0:
            numbers = np.full(codes.shape, np.nan)
            numbers[index] = own["number"].to_numpy()
        units = own.unique("subject", keep="first", maintain_order=True)["unit"]
        cluster = units.rank("dense").to_numpy().astype(np.intp) - 1
        coded_by_criterion[criterion] = RaterCodes(codes, numbers, cluster)
    return coded_by_criterion


def _seen(
    criteria: Mapping[str, RaterCodes], cases: Mapping[str, Departures], raters: Sequence[str], place: int, limit: float
) -> Dependence | Suspicion | None:
    """Judge one rater beside the others: over all criteria together, and on each."""
    parts = [[name] for name in criteria] if len(criteria) < 2 else [list(criteria), *([name] for name in criteria)]
    suspicion: Suspicion | None = None
    for names in parts:
        ratings = [criteria[name] for name in names]
        adjudication = dependence.adjudication(ratings, place, [cases[name] for name in names])
        scope = f" on {names[0]}" if len(names) < len(criteria) else ""
        if rule := followed(ratings, place, limit):
            return _dependence(raters[place], "consensus", f"{raters[place]} is the {rule[0]}{scope}", adjudication)
        pattern = adjudication.sided >= SIDED * adjudication.split and adjudication.split > 0
        if pattern and adjudication.p <= limit:
            return _dependence(
                raters[place], "adjudicator", f"{raters[place]} {_counted(adjudication)}{scope}", adjudication
            )
        drawn = adjudication.drawn
        if drawn.rated >= SPLITS and drawn.split >= SIDED * drawn.rated and drawn.p <= limit:
            text = f"{raters[place]} rated {plural(drawn.rated, 'subject')} of these others, who differ on {count(drawn.split)} of them{scope}"
            return _dependence(raters[place], "adjudicator", text, adjudication._replace(p=drawn.p))
        if pattern and not adjudication.alone and adjudication.p_equal <= limit:
            suspicion = suspicion or Suspicion(
                raters[place],
                f"{raters[place]} {_counted(adjudication)}{scope}",
                adjudication.unanimous + adjudication.split,
            )
    return suspicion


def _dependence(rater: str, how: How, evidence: str, adjudication: Adjudication) -> Dependence:
    return Dependence(
        rater,
        how,
        evidence,
        adjudication.unanimous,
        adjudication.agreed,
        adjudication.split,
        adjudication.sided,
        adjudication.p,
    )


def _counted(adjudication: Adjudication) -> str:
    return (
        f"agrees on {count(adjudication.agreed)} of {plural(adjudication.unanimous, 'subject')} on which the others agree and sides with one of "
        f"them on {count(adjudication.sided)} of {count(adjudication.split)} on which they differ; of {plural(adjudication.alone + adjudication.evidence, 'time')} "
        f"that one rater stands alone it is this one {count(adjudication.alone)}"
    )


def followed(ratings: Sequence[RaterCodes], place: int, limit: float, *, equal: bool = False) -> tuple[str, int] | None:
    """Name the rule of the others' values that a rater follows on each of some criteria, and on how many subjects; None where there is none.

    Args:
        ratings: on each criterion.
        place: the rater's column.
        limit: the chance of departing so seldom from most raters, at most.
        equal: whether that chance is one of a rater like the others, and the rule has no exception: for gold labels, of
            which nothing else is expected than that they are somebody's sum.
    """
    tables = [{rule.rule: rule for rule in dependence.rules(part, place)} for part in ratings]
    for name in dependence.RULES:
        parts = [table[name] for table in tables if name in table]
        n, same, split, fractions = (
            sum(getattr(part, column) for part in parts) for column in ("n", "equal", "split", "fractions")
        )
        required = n if equal else FOLLOWED * n
        if len(parts) == len(tables) and split >= SPLITS and same >= required:
            cases = [dependence.departures(part.codes, alone=False) for part in ratings]
            adjudication = dependence.adjudication(ratings, place, cases)
            if fractions >= SPLITS or (adjudication.p_equal if equal else adjudication.p) <= limit:
                text = f"{name} of the others on {count(same)} of {plural(n, 'subject')}, on {count(split)} of which they differ"
                return text, n
    return None


def _repeats(rated: pl.DataFrame, raters: Sequence[str]) -> list[Dependence]:
    """Find who is another rater once more: by name, by the same values throughout, or by errors that they share."""
    repeats = {
        name: Dependence(name, "repeat", f"{name} is, by the name, {names[0]} once more")
        for names in repeats_by_name(raters).values()
        for name in names[1:]
    }
    for _, second, evidence, p in same(rated, raters):
        repeats.setdefault(second, Dependence(second, "repeat", evidence, p=p))
    return list(repeats.values())


def same(rated: pl.DataFrame, raters: Sequence[str]) -> Iterator[tuple[str, str, str, float]]:
    """Find two raters of whom one repeats the other: both depart from all others together, and hardly ever apart.

    Yields both, the evidence, and its p.
    """
    if len(raters) > MOST_RATERS or len(raters) < 2:
        return
    criteria = list(coded(rated, raters).values())
    if not criteria:
        return
    places = list(combinations(range(len(raters)), 2))
    for first, second in places:
        both = [(part.codes[:, first], part.codes[:, second]) for part in criteria]
        n = sum(int(((a != dependence.MISSING) & (b != dependence.MISSING)).sum()) for a, b in both)
        equal = sum(int(((a == b) & (a != dependence.MISSING)).sum()) for a, b in both)
        shared_errors = dependence.together(criteria, first, second)
        if n and shared_errors.p <= ALPHA / len(places):
            evidence = (
                f"{raters[second]} and {raters[first]} agree on {count(equal)} of {plural(n, 'rating')}; where the others agree and one of the two "
                f"departs from them, the other does the same in {count(shared_errors.together)} of {plural(shared_errors.together + shared_errors.apart, 'conversation')}"
            )
            yield raters[first], raters[second], evidence, shared_errors.p
