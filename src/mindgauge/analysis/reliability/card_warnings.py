"""What a card warns of: few systems, one influential system, contested items, ceilings, kinship of judge and subject."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from mindgauge.analysis.audit import dependence, raters
from mindgauge.analysis.audit.view import Severity, View
from mindgauge.analysis.independence import MOST_RATERS, Dependence
from mindgauge.analysis.reliability.card import Contested
from mindgauge.analysis.reliability.favour import sentence, sentences
from mindgauge.analysis.reliability.people import another_group
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame
from mindgauge.models.family import same_family
from mindgauge.records.rounding import count, decimal, percent, plural
from mindgauge.stats.proportion import fewest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from mindgauge.analysis.reliability.card import BiasAtLarge, Bound, CardPart, GroupShift, SelfPreference
    from mindgauge.analysis.reliability.correction import Chosen
    from mindgauge.analysis.reliability.ratings import Ratings
    from mindgauge.analysis.reliability.rule import Facts, VerdictLimits
    from mindgauge.analysis.reliability.scale import ValueScale

FEW_SYSTEMS = 10
"""A place to warn, no threshold: with 9 systems an ICC(C,1) of .94 is surely above .75, with 20 one of .89."""
FEW_BELOW = 30
"""With fewer ratings below the best level, intervals are too narrow, however many lie at it (docs/explanations/intervals.md)."""
INFLUENCE = 0.10
"""A change of ICC(C,1) by at least this much when one system is left out is worth naming."""
TOP = 0.80
"""From this share of best levels on, there is little left to agree on."""
CONTESTED = 0.10
WIDE_BIAS = 0.15
"""A bias that is known to no more than this share of the scale beside other people is worth naming: rule.toml's limit for
*moderate*."""
UNKNOWN = 0.5
"""A bias that may be half the scale higher or lower is not known: no two means can differ by more than the scale."""
GRAVE = re.compile(r"suicid|self[\W_]*(harm|injur)|\bnssi\b|自杀|自伤|自残", re.IGNORECASE)
"""Categories that are critical by their names, whether or not anybody marks them so."""


class CardEvidence(NamedTuple):
    """What the warnings are drawn from. `judged` and `rated` are the valued rows of the judge and of people.

    `systems` are those that both rated.
    """

    judge: str
    facts: Facts
    bounds: dict[str, Bound]
    systems: Sequence[str]
    by_system: Sequence[CardPart]
    leave_one_out: Sequence[float | None]
    contested: int
    unrated: int
    judged: pl.DataFrame
    rated: pl.DataFrame
    scale: ValueScale
    limits: VerdictLimits
    """Of what must be found at the unsafe end."""
    favour: SelfPreference | None
    chosen: Sequence[Chosen]
    """How what people rated differs from the rest, as the judge sees it; empty of classes."""
    at_large: BiasAtLarge | None
    invariance: Sequence[GroupShift]


def warnings(evidence: CardEvidence) -> list[str]:
    """Return what a reader of the card must know, one sentence each."""
    return [
        *_unsafe(evidence),
        *_data(evidence),
        *_systems(evidence),
        *_kin(evidence),
        *_others(evidence),
        *_range(evidence),
    ]


def _unsafe(evidence: CardEvidence) -> Iterator[str]:
    """Name categories that sound critical, are not marked so, and hold too few unsafe replies to say anything."""
    end, needed = evidence.facts.danger, fewest(evidence.limits.good)
    if end is None:
        return
    if end.found_stock is not None and end.found_fitted is not None and end.found_stock.events < end.found_stock.n:
        stock, fitted = end.found_stock, end.found_fitted
        yield (
            f"it finds {stock.events} of {plural(stock.n, 'unsafe stock reply', 'unsafe stock replies')} and "
            f"{fitted.events} of {plural(fitted.n, 'other')}"
        )
    if end.unseen is not None:
        part = end.unseen
        if not part.n:
            yield f"it could miss half of the unsafe replies in the slice {part.where} unnoticed: people rated none of the {plural(part.replies, 'reply', 'replies')} unsafe"
        elif part.found < HALF * part.n:
            yield f"it finds {part.found} of {plural(part.n, 'unsafe reply', 'unsafe replies')} in the slice {part.where}"
        else:
            yield f"it could miss half of the unsafe replies in the slice {part.where} unnoticed: it finds {part.found} of {part.n} there, too few to exclude it"
    for category in evidence.rated["category"].drop_nulls().unique().sort():
        if category in end.critical or not GRAVE.search(category):
            continue
        n = end.by_category.get(category, 0)
        if n < needed:
            yield f"people call {n} replies in the category {category} unsafe, too few to say what the judge finds there ({needed} with no miss); --critical '{category}' makes the verdict ask for it"


def _data(evidence: CardEvidence) -> Iterator[str]:
    if evidence.facts.danger is not None and evidence.facts.danger.weighted:
        yield evidence.facts.danger.weighted
    if evidence.unrated:
        yield f"{evidence.unrated} subjects that people rated were not given to this judge"
    absent, rated = evidence.facts.absent
    if absent > evidence.unrated:
        yield f"it gave no verdict on {absent - evidence.unrated} of the {rated} subjects that people rated"
    if evidence.facts.subjects and evidence.contested >= CONTESTED * evidence.facts.subjects:
        distance = "half the scale or more apart" if evidence.scale.ordered else "not of one mind"
        yield f"{evidence.contested} of {evidence.rated['subject'].n_unique()} subjects are contested: people, or people and judge, are {distance}"
    main = "icc_a1" if evidence.scale.ordered else "alpha"
    for name, agreement in (
        (f"repeat_{main}", "the judge's agreement with itself"),
        (f"ceiling_{main}", "how far people agree"),
    ):
        bound = evidence.bounds.get(name)
        if bound is not None and bound.value is None:
            yield f"{agreement} is not known: {bound.note}"
    yield from _choice(evidence)


def _choice(evidence: CardEvidence) -> Iterator[str]:
    """People who rated what the judge scored unlike the rest say little about the rest."""
    for part in evidence.chosen[:1]:
        suffix = f" of {part.system}" if part.system else ""
        scored = f"scored {part.side} ({decimal(part.labelled)}) than the {part.n} others ({decimal(part.others)})"
        if part.within_systems:
            yield f"people rated subjects{suffix} that this judge {scored}: agreement here may not carry over to them, and no mean is corrected by them"
        else:
            yield f"people rated more of the systems that this judge {scored}: agreement here may not carry over to all"


def _systems(evidence: CardEvidence) -> Iterator[str]:
    n = evidence.facts.systems
    if n < 2:
        return
    if n < FEW_SYSTEMS:
        yield f"only {n} systems: the ranking figures rest on {n} points"
    overall = evidence.bounds.get("system_icc_c1")
    moved = [
        (abs(v - overall.value), name, v)
        for name, v in zip(evidence.systems, evidence.leave_one_out, strict=False)
        if v is not None and overall and overall.value is not None
    ]
    if moved:
        change, name, value = max(moved)
        if change >= INFLUENCE and overall and overall.value is not None:
            yield f"one system carries much: without {name}, ICC(C,1) of system means goes from {decimal(overall.value)} to {decimal(value)}"
    biases = [(part.estimates["bias"].value, part.name) for part in evidence.by_system if "bias" in part.estimates]
    valued = [(value, name) for value, name in biases if value is not None]
    if len(valued) > 1 and max(valued)[0] - min(valued)[0] >= 0.1 * evidence.facts.span:
        (lowest, low), (highest, high) = min(valued), max(valued)
        yield f"bias differs between systems: {decimal(lowest, signed=True)} for {low}, {decimal(highest, signed=True)} for {high}"


def _kin(evidence: CardEvidence) -> Iterator[str]:
    kin_part, others = _pooled_bias(evidence, kin=True), _pooled_bias(evidence, kin=False)
    if kin_part is not None and others is not None:
        (n, bias), (n_others, bias_of_others) = kin_part, others
        yield f"the judge's own family wrote {count(n)} of {count(n + n_others)} replies: bias {decimal(bias, signed=True)} on these, {decimal(bias_of_others, signed=True)} without them"
    if evidence.favour is not None:
        yield sentence(evidence.favour)
    elif kin := [name for name in evidence.systems if name and same_family(evidence.judge, name)]:
        yield f"the judge comes from the family of {', '.join(kin)}; models tend to favour their own kind, which classes without an order do not tell"


def _pooled_bias(evidence: CardEvidence, *, kin: bool) -> tuple[int, float] | None:
    """Return n and the bias on the replies of the judge's own family, or of all other systems; None where there is none."""
    parts = [
        (part.n, part.estimates["bias"].value)
        for part in evidence.by_system
        if "bias" in part.estimates and same_family(evidence.judge, part.name) is kin
    ]
    valued = [(n, bias) for n, bias in parts if bias is not None]
    total = sum(n for n, _ in valued)
    return (total, sum(n * bias for n, bias in valued) / total) if total else None


def _others(evidence: CardEvidence) -> Iterator[str]:
    """Say what other people might have said, and where the judge leaves people's level."""
    yield from sentences(evidence.invariance)
    reach = another_group(evidence.at_large) if evidence.at_large is not None else None
    if evidence.at_large is not None and reach is not None and reach >= WIDE_BIAS * evidence.facts.span:
        bias = f"bias is beside these {evidence.at_large.raters} people"
        if reach >= UNKNOWN * evidence.facts.span:
            yield f"{bias}: what it is beside another pair of clinicians is not known"
        else:
            yield f"{bias}: beside another pair of clinicians it may differ by ±{decimal(reach)}"


def _range(evidence: CardEvidence) -> Iterator[str]:
    top = evidence.bounds.get("people_top")
    if top is not None and top.value is not None and top.value >= TOP:
        yield f"people gave the best level to {percent(top.value)}: little is left to agree on, so chance-corrected coefficients are low whoever judges, and AC is high for the same reason"
    below_best = len(
        evidence.rated.join(evidence.judged, on="subject", how="semi").filter(pl.col("number") != evidence.scale.best)
    )
    if evidence.scale.ordered and evidence.scale.levels and 0 < below_best < FEW_BELOW <= evidence.facts.subjects:
        yield f"only {below_best} of people's ratings lie below the best level: the intervals are too narrow (docs/explanations/intervals.md)"
    ceiling = evidence.bounds.get("ceiling_icc_a1")
    if ceiling is not None and ceiling.value is not None and ceiling.value < 0.75:
        yield f"people agree among themselves only to ICC(A,1) {decimal(ceiling.value)}: the criterion, not only the judge, sets the limit"


LISTED = 20
"""Contested subjects that a card names; the others are counted."""
HALF = 0.5
"""A distance of at least this share of the scale is a contest: two levels from 1 to 5. Any two classes are one."""


def contested(
    judged: pl.DataFrame, rated: pl.DataFrame, scale: ValueScale, systems: Sequence[str]
) -> tuple[list[Contested], int]:
    """Return the most contested subjects, most first, and how many there are in all.

    Args:
        judged: the judge's valued rows: subject, number.
        rated: people's valued rows: subject, name, system, category, rater, number.
        scale: of the values.
        systems: names by index.
    """
    number = pl.col("number")
    limit = HALF * (scale.high - scale.low) if scale.ordered else 1.0
    spread, usual = (number.max() - number.min(), number.mean()) if scale.ordered else (number.n_unique() - 1.0, number.mode().min())  # fmt: skip
    people = rated.group_by("subject").agg(spread=spread, people=usual)
    both = people.join(judged.group_by("subject").agg(judge=usual), on="subject", how="left")
    gap = pl.col("judge") - pl.col("people")
    distance = gap.abs() if scale.ordered else (gap != 0).cast(pl.Float64)
    both = both.with_columns(distance=distance.fill_null(0.0))
    contests = both.filter((pl.col("spread") >= limit) | (pl.col("distance") >= limit))
    first = contests.sort(-(pl.col("spread") + pl.col("distance")), pl.col("subject")).head(LISTED)
    ratings, verdicts = (_by_subject(rows, first) for rows in (rated, judged))
    return [
        _contest(row, ratings[row["subject"]], verdicts.get(row["subject"], []), scale, systems)
        for row in first.iter_rows(named=True)
    ], len(contests)


def _by_subject(rows: pl.DataFrame, subjects: pl.DataFrame) -> dict[int, list[dict[str, Any]]]:
    """Return what a contest shows of the rows of some subjects, subject by subject."""
    parts: dict[int, list[dict[str, Any]]] = {}
    shown = rows.select("subject", "name", "system", "category", "rater", "number")
    for row in shown.filter(pl.col("subject").is_in(subjects["subject"].implode())).iter_rows(named=True):
        parts.setdefault(row["subject"], []).append(row)
    return parts


def _contest(
    row: dict[str, Any],
    ratings: list[dict[str, Any]],
    verdicts: list[dict[str, Any]],
    scale: ValueScale,
    systems: Sequence[str],
) -> Contested:
    values: dict[str, list[float | str]] = {}
    for rating in ratings:
        values.setdefault(rating["rater"], []).append(scale.word(rating["number"]))
    return Contested(
        ratings[0]["name"], systems[ratings[0]["system"]], ratings[0]["category"] or "", values,
        [scale.word(verdict["number"]) for verdict in verdicts], float(row["spread"]), float(row["distance"]),
    )  # fmt: skip


CHECKS = (
    raters.model_vote_in_human_labels, raters.identical_raters, raters.straight_lining, raters.constant_values,
    dependence.repeats_as_raters,
)  # fmt: skip
"""Of all raters; adjudicators, a consensus and copies are found by `independence`, and a ceiling is on the card."""
IN_ORDER = (dependence.copied_after, dependence.drift)
"""Of ratings whose rows are in the order in which people rated; a run's are not."""


def rater_checks(
    ratings: Ratings, reference: Sequence[str], known: Collection[str] = ()
) -> tuple[dict[str, list[Dependence]], list[str]]:
    """Run the audit's checks of raters; of a crowd none.

    By criterion, whose values there are another rater's; and one line for each other thing that was found.

    Args:
        ratings: checked ratings.
        reference: who is compared with; of two of them who are one, the second is left out.
        known: those of them who are known to depend on others; of whom they repeat nothing is said again.
    """
    rows = ratings.frame
    if rows["rater"].n_unique() > MOST_RATERS:
        return {}, []
    kinds = dict(rows.select("rater", "rater_kind").unique("rater").iter_rows())
    kind = pl.when(pl.col("rater").is_in(list(reference)) & (pl.col("rater_kind").fill_null("") != "gold")).then(
        pl.lit("person")
    )
    status = pl.when(pl.col("value").is_null() & (pl.col("status").fill_null("ok") == "ok")).then(pl.lit("unparsable"))
    table = rows.with_columns(
        file=pl.lit(ratings.source), row=pl.int_range(pl.len()), rater_kind=kind.otherwise(pl.col("rater_kind").fill_null("model")),
        status=status.otherwise(pl.col("status").fill_null("ok")),
    )  # fmt: skip
    scales = {name: (scale.low, scale.high) for name, scale in ratings.scales.items() if scale.ordered}
    view = View(Material(frame([], TEXTS), table.select(list(RATINGS)), scales, {}))
    copies: dict[str, list[Dependence]] = {}
    notes: list[str] = []
    for check in (*CHECKS, *(IN_ORDER if ratings.account is not None else ())):
        for result in check.find(view):
            severity = result.severity or check.severity
            if set(result.raters) & set(known):
                continue
            own = [rater for rater in result.raters if rater in reference]
            if severity is Severity.ERROR and own and kinds[own[-1]] != "model":
                copies.setdefault(result.criterion, []).append(Dependence(own[-1], "copy", result.message))
            else:
                notes.append(f"{result.message}: {check.effect}")
    return copies, notes
