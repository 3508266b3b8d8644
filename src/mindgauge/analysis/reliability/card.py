"""What a reliability card says: a judge beside people on one criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import polars as pl

GOOD, MODERATE, LIMITED, NOT_ESTIMABLE = "good", "moderate: validate", "limited: people must rate", "not estimable"


class Bound(msgspec.Struct, frozen=True, omit_defaults=False):
    """An estimate with its 95 % interval; where there is none, `note` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


class Licence(msgspec.Struct, frozen=True):
    """Whether a judge may be used for one purpose, and the clauses of the rule that decided it."""

    verdict: str
    reasons: list[str]

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


class Part(msgspec.Struct, frozen=True):
    """Agreement on a part of the subjects: one category, or one system."""

    name: str
    n: int
    estimates: dict[str, Bound]


class Corrected(msgspec.Struct, frozen=True):
    """A system's mean score: by the judge alone, by people alone, and the judge's corrected by people's."""

    system: str
    judged: int
    rated_by_people: int
    raw: Bound
    people: Bound
    corrected: Bound
    gain: float | None
    """How many times as many ratings by people the correction is worth."""


class Favour(msgspec.Struct, frozen=True):
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


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One judge on one criterion.

    `n` counts subjects given both to the judge and to people, `missing` those of them without a value on one side.
    `estimates` holds, for single subjects: `percent`, `within_1`, `kappa`, `kappa_quadratic`, `alpha`, `ac`, `icc_a1`,
    `icc_c1`, `pearson`, `ccc`, `bias`, `mse`, `limits` (of agreement: low to high around the bias); for system means:
    `system_icc_a1`, `system_icc_c1`, `system_pearson`; `ceiling_…` for people among themselves, `repeat_…` for the
    judge with itself; `judge_mean`, `people_mean`, `judge_top`, `people_top` (share at the scale's best level).
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
    clusters: int
    systems: list[str]
    widths: dict[str, dict[str, float | None]]
    bias_parts: dict[str, float | None]
    by_system: list[Part]
    by_category: list[Part]
    contested: list[Contested]
    contested_count: int
    corrected: list[Corrected]
    favour: Favour | None = None
    """Of models of its own family; None where it rated none."""


class Needed(msgspec.Struct, frozen=True):
    """How many it takes, with a 95 % interval: None where no number is enough, of `high` where that may be so."""

    value: int | None
    low: int | None
    high: int | None


class Design(msgspec.Struct, frozen=True):
    """What people's ratings of a criterion vary with (a generalizability study), and how many of them it takes.

    `components` are variances. `generalizability` (order) and `dependability` (level) are of the systems' means, or with
    one system of the conversations', at the numbers at hand; `raters_needed` and `conversations_needed` say how many
    would bring dependability to `target` with the other number as it is.
    """

    criterion: str
    systems: int
    conversations: int
    raters: int
    left_out: int
    components: dict[str, Bound]
    generalizability: Bound
    dependability: Bound
    target: float
    raters_needed: Needed
    conversations_needed: Needed


class Reliability(msgspec.Struct, frozen=True):
    """The cards of some ratings, and the designs of people's ratings where several people rated the same.

    `notes` says what was assumed and what was left out, one line each.
    """

    source: str
    rule: str
    cards: list[Card]
    designs: list[Design]
    notes: list[str]

    @property
    def table(self) -> pl.DataFrame:
        """One row per card: verdicts, counts, and every estimate with its interval."""
        import polars as pl

        rows = []
        for card in self.cards:
            row: dict[str, object] = {
                "judge": card.judge, "reference": card.reference, "criterion": card.criterion, "verdict": card.verdict,
                "rate_replies": card.rate_replies.verdict, "rank_systems": card.rank_systems.verdict, "n": card.n,
                "missing": card.missing, "clusters": card.clusters, "systems": len(card.systems),
            }  # fmt: skip
            for name, bound in card.estimates.items():
                row |= {name: bound.value, f"{name}_low": bound.low, f"{name}_high": bound.high}
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()
