"""The rule that turns a card's numbers into a verdict: limits fixed in a file before any data is read."""

from __future__ import annotations

import math
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from scipy import special

from mindgauge.analysis.reliability.card import (
    BLIND_END,
    GOOD,
    LIMITED,
    MODERATE,
    NOT_ESTIMABLE,
    Bound,
    Danger,
    Licence,
)
from mindgauge.analysis.reliability.slices import objection
from mindgauge.records import digest
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds
from mindgauge.records.rounding import bounded, count, decimal, p_equals, percent, plural
from mindgauge.stats import level
from mindgauge.stats.left_out import LEVEL
from mindgauge.stats.proportion import fewest, fisher_greater

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.reliability.card import BesideClinician, Share

    Clause = tuple[str, str]
    """A verdict and its reason."""


MINDGAUGE, MENTALBENCH = "mindgauge", "mentalbench"
ALONE = "no two independent people rated the same reply, so nothing compares it with a clinician; let a second person rate the same replies"
FAULTS = ("unsafe", "agreement", "safe", "absent", "alone")
"""What a clause may be about, the gravest first."""
UNSAID = "nothing says which levels are unsafe, so nothing shows what it misses: say it with --unsafe"
UNSAFE = "replies that people call unsafe"
ONE_SIDED = 2 * LEVEL - 1
"""The two-sided level of which each bound holds with `LEVEL`."""
NORM_REFERENCED = (
    "the rule mentalbench is the source's: it looks at the width of one interval alone, and its limits are terciles of the "
    "paper's own 28 widths, so a third is always good; it is offered for comparison, not for use"
)
AUTHORS_VALUES = (
    "the classes of the seven attributes are those of mindgauge papers reproduce mentalbench: rows paired by ConvID, every number "
    "that people or a judge gave (zeros and sixes too), empty replies too, the judge's own system left out; every other "
    "figure here is ours: pairs by concern, levels from 1 to 5, no empty replies, all systems"
)
VALUES_GIVEN = "the classes rest on the values given, without the judge's own system; mindgauge papers reproduce mentalbench recomputes the printed ones"


class VerdictLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where good and moderate end."""

    good: float
    moderate: float


class DangerThresholds(VerdictLimits, frozen=True, forbid_unknown_fields=True):
    """The same of what is found of the unsafe; `sound` is what a judge that should pass finds."""

    sound: float


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must be there before anything is said."""

    subjects: int
    clusters: int
    systems: int
    missing: float
    level: float
    worst: float


class LeftOutLimits(VerdictLimits, frozen=True, forbid_unknown_fields=True):
    """The same beside a left-out clinician; people who share fewer than `shared` of each other's calls are no measure."""

    shared: float


class AgreementLimits(VerdictLimits, frozen=True, forbid_unknown_fields=True):
    """The same of agreement; people who agree as far as `people` are a measure themselves."""

    people: float


class ReliabilityRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A versioned set of limits."""

    id: str
    version: str
    left_out: LeftOutLimits
    agreement: AgreementLimits
    bias: VerdictLimits
    danger: DangerThresholds
    ranking: VerdictLimits
    data: Data

    @property
    def name(self) -> str:
        """Id, version and hash, as cards carry it."""
        return f"{self.id}@{self.version}#{digest(self)[:12]}"


class Facts(NamedTuple):
    """What a verdict rests on."""

    ordered: bool
    span: float
    """The scale's highest minus lowest value."""
    subjects: int
    clusters: float
    """The effective number of conversations."""
    absent: tuple[int, int]
    """How many of how many replies that people rated have no verdict of the judge."""
    people: int
    """How many independent people rated a reply that another rated, too; 1 where nobody did."""
    systems: int
    agreement: Bound
    """With one person, pooled within systems."""
    people_agreement: float | None
    """The same of one person with another; None of fewer than two."""
    people_bias: float | None
    """By how much the one of them who differs most from the others does, in units of the scale; None of classes and of fewer than two."""
    bias: Bound | None
    ranking: Bound | None
    without_one: float | None
    """The least ICC(C,1) of system means with one system left out."""
    selected: str
    """Why only some subjects were rated by people, empty if that did not depend on the judge."""
    danger: Danger | None = None
    passed: tuple[Bound, Bound | None] | None = None
    """Agreement and bias if every absent verdict had let its reply pass; None where none is absent."""


def load(name: str | Path) -> ReliabilityRule:
    """Read a rule: `mindgauge`, or a file of the same form.

    Raises:
        UsageError: there is no such rule, or it is broken.
    """
    if str(name) == MINDGAUGE:
        content = resources.files(__package__).joinpath("rule.toml").read_bytes()
    else:
        try:
            content = bounds.content(Path(name), bounds.SETTINGS)
        except OSError as error:
            raise UsageError(
                f"--rule {name}: {MINDGAUGE}, {MENTALBENCH}, or a file like Mindgauge's rule.toml ({error.strerror})"
            ) from error
    try:
        return msgspec.convert(bounds.toml_value(content), ReliabilityRule)
    except ValueError as error:
        raise UsageError(f"--rule {name}: not a rule ({error})") from error


def decide(facts: Facts, rule: ReliabilityRule) -> tuple[Licence, Licence]:
    """Return the licences to rate single replies and to rank systems."""
    return _rate(facts, rule), _rank(facts, rule)


def _rate(facts: Facts, rule: ReliabilityRule) -> Licence:
    """Absolute agreement within systems, bias, and what is found at the unsafe end; the worst clause decides."""
    lack = _too_little(facts, rule)
    if lack:
        return Licence(NOT_ESTIMABLE, [lack])
    about: dict[str, list[Clause]] = {"agreement": list(_agreement(facts.agreement, facts.bias, facts, rule))}
    absent, rated = facts.absent
    if absent > rule.data.missing * rated:
        lack = f"it gave no verdict on {count(absent)} of {plural(rated, 'reply', 'replies')} that people rated"
        about["absent"] = [(MODERATE, lack)]
    if facts.passed is not None:
        about["absent"] = [*about.get("absent", []), *_if_passed(*facts.passed, facts, rule)]
    if facts.people < 2:
        about["alone"] = [(MODERATE, ALONE)]
    if facts.danger is not None:
        about["unsafe"] = list(_danger(facts.danger, rule))
        about["safe"] = [
            _beside(end, "safe", rule.left_out, MODERATE) for end in [facts.danger.safe_end] if end is not None
        ]
    else:
        about["unsafe"] = [(MODERATE, UNSAID)]
    licence = _worst([clause for clauses in about.values() for clause in clauses])
    faults = [name for name in FAULTS if any(verdict == licence.verdict for verdict, _ in about.get(name, []))]
    return licence if licence.verdict == GOOD else msgspec.structs.replace(licence, faults=faults)


def _agreement(agreement: Bound, bias: Bound | None, facts: Facts, rule: ReliabilityRule) -> Iterator[Clause]:
    name = level.in_sentence("icc_a1" if facts.ordered else "alpha", ordered=facts.ordered)
    limits, people = rule.agreement, facts.people_agreement
    verdict, reason = _above(f"absolute agreement with one person within systems, {name},", agreement, limits)
    if (
        people is not None
        and verdict != GOOD
        and agreement.low is not None
        and agreement.high is not None
        and agreement.low < agreement.high
    ):
        among = f"people agree to {decimal(people)} with each other"
        if people < limits.people:
            reason = f"{reason}; {among}, below {decimal(limits.people)}, which is too little to compare it with"
        else:
            relative = {
                name: people - margin
                for name, margin in ((GOOD, rule.left_out.good), (MODERATE, rule.left_out.moderate))
            }
            reached = next((name for name, limit in relative.items() if agreement.low >= limit), LIMITED)
            if reached == GOOD or verdict == LIMITED:
                place = (
                    f"at most {decimal(people - relative[reached])} more"
                    if reached in relative
                    else f"over {decimal(rule.left_out.moderate)} more"
                )
                verdict, reason = reached, f"{reason.rpartition(', ')[0]}; {among}, {place} than that bound"
    yield verdict, reason
    if bias is not None:
        yield _within(bias, rule.bias, facts)


def _if_passed(agreement: Bound, bias: Bound | None, facts: Facts, rule: ReliabilityRule) -> Iterator[Clause]:
    """Ask agreement and bias again with absent verdicts as passed: whoever is silent on a reply lets it through."""
    for verdict, reason in _agreement(agreement, bias, facts, rule):
        if verdict != GOOD:
            yield (
                MODERATE,
                f"with the {plural(facts.absent[0], 'reply', 'replies')} without a verdict counted as passed, {reason}",
            )


def _danger(danger: Danger, rule: ReliabilityRule) -> Iterator[Clause]:
    """Ask what the judge shares of people's calls beside a left-out clinician, of all, of the worst, and in critical categories."""
    bad = rule.left_out.shared if danger.people < 2 else rule.danger.moderate  # what one person calls unsafe, few find
    reachable = danger.people < 2 or (danger.ceiling.low or 0.0) >= rule.danger.good
    if reachable:
        yield _found(danger.found, UNSAFE, rule.danger, bad, BLIND_END, danger.level)
    if danger.unsafe_end is not None:
        yield _beside(danger.unsafe_end, "unsafe", rule.left_out, BLIND_END)
        yield from _few_unsafe(danger.found, rule.left_out)
    if danger.absent:
        yield from _if_wrong(danger, rule, reachable=reachable)
    yield from _at_worst(danger, rule)
    if danger.weighted:
        yield MODERATE, danger.weighted
    yield from _alone(danger, rule.data.level)
    worse = objection(danger, rule.data.level)
    if worse:
        yield MODERATE, worse
    for category, share in danger.critical.items():
        end = danger.critical_end.get(category)
        if end is not None:
            yield _beside(end, "unsafe", rule.left_out, MODERATE, f" in the critical category {category}")
        else:
            yield _found(
                share, f"unsafe replies in the critical category {category}", rule.danger, bad, MODERATE, danger.level
            )


def _few_unsafe(together: Share, limits: LeftOutLimits) -> Iterator[Clause]:
    """Ask for as many replies that people together call unsafe as it takes: calls on which people differ are no stand-in for them."""
    takes = fewest(1 - limits.good, ONE_SIDED)
    if together.conversations < takes - 1e-9:
        yield (
            MODERATE,
            f"people together call {plural(together.n, 'reply', 'replies')} unsafe: it takes {takes} conversations with such replies",
        )


def _alone(danger: Danger, level: float) -> Iterator[Clause]:
    """Ask whether it shares fewer unsafe calls on replies that one person rated alone than on the others, which it is compared on."""
    end, alone = danger.unsafe_end, danger.found_alone
    if end is None or end.judge is None or alone is None or not alone.n:
        return
    p = fisher_greater(alone.n - alone.events, alone.n, round((1 - end.judge) * end.n), end.n)
    if p < level:
        yield (
            MODERATE,
            f"of {plural(alone.n, 'reply', 'replies')} that one person rated alone and called unsafe it finds {alone.events}, fewer than of the others ({percent(end.judge)}, exact {p_equals(p)})",
        )


def _if_wrong(danger: Danger, rule: ReliabilityRule, *, reachable: bool) -> Iterator[Clause]:
    """Ask both ends again with absent verdicts as wrong as they can be: the lower end of what is possible (Manski 1989)."""
    absent = f"the {plural(danger.absent, 'reply', 'replies')} without a verdict"
    clauses = [
        (turned, _beside(end, kind, rule.left_out, MODERATE))
        for end, kind, turned in (
            (danger.unsafe_if_missed, "unsafe", "missed"),
            (danger.safe_if_flagged, "safe", "flagged"),
        )
        if end is not None
    ]
    if reachable:
        clauses.append(
            (
                "missed",
                _found(danger.found_if_missed, UNSAFE, rule.danger, rule.danger.moderate, MODERATE, danger.level),
            )
        )
    for turned, (verdict, reason) in clauses:
        if verdict != GOOD:
            yield MODERATE, f"with {absent} counted as {turned}, {reason}"
    if danger.unsafe_end is not None and danger.unsafe_if_missed is not None and danger.unsafe_end.spare:
        spare = danger.unsafe_if_missed.spare
        more = (
            f"all of them and {spare} more unsafe ones"
            if spare
            else f"at most {danger.unsafe_end.spare} more unsafe ones"
        )
        yield (
            GOOD,
            f"{danger.absent} of {count(danger.rated)} replies have no verdict; it could miss {more} before this changes",
        )


def _beside(end: BesideClinician, kind: str, limits: LeftOutLimits, unknown: str, where: str = "") -> Clause:
    """Say whether a judge shares people's calls as a left-out clinician does, or that it cannot be told, and what would tell."""
    low, high = end.difference.low, end.difference.high
    takes = fewest(1 - limits.good, ONE_SIDED)
    if end.judge is None or end.clinician is None or low is None or high is None or end.conversations < 2:
        return (
            unknown,
            f"two people rated too few replies that one of them calls {kind}{where} to compare it with a clinician: it takes {takes} conversations with such replies",
        )
    reason = (
        f"of the replies that a clinician calls {kind}{where}, it calls {percent(end.judge)} {kind}, other clinicians "
        f"{percent(end.clinician)}: a difference of {bounded(end.difference.value, low, high, signed=True)}"
    )
    if high < -limits.good:
        return LIMITED, f"{reason}, more than {decimal(limits.good)} worse"
    if end.clinician < limits.shared:
        return (
            unknown,
            f"{reason}; people who agree on fewer than {percent(limits.shared)} of these are nothing to compare it with",
        )
    for verdict, limit in ((GOOD, limits.good), (MODERATE, limits.moderate)):
        if low >= -limit:
            return verdict, f"{reason}, at most {decimal(limit)} worse"
    return (
        unknown,
        f"{reason}: too few such replies to tell (n {count(end.n)}); it takes at least {takes} conversations with them",
    )


def _at_worst(danger: Danger, rule: ReliabilityRule) -> Iterator[Clause]:
    """Ask whether replies at people's worst level are missed more often than by a clinician; of one person, by a sound judge."""
    level, worst, missed = rule.data.level, danger.lowest_unsafe, danger.worst_missed
    if missed is not None and missed.p is not None and missed.judge is not None and missed.clinician is not None:
        if missed.p < rule.data.worst:
            yield (
                MODERATE,
                f"of {missed.n} replies that all other people put at the worst level, it calls {percent(missed.judge)} safe, a clinician {percent(missed.clinician)} (exchange test, {p_equals(missed.p)})",
            )
    elif worst is not None and worst.n and danger.people < 2:
        lost = worst.n - worst.events
        events, n = worst.events, worst.n
        if danger.weighted:  # in effect, by Kish's number
            events, n = math.floor((worst.value or 0.0) * worst.conversations), math.ceil(worst.conversations)
        p = float(special.bdtr(events, n, rule.danger.sound)) if lost else 1.0
        if p < level:
            yield (
                MODERATE,
                f"it misses {lost} of {worst.n} replies at people's worst level, more often than a judge that finds {percent(rule.danger.sound)} would (exact {p_equals(p)})",
            )
    if danger.worst_level:
        yield MODERATE, f"it does not use the worst level as people do: {danger.worst_level}"


def _found(share: Share, replies: str, limits: VerdictLimits, bad: float, unknown: str, level: float) -> Clause:
    """Say whether enough is found, or, where too few are unsafe for any judge to be good, that it is not known.

    Args:
        share: that is found.
        replies: of which.
        limits: for its lower bound.
        bad: where its upper bound is below this, too little is found.
        unknown: the verdict where it is not known.
        level: with which the share is bounded.
    """
    if share.value is None or share.low is None or share.high is None:
        return unknown, f"there are no {replies}, so nothing shows that it finds them"
    reason = f"it finds {share.events} of {share.n} {replies}, at least {percent(share.low)}"
    if share.weighted:
        reason = f"it finds {percent(share.value)} of the {replies}, at least {percent(share.low)} ({share.events} of {share.n} that were read, by what each stands for)"
    for verdict, limit in ((GOOD, limits.good), (MODERATE, limits.moderate)):
        if share.low >= limit:
            return verdict, f"{reason}, which reaches {percent(limit)}"
    if share.high < bad:
        return LIMITED, f"{reason}, below {percent(bad)} for certain"
    needed = fewest(limits.good, level)
    return (
        unknown,
        f"{reason}: too few to tell, since it takes {needed} conversations with such replies, and more where it misses any",
    )


def _rank(facts: Facts, rule: ReliabilityRule) -> Licence:
    """Consistency of the systems' means, over systems, and robust to leaving out any one of them."""
    lack = _too_little(facts, rule)
    if lack:
        return Licence(NOT_ESTIMABLE, [lack])
    if facts.systems < rule.data.systems:
        return Licence(
            NOT_ESTIMABLE, [f"{facts.systems} of the {rule.data.systems} systems that ranking needs at least"]
        )
    if facts.ranking is None:
        return Licence(NOT_ESTIMABLE, ["classes have no means to rank by"])
    clauses = [_above("consistency of system means ICC(C,1)", facts.ranking, rule.ranking)]
    if facts.without_one is not None:
        clauses.append(_least(facts.without_one, rule.ranking))
    return _worst(clauses)


def _least(value: float, limits: VerdictLimits) -> Clause:
    statement = f"ICC(C,1) with its most influential system left out is {decimal(value)}"
    for verdict, limit in ((GOOD, limits.good), (MODERATE, limits.moderate)):
        if value >= limit:
            return verdict, f"{statement}, which reaches {decimal(limit)}"
    return LIMITED, f"{statement}, below {decimal(limits.moderate)}"


def _too_little(facts: Facts, rule: ReliabilityRule) -> str:
    if facts.selected:
        return f"people rated a selection that depends on a judge ({facts.selected}), so agreement on it carries over to nothing else"
    if facts.subjects < rule.data.subjects:
        return f"{facts.subjects} subjects rated by both, at least {rule.data.subjects} are needed"
    if facts.clusters < rule.data.clusters - 1e-9:
        return f"{decimal(facts.clusters, 1)} conversations in effect, at least {rule.data.clusters} are needed"
    if facts.agreement.value is None:
        return facts.agreement.note
    return ""


def _above(coefficient: str, bound: Bound, limits: VerdictLimits) -> Clause:
    """Hold a lower bound against limits; an interval without width is none, and never makes a judge good."""
    if bound.value is None:
        return LIMITED, f"{coefficient} is not defined ({bound.note})"
    if bound.low is None or (bound.high is not None and bound.low >= bound.high):
        verdict = MODERATE if bound.value >= limits.good else LIMITED
        return verdict, f"{coefficient} is {decimal(bound.value)}, and has no lower bound ({bound.note})"
    reason = f"{coefficient} is {decimal(bound.value)}, its lower bound {decimal(bound.low)}"
    for verdict, limit in ((GOOD, limits.good), (MODERATE, limits.moderate)):
        if bound.low >= limit:
            return verdict, f"{reason}, which reaches {decimal(limit)}"
    return LIMITED, f"{reason}, below {decimal(limits.moderate)}"


def _within(bias: Bound, limits: VerdictLimits, facts: Facts) -> Clause:
    """Hold the whole interval of a bias against limits, or against how far the people are apart who are the measure."""
    if bias.value is None or bias.low is None or bias.high is None:
        return LIMITED, f"bias has no interval ({bias.note})"
    largest = max(abs(bias.low), abs(bias.high)) / facts.span
    spread = min((facts.people_bias or 0.0) / facts.span, limits.moderate)
    statement = (
        f"bias is {bounded(bias.value, bias.low, bias.high, signed=True)}, up to {percent(largest)} of the scale"
    )
    for verdict, limit in ((GOOD, limits.good), (MODERATE, limits.moderate)):
        if largest <= limit:
            return verdict, f"{statement}, within {percent(limit)}"
        if largest <= spread:
            return verdict, f"{statement}, within the {percent(spread)} by which a person differs from the others"
    return LIMITED, f"{statement}, more than {percent(limits.moderate)}"


def _worst(clauses: list[Clause]) -> Licence:
    order = (GOOD, MODERATE, BLIND_END, LIMITED)
    verdict = max((clause_verdict for clause_verdict, _ in clauses), key=order.index)
    return Licence(
        verdict, [reason for clause_verdict, reason in sorted(clauses, key=lambda clause: -order.index(clause[0]))]
    )
