"""The rule that turns a card's numbers into a verdict: limits fixed in a file before any data is read."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.analysis.reliability.card import GOOD, LIMITED, MODERATE, NOT_ESTIMABLE, Bound, Licence
from mindgauge.errors import UsageError
from mindgauge.records import digest
from mindgauge.rounding import bounded, decimal, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

MINDGAUGE, MENTALBENCH = "mindgauge", "mentalbench"
_WIDTHS = (0.355, 0.560)
"""Upper limits of the two better classes of MentalAlign-70k (2025): the terciles of its own 28 published widths."""
NORM_REFERENCED = (
    "the rule mentalbench looks at the width of one interval alone, and its limits are terciles of the paper's own 28 widths: "
    "a third is always good; it is offered for comparison, not for use"
)


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where good and moderate end."""

    good: float
    moderate: float


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must be there before anything is said."""

    subjects: int
    clusters: int
    systems: int
    missing: float


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A versioned set of limits."""

    id: str
    version: str
    agreement: Limits
    bias: Limits
    ranking: Limits
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
    clusters: int
    missing_share: float
    systems: int
    agreement: Bound
    bias: Bound | None
    ranking: Bound | None
    without_one: float | None
    """The least ICC(C,1) of system means with one system left out."""
    selected: str
    """Why only some subjects were rated by people, empty if that did not depend on the judge."""


def load(name: str | Path) -> Rule:
    """Read a rule: `mindgauge`, or a file of the same form.

    Raises:
        UsageError: there is no such rule, or it is broken.
    """
    if str(name) == MINDGAUGE:
        content = resources.files(__package__).joinpath("rule.toml").read_bytes()
    else:
        try:
            content = Path(name).read_bytes()
        except OSError as error:
            raise UsageError(
                f"--rule {name}: {MINDGAUGE}, {MENTALBENCH}, or a file like Mindgauge's rule.toml ({error.strerror})"
            ) from error
    try:
        return msgspec.toml.decode(content, type=Rule)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--rule {name}: not a rule ({error})") from error


def decide(facts: Facts, rule: Rule) -> tuple[Licence, Licence]:
    """Return the licences to rate single replies and to rank systems."""
    return _rate(facts, rule), _rank(facts, rule)


def _rate(facts: Facts, rule: Rule) -> Licence:
    """Absolute agreement and bias on single subjects; the worst clause decides."""
    nothing = _too_little(facts, rule)
    if nothing:
        return Licence(NOT_ESTIMABLE, [nothing])
    name = "ICC(A,1)" if facts.ordered else "alpha"
    clauses = [_above(f"absolute agreement {name}", facts.agreement, rule.agreement)]
    if facts.bias is not None:
        clauses.append(_within(facts.bias, rule.bias, facts.span))
    if facts.missing_share > rule.data.missing:
        clauses.append((MODERATE, f"{percent(facts.missing_share)} of the verdicts are missing"))
    return _worst(clauses)


def _rank(facts: Facts, rule: Rule) -> Licence:
    """Consistency of the systems' means, over systems, and robust to leaving out any one of them."""
    nothing = _too_little(facts, rule)
    if nothing:
        return Licence(NOT_ESTIMABLE, [nothing])
    if facts.systems < rule.data.systems:
        return Licence(
            NOT_ESTIMABLE, [f"{facts.systems} of the {rule.data.systems} systems that ranking needs at least"]
        )
    if facts.ranking is None:
        return Licence(NOT_ESTIMABLE, ["classes have no means to rank by"])
    clauses = [_above("consistency of system means ICC(C,1)", facts.ranking, rule.ranking)]
    if facts.without_one is not None:
        least = Bound(facts.without_one, facts.without_one)
        clauses.append(_above("ICC(C,1) with its most influential system left out", least, rule.ranking))
    return _worst(clauses)


def _too_little(facts: Facts, rule: Rule) -> str:
    if facts.selected:
        return f"people rated a selection that depends on a judge ({facts.selected}), so agreement on it carries over to nothing else"
    if facts.subjects < rule.data.subjects:
        return f"{facts.subjects} subjects rated by both, at least {rule.data.subjects} are needed"
    if facts.clusters < rule.data.clusters:
        return f"{facts.clusters} conversations, at least {rule.data.clusters} are needed"
    if facts.agreement.value is None:
        return facts.agreement.note
    return ""


def _above(what: str, found: Bound, limits: Limits) -> tuple[str, str]:
    if found.value is None or found.low is None:
        return LIMITED, f"{what} has no lower bound ({found.note})"
    lower = f", its lower bound {decimal(found.low)}" if found.low != found.value else ""
    said = f"{what} is {decimal(found.value)}{lower}"
    for verdict, limit in ((GOOD, limits.good), (MODERATE, limits.moderate)):
        if found.low >= limit:
            return verdict, f"{said}, which reaches {decimal(limit)}"
    return LIMITED, f"{said}, below {decimal(limits.moderate)}"


def _within(found: Bound, limits: Limits, span: float) -> tuple[str, str]:
    if found.value is None or found.low is None or found.high is None:
        return LIMITED, f"bias has no interval ({found.note})"
    largest = max(abs(found.low), abs(found.high)) / span
    said = f"bias is {bounded(found.value, found.low, found.high, signed=True)}, up to {percent(largest)} of the scale"
    for verdict, limit in ((GOOD, limits.good), (MODERATE, limits.moderate)):
        if largest <= limit:
            return verdict, f"{said}, within {percent(limit)}"
    return LIMITED, f"{said}, more than {percent(limits.moderate)}"


def _worst(clauses: list[tuple[str, str]]) -> Licence:
    order = (GOOD, MODERATE, LIMITED)
    verdict = max((found for found, _ in clauses), key=order.index)
    return Licence(verdict, [said for found, said in sorted(clauses, key=lambda clause: -order.index(clause[0]))])


def by_width(width: float | None, estimates: Mapping[str, Bound]) -> Licence:
    """Classify as MentalAlign-70k (2025) does: by the width of the systems-only interval of ICC(C,1) alone."""
    value = estimates.get("system_icc_c1")
    if width is None or value is None or value.value is None:
        return Licence(NOT_ESTIMABLE, ["no interval of ICC(C,1) over systems"])
    said = f"the interval of ICC(C,1) over systems is {decimal(width, 3)} wide"
    for verdict, limit in zip((GOOD, MODERATE), _WIDTHS, strict=True):
        if width <= limit:
            return Licence(verdict, [f"{said}, at most {limit}"])
    return Licence(LIMITED, [f"{said}, more than {_WIDTHS[1]}"])
