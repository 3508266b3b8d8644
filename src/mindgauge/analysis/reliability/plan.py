"""How many replies, unsafe ones, people, judges and repeats it takes to call a judge moderate or good: before labelling, and during."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import msgspec
import polars as pl
from scipy import special

from mindgauge.analysis.reliability.card import GOOD, MODERATE
from mindgauge.analysis.reliability.unsafe_levels import together
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import count, decimal, plural
from mindgauge.stats import planning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mindgauge.analysis.reliability.card import Reliability, ReliabilityCard
    from mindgauge.analysis.reliability.ratings import Ratings
    from mindgauge.analysis.reliability.rule import ReliabilityRule
    from mindgauge.analysis.reliability.scale import ValueScale

VERDICTS = {"moderate": MODERATE, "good": GOOD}
PEOPLE = (1, 2, 3, 5)
"""Numbers of people whose replies needed stand side by side."""
JURIES, ASKED = (2, 3, 5, 7), (2, 3, 5, 10)
"""Judges, and times that one is asked, which are tried where one judge asked once will not do."""


class Assumptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is assumed before there are ratings.

    `unsafe`: the share of unsafe replies. `agreement`: one judge's with one person, ICC(A,1), of classes alpha; `ceiling`:
    the same of two people, as `agreement` if not given. `found`: of the unsafe, the share that the judge finds; a sound
    judge's by the rule if not given. `repeat`: a judge's agreement with itself. `people` rate each reply, `judges` and
    `repeats` are averaged. `replies` a conversation, whose levels have the correlation `alike`. `levels` of the scale, or
    `classes` without an order.
    """

    unsafe: float = 0.1
    agreement: float = 0.8
    ceiling: float | None = None
    found: float | None = None
    repeat: float = 0.95
    people: int = 3
    judges: int = 1
    repeats: int = 1
    replies: int = 1
    alike: float = 0.2
    levels: int = 5
    classes: int = 0


def assumptions(given: Mapping[str, float]) -> Assumptions:
    """Check what is assumed.

    Raises:
        UsageError: a name or a value is not as expected.
    """
    names = get_type_hints(Assumptions)
    for name, value in given.items():
        if name not in names:
            raise UsageError(f"--assume {name}={value:g}: may be {', '.join(names)}")
        if names[name] is int and (value != round(value) or value < (0 if name == "classes" else 1)):
            raise UsageError(f"--assume {name}={value:g}: must be a whole number, at least 1")
        if names[name] is not int and not 0 < value < 1 and not (value == 1 and name == "found"):
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
    of people. `jury` and `asked` are how many judges, or how often one asked, would make it possible.
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
            f"{plural(self.people, 'person', 'people')}{asked}"
        )


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


class _Study(NamedTuple):
    """What the clauses of a verdict depend on."""

    agreement: planning.ExpectedEstimate
    bias: planning.ExpectedEstimate | None
    detection: planning.Detection | None
    replies: float
    """A conversation."""

    def clauses(self, rule: ReliabilityRule, verdict: str) -> dict[str, Callable[[int], float]]:
        """Return the chance of each clause, by its name."""
        level = "good" if verdict == GOOD else "moderate"
        agreement, bias, detection = (getattr(part, level) for part in (rule.agreement, rule.bias, rule.danger))
        clauses: dict[str, Callable[[int], float]] = {
            "agreement": lambda n: self.agreement.above(math.atanh(agreement), n)
        }
        if self.bias is not None:
            clauses["bias"] = lambda n: self.bias.within(bias, n) if self.bias else 0.0
        if self.detection is not None:
            clauses["unsafe replies found"] = lambda n: self.detection.above(detection, n) if self.detection else 0.0
        return clauses

    def needed(self, rule: ReliabilityRule, verdict: str, wanted: float) -> tuple[int | None, float, str]:
        """Return the conversations needed, the power then, and the weakest clause there."""
        clauses = self.clauses(rule, verdict)

        def power(n: int) -> float:
            return 1 - sum(1 - clause(n) for clause in clauses.values())

        least = max(rule.data.clusters, math.ceil(rule.data.subjects / self.replies), 2)
        number = planning.fewest(power, wanted, least)
        at = planning.MOST if number is None else number
        weakest = min(clauses, key=lambda name: clauses[name](at))
        return number, max(power(at), 0.0), weakest


def before(
    given: Assumptions, rule: ReliabilityRule, verdicts: Sequence[str], power: float, criterion: str = ""
) -> list[PlanRow]:
    """Plan from assumptions.

    Args:
        given: what is assumed.
        rule: of the verdicts.
        verdicts: which are wanted.
        power: with which.
        criterion: its name, if it has one.

    Raises:
        UsageError: the assumptions contradict each other.
    """
    studies: dict[tuple[int, int, int], _Study] = {}

    def study(people: int, judges: int, repeats: int) -> _Study:
        key = (people, judges, repeats)
        if key not in studies:
            studies[key] = _assumed(given, rule, *key)
        return studies[key]

    own = (given.people, given.judges, given.repeats)
    rows = []
    for verdict in verdicts:
        number, reached, weakest = study(*own).needed(rule, verdict, power)
        others = {}
        for people in sorted({*PEOPLE, given.people}):
            conversations = study(people, *own[1:]).needed(rule, verdict, power)[0] if number is not None else None
            others[people] = None if conversations is None else conversations * given.replies
        jury = requests = None
        if number is None:
            jury, requests = (
                next(
                    (n for n in tries if study(given.people, *label(n)).needed(rule, verdict, power)[0] is not None),
                    None,
                )
                for tries, label in ((JURIES, lambda n: (n, given.repeats)), (ASKED, lambda n: (given.judges, n)))
            )
        rows.append(PlanRow(
            criterion=criterion, judge="", verdict=verdict, wanted=power,
            replies=None if number is None else number * given.replies, conversations=number,
            unsafe=None if number is None else round(number * given.replies * given.unsafe), rated=0, people=given.people,
            judges=given.judges, repeats=given.repeats, power=None if number is None else reached, weakest=weakest,
            with_people=others, jury=jury, asked=requests,
            reason="" if number is not None else _never(weakest, reached, f"agreement {decimal(given.agreement)}"),
        ))  # fmt: skip
    return rows


def _never(weakest: str, reached: float, assumed: str) -> str:
    return f"with {assumed} even {count(planning.MOST)} conversations give it a power of {decimal(reached)} (asks most: {weakest})"


def _assumed(given: Assumptions, rule: ReliabilityRule, people: int, judges: int, repeats: int) -> _Study:
    ordered = not given.classes
    try:
        world = planning.World(planning.Assumed(
            given.unsafe, given.agreement, given.agreement if given.ceiling is None else given.ceiling, given.repeat, people,
            judges, repeats, given.replies, given.alike, given.classes or given.levels, ordered,
        ))  # fmt: skip
    except ValueError as error:
        raise UsageError(f"--assume: {error}") from error
    population = world.population()
    share = 1 - (1 - given.unsafe) ** given.replies
    detected = rule.danger.sound if given.found is None else given.found
    return _Study(population.agreement, population.bias, planning.Detection(share, detected), given.replies)


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
    return [
        _of_card(
            card,
            ratings.scales[card.criterion],
            rule,
            verdict,
            power,
            people=len(_independent(reliability, card.reference.split(", "))),
        )
        for card in reliability.cards
        for verdict in verdicts
    ]


def _independent(reliability: Reliability, persons: Sequence[str]) -> list[str]:
    """Return those of some people whose values are their own, as the cards found it."""
    dependent = {entry.rater for people in reliability.people for entry in people.dependent}
    return [person for person in persons if person not in dependent]


def _of_card(
    card: ReliabilityCard, scale: ValueScale, rule: ReliabilityRule, verdict: str, power: float, *, people: int
) -> PlanRow:
    study, lack = _seen(card, scale)
    rated = card.n - card.missing
    number, reached, weakest, reason = None, None, "", lack
    if study is not None:
        number, chance, weakest = study.needed(rule, verdict, power)
        reached = None if number is None else chance
        reason = "" if number is not None else _never(weakest, chance, "what was seen so far")
    replies = None if number is None or study is None else max(round(number * study.replies), 1)
    end = card.danger
    share = end.found.n / rated if end is not None and rated else 0.0
    return PlanRow(
        criterion=card.criterion, judge=card.judge, verdict=verdict, wanted=power, replies=replies, conversations=number,
        unsafe=None if replies is None else round(replies * share), rated=rated, people=people,
        judges=1, repeats=1, power=reached, weakest=weakest, with_people={}, jury=None, asked=None, reason=reason,
    )  # fmt: skip


def _seen(card: ReliabilityCard, scale: ValueScale) -> tuple[_Study | None, str]:
    """Return what a card says of each clause, or why it says too little."""
    agreement, labelled = card.agreement, card.effective_clusters
    if agreement.value is None or agreement.low is None or agreement.high is None or not labelled > 2:
        return None, f"its agreement has no interval yet ({agreement.note or 'too few conversations'})"
    if max(abs(agreement.value), abs(agreement.low), abs(agreement.high)) >= 1:
        return None, "agreement is perfect so far, which says nothing of its variance"
    t = float(special.stdtrit(labelled - 1, 0.975))
    error = (math.atanh(agreement.high) - math.atanh(agreement.low)) / (2 * t)
    effect = planning.ExpectedEstimate(math.atanh(agreement.value), error**2 * labelled, labelled)
    bias = card.estimates.get("bias")
    shift = None
    if bias is not None and bias.value is not None and bias.low is not None and bias.high is not None:
        span = scale.high - scale.low
        shift = planning.ExpectedEstimate(
            bias.value / span, ((bias.high - bias.low) / (2 * t * span)) ** 2 * labelled, labelled
        )
    detection = None
    if card.danger is not None:
        detected = card.danger.found
        events = min(detected.conversations, labelled)
        detection = planning.Detection(
            (events + 0.5) / (labelled + 1), 0.0, (detected.value or 0.0) * events, events, labelled
        )
    return _Study(effect, shift, detection, (card.n - card.missing) / labelled), ""


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
        "not planned for: missing verdicts, misses at people's worst level or in one place, and critical categories",
    ]
    if any(row.rated for row in plan):
        lines.insert(0, "as if what was seen so far went on, with its own uncertainty")
    return lines
