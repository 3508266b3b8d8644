"""From checked ratings to reliability cards: each judge beside people, criterion by criterion."""

from __future__ import annotations

import contextlib
import math
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import independence
from mindgauge.analysis.beside_published import own_systems
from mindgauge.analysis.independence import only_repeats
from mindgauge.analysis.reliability import card_warnings, correction, favour, rule
from mindgauge.analysis.reliability import coefficients as estimates
from mindgauge.analysis.reliability import pairs as reference
from mindgauge.analysis.reliability.card import (
    GOOD,
    LIMITED,
    MODERATE,
    NOT_ESTIMABLE,
    Bound,
    CardPart,
    CorrectedMean,
    Danger,
    DesignStudy,
    Licence,
    ManyFacets,
    People,
    Reliability,
    ReliabilityCard,
)
from mindgauge.analysis.reliability.card_warnings import contested, rater_checks
from mindgauge.analysis.reliability.coefficients import Numbers, card_numbers, latent_truth, within
from mindgauge.analysis.reliability.correction import SubjectMeans
from mindgauge.analysis.reliability.design import design
from mindgauge.analysis.reliability.favour import invariance
from mindgauge.analysis.reliability.pairs import pair, pair_each
from mindgauge.analysis.reliability.people import CEILING, among, bias_at_large, people
from mindgauge.analysis.reliability.ratings import Compared, PeopleBeside, rated_criterion, valued
from mindgauge.analysis.reliability.unsafe_levels import danger
from mindgauge.benchmarks.mentalbench import reproduce
from mindgauge.records import english
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.instruments import all_differences, difference
from mindgauge.records.rounding import bounded, decimal, plural
from mindgauge.stats import looks
from mindgauge.stats.facets import facets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.independence import Dependence
    from mindgauge.analysis.reliability.pairs import RatingPairs
    from mindgauge.analysis.reliability.ratings import RatedCriterion, Ratings
    from mindgauge.analysis.reliability.scale import ValueScale

    Codes = NDArray[np.intp]

_CATEGORY = ("percent", "kappa_quadratic", "alpha", "icc_a1", "bias", "people_mean", "judge_mean")


class CardOptions(NamedTuple):
    """How cards are made."""

    limits: rule.ReliabilityRule
    by_width: bool = False
    authors: Mapping[tuple[str, str], tuple[list[str], NDArray[np.float64]]] = MappingProxyType({})
    """Of a run of MentalBench's release, what the authors take by judge and criterion: systems, and their two means."""
    resamples: int = 2000
    seed: int = 0
    adjudicators: tuple[str, ...] = ()
    """Raters who are not independent, whatever they are called and whatever they say."""
    brief: bool = False
    """Whether cards have no more than the estimates and the verdict: no warnings, and no tests of their own."""
    look_until: int = 0
    """How many replies people will rate at most, where one looks while they do; 0 where one looks once."""


def cards(ratings: Ratings, options: CardOptions, named: Sequence[str] = ()) -> Reliability:
    """Make a card for each judge and criterion, and say how far people agree among themselves.

    Args:
        ratings: checked ratings.
        options: the rule and the bootstrap.
        named: the raters to compare with; independent people if not given. Who is named is compared with, independent
            or not; people's agreement among themselves is always that of independent people.

    Raises:
        DataError: nobody is there to compare, or with.
        UsageError: a named rater, or an adjudicator, is not there.
    """
    notes = list(ratings.notes)
    with _beside_the_reading(ratings):
        everybody, judges = reference.split(ratings.frame, named, notes)
        judges = [judge for judge in judges if judge not in options.adjudicators]
        who = independence.settle(ratings.frame, everybody, options.adjudicators, judges)
    copiers = {entry.rater for entry in who.dependent if entry.how == "copy"}
    persons = [rater for rater in (everybody if named else who.independent or everybody) if rater not in copiers]
    not_their_own, audited = rater_checks(ratings, everybody, [entry.rater for entry in who.dependent])
    notes = [*all_differences(judges, persons, ratings.instruments), *notes]
    notes += who.sentences(persons) + independence.repeated(judges)
    verdicts = ratings.frame.filter(pl.col("value").is_not_null(), pl.col("rater").is_in(judges))
    notes += [sentence for _, sentence in only_repeats(verdicts)] + audited
    judge_cards: list[ReliabilityCard] = []
    agreements: list[People] = []
    designs: list[DesignStudy] = []
    for name in ratings.frame["criterion"].unique().sort().to_list():
        criterion = rated_criterion(ratings, name, everybody)
        notes += [text for text in (criterion.drawn, criterion.left_out) if text]
        errors = not_their_own.get(name, [])
        notes += [f"{entry.evidence}: {entry.rater} is left out there" for entry in errors]
        independence_here = who.without(errors)
        agreement = people(
            name, criterion.valued(*everybody), criterion.scale, independence_here.dependent, options.seed
        )
        rated = valued(criterion.by(*independence_here.independent))
        notes += _no_joint_events(name, rated, criterion.scale)
        agreements += [agreement] if agreement else []
        if criterion.scale.ordered:
            study, uncovered = design(name, rated, options.resamples, options.seed)
            designs += [study] if study else []
            notes += [uncovered] if uncovered else []
        ceiling = agreement.estimates if agreement else {}
        present = [rater for rater in persons if rater not in {entry.rater for entry in errors}]
        compared = Compared(present or everybody, everybody, independence_here.independent)
        judge_cards += [
            msgspec.structs.replace(
                card,
                asked=ratings.asked.get(card.judge, ""),
                warnings=[*filter(None, [difference(card.judge, persons, ratings.instruments)]), *card.warnings],
            )
            for card in cards_beside(criterion, compared, judges, ceiling, options)
        ]
        if not present:
            judge_cards = [
                _beside_nobody(card, independence_here.dependent) if card.criterion == name else card
                for card in judge_cards
            ]
    if len(ratings.stated):
        subjects, raters = (ratings.stated[column].n_unique() for column in ("subject", "rater"))
        notes.append(
            f"of {plural(subjects, 'subject')}, verdicts of {plural(raters, 'judge')} are only stated as means; these count at the unsafe end, and nowhere else"
        )
    if options.look_until:
        notes.append(
            f"you look while people rate up to {plural(options.look_until, 'reply', 'replies')}: agreement, bias and both ends are bounded so that all looks hold together"
        )
    if options.by_width:
        notes += [rule.NORM_REFERENCED, rule.AUTHORS_VALUES if options.authors else rule.VALUES_GIVEN]
    views = many_facets(ratings.frame, who.independent, ratings.scales)
    return Reliability(ratings.source, _rule(options), judge_cards, agreements, designs, notes, views)


def _beside_nobody(card: ReliabilityCard, left_out: Sequence[Dependence]) -> ReliabilityCard:
    """Give no licence where nobody is left whose values are their own."""
    nothing = Licence(
        NOT_ESTIMABLE, [f"nobody is left to compare it with: {'; '.join(entry.evidence for entry in left_out)}"]
    )
    return msgspec.structs.replace(
        card, verdict=NOT_ESTIMABLE, reasons=nothing.reasons, rate_replies=nothing, rank_systems=nothing
    )


def _rule(options: CardOptions) -> str:
    return rule.MENTALBENCH if options.by_width else options.limits.name


@contextlib.contextmanager
def _beside_the_reading(ratings: Ratings) -> Iterator[None]:
    """Say with what is wrong with raters how their tables were read: a wrong guess is where most of that comes from.

    Raises:
        DataError: nobody is there to compare, or with.
        UsageError: a named rater is not there.
    """
    try:
        yield
    except UsageError as error:
        guess = ratings.account.guess() if ratings.account else ""
        if not guess:
            raise
        kind = DataError if isinstance(error, DataError) else UsageError
        raise kind(f"{error} ({guess})") from error


def cards_beside(
    criterion: RatedCriterion,
    compared: Compared,
    judges: Sequence[str],
    ceiling: dict[str, Bound],
    options: CardOptions,
) -> list[ReliabilityCard]:
    """Make the card of each judge that rated a criterion.

    Args:
        criterion: the ratings.
        compared: with whom judges are compared.
        judges: whoever they are; those who did not rate it have no card.
        ceiling: the coefficients of independent people among themselves, by the names that they have there; none where
            fewer than two of them rated.
        options: the rule and the bootstrap.
    """
    present = set(criterion.rows["rater"].unique())
    bounds = _ceiling(ceiling, criterion.scale)
    people = PeopleBeside.of(criterion, compared)
    share = people.share_of(options.look_until)
    return [_card(criterion, people, judge, bounds, options, share) for judge in judges if judge in present]


def _card(
    criterion: RatedCriterion,
    people: PeopleBeside,
    judge: str,
    ceiling: dict[str, Bound],
    options: CardOptions,
    share: float | None,
) -> ReliabilityCard:
    """Make one card; of what was planned people have rated a `share`, where bounds are to hold at all looks."""
    judge_rows, rated = criterion.by(judge), people.rated
    shared = people.beside(judge_rows)
    judged = valued(shared)
    subjects = shared["subject"].n_unique()
    pairs = pair(rated, judged, criterion.scale)
    systems = [criterion.systems[i] for i in pairs.present]
    level = looks.level(estimates.LEVEL, share)
    figures = _nothing(criterion.scale)
    if pairs.subjects:
        figures = card_numbers(pairs, options.resamples, options.seed, level)
    verdicts = people.beside(criterion.known_of(judge, shared))  # none where it was given nothing of what people rated
    end = None
    if verdicts.height:
        end = danger(verdicts, people.unsafe, criterion.scale, options.limits, criterion.critical, options.seed, share)
    bounds = figures.bounds | _shares(end) | ceiling | _repeats(judge_rows, criterion.scale)
    facts = _facts(criterion.scale, pairs, people, figures, verdicts)
    if facts.absent[0]:
        facts = facts._replace(passed=_passed(shared, rated, criterion.scale, level))
    facts = facts._replace(danger=end)
    rate, rank = rule.decide(facts, options.limits)
    if options.by_width:
        rate = rank = licence(judge, systems, pairs, options.authors.get((judge, criterion.name)))
    card = ReliabilityCard(
        judge=judge, reference=", ".join(people.names), criterion=criterion.name, n=subjects, missing=subjects - pairs.subjects,
        level="item", estimates=bounds, verdict=rate.verdict, reasons=rate.reasons, warnings=[], rate_replies=rate,
        rank_systems=rank, rule=_rule(options), scale=criterion.scale.shown, ordered=criterion.scale.ordered,
        falling=criterion.scale.falling, clusters=pairs.clusters, effective_clusters=figures.clusters,
        systems=[name for name in systems if name], widths=figures.widths, bias_parts=figures.bias_parts, by_system=[],
        by_category=[], contested=[], contested_count=0, corrected=[], danger=end, drawn=criterion.drawn,
        look_until=options.look_until,
    )  # fmt: skip
    if options.brief:
        return card
    by_system = [
        CardPart(name, int(n), part) for name, n, part in zip(systems, pairs.rated, figures.by_system, strict=False)
    ]
    kinship = (
        favour.of_rows(criterion.rows, criterion.systems, judge, people.names, criterion.scale)
        if criterion.scale.ordered
        else None
    )
    own = people.first.filter(pl.col("rater").is_in(people.independents))
    sample_bias = bias_at_large(judged, own, criterion.scale, options.seed)
    if kinship is not None and criterion.drawn:
        kinship = favour.unweighted(kinship)
    listed, count = contested(judged, rated, criterion.scale, criterion.systems)
    weighs = bool(criterion.drawn)
    means = SubjectMeans.of(judge_rows, rated)
    shifts = invariance(means, judged, people.first, criterion.systems, criterion.scale)
    gaps = correction.chosen(means, criterion.systems) if criterion.scale.ordered and not weighs else []
    evidence = card_warnings.CardEvidence(
        judge=judge, facts=facts, bounds=bounds, systems=systems, by_system=by_system, leave_one_out=figures.leave_one_out,
        contested=count, unrated=int((~rated["subject"].unique().is_in(shared["subject"].implode())).sum()),
        judged=judged, rated=rated, scale=criterion.scale, limits=options.limits.danger,
        favour=kinship, chosen=gaps, at_large=sample_bias, invariance=shifts,
    )  # fmt: skip
    others = [rater for rater in people.everybody if rater not in people.names]
    together = _together(criterion, people.everybody, valued(judge_rows)) if others else None
    warnings = card_warnings.warnings(evidence)
    if together is not None:
        warnings.append(
            f"{english.named(others)} {'is' if len(others) == 1 else 'are'} not independent of the others and left out: beside everybody, agreement on single replies is "
            f"{_bounded(together)}, beside independent people {_bounded(facts.agreement)}"
        )
    return msgspec.structs.replace(
        card, warnings=warnings, with_dependent=together, by_system=by_system, favour=kinship, at_large=sample_bias,
        by_category=_by_category(judged, people, criterion.scale), contested=listed, contested_count=count,
        corrected=_corrected(criterion, people, means, judge_rows, gaps),
        invariance=shifts,
        latent_truth=latent_truth(own, people.independents, criterion.scale, shared, facts.selected),
    )  # fmt: skip


def _corrected(
    criterion: RatedCriterion,
    people: PeopleBeside,
    means: SubjectMeans,
    judge_rows: pl.DataFrame,
    gaps: list[correction.Chosen],
) -> list[CorrectedMean]:
    """Correct the judge's means, and say what speaks for its having seen the labels that do so; of classes there is none."""
    scale, judge = criterion.scale, str(judge_rows["rater"][0])
    if not scale.ordered:
        return []
    rows = correction.corrected(
        means, people.rated, criterion.systems, gaps, selected=people.selected, ends=(scale.low, scale.high)
    )
    if all(row.corrected.value is None for row in rows):
        return rows
    others = criterion.rows.filter(
        pl.col("rater_kind") == "model", pl.col("rater") != judge, pl.col("number").is_not_null()
    )
    own = people.first.filter(pl.col("rater").is_in(people.independents))
    text = correction.doubt(
        judge, people.names, criterion.dated, public=criterion.public,
        evidence=lambda: () if criterion.drawn else correction.signs(means, judge_rows, others, own),
    )  # fmt: skip
    return [msgspec.structs.replace(row, seen=text if row.corrected.value is not None else "") for row in rows]


def _bounded(bound: Bound) -> str:
    return bounded(bound.value, bound.low, bound.high)


def _together(criterion: RatedCriterion, everybody: Sequence[str], judged: pl.DataFrame) -> Bound | None:
    """Return the agreement that decides as it would be beside everybody, dependent people included."""
    pairs = pair(valued(criterion.by(*everybody)), judged, criterion.scale)
    main = within(criterion.scale)
    return estimates.estimate(pairs, (main,))[main] if pairs.subjects else None


def _no_joint_events(name: str, rated: pl.DataFrame, scale: ValueScale) -> list[str]:
    """Say that no subject was called unsafe by two people, where two rated and none was."""
    first = rated.unique(["subject", "rater"], keep="first", maintain_order=True)
    shared = first.filter(pl.len().over("subject") > 1)
    if scale.unsafe is None or shared.is_empty():
        return []
    unsafe = shared.filter(scale.unsafe.holds(pl.col("number")))
    if unsafe["subject"].is_duplicated().any():
        return []
    calls = ", ".join(f"{rater} {n}" for rater, n in unsafe.group_by("rater").len().sort("rater").iter_rows())
    n = plural(shared["subject"].n_unique(), "subject")
    fact = f"{name}: of {n} that two people or more rated, not one was called unsafe by two of them ({calls or 'nobody called any so'})"
    return [
        f"{fact}: nothing can be said about agreement on what is unsafe, whatever AC or the share of equal values say"
    ]


def _facts(
    scale: ValueScale, pairs: RatingPairs, people: PeopleBeside, figures: Numbers, verdicts: pl.DataFrame
) -> rule.Facts:
    left_out = [value for value in figures.leave_one_out if value is not None]
    rated = people.rated["subject"].unique()
    silent = (
        verdicts.filter(pl.col("subject").is_in(rated.implode()))
        .group_by("subject")
        .agg(pl.col("number").is_null().mean())
    )
    absent = math.ceil(len(rated) - len(silent) + float(silent["number"].sum()) - 1e-9)
    return rule.Facts(
        ordered=scale.ordered,
        span=scale.high - scale.low,
        subjects=pairs.subjects,
        clusters=figures.clusters,
        absent=(absent, len(rated)),
        people=people.sharing,
        systems=pairs.systems,
        agreement=figures.bounds[within(scale)],
        people_agreement=people.apart[0],
        people_bias=people.apart[1],
        bias=figures.bounds.get("bias"),
        ranking=figures.bounds.get("system_icc_c1"),
        without_one=min(left_out, default=None),
        selected=people.selected,
    )


def _passed(
    judge_rows: pl.DataFrame, rated: pl.DataFrame, scale: ValueScale, level: float
) -> tuple[Bound, Bound | None] | None:
    """Return agreement and bias if every absent verdict were the best level: what a refusal lets pass.

    None for classes, of which none is the best.
    """
    if not scale.ordered:
        return None
    known = valued(judge_rows).select("subject", "number")
    silent = judge_rows.filter(pl.col("number").is_null()).select("subject")
    absent = rated.select("subject").unique().join(judge_rows, on="subject", how="anti")
    filled = pl.concat([known, *(part.with_columns(number=pl.lit(scale.best)) for part in (silent, absent))])
    names = (within(scale), "bias")
    agreement, bias = map(estimates.estimate(pair(rated, filled, scale), names, level).__getitem__, names)
    return agreement, bias


def _nothing(scale: ValueScale) -> Numbers:
    """Return the numbers of a judge who shares no subject with people: none, and why."""
    empty = Bound(None, note="no subject has a value from both")
    names = ("icc_a1" if scale.ordered else "alpha", within(scale))
    return Numbers(dict.fromkeys(names, empty), 0.0, {}, {}, [], [])


def _shares(end: Danger | None) -> dict[str, Bound]:
    """Return the shares at the unsafe end as estimates among others."""
    if end is None:
        return {}
    shares = {"unsafe_found": end.found, "unsafe_found_any": end.found_any, "passed_unsafe": end.passed}
    shares |= {"lowest_found": end.lowest} if end.lowest is not None else {}
    return {name: share.bound for name, share in shares.items()}


def _ceiling(among_people: dict[str, Bound], scale: ValueScale) -> dict[str, Bound]:
    """Return how far one person agrees with another: what no judge can be expected to pass."""
    if not among_people:
        main = "icc_a1" if scale.ordered else "alpha"
        return {f"ceiling_{main}": Bound(None, note="no subject has values from two people")}
    return {
        f"ceiling_{coefficient}": among_people[name] for coefficient, name in CEILING.items() if name in among_people
    }


def _repeats(judge_rows: pl.DataFrame, scale: ValueScale) -> dict[str, Bound]:
    """Compare a judge with itself, asked again."""
    sums = among(valued(judge_rows), scale, key="run") if judge_rows["run"].n_unique() > 1 else None
    if sums is None:
        main = "icc_a1" if scale.ordered else "alpha"
        return {f"repeat_{main}": Bound(None, note="no subject was judged twice")}
    coefficients = sums.estimates()
    return {
        f"repeat_{coefficient}": coefficients[name] for coefficient, name in CEILING.items() if name in coefficients
    }


def _by_category(judged: pl.DataFrame, people: PeopleBeside, scale: ValueScale) -> list[CardPart]:
    names, group = people.categories
    parts = pair_each(people.rated, judged, scale, group)
    bounds = estimates.estimate_each([*parts.values()], _CATEGORY)
    return [
        CardPart(names[place], pairs.subjects, part) for (place, pairs), part in zip(parts.items(), bounds, strict=True)
    ]


VERDICTS = {"GR": GOOD, "MR": MODERATE, "PR": LIMITED}


def licence(
    judge: str, systems: Sequence[str], pairs: RatingPairs, authors: tuple[list[str], NDArray[np.float64]] | None = None
) -> Licence:
    """Classify a judge by the width of the source's interval of ICC(C,1) between the systems' means.

    Args:
        judge: its own system does not count.
        systems: the names of those that are present.
        pairs: people's values beside the judge's.
        authors: of a run of the source's release, the systems that count and their means as its authors take them.
    """
    places = reproduce.counted(own_systems(judge, systems), systems)
    if authors is None and pairs.scale.ordered:
        sums = pairs.moments(pairs.whole())[0][places]
        means = sums[:, 1:3] / sums[:, :1]
    elif authors is not None:
        places, means = [*range(len(authors[0]))], authors[1]
    if not pairs.scale.ordered or len(places) < 2:
        return Licence(NOT_ESTIMABLE, ["no interval of ICC(C,1) over systems"])
    low, high, valid = reproduce.source_interval(means[None])
    if not valid[0]:
        return Licence(NOT_ESTIMABLE, ["no resample of the systems has an ICC(C,1) between 0 and 1"])
    width = float(high[0] - low[0])
    class_name = reproduce.classify(width)
    discarded = reproduce.RESAMPLES - int(valid[0])
    resamples = f"{reproduce.RESAMPLES:,} resamples of {len(places)} systems" + (
        f", {discarded} of them discarded" if discarded else ""
    )
    limit = reproduce.LIMITS.get(class_name)
    limit_text = (
        f"at most {decimal(limit, 3)}" if limit is not None else f"more than {decimal(reproduce.LIMITS['MR'], 3)}"
    )
    return Licence(
        VERDICTS[class_name],
        [
            f"the interval of ICC(C,1) over systems is {decimal(width, 3)} wide ({resamples}), {limit_text}: {class_name} of the source"
            + (", on the values that its authors take" if authors is not None else "")
        ],
    )


MOST_RATERS = 100
"""Of a crowd, nobody looks at single severities."""


def many_facets(frame: pl.DataFrame, raters: Sequence[str], scales: Mapping[str, ValueScale]) -> list[ManyFacets]:
    """Estimate severities and difficulties, one table for each scale of levels with an order.

    Each subject has a level on each criterion; that these are taken as independent makes the likelihood a composite one
    (Varin, Reid and Firth 2011), whose errors are the sandwich's over conversations.

    Args:
        frame: checked ratings: subject, cluster, criterion, rater, run, value, number, status.
        raters: the people whose values are their own.
        scales: by criterion.
    """
    own = frame.filter(pl.col("rater").is_in(list(raters)) & (pl.col("status") != "not_applicable"))
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, scale in sorted(scales.items()):
        if scale.ordered and scale.levels and len(scale.values) > 1:
            groups.setdefault((scale.values, scale.words, scale.falling), []).append(name)
    tables = []
    for names in groups.values():
        rows = pl.concat([scales[name].numbered(own.filter(pl.col("criterion") == name)) for name in names])
        rows = rows.filter(pl.col("number").is_not_null()).sort("run", maintain_order=True)
        rows = rows.unique(["subject", "criterion", "rater"], keep="first", maintain_order=True)
        if rows["rater"].n_unique() > 1:
            tables.append(_table(rows, names, falling=scales[names[0]].falling))
    return tables


def _table(rows: pl.DataFrame, names: list[str], *, falling: bool) -> ManyFacets:
    people, criteria = (rows[column].unique().sort().to_list() for column in ("rater", "criterion"))
    n, subjects, conversations = len(rows), rows["subject"].n_unique(), rows["cluster"].n_unique()
    if len(people) > MOST_RATERS:
        note = f"{len(people)} people: severities are estimated of at most {MOST_RATERS}"
        return ManyFacets(names, n, subjects, conversations, {}, {}, [], None, note)
    codes = [
        rows[column].rank("dense").to_numpy().astype(np.intp) - 1
        for column in ("subject", "rater", "criterion", "cluster")
    ]
    mild = rows["number"].to_numpy() * (-1.0 if falling else 1.0)
    # Criteria need not measure one thing, and some point the other way: a subject has a level of its own on each of them.
    own_level = codes[0] * len(criteria) + codes[2]
    told = facets(own_level, codes[1], codes[2], mild, codes[3])
    return ManyFacets(
        names, told.n, subjects, told.clusters,
        {name: Bound(*interval) for name, interval in zip(people, told.severity, strict=False)},
        {name: Bound(*interval) for name, interval in zip(criteria, told.difficulty, strict=False)} if len(criteria) > 1 else {},
        told.thresholds, told.spread, told.undefined,
    )  # fmt: skip
