"""From checked ratings to reliability cards: each judge beside people, criterion by criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis.reliability import correction, estimates, favour, fragility, reference, rule
from mindgauge.analysis.reliability.card import Bound, Card, Design, Part, Reliability
from mindgauge.analysis.reliability.contested import contested
from mindgauge.analysis.reliability.design import design
from mindgauge.analysis.reliability.numbers import Numbers, numbers
from mindgauge.analysis.reliability.pairs import Pairs, among, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.ratings import Ratings
    from mindgauge.analysis.reliability.scale import Scale

_ITSELF = ("percent", "kappa", "kappa_quadratic", "alpha", "ac", "icc_a1", "within_1")
"""What is shown of people among themselves, and of a judge with itself."""
_CATEGORY = ("percent", "kappa_quadratic", "alpha", "icc_a1", "bias", "people_mean", "judge_mean")


class Options(NamedTuple):
    """How cards are made."""

    limits: rule.Rule
    by_width: bool = False
    resamples: int = 2000
    seed: int = 0


class Criterion(NamedTuple):
    """The ratings on one criterion: `subject`, `cluster` and `system` are indices, `name` is the subject's own."""

    name: str
    scale: Scale
    rows: pl.DataFrame
    systems: list[str]

    def by(self, *raters: str) -> pl.DataFrame:
        """Return what was given to some raters, missing verdicts included."""
        return self.rows.filter(pl.col("rater").is_in(raters))


def cards(ratings: Ratings, options: Options, named: Sequence[str] = ()) -> Reliability:
    """Make a card for each judge and criterion.

    Args:
        ratings: checked ratings.
        options: the rule and the bootstrap.
        named: the raters to compare with; people if not given.

    Raises:
        DataError: nobody is there to compare, or with.
        UsageError: a named rater is not there.
    """
    notes = list(ratings.notes)
    people, judges = reference.split(ratings.frame, named, notes)
    found: list[Card] = []
    designs: list[Design] = []
    for name in ratings.frame["criterion"].unique().sort().to_list():
        criterion = _criterion(ratings, name)
        rated = _valued(criterion.by(*people))
        ceiling = _ceiling(rated, criterion.scale, options)
        if criterion.scale.ordered:
            study, uncovered = design(name, rated, options.resamples, options.seed)
            designs += [study] if study else []
            notes += [uncovered] if uncovered else []
        there = set(criterion.rows["rater"].unique())
        found += [_card(criterion, people, judge, ceiling, options) for judge in judges if judge in there]
    if options.by_width:
        notes.append(rule.NORM_REFERENCED)
    return Reliability(ratings.source, _rule(options), found, designs, notes)


def _rule(options: Options) -> str:
    return rule.MENTALBENCH if options.by_width else options.limits.name


def _criterion(ratings: Ratings, name: str) -> Criterion:
    scale = ratings.scales[name]
    rows = ratings.frame.filter((pl.col("criterion") == name) & (pl.col("status") != "not_applicable"))
    if scale.words:
        places = {word: float(i) for i, word in enumerate(scale.words)}
        rows = rows.with_columns(number=pl.col("value").replace_strict(places, default=None, return_dtype=pl.Float64))
    blank = {column: pl.col(column).fill_null("") for column in ("cluster", "system")}
    rows = rows.with_columns(name=pl.col("subject"), **blank)
    systems = rows["system"].unique().sort().to_list()
    index = [pl.col(column).rank("dense").cast(pl.Int64) - 1 for column in ("subject", "cluster", "system")]
    return Criterion(name, scale, rows.with_columns(index), systems)


def _valued(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("number").is_not_null())


def _card(criterion: Criterion, people: Sequence[str], judge: str, ceiling: dict[str, Bound], options: Options) -> Card:
    asked, theirs = criterion.by(judge), criterion.by(*people)
    judged, rated = _valued(asked), _valued(theirs)
    given = asked.join(theirs, on="subject", how="semi")["subject"].n_unique()
    pairs = pair(rated, judged, criterion.scale)
    systems = [criterion.systems[i] for i in pairs.present]
    found = numbers(pairs, options.resamples, options.seed) if pairs.subjects else _nothing(criterion.scale)
    found.bounds.update(ceiling | _repeats(judged, criterion.scale, options))
    by_system = [
        Part(name, _subjects(judged.filter(pl.col("system") == i), rated), part)
        for i, name, part in zip(pairs.present, systems, found.by_system, strict=False)
    ]
    facts = _facts(criterion.scale, pairs, given, theirs, found)
    rate, rank = rule.decide(facts, options.limits)
    if options.by_width:
        width = found.widths.get(estimates.SYSTEMS, {}).get("system_icc_c1")
        rate = rank = rule.by_width(width, found.bounds)
    kinship = (
        favour.of_rows(criterion.rows, criterion.systems, judge, people, criterion.scale.high - criterion.scale.low)
        if criterion.scale.ordered
        else None
    )
    listed, count = contested(judged, rated, criterion.scale, criterion.systems)
    seen = fragility.Seen(
        judge=judge, facts=facts, bounds=found.bounds, systems=systems, by_system=by_system, without=found.without,
        contested=count, unrated=rated.join(asked, on="subject", how="anti")["subject"].n_unique(),
        judged=judged, rated=rated, scale=criterion.scale, names=criterion.systems, favour=kinship,
    )  # fmt: skip
    return Card(
        judge=judge, reference=", ".join(people), criterion=criterion.name, n=given, missing=given - pairs.subjects,
        level="item", estimates=found.bounds, verdict=rate.verdict, reasons=rate.reasons,
        warnings=fragility.warnings(seen), rate_replies=rate, rank_systems=rank, rule=_rule(options),
        scale=criterion.scale.shown, ordered=criterion.scale.ordered, clusters=pairs.clusters,
        systems=[name for name in systems if name], widths=found.widths, bias_parts=found.bias_parts,
        by_system=by_system, by_category=_by_category(judged, rated, criterion.scale, options),
        contested=listed, contested_count=count,
        corrected=correction.corrected(asked, rated, criterion, selected=facts.selected), favour=kinship,
    )  # fmt: skip


def _facts(scale: Scale, pairs: Pairs, given: int, theirs: pl.DataFrame, found: Numbers) -> rule.Facts:
    without = [value for value in found.without if value is not None]
    return rule.Facts(
        ordered=scale.ordered,
        span=scale.high - scale.low,
        subjects=pairs.subjects,
        clusters=pairs.clusters,
        missing_share=1 - pairs.subjects / given if given else 0.0,
        systems=pairs.systems,
        agreement=found.bounds["icc_a1" if scale.ordered else "alpha"],
        bias=found.bounds.get("bias"),
        ranking=found.bounds.get("system_icc_c1"),
        without_one=min(without, default=None),
        selected="; ".join(sorted(theirs["selection"].drop_nulls().unique().to_list())),
    )


def _nothing(scale: Scale) -> Numbers:
    """Return the numbers of a judge who shares no subject with people: none, and why."""
    empty = Bound(None, note="no subject has a value from both")
    return Numbers({"icc_a1" if scale.ordered else "alpha": empty}, {}, {}, [], [])


def _subjects(judged: pl.DataFrame, rated: pl.DataFrame) -> int:
    return judged.join(rated, on="subject", how="semi")["subject"].n_unique()


def _ceiling(rated: pl.DataFrame, scale: Scale, options: Options) -> dict[str, Bound]:
    """Compare people with each other: what no judge can be expected to pass."""
    first = rated.filter(pl.col("run") == pl.col("run").min().over("subject", "rater"))
    return _itself(first, scale, options, by="rater", prefix="ceiling_", why="no subject has values from two people")


def _repeats(judged: pl.DataFrame, scale: Scale, options: Options) -> dict[str, Bound]:
    """Compare a judge with itself, asked again."""
    return _itself(judged, scale, options, by="run", prefix="repeat_", why="no subject was judged twice")


def _itself(rows: pl.DataFrame, scale: Scale, options: Options, *, by: str, prefix: str, why: str) -> dict[str, Bound]:
    main = prefix + ("icc_a1" if scale.ordered else "alpha")
    pairs = among(rows, scale, by=by) if rows[by].n_unique() > 1 else None
    if pairs is None or not pairs.subjects:
        return {main: Bound(None, note=why)}
    found = estimates.estimate(pairs, options.resamples, options.seed)
    return {prefix + name: bound for name, bound in found.items() if name in _ITSELF}


def _by_category(judged: pl.DataFrame, rated: pl.DataFrame, scale: Scale, options: Options) -> list[Part]:
    parts = []
    for category in rated["category"].drop_nulls().unique().sort().to_list():
        pairs = pair(rated.filter(pl.col("category") == category), judged, scale)
        if pairs.subjects:
            found = estimates.estimate(pairs, options.resamples, options.seed)
            parts.append(Part(category, pairs.subjects, {name: b for name, b in found.items() if name in _CATEGORY}))
    return parts
