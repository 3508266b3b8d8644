"""What a reliability card says: a judge beside people on one criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from mindgauge.analysis.independence import Dependence
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.english import named
from mindgauge.records.ratings.account import Account
from mindgauge.records.rounding import bounded, count, plural
from mindgauge.stats.level import named as named_with_level

if TYPE_CHECKING:
    from collections.abc import Mapping

GOOD, MODERATE, LIMITED, NOT_ESTIMABLE = "good", "moderate: validate", "limited: people must rate", "not estimable"
BLIND_END = "not estimable at the unsafe end"
"""Agreement is known, but people called too few replies unsafe to say whether the judge finds them."""


class Bound(msgspec.Struct, frozen=True, omit_defaults=False):
    """An estimate with its 95 % interval; where there is none, `note` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""

    def __neg__(self) -> Bound:
        value, low, high = (None if number is None else -number for number in (self.value, self.high, self.low))
        return Bound(value, low, high, self.note)

    def clipped(self, low: float, high: float) -> Bound:
        """Return the estimate and its interval as far as the scale goes."""
        value, *ends = (None if n is None else min(max(n, low), high) for n in (self.value, self.low, self.high))
        return Bound(value, ends[0], ends[1], self.note)


class Share(msgspec.Struct, frozen=True, omit_defaults=False):
    """A share of n replies with its exact 95 % bounds; `conversations` is their effective number, the n of the bounds."""

    value: float | None
    low: float | None = None
    high: float | None = None
    events: int = 0
    n: int = 0
    conversations: float = 0.0
    note: str = ""
    weighted: bool = False
    """Whether each reply counts for as many as it stands for; `events` and `n` count those that were read."""

    @property
    def bound(self) -> Bound:
        """The share as an estimate among others."""
        return Bound(self.value, self.low, self.high, self.note)


class Slice(msgspec.Struct, frozen=True):
    """A part of the replies that judge and people rated: one value of one thing known of them, such as a language.

    `replies` counts them, `n` those that people together call unsafe, `found` and `missed` what of these the judge finds.
    `low` and `high` are exact 95 % bounds of the share found. `p` says whether it misses more there than elsewhere among
    replies that as many people call unsafe: one-sided, by permutation, adjusted for all slices of the card.
    """

    by: str
    value: str
    replies: int
    n: int
    found: int
    missed: int
    low: float
    high: float
    p: float
    conversations: float = 0.0
    """The effective number of conversations with these n, on which the bounds rest."""

    @property
    def where(self) -> str:
        """What it is, in words."""
        return f"“{self.by}: {self.value}”"


class BesideClinician(msgspec.Struct, frozen=True):
    """A judge and a left-out clinician on what the other people call unsafe, or on what they call safe.

    Each person's call is the measure once, for the judge and for every other person who rated the same reply. `judge` and
    `clinician` are the shares of calls that each shares, `difference` is the judge's less the clinician's; each of its bounds
    holds with 95 %. `n` replies were called so by somebody whom a second person rated with, in `conversations` in effect, and
    on `absent` of them the judge has no verdict: it shares no call there. `spare` more it may lose before it could be worse
    by more than the rule's margin.
    """

    judge: float | None
    clinician: float | None
    difference: Bound
    n: int
    conversations: float
    absent: int
    spare: int


class WorstReplies(msgspec.Struct, frozen=True):
    """A judge and a left-out clinician on the `n` replies that all other people put at the worst level.

    `judge` and `clinician` are the shares that each misses. `p` is that the judge misses no more than a clinician does, by
    exchange of the two on every reply; None where no reply can tell.
    """

    judge: float | None
    clinician: float | None
    n: int
    p: float | None


class Danger(msgspec.Struct, frozen=True, kw_only=True):
    """A judge at the unsafe end of one criterion, on replies that it was given and people rated.

    `found` is the share of the replies that people together call unsafe which the judge puts at an unsafe level, too;
    `found_any` the same of those that at least one person calls unsafe, beside which `ceiling` says how much of what one
    person calls unsafe another finds; `lowest` the share of those at people's worst level that it puts there.
    `passed` is the share that people together call unsafe of what the judge puts at a safe level. A missing verdict has
    found nothing and passes nothing.
    """

    levels: list[float | str]
    is_assumed: bool
    """Whether nobody said which levels are unsafe, so that the worst two fifths of the scale are taken."""
    found: Share
    found_any: Share
    ceiling: Share
    lowest: Share | None
    lowest_unsafe: Share | None
    """Of the replies at people's worst level, the share that the judge puts at any unsafe level."""
    passed: Share
    critical: dict[str, Share]
    """Critical category → `found` there."""
    critical_end: dict[str, BesideClinician] = {}
    """Critical category → `unsafe_end` there; empty with one person."""
    by_category: dict[str, int]
    """Category → how many replies people together call unsafe there."""
    people: int = 1
    """How many independent people rated a reply that another rated, too; 1 where nobody did."""
    unsafe_end: BesideClinician | None = None
    """Beside a left-out clinician on what others call unsafe; None with one person."""
    safe_end: BesideClinician | None = None
    worst_missed: WorstReplies | None = None
    """What all others put at the worst level: missed is what the rater puts at a safe level."""
    worst_unused: WorstReplies | None = None
    """The same: missed is what the rater puts at any other level."""
    absent: int = 0
    """How many replies that people rated lack a verdict of the judge, in a repeat or altogether: not given, refused, unreadable."""
    found_alone: Share | None = None
    """Of the replies that a single person rated, and called unsafe, the share that the judge puts at an unsafe level, too."""
    absent_unsafe: int = 0
    """How many of these people together call unsafe."""
    rated: int = 0
    """How many replies people rated."""
    found_if_missed: Share = Share(None)
    """`found` if the judge missed all that are absent."""
    unsafe_if_missed: BesideClinician | None = None
    """`unsafe_end` if it called all that are absent safe, the lower end of all that they may be (Manski 1989)."""
    safe_if_flagged: BesideClinician | None = None
    """`safe_end` if it called all that are absent unsafe."""
    found_stock: Share | None = None
    """Of the unsafe replies that are stock, the share that the judge finds; None where people call no stock reply unsafe."""
    found_fitted: Share | None = None
    """The same of the other unsafe replies."""
    worst_level: str = ""
    """Why no figure and no rule about the worst level rests on this judge; empty where it may."""
    weighted: str = ""
    """What is not tested, since subjects were drawn with unequal probabilities, by which shares are weighted; empty otherwise."""
    slices: list[Slice] = []
    """Every slice, the one with the smallest p first; none where subjects were drawn with unequal probabilities."""
    unseen: Slice | None = None
    """The largest slice in which it could miss half of the unsafe replies unseen: `low` is at most .5."""
    level: float = 0.95
    """Of confidence, with which shares are bounded; higher where they are to hold at all looks while people still rate."""


class Licence(msgspec.Struct, frozen=True):
    """Whether a judge may be used for one purpose, and the clauses of the rule that decided it.

    `faults` says what the deciding clauses are about: `unsafe` and `safe` (the two ends), `agreement` (and bias), `absent`
    verdicts, `alone` (no two people rated the same). The gravest comes first; empty where it is good.
    """

    verdict: str
    reasons: list[str]
    faults: list[str] = []

    @property
    def granted(self) -> bool:
        """Whether it may be used without people beside it."""
        return self.verdict == GOOD


class Contested(msgspec.Struct, frozen=True):
    """A subject on which people disagree among themselves, or the judge with all of them."""

    subject: str
    system: str
    category: str
    people: dict[str, list[float | str]]
    judge: list[float | str]
    spread: float
    """Distance between the lowest and highest of people's values, in steps of the scale (classes: how many differ)."""
    distance: float
    """Distance between the judge's mean and people's (classes: share of pairs that differ)."""


class CardPart(msgspec.Struct, frozen=True):
    """Agreement on a part of the subjects: one category, or one system."""

    name: str
    n: int
    estimates: dict[str, Bound]


class CorrectedMean(msgspec.Struct, frozen=True):
    """A system's mean score: by the judge alone, by people alone, and the judge's corrected by people's."""

    system: str
    judged: int
    rated_by_people: int
    raw: Bound
    people: Bound
    corrected: Bound
    gain: float | None
    """How many times as many ratings by people the correction is worth."""
    seen: str = ""
    """Why it cannot be excluded that the judge has seen these labels; empty where they are younger than its verdicts."""


class SelfPreference(msgspec.Struct, frozen=True):
    """Whether a judge favours models of its own family, in units of the scale.

    `favour` is the smaller of what it rates them higher by than people's values let expect (`beyond_people`) and than
    judges of other families do (`beyond_judges`). `outcome` is `favours its kin`, `no sign of it` or `cannot tell`, and
    then `reason` says why.
    """

    kin: list[str]
    judges: list[str]
    n: int
    conversations: int
    outcome: str
    favour: Bound
    beyond_people: Bound
    beyond_judges: Bound
    reason: str
    p: float | None
    """Two-sided, that there is no favour beyond people or none beyond judges."""


class BiasAtLarge(msgspec.Struct, frozen=True):
    """A judge's bias with people as a sample of people: over raters at large, and beside another group of `k` of them.

    `bias` has an interval that holds other people, too; `another` says where the judge's mean may lie beside the mean
    of another k. With two people both rest on one degree of freedom. A note says why there is none.
    """

    raters: int
    n: int
    k: int
    bias: Bound
    another: Bound


class GroupShift(msgspec.Struct, frozen=True):
    """A judge in one group of the subjects, one language or one system, beside the other groups.

    `shift` is by how much it rates this group higher than the others at the same level of people, in units of the
    scale; `p` that it does not, adjusted for all groups of its kind (Holm). `outcome` is `on one level` (a shift of
    `limit`, half a level, is excluded), `shifted`, or `cannot tell`, and then `reason` says why.
    """

    by: str
    group: str
    n: int
    conversations: int
    people_mean: Bound
    judge_mean: Bound
    agreement: Bound
    bias: Bound
    shift: Bound
    p: float | None
    limit: float
    outcome: str
    reason: str


class RaterAccuracy(msgspec.Struct, frozen=True):
    """One rater where no rater is right by definition: the shares of what is unsafe, and of what is safe, that it calls so."""

    rater: str
    n: int
    sensitivity: Bound
    specificity: Bound


class LatentTruth(msgspec.Struct, frozen=True):
    """Errors of people and judges by a model of a truth that no rater sees; no verdict rests on them.

    Of an order, each reply has a quality, and it is unsafe where people would call it so in half of the cases
    (Samejima's graded responses); of classes, each reply is unsafe or not (Dawid and Skene). Raters err independently
    of each other. `prevalence` is the share of the n replies that is unsafe. A note says why there is nothing.
    """

    raters: list[RaterAccuracy]
    prevalence: Bound
    n: int
    conversations: int
    note: str = ""


class ReliabilityCard(msgspec.Struct, frozen=True, kw_only=True):
    """One judge on one criterion.

    `n` counts subjects given both to the judge and to people, `missing` those of them without a value on one side.
    `clusters` counts conversations, `effective_clusters` is Kish's effective number of them. `estimates` holds, for single subjects, the judge beside one
    person: `percent`, `within_1`, `kappa`, `kappa_quadratic`, `alpha`, `ac`, `icc_a1`, `icc_c1`, `pearson`, `ccc`,
    `bias`, `mse`, `limits` (of agreement: low to high around the bias), and, pooled within systems, what the verdict
    rests on: `icc_a1_within`, of classes `alpha_within`; for system means: `system_icc_a1`, `system_icc_c1`,
    `system_pearson`; `ceiling_…` for one person beside another, `repeat_…` for the judge with itself; `judge_mean`,
    `people_mean`, `judge_top`, `people_top` (share at the scale's best level); and the shares of `danger`: `unsafe_found`,
    `unsafe_found_any`, `ceiling_unsafe_found`, `lowest_found`, `passed_unsafe`.
    `widths` gives the width of an interval by what is resampled. `bias_parts` splits the mean square of judge minus
    people into `constant`, `system` and `item`.
    """

    judge: str
    reference: str
    criterion: str
    n: int
    missing: int
    level: str
    """What the verdict rests on: `item`, single subjects."""
    estimates: dict[str, Bound]
    verdict: str
    warnings: list[str]
    reasons: list[str]
    rate_replies: Licence
    rank_systems: Licence
    rule: str
    scale: list[float | str]
    ordered: bool
    falling: bool
    """Whether the highest value of an order is the worst."""
    clusters: int
    effective_clusters: float
    systems: list[str]
    widths: dict[str, dict[str, float | None]]
    bias_parts: dict[str, float | None]
    by_system: list[CardPart]
    by_category: list[CardPart]
    contested: list[Contested]
    contested_count: int
    corrected: list[CorrectedMean]
    danger: Danger | None
    """None where no level is known, or assumed, to be unsafe, or the judge was given nothing of what people rated."""
    favour: SelfPreference | None = None
    at_large: BiasAtLarge | None = None
    """The bias with people as a sample; None of classes, which have no order."""
    invariance: list[GroupShift] = []
    """Languages and systems, side by side; empty where there is one of each, or classes have no order."""
    with_dependent: Bound | None = None
    """The agreement that decides, beside everybody; None where all who rated are independent, or all are the reference."""
    asked: str = ""
    """What was really sent with the judge's calls, in words; empty where its ratings came from elsewhere."""
    drawn: str = ""
    """How people's part was drawn, where it was with known probabilities: every estimate is then weighted by them."""
    latent_truth: LatentTruth | None = None
    """Errors of the judge and of each independent person; None where no level is known, or assumed, to be unsafe."""
    look_until: int = 0
    """How many replies people will rate at most: bounds of single replies hold at all looks until then; 0 for one look."""

    @property
    def coefficient(self) -> str:
        """The estimate that decides about single replies: of values with an order, and of classes."""
        return "icc_a1_within" if self.ordered else "alpha_within"

    @property
    def agreement(self) -> Bound:
        """The judge's agreement with one person on single replies, within systems."""
        return self.estimates[self.coefficient]


class PersonBesideOthers(msgspec.Struct, frozen=True):
    """One person beside the others who rated the same.

    `severity` is by how much the person rates worse than the mean of the others, in units of the scale; `beside_rest`
    ICC(A,1) of the person with that mean, which is steadier than one person's word: no limit for single persons holds
    for it.
    """

    rater: str
    n: int
    severity: Bound
    beside_rest: Bound


class RatersAtLarge(msgspec.Struct, frozen=True):
    """People as a sample of people, by crossed random effects.

    `factors` counts the levels of each random factor; `sds` are their SDs and that of the `residual`, in units of the
    scale, `shares` the shares of their variances in all, `at_zero` names those whose estimate is 0. `single` is how far one other clinician agrees with another,
    ICC(A,1), `mean_of` the same of the mean of `k`; `groups_apart` by how much the means of k and k others differ at
    most in 95 of 100 cases, `ratings_apart` the same of two other people's ratings of one reply. `severity` is by how
    much each person rates worse than people at large.
    """

    factors: dict[str, int]
    n: int
    k: int
    sds: dict[str, Bound]
    shares: dict[str, Bound]
    at_zero: list[str]
    single: Bound
    mean_of: Bound
    groups_apart: Bound
    ratings_apart: Bound
    severity: dict[str, Bound]
    note: str = ""
    """Why there is nothing, or what the factors leave out."""


class PersonProfile(msgspec.Struct, frozen=True):
    """One person beside single others, in one category or (where it is empty) in all.

    `severity` is by how much the person rates worse than another, `agreement` ICC(A,1) with another, of classes kappa.
    `negative` is `below chance` where agreement lies surely below 0 (Holm over all of a criterion's profiles), `may be
    below chance` where its value does, and empty elsewhere.
    """

    rater: str
    category: str
    n: int
    conversations: int
    severity: Bound
    agreement: Bound
    kappa: Bound
    negative: str


class ManyFacets(msgspec.Struct, frozen=True):
    """Severity of people and difficulty of criteria of one scale, in logits (Linacre's rating scale model with raters).

    A value high up means that worse levels are given: by this person, or on this criterion. Each adds up to 0. `spread`
    is the SD of subjects. `note` says why there is nothing.
    """

    criteria: list[str]
    n: int
    subjects: int
    conversations: int
    severity: dict[str, Bound]
    difficulty: dict[str, Bound]
    thresholds: list[float]
    spread: float | None
    note: str = ""


class People(msgspec.Struct, frozen=True):
    """How far people agree among themselves on one criterion.

    `n` counts subjects with values from two people or more; `independent` the people whose values go in. `dependent` are
    left out, with the evidence; `with_dependent` has the same estimates with them, for comparison. `estimates`:
    `krippendorff_alpha` (ordinal or nominal; every value of a subject with two counts), `fleiss_kappa`, `gwet_ac` (AC2
    with quadratic weights, or AC1), `same_level`, `within_1`, `icc_a1` and `icc_c1` of single persons, and
    `unsafe_found`: how much of what one person calls unsafe another finds.
    """

    criterion: str
    raters: int
    independent: int
    n: int
    estimates: dict[str, Bound]
    persons: list[PersonBesideOthers]
    at_large: RatersAtLarge | None = None
    """None of classes, which have no order."""
    profiles: list[PersonProfile] = []
    dependent: list[Dependence] = []
    with_dependent: dict[str, Bound] = {}
    latent_truth: LatentTruth | None = None
    """Errors of each independent person, without any judge; None where no level is known, or assumed, to be unsafe."""
    level: Literal["ordinal", "nominal"] = "ordinal"
    """At which `krippendorff_alpha` takes the values; `fleiss_kappa` is nominal, `gwet_ac` has quadratic weights where it is ordinal."""

    @property
    def ordered(self) -> bool:
        """Whether the values have an order."""
        return self.level == "ordinal"


class NumberNeeded(msgspec.Struct, frozen=True):
    """How many it takes, with a 95 % interval: None where no number is enough, of `high` where that may be so."""

    value: int | None
    low: int | None
    high: int | None


class DesignStudy(msgspec.Struct, frozen=True):
    """What people's ratings of a criterion vary with (a generalizability study), and how many of them it takes.

    `components` are variances. `generalizability` (order) and `dependability` (level) are of the systems' means, or with
    one system of the conversations', at the numbers at hand; `raters_needed` and `conversations_needed` say how many
    would bring dependability to `target` with the other number as it is. `design` is `crossed`, or says what is nested in
    what or crossed in part: then people, conversations and systems are samples in the intervals.
    """

    criterion: str
    design: str
    ratings: int
    systems: int
    conversations: int
    raters: int
    components: dict[str, Bound]
    generalizability: Bound
    dependability: Bound
    target: float
    raters_needed: NumberNeeded
    conversations_needed: NumberNeeded


class Reliability(Tabular, msgspec.Struct, frozen=True):
    """The cards of some ratings, people's agreement, and the designs of their ratings where several rated the same.

    `notes` says what was assumed and what was left out, one line each.
    """

    source: str
    rule: str
    cards: list[ReliabilityCard]
    people: list[People]
    designs: list[DesignStudy]
    notes: list[str]
    facets: list[ManyFacets] = []
    reading: Account | None = None
    """What was read of tables, and what was left out; None where there were only runs."""

    def _listed(self) -> list[dict[str, Any]]:
        if not self.cards:
            return [_people_row(people) for people in self.people]
        return [
            {
                "judge": card.judge, "criterion": card.criterion, "metric": card.coefficient, "value": card.agreement.value,
                "low": card.agreement.low, "high": card.agreement.high, "n": card.n, "missing": card.missing,
                "verdict": card.verdict, "rate_replies": card.rate_replies.verdict,
                "rank_systems": card.rank_systems.verdict, "reference": card.reference, "clusters": card.clusters,
                "systems": len(card.systems),
            }
            | estimate_columns(card.estimates)
            for card in self.cards
        ]  # fmt: skip

    def summary(self) -> list[str]:
        """Give each judge's verdict and agreement, or people's agreement; nothing of what is limited is a score."""
        if not self.cards and not self.people:
            return [f"{self.source}: nothing to compare", *noted(self.notes)]
        cards = [
            f"{card.judge} on {card.criterion}: {card.verdict} (agreement {_written(card.agreement)}, n {count(card.n)}, "
            f"{count(card.missing)} missing)"
            for card in self.cards
        ]
        people = [
            f"People on {entry.criterion}: {named_with_level('krippendorff_alpha', ordered=entry.ordered)}: {_written(alpha)}, {plural(entry.raters, 'person', 'people')}, n {count(entry.n)}"
            for entry in self.people
            if (alpha := entry.estimates.get("krippendorff_alpha")) is not None
        ]
        room = 4 if people and cards else 6
        whom = (
            f"judges beside {named(list(dict.fromkeys(card.reference for card in self.cards)))}"
            if self.cards
            else "people alone"
        )
        return [
            f"{self.source}: {whom}, by the rule {self.rule}",
            *first_of(cards, room),
            *first_of(people, 6 - min(room, len(cards))),
            *noted(self.notes),
            ".cards have reasons and warnings, .table all estimates.",
        ]


def _written(bound: Bound) -> str:
    return bounded(bound.value, bound.low, bound.high)


def _people_row(people: People) -> dict[str, Any]:
    alpha = people.estimates.get("krippendorff_alpha", Bound(None))
    first = {
        "criterion": people.criterion,
        "metric": "krippendorff_alpha",
        "value": alpha.value,
        "low": alpha.low,
        "high": alpha.high,
    }
    return (
        first
        | {"n": people.n, "raters": people.raters, "independent": people.independent}
        | estimate_columns(people.estimates)
    )


def estimate_columns(estimates: Mapping[str, Bound]) -> dict[str, float | None]:
    """Return a column for each estimate and for both of its bounds."""
    return {
        name + suffix: value
        for name, bound in estimates.items()
        for suffix, value in (("", bound.value), ("_low", bound.low), ("_high", bound.high))
    }
