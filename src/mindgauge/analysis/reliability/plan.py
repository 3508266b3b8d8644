"""How many replies, unsafe ones, people, judges and repeats it takes to call a judge moderate or good: before labelling, and during."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import msgspec
import numpy as np
import polars as pl
from scipy import special

from mindgauge.analysis.reliability import rule as rules
from mindgauge.analysis.reliability.card import GOOD, MODERATE
from mindgauge.analysis.reliability.ratings import rated_criterion, valued
from mindgauge.analysis.reliability.unsafe_levels import together
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import count, decimal, percent, plural
from mindgauge.records.rubric import Scale
from mindgauge.stats import planning
from mindgauge.stats.left_out import LEVEL
from mindgauge.stats.planning import Assumptions
from mindgauge.stats.proportion import fewest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.card import Reliability, ReliabilityCard
    from mindgauge.analysis.reliability.ratings import Ratings
    from mindgauge.analysis.reliability.rule import ReliabilityRule
    from mindgauge.records.rubric import Rubric

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    Studies = Iterable[tuple[int, Floats]]

VERDICTS = {"moderate": MODERATE, "good": GOOD}
PEOPLE = (1, 2, 3, 5)
"""Numbers of people whose replies needed stand side by side."""
JURIES, ASKED = (3, 7), (3, 10)
"""Judges, and times that one is asked, which are tried where one judge asked once will not do."""
SECOND_PERSON = "a second person"


def assumptions(given: Mapping[str, float]) -> Assumptions:
    """Check what is assumed.

    Raises:
        UsageError: a name or a value is not as expected.
    """
    names = get_type_hints(Assumptions)
    for name, value in given.items():
        if name == "found":
            raise UsageError(
                f"--assume found={value:g}: what a judge finds follows from agreement, ceiling and unsafe; leave it out"
            )
        if name not in names:
            raise UsageError(f"--assume {name}={value:g}: may be {', '.join(names)}")
        if names[name] is int and (value != round(value) or value < (0 if name == "classes" else 1)):
            raise UsageError(f"--assume {name}={value:g}: must be a whole number, at least 1")
        if names[name] is not int and not 0 < value < 1:
            raise UsageError(f"--assume {name}={value:g}: must lie between 0 and 1")
    typed = {name: int(value) if names[name] is int else value for name, value in given.items()}
    result = Assumptions(**typed)  # type: ignore[arg-type]
    if result.levels < 2 or result.classes == 1:
        raise UsageError("--assume: a scale has 2 levels or classes, or more")
    return result


class PlanRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one verdict takes on one criterion: `replies` in all, None where no number will do, and then `reason` says why.

    `rated` of them are rated already. `unsafe` is how many of them will be unsafe on average. `power` is the chance of the
    verdict at least, `weakest` the clause that needs most. `with_people` says how many replies it takes with other numbers
    of people. `jury` and `asked` are how many judges, or how often one asked, would make it possible. `judge_shares` and
    `people_share` are the shares of a person's unsafe calls that the judge shares, and another person.
    """

    criterion: str
    judge: str
    verdict: str
    wanted: float
    replies: int | None
    conversations: int | None
    unsafe: int | None
    rated: int
    people: int
    judges: int
    repeats: int
    power: float | None
    weakest: str
    with_people: dict[int, int | None]
    jury: int | None
    asked: int | None
    reason: str
    judge_shares: float | None = None
    people_share: float | None = None

    @property
    def sentence(self) -> str:
        """Say it to whoever plans the labelling."""
        judge = self.judge or ("the judge" if self.judges == 1 else f"a jury of {self.judges}")
        on = f" on {self.criterion}" if self.criterion else ""
        verdict = self.verdict.split(":")[0]
        if self.replies is None or self.unsafe is None:
            ways = [
                f"a jury of {self.jury} such judges" if self.jury else "",
                f"one asked {self.asked} times" if self.asked else "",
            ]
            instead = f"; {' or '.join(filter(None, ways))} could be" if any(ways) else ""
            return f"{judge} cannot be planned to be called {verdict}{on}: {self.reason}{instead}"
        already = f" ({count(self.rated)} are rated already)" if self.rated else ""
        asked = "" if self.repeats == 1 else f", asked {self.repeats} times"
        return (
            f"to call {judge} {verdict}{on} with power {decimal(self.wanted)}: {plural(self.replies, 'reply', 'replies')} of "
            f"{plural(self.conversations or 0, 'conversation')}{already}, {count(self.unsafe)} of them unsafe, rated by "
            f"{plural(self.people, 'person', 'people')}{asked}{self._shared}"
        )

    @property
    def _shared(self) -> str:
        if self.judge_shares is None:
            return ""
        people = "" if self.people_share is None else f", another person {percent(self.people_share)}"
        return f"; the judge shares {percent(self.judge_shares)} of a person's unsafe calls{people}"


class ReliabilityPlan(Tabular, msgspec.Struct, frozen=True):
    """How large a study of judges must be. `assumed` is what was taken as given, empty where ratings say it."""

    source: str
    rule: str
    power: float
    assumed: Assumptions | None
    rows: list[PlanRow]
    notes: list[str]

    def _listed(self) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            columns = msgspec.structs.asdict(row)
            others = columns.pop("with_people")
            yield columns | {f"replies_with_{people}": number for people, number in others.items()}

    def summary(self) -> list[str]:
        """Say each verdict's needs in a sentence."""
        return [
            f"{self.source}: what a verdict takes, by the rule {self.rule}",
            *first_of([row.sentence for row in self.rows], 6),
            *noted(self.notes),
        ]


class PlannedStudies(NamedTuple):
    """Studies of rising size of one judge; `span` is the highest value less the lowest, `ended` whether levels can be unsafe."""

    tally: planning.StudySums
    studies: Studies
    span: float
    ended: bool = True

    def clauses(self, size: int, sums: Floats, rule: ReliabilityRule, verdict: str) -> dict[str, Mask]:
        """Say which studies of a size fulfil each clause of a verdict, by its name; see `rule.decide`.

        Args:
            size: conversations of each study.
            sums: of its conversations, shape (B, columns).
            rule: with the limits.
            verdict: good or moderate.
        """
        tally, level = self.tally, "good" if verdict == GOOD else "moderate"
        limit, shift, danger, margin_below = (getattr(part, level) for part in (rule.agreement, rule.bias, rule.danger, rule.left_out))  # fmt: skip
        bias, alone = planning.mean(tally.of(sums, "bias")), tally.persons < 2
        t = _student(0.975, bias.number)
        people = np.full(len(sums), np.nan) if alone else tally.agreement(sums, "people")
        z = np.arctanh(np.clip(tally.agreement(sums, "judge"), -1 + 1e-9, 1 - 1e-9))
        low = np.tanh(z - t * np.sqrt(np.maximum(tally.of(sums, "influence"), 0.0) / (size * max(size - 1, 1))))
        relative = (people >= rule.agreement.people) & (low >= people - margin_below)
        clauses: dict[str, Mask] = {"agreement": (low >= limit) | relative}
        subjects = tally.of(sums, "bias")[:, 0]
        clauses["replies"] = (subjects >= rule.data.subjects) & (bias.number >= rule.data.clusters - 1e-9)
        if not tally.classes:
            clauses["bias"] = np.abs(bias.value) + t * bias.error <= shift * self.span
        if verdict == GOOD and alone:
            clauses[SECOND_PERSON] = np.zeros(len(sums), dtype=bool)
        if not self.ended:
            return clauses
        for end in () if alone else ("unsafe", "safe"):
            gap, margin = planning.mean(tally.of(sums, end)), rule.left_out.good
            error = np.maximum(gap.error, np.sqrt(margin * (1 - margin) / gap.number))
            reach = np.maximum(_student(LEVEL, gap.number) * error, -np.expm1(np.log(1 - LEVEL) / gap.number))
            surely_worse = gap.value + reach < -margin
            shared = tally.of(sums, f"shared_{end}") >= rule.left_out.shared * tally.of(sums, end)[:, 0]
            clauses[f"{end} replies, with a clinician"] = (
                (gap.number >= 2) & (gap.value - reach >= -margin_below) & ~surely_worse & shared
            )
        by_judge, by_people = (planning.mean(tally.of(sums, name)) for name in ("found", "people_find"))
        unreachable = np.asarray(not alone) & ~_reached(by_people, rule.danger.good)
        clauses["unsafe replies found"] = _reached(by_judge, danger) | unreachable
        if verdict == GOOD and not alone:
            clauses["unsafe replies"] = by_judge.number >= fewest(1 - margin_below, rules.ONE_SIDED) - 1e-9
        for name, chance in (("missed", rule.data.worst), ("unused", rule.data.worst)):
            if verdict == GOOD and name in tally.places:
                excess, spread = tally.of(sums, name).T
                # a whole step of the sum is one verdict more or less; half of it is the correction for continuity
                z = (excess - (tally.persons + 1) / 2) / np.sqrt(np.maximum(spread, 1e-9))
                clauses[f"worst level {name}"] = z < special.ndtri(1 - chance)
        return clauses

    def needed(self, rule: ReliabilityRule, verdicts: Sequence[str], wanted: float) -> dict[str, _Needed]:
        """Return what each verdict takes."""
        planned: dict[str, _Needed] = {}
        before: dict[str, tuple[int, float]] = {}
        best = dict.fromkeys(verdicts, _Needed(None, -1.0, ""))
        for size, sums in self.studies:
            for verdict in verdicts:
                if verdict in planned:
                    continue
                clauses = self.clauses(size, sums, rule, verdict)
                power = float(np.mean(np.all([*clauses.values()], axis=0)))
                weakest = min(clauses, key=lambda name: float(clauses[name].mean()))
                if power >= wanted:
                    number = _between(*before.get(verdict, (size, power)), size, power, wanted)
                    planned[verdict] = _Needed(number, wanted if number < size else power, weakest)
                before[verdict] = (size, power)
                _, highest, clause = best[verdict]
                best[verdict] = _Needed(None, max(power, highest), weakest if power > highest - 0.05 else clause)
            if len(planned) == len(verdicts):
                break
        return best | planned


class _Needed(NamedTuple):
    """Conversations, the power there, and the clause that asks most; None where no number will do, and the best power."""

    number: int | None
    power: float
    weakest: str


def _between(smaller: int, low: float, larger: int, high: float, wanted: float) -> int:
    """Return where between two sizes a power is reached: its probit rises as the square root of the size."""
    if smaller >= larger or high <= low:
        return larger
    (a, b, c), (start, end) = special.ndtri(np.clip([low, wanted, high], 1e-3, 1 - 1e-3)), np.sqrt([smaller, larger])
    return min(math.ceil((start + (end - start) * (b - a) / (c - a)) ** 2), larger) if c > a else larger


def _reached(share: planning.StudyMean, limit: float) -> Mask:
    """Say in which studies the exact lower bound of 95 % of a share reaches a limit (Clopper and Pearson 1934)."""
    events, n = (
        np.nan_to_num(part, nan=fill) for part, fill in ((share.value * share.number, 0.0), (share.number, 1.0))
    )
    return np.asarray((events > 0) & (special.betainc(np.maximum(events, 1e-9), n - events + 1, limit) <= 0.025))


def _student(chance: float, number: Floats) -> Floats:
    """Return quantiles of Student's t with number - 1 degrees of freedom."""
    return np.asarray(special.stdtrit(np.maximum(number - 1, 1), chance))


def before(
    assumed: Assumptions, rule: ReliabilityRule, verdicts: Sequence[str], power: float, criterion: str = ""
) -> list[PlanRow]:
    """Plan from assumptions.

    Args:
        assumed: before there are ratings.
        rule: of the verdicts.
        verdicts: which are wanted.
        power: with which.
        criterion: its name, if it has one.

    Raises:
        UsageError: the assumptions contradict each other.
    """
    try:
        world = planning.World(assumed)
    except ValueError as error:
        raise UsageError(f"--assume: {error}") from error
    start = max(rule.data.clusters, math.ceil(rule.data.subjects / assumed.replies))
    own = _made_up(world, start)
    needed = own.needed(rule, verdicts, power)
    reachable = [verdict for verdict in verdicts if needed[verdict].number is not None]
    others = {
        people: needed if people == assumed.people else _made_up(world, start, people=people).needed(rule, reachable, power)
        for people in sorted({*PEOPLE, assumed.people})
    }  # fmt: skip
    short = [
        verdict for verdict in verdicts if needed[verdict].number is None and needed[verdict].weakest != SECOND_PERSON
    ]
    juries, repeats = (
        [(n, _made_up(world, start, **{name: n}).needed(rule, short, power)) for n in (tries if short else ())]
        for name, tries in (("judges", JURIES), ("repeats", ASKED))
    )
    judge_shares, people_share = _shares(own.tally)
    rows = []
    for verdict in verdicts:
        number, reached, weakest = needed[verdict]
        with_people = {people: part[verdict].number if number is not None else None for people, part in others.items()}
        jury, asked = (
            next((n for n, part in others if verdict in part and part[verdict].number is not None), None)
            for others in (juries, repeats)
        )
        rows.append(PlanRow(
            criterion=criterion, judge="", verdict=verdict, wanted=power,
            replies=None if number is None else number * assumed.replies, conversations=number,
            unsafe=None if number is None else round(number * assumed.replies * assumed.unsafe), rated=0, people=assumed.people,
            judges=assumed.judges, repeats=assumed.repeats, power=None if number is None else reached, weakest=weakest,
            with_people={people: None if n is None else n * assumed.replies for people, n in with_people.items()},
            jury=jury, asked=asked, judge_shares=judge_shares, people_share=people_share,
            reason="" if number is not None else _never(
                weakest, reached, f"agreement {decimal(assumed.agreement)} and people who agree to {decimal(assumed.of_people)}",
                None if assumed.people < 2 else assumed.of_people, people_share, rule,
            ),
        ))  # fmt: skip
    return rows


def _made_up(world: planning.World, start: int, **other: int) -> PlannedStudies:
    """Return studies from a number of conversations on, some of what is assumed being other than that."""
    population = world.but(**other).population()
    return PlannedStudies(population, planning.drawn(population, start), world.assumed.values - 1)


def _shares(tally: planning.StudySums) -> tuple[float | None, float | None]:
    """Return what a judge, and another person, share of a person's unsafe calls."""
    sums = tally.rows.sum(axis=0)[None]
    if tally.persons < 2:
        share = float(planning.mean(tally.of(sums, "found")).value[0])
        return None if math.isnan(share) else share, None
    calls, gap = map(float, tally.of(sums, "unsafe")[0, :2])
    shared = float(tally.of(sums, "shared_unsafe")[0])
    return ((shared + gap) / calls, shared / calls) if calls else (None, None)


def _never(
    weakest: str, reached: float, assumed: str, people: float | None, shared: float | None, rule: ReliabilityRule
) -> str:
    if weakest == SECOND_PERSON:
        return "with one person nothing shows whether it is as good as a clinician: it takes two people on the same replies"
    if shared is not None and shared < rule.left_out.shared:
        return f"people share {percent(shared)} of each other's unsafe calls, and are a measure from {percent(rule.left_out.shared)} on"
    if weakest == "agreement" and people is not None and people < rule.agreement.people:
        return f"people agree to {decimal(people)} with each other, and are a measure from {decimal(rule.agreement.people)} on"
    return f"with {assumed} no number up to {count(planning.MOST)} conversations gives it a power above {decimal(reached)} (asks most: {weakest})"


def during(
    reliability: Reliability, ratings: Ratings, rule: ReliabilityRule, verdicts: Sequence[str], power: float
) -> list[PlanRow]:
    """Plan from the cards of the ratings that there are: how many in all, if what was seen goes on.

    Args:
        reliability: their cards.
        ratings: the ratings.
        rule: of the verdicts.
        verdicts: which are wanted.
        power: with which.
    """
    rows = []
    for card in reliability.cards:
        reference = card.reference.split(", ")
        persons = _independent(reliability, reference) or reference
        study, lack = _seen(card, ratings, persons)
        needed = study.needed(rule, verdicts, power) if study is not None else {}
        rated = card.n - card.missing
        judge_shares, people_share = _shares(study.tally) if study is not None and study.ended else (None, None)
        for verdict in verdicts:
            number, reached, weakest = needed.get(verdict, (None, 0.0, ""))
            replies = None if number is None else round(number * rated / card.clusters)
            reason = lack or _never(weakest, reached, "what was seen so far", None, people_share, rule)
            share = card.danger.found.n / rated if card.danger is not None and rated else 0.0
            rows.append(PlanRow(
                criterion=card.criterion, judge=card.judge, verdict=verdict, wanted=power, replies=replies, conversations=number,
                unsafe=None if replies is None else round(replies * share), rated=rated, people=len(persons), judges=1, repeats=1,
                power=None if number is None else reached, weakest=weakest, with_people={}, jury=None, asked=None,
                reason=reason if number is None else "", judge_shares=judge_shares, people_share=people_share,
            ))  # fmt: skip
    return rows


def _independent(reliability: Reliability, persons: Sequence[str]) -> list[str]:
    """Return those of some people whose values are their own, as the cards found it."""
    dependent = {entry.rater for people in reliability.people for entry in people.dependent}
    return [person for person in persons if person not in dependent]


def _seen(card: ReliabilityCard, ratings: Ratings, persons: Sequence[str]) -> tuple[PlannedStudies | None, str]:
    """Return studies that go on from what was rated, or why too little was."""
    if card.agreement.value is None or not card.effective_clusters > 2:
        return None, f"its agreement has no interval yet ({card.agreement.note or 'too few conversations'})"
    criterion = rated_criterion(ratings, card.criterion, persons)
    scale, rows = criterion.scale, valued(criterion.by(card.judge, *persons))
    subjects = rows.filter(pl.col("rater").is_in(persons)).unique("subject", keep="first", maintain_order=True)
    wide = subjects.select("subject", "cluster", "system").join(
        rows.pivot("rater", index="subject", values="number", aggregate_function="median"), on="subject", maintain_order="left"
    )  # fmt: skip
    values = wide.select(card.judge, *persons).cast(pl.Float64).to_numpy()
    is_rated = np.isfinite(values)
    worst = scale.unsafe.worst(scale) if scale.unsafe is not None else None
    unsafe = np.where(is_rated, scale.unsafe.among(values), np.nan) if scale.unsafe is not None else np.full_like(values, np.nan)  # fmt: skip
    both = np.full(len(wide), fill_value=False)
    if scale.unsafe is not None:
        agreed = together(rows.filter(pl.col("rater").is_in(persons)), scale.unsafe).collect()
        both = wide.select("subject").join(agreed, on="subject", maintain_order="left")["unsafe"].to_numpy()
    replies = planning.RatedReplies(
        values if scale.ordered else np.where(is_rated, np.searchsorted(scale.values, values), np.nan), unsafe,
        None if worst is None else np.where(is_rated, worst.among(values), np.nan), both, wide["cluster"].to_numpy(),
        wide["system"].to_numpy(), 0 if scale.ordered else len(scale.values),
    )  # fmt: skip
    tally, studies = planning.continued(replies)
    return PlannedStudies(tally, studies, scale.high - scale.low, scale.unsafe is not None), ""


def of_people(
    reliability: Reliability, ratings: Ratings, persons: Sequence[str], given: Mapping[str, float]
) -> Iterator[tuple[str, Assumptions | None, str]]:
    """Turn people's own ratings into assumptions, criterion by criterion, a judge being taken as one more person.

    Args:
        reliability: people's agreement.
        ratings: the ratings.
        persons: who they are of.
        given: what is assumed all the same.
    """
    for entry in reliability.people:
        scale = ratings.scales[entry.criterion]
        rows = scale.numbered(ratings.frame.filter(pl.col("criterion") == entry.criterion))
        rows = rows.filter(pl.col("rater").is_in(_independent(reliability, persons)) & pl.col("number").is_not_null())
        ceiling = entry.estimates.get("icc_a1" if scale.ordered else "krippendorff_alpha")
        if ceiling is None or ceiling.value is None or not 0 < ceiling.value < 1 or scale.unsafe is None:
            lack = (
                "people's agreement is not known, or not above 0"
                if scale.unsafe is not None
                else "nothing says which classes are unsafe (--unsafe)"
            )
            yield entry.criterion, None, lack
            continue
        unsafe = together(rows, scale.unsafe).collect()["unsafe"]
        size = {"levels": len(scale.values)} if scale.ordered else {"classes": len(scale.values)}
        per = rows["subject"].n_unique() / max(rows["cluster"].n_unique(), 1)
        raters = round(len(rows) / max(rows["subject"].n_unique(), 1))
        observed: dict[str, float] = {
            "unsafe": (int(unsafe.sum()) + 0.5) / (len(unsafe) + 1), "agreement": ceiling.value, "ceiling": ceiling.value,
            "people": max(raters, 1), "replies": max(round(per), 1),
        } | (size if scale.levels else {})  # fmt: skip
        yield entry.criterion, assumptions(observed | dict(given)), ""


def notes(plan: Sequence[PlanRow]) -> list[str]:
    """Say what no plan holds."""
    lines = [
        "not planned for: missing verdicts, critical categories, and tests of single places, which cost at most 5 in 100 sound judges the verdict good"
    ]
    if any(row.rated for row in plan):
        lines.insert(0, "as if what was seen so far went on, with its own uncertainty")
    return lines


# How many unsafe replies people must meet before a judge can be called good: to be known before labelling starts.


class UnsafeNeeded(NamedTuple):
    """What two people must call unsafe, each reply in a conversation of its own, and the same of each `critical` category.

    Where they share the share `shared` of each other's calls, a judge as good as they are passes at the unsafe end in the
    share `passes` of studies with `replies` that at least one of them calls unsafe; where they share all, with `fewest`.
    """

    replies: int
    fewest: int
    shared: float
    passes: float
    critical: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Say it to whoever plans the labelling."""
        critical = f" It takes as many in each critical category: {', '.join(self.critical)}." if self.critical else ""
        return (
            f"a judge can be called good only next to two people who rate the same replies. Plan for {self.replies} replies that at least one of them calls unsafe, each in its own conversation. "
            f"A judge as good as they are then passes in {percent(self.passes)} of studies, if they share two thirds of each other's calls; if they share all, {self.fewest} are enough.{critical}"
        )


def needed(rubric: Rubric) -> UnsafeNeeded | None:
    """Return how many unsafe replies a rubric's judges are held against; None where none of its levels can be unsafe."""
    if not any(criterion.unsafe or criterion.scale is Scale.ORDINAL for criterion in rubric.criteria):
        return None
    margin, shared, passes = rules.load(rules.MINDGAUGE).left_out.good, 2 / 3, 0.8
    return UnsafeNeeded(_called_unsafe(shared, margin, passes), fewest(1 - margin, rules.ONE_SIDED), shared, passes, rubric.critical)  # fmt: skip


@lru_cache
def _called_unsafe(shared: float, margin: float, passes: float) -> int:
    """Return of how many replies that at least one of two people calls unsafe a judge like them passes beside a clinician.

    With the chance p(x) that somebody calls a reply of quality x unsafe, the difference to a left-out person has the
    variance 6 (E p² - E p³) / (2 E p)² a reply, since a call of both counts twice; see `stats.left_out`.
    """
    x = special.ndtri((np.arange(2_000) + 0.5) / 2_000)
    low, high = 0.0, 1.0
    for _ in range(40):
        latent = (low + high) / 2
        p = special.ndtr((special.ndtri(0.15) - math.sqrt(latent) * x) / math.sqrt(1 - latent))
        first, second, third = (float((p**power).mean()) for power in (1, 2, 3))
        low, high = (latent, high) if second / first < shared else (low, latent)
    spread_a_reply = 6 * (second - third) / (2 * first) ** 2 * (2 * first - second)
    return math.ceil(spread_a_reply * float((special.ndtri(LEVEL) + special.ndtri(passes)) / margin) ** 2)
