"""Checks of values (on the scale, of one type) and of raters: two that are one, a model among the people, verdicts given without looking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.audit.view import (
    ALIKE,
    ALPHA,
    SHARED,
    CheckResult,
    Severity,
    by_raters,
    check,
    counted,
    limited,
    places,
)
from mindgauge.models.family import same_family
from mindgauge.records.rounding import percent, plural
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.audit.view import RaterPair, View


LIKERT = ((1, 5), (1, 7))
"""Scales that are recognised without being named, by nearly all values."""
BULK = 0.99
"""This share of values must lie on a scale for the scale to be recognised."""
MOST_LEVELS = 20
"""A scale of more steps is a continuum."""
NUMERIC = 0.5
"""A criterion of which this share of values are numbers is meant to be numeric."""
_PLACEHOLDERS = r"^(?i:nan|none|null|n/?a|#n/a|-|–|\.|\?|missing|unknown|not available|nil|inf|-inf)?$"
_UNQUOTED = pl.col("value").str.strip_chars('" \t\r\n')


def scale(view: View, criterion: str) -> tuple[float, float] | None:
    """Return a criterion's declared scale, or a Likert scale on which nearly all of its values lie."""
    if criterion not in view.ends:
        view.ends[criterion] = view.scales.get(criterion) or _recognised(view, criterion)
    return view.ends[criterion]


def _recognised(view: View, criterion: str) -> tuple[float, float] | None:
    numbers = view.rated.filter(pl.col("criterion") == criterion)["number"].drop_nulls()
    if not len(numbers) or not (numbers == numbers.round()).all():
        return None
    for low, high in LIKERT:
        on_scale = numbers.filter(numbers.is_between(low, high))
        if len(on_scale) >= BULK * len(numbers) and on_scale.n_unique() == high - low + 1:
            return float(low), float(high)
    return None


def _scaled(view: View) -> pl.DataFrame:
    """Return the rated values with the ends of their criterion's scale as `low` and `high`, null where it has none."""
    scales = {name: ends_found for name in view.rated["criterion"].unique() if (ends_found := scale(view, name))}
    low, high = ({name: ends[side] for name, ends in scales.items()} for side in (0, 1))
    end = pl.col("criterion").replace_strict
    return view.rated.with_columns(
        low=end(low, default=None, return_dtype=pl.Float64), high=end(high, default=None, return_dtype=pl.Float64)
    )


@check(
    "out_of_scale",
    Severity.ERROR,
    "a mean takes these values as if they were levels; a 0 that stands for `none` pulls it down",
)
def out_of_scale(view: View) -> Iterator[CheckResult]:
    """Numbers below or above the criterion's scale."""
    rows = _scaled(view).filter((pl.col("number") < pl.col("low")) | (pl.col("number") > pl.col("high")))
    if rows.height:
        assumed = sorted(set(rows["criterion"]) - view.scales.keys())
        text = f"{plural(rows.height, 'value')} off the scale ({counted(rows, 'value')}) by {counted(rows, 'rater')}"
        if assumed:
            text += f"; the scale of {', '.join(assumed[:3])} was taken from the other values, say --scale to be sure"
        yield CheckResult(rows.height, text, places(rows), Severity.WARNING if assumed else None)


@check(
    "impossible_values",
    Severity.ERROR,
    "the rater could not give this value: it was computed, edited or read wrongly, and is no verdict",
)
def impossible_values(view: View) -> Iterator[CheckResult]:
    """Fractions where nearly all values are whole, and labels that are not among the options."""
    rows = view.rated.filter(pl.col("number").is_not_null())
    fraction = pl.col("number") != pl.col("number").round()
    keys = ["criterion", "rater"]
    odd = rows.filter(fraction & (fraction.mean().over(keys) < 1 - BULK + 0.04) & (pl.len().over(keys) >= 20))
    if odd.height:
        yield CheckResult(
            odd.height, f"{plural(odd.height, 'fraction')} among whole numbers, by {counted(odd, 'rater')}", places(odd)
        )
    for criterion, options in view.options.items():
        answers = view.rated.filter(pl.col("criterion") == criterion)
        unknown = answers.filter(~_UNQUOTED.is_in(list(options)))
        if unknown.height:
            yield CheckResult(unknown.height, f"{plural(unknown.height, 'value')} of {criterion} that are none of its options, by {counted(unknown, 'rater')}", places(unknown))  # fmt: skip


@check(
    "placeholder_values",
    Severity.ERROR,
    "a word for `nothing` passes as a verdict: it is counted as rated, or breaks the computation",
)
def placeholder_values(view: View) -> Iterator[CheckResult]:
    """Values such as nan, none or N/A with the status of a verdict."""
    options = [value for values in view.options.values() for value in values]
    rows = view.rated.filter(_UNQUOTED.str.contains(_PLACEHOLDERS))
    rows = rows.filter(~_UNQUOTED.is_in(options))
    if rows.height:
        yield CheckResult(rows.height, f"{plural(rows.height, 'value')} that say there is none, by {counted(rows, 'rater')}", places(rows))  # fmt: skip


@check(
    "mixed_types",
    Severity.WARNING,
    'a reader drops or misreads one of the kinds: 4, "4" and words are not compared as equals',
)
def mixed_types(view: View) -> Iterator[CheckResult]:
    """Numbers, numbers written as text, and words on one criterion by one rater."""
    value = pl.col("value")
    kind = (
        pl.when(value.str.strip_chars().str.contains(_PLACEHOLDERS)).then(None)
        .when(pl.col("number").is_null()).then(pl.lit("words"))
        .when(value.str.starts_with('"')).then(pl.lit("numbers as text"))
        .otherwise(pl.lit("numbers"))
    )  # fmt: skip
    keys = ["criterion", "rater"]
    rows = view.rated.with_columns(kind=kind).filter(pl.col("kind").is_not_null())
    rows = rows.filter(
        pl.col("kind").n_unique().over(keys) > 1, pl.col("number").is_not_null().mean().over(keys) >= NUMERIC
    )
    for (rater,), own in rows.group_by("rater", maintain_order=True):
        common = own.group_by("kind").len().sort("len", descending=True)["kind"][0]
        odd = own.filter(pl.col("kind") != common)
        yield CheckResult(odd.height, f"{rater}: {counted(own, 'kind')}", places(odd))


@check("stray_blanks", Severity.WARNING, "a label with a blank is another label to a computer: it agrees with nothing")
def stray_blanks(view: View) -> Iterator[CheckResult]:
    """Values with blanks at their ends, and values that differ in case only."""
    value = pl.col("value")
    rows = view.rated.filter(value.str.strip_chars() != value)
    if rows.height:
        yield CheckResult(rows.height, f"{plural(rows.height, 'value')} with blanks around them, by {counted(rows, 'rater')}", places(rows))  # fmt: skip
    words = view.rated.filter(pl.col("number").is_null()).with_columns(bare=value.str.strip_chars().str.to_lowercase())
    words = words.with_columns(exact=value.str.strip_chars())
    cased = words.filter(pl.col("exact").n_unique().over("criterion", "bare") > 1)
    common = pl.col("exact").mode().first().over("criterion", "bare")
    odd = cased.filter(pl.col("exact") != common)
    if odd.height:
        yield CheckResult(odd.height, f"{plural(odd.height, 'value')} written in another case than the rest ({counted(odd, 'value')})", places(odd))  # fmt: skip


@check(
    "unused_level",
    Severity.NOTE,
    "nobody can tell whether it never occurs or is never chosen; a weighted kappa or an ordinal alpha over the declared scale is not that over the levels in use",
)
def unused_level(view: View) -> Iterator[CheckResult]:
    """Levels of a declared scale, and options, that no rater of a kind ever gives."""
    kinds = view.opinions.with_columns(kind=pl.col("rater_kind").fill_null("rater"))
    for criterion in kinds["criterion"].unique().sort():
        declared = _levels(view, criterion)
        for (kind,), own in (
            kinds.filter(pl.col("criterion") == criterion).sort("kind").group_by("kind", maintain_order=True)
        ):
            value = pl.coalesce(pl.col("number").cast(pl.Int64, strict=False).cast(pl.String), _UNQUOTED)
            used = set(own.select(value).to_series())
            unused = [level for level in declared if level not in used]
            if unused and own.height >= SHARED:
                group = {"person": "people", "model": "models"}.get(str(kind), f"{kind}s")
                yield CheckResult(
                    len(unused),
                    f"{criterion}: {group} never give {', '.join(unused)} in {plural(own.height, 'rating')}",
                    [],
                )


def _levels(view: View, criterion: str) -> list[str]:
    """Return the levels of a declared scale of whole numbers, or the options; nothing where neither was declared."""
    if criterion in view.options:
        return list(view.options[criterion])
    low, high = view.scales.get(criterion, (0.0, -1.0))
    is_listed = float(low).is_integer() and float(high).is_integer() and high - low <= MOST_LEVELS
    return [str(level) for level in range(int(low), int(high) + 1)] if is_listed else []


STRAIGHT = 3
"""Criteria of which a vector of equal values must consist at least."""
TOP, TOP_MOST = 0.5, 0.8
"""Shares at the top level: the median cannot rise; nearly all are there."""


@check(
    "model_vote_in_human_labels",
    Severity.ERROR,
    "a model that is compared with these labels is compared with itself; people's agreement is overstated",
)
def model_vote_in_human_labels(view: View) -> Iterator[CheckResult]:
    """People (or gold labels) that agree with a model nearly always, and more than people do with each other."""
    kinds = dict(view.ratings.select("rater", "rater_kind").unique().drop_nulls().iter_rows())
    human = {rater for rater, kind in kinds.items() if kind in {"person", "gold"}}
    models = {rater for rater, kind in kinds.items() if kind == "model"}
    everyone = [pair for pair in view.pairs if pair.varied]
    for pair in everyone:
        inside = {pair.first, pair.second}
        if not (inside & human and inside & models) or pair.equal < ALIKE * pair.n:
            continue
        (person,), (model,) = inside & human, inside & models
        rest = [
            p.equal / p.n for p in everyone
            if p.criterion == pair.criterion and p is not pair and {p.first, p.second} & (human - {person})
        ]  # fmt: skip
        if _at_least(pair) <= max(rest, default=0.0):
            continue
        if not rest and (kinds[person] == "gold" or pair.equal < pair.n):
            continue  # with nobody to compare, a model may be right throughout
        context = f"; people agree among themselves and with models at most {percent(max(rest))}" if rest else ""
        rows = view.rated.filter(pl.col("rater") == person, pl.col("criterion") == pair.criterion)
        if kinds[person] == "person" and (changed := _decided(view, human - {person}, person, pair.criterion)):
            context += f"; it changes the people's most frequent value for {plural(changed, 'subject')}"
        yield CheckResult(pair.equal, f"{person} equals {model} on {pair.equal} of {pair.n} subjects ({pair.criterion}){context}", places(rows), raters=(person, model), criterion=pair.criterion)  # fmt: skip


def _at_least(pair: RaterPair) -> float:
    """Return the lower bound of how often two raters agree."""
    return clopper_pearson(pair.equal, pair.n, 1 - 2 * ALPHA).low or 0.0


def _decided(view: View, people: set[str], vote: str, criterion: str) -> int:
    """Count the subjects for which the people's one most frequent value changes with a vote; a tie is a value too."""
    rows = view.rated.filter(
        pl.col("criterion") == criterion, pl.col("rater_kind") == "person", pl.col("rater").is_in([*people, vote])
    )
    own = pl.col("rater") != vote
    modes = rows.group_by("subject").agg(without=pl.col("value").filter(own).mode(), with_it=pl.col("value").mode())
    single = [pl.when(pl.col(name).list.len() == 1).then(pl.col(name).list.first()) for name in ("without", "with_it")]
    return modes.filter(pl.col("without").list.len() > 0, single[0].ne_missing(single[1])).height


@check(
    "identical_raters",
    Severity.ERROR,
    "one opinion counts as two: agreement is perfect by construction, and means are weighted towards it",
)
def identical_raters(view: View) -> Iterator[CheckResult]:
    """Two raters of one kind with the same verdicts throughout."""
    kinds = dict(view.ratings.select("rater", "rater_kind").unique().drop_nulls().iter_rows())
    everyone = [pair for pair in view.pairs if pair.varied]
    right = {
        (pair.criterion, rater) for pair in everyone if pair.equal == pair.n and "gold" in {kinds.get(r) for r in pair[:2]}
        for rater in pair[:2]
    }  # fmt: skip
    closest: dict[str, float] = {}
    for pair in everyone:
        if pair.equal < pair.n:
            closest[pair.criterion] = max(closest.get(pair.criterion, 0.0), pair.equal / pair.n)
    for pair in everyone:
        same = pair.equal == pair.n and _at_least(pair) > closest.get(pair.criterion, 0.0)
        mixed = {kinds.get(pair.first), kinds.get(pair.second)} == {"person", "model"}  # a model's vote, told elsewhere
        if same and not mixed and (pair.criterion, pair.first) not in right:  # who is always right may be alike
            text = f"{pair.first} and {pair.second} agree on all of {pair.n} subjects ({pair.criterion})"
            yield CheckResult(pair.n, text, [], raters=pair[:2], criterion=pair.criterion)


@check(
    "straight_lining",
    Severity.WARNING,
    "the rater did not tell the criteria apart: they look correlated and reliable, and carry one number",
)
def straight_lining(view: View) -> Iterator[CheckResult]:
    """Subjects to which a rater gives one value on all criteria, more than others do; runs of one same vector."""
    vectors = _vectors(view)
    if not vectors.height:
        return
    ends = {ends_found[1] for name in view.rated["criterion"].unique() if (ends_found := scale(view, name))}
    beside = _beside_others(vectors)
    for (rater,), own in sorted(vectors.partition_by("rater", as_dict=True, maintain_order=True).items()):
        flat = own.filter("flat")
        facts = []
        if (excess := _above_others(beside[rater,])) is not None:
            facts.append(excess)
        top = max(ends) if ends else own["level"].max()
        not_top = flat.filter(pl.col("level") != top) if top is not None else flat
        if own.height >= SHARED and not_top.height >= own.height / 3:
            facts.append(
                f"{percent(not_top.height / own.height)} below the top level, where equal values are no ceiling"
            )
        if (run := longest_run(own)) is not None:
            facts.append(run)
        if facts:
            text = f"{rater}: the same value on all criteria for {flat.height:,} of {own.height:,} subjects ({percent(flat.height / own.height)}); {'; '.join(facts)}"
            yield CheckResult(flat.height, text, places(flat))


def _vectors(view: View) -> pl.DataFrame:
    """Return one row per subject, rater and run with a value on every criterion that the rater uses."""
    vectors = pl.concat(
        rows.with_columns(
            criteria=pl.col("criterion").n_unique().over("rater"), unit=pl.coalesce("cluster", "subject")
        ).sort("criterion").group_by("rater", "run", "subject").agg(
            pl.col("file", "unit", "system", "criteria").first(), pl.col("row").min(), level=pl.col("number").first(),
            flat=pl.col("number").n_unique() == 1, size=pl.col("criterion").n_unique(),
            vector=pl.col("number").cast(pl.String).str.join(","),
        )
        for rows in by_raters(view.scores)
    )  # fmt: skip
    return vectors.filter(pl.col("size") == pl.col("criteria"), pl.col("size") >= STRAIGHT).sort(
        "file", "row", "system", "subject", "run"
    )


def _beside_others(vectors: pl.DataFrame) -> dict[tuple[object, ...], pl.DataFrame]:
    """Return each rater's share of equal vectors, and the mean share of the others, on the conversations that both rated."""
    shares = vectors.group_by("rater", "unit").agg(pl.col("flat").cast(pl.Float64).mean())
    others = (pl.col("flat").sum() - pl.col("flat")) / (pl.len() - 1)
    both = shares.with_columns(other=pl.when(pl.len() > 1).then(others).over("unit"))
    return both.partition_by("rater", as_dict=True)


def _above_others(both: pl.DataFrame) -> str | None:
    """Tell by how much a rater's share of equal vectors exceeds that of the others on the same conversations."""
    both = both.drop_nulls("other")
    if both.height < SHARED:
        return None
    own_share, other_share = float(both["flat"].mean()), float(both["other"].mean())  # type: ignore[arg-type]
    difference = (both["flat"] - both["other"]).to_numpy()
    error = max(float(difference.std(ddof=1)) / np.sqrt(both.height), 0.5 / both.height)
    if (
        own_share - other_share >= 0.1 and own_share >= 2 * other_share and (own_share - other_share) / error > 4
    ):  # 4 standard errors: p < .0001
        return f"{percent(own_share)} where the other raters have {percent(other_share)}"
    return None


def longest_run(vectors: pl.DataFrame) -> str | None:
    """Tell the longest run of one same vector along the rows of a system, if chance makes such a run with p < ALPHA.

    The expected number of runs of length L or more is at most n Σ_v p_v^L (1 - p_v) + Σ_v p_v^L for independent rows
    with shares p_v (Feller 1968, XIII.7), which bounds the chance of any.
    """
    best = (0, "")
    expected_at = []
    for (_, _), own in vectors.group_by("system", "file", maintain_order=True):
        codes = own["vector"].rank("dense").to_numpy()
        starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
        lengths = np.diff(np.concatenate([starts, [len(codes)]]))
        longest = int(lengths.argmax())
        shares = np.bincount(codes.astype(np.intp)) / len(codes)
        expected_at.append((len(codes), shares))
        if lengths[longest] > best[0]:
            rows = own["row"][int(starts[longest])], own["row"][int(starts[longest] + lengths[longest] - 1)]
            best = int(lengths[longest]), f"{own['file'][0]}:{rows[0]} to {rows[1]}"
    length, place = best
    chance = sum(float((shares**length * (n * (1 - shares) + 1)).sum()) for n, shares in expected_at)
    return f"{length} times in a row one same vector, {place}" if length >= 5 and chance < ALPHA else None


@check(
    "constant_values",
    Severity.WARNING,
    "a rater who never varies says nothing about any subject: correlation and agreement are not defined",
)
def constant_values(view: View) -> Iterator[CheckResult]:
    """Raters with one same value for every subject of a criterion, where other raters vary."""
    per = view.opinions.group_by("rater", "criterion").agg(pl.col("value").n_unique(), n=pl.len())
    varied = pl.col("value").max().over("criterion") > 1
    rows = per.filter(pl.col("value") == 1, varied, pl.col("n") >= SHARED).sort("rater", "criterion")
    for rater, criterion, _, n in rows.iter_rows():
        yield CheckResult(n, f"{rater} gives one value to all of {n} subjects on {criterion}", [])


@check(
    "ceiling",
    Severity.NOTE,
    "the scale does not tell the better subjects apart: correlations and ICC are low for lack of spread, not of skill",
)
def ceiling(view: View) -> Iterator[CheckResult]:
    """Raters half of whose values or more are the top level."""
    rows = view.scores
    tops = {name: ends[1] for name in rows["criterion"].unique() if (ends := scale(view, name))}
    at_top = pl.col("number") >= pl.col("criterion").replace_strict(tops, default=None, return_dtype=pl.Float64)
    shares = rows.group_by("rater", "criterion").agg(top=at_top.mean(), n=pl.len()).filter(pl.col("n") >= SHARED)
    high = shares.filter(pl.col("top") >= TOP).sort("rater", "top", descending=[False, True])
    for (rater,), own in high.group_by("rater", maintain_order=True):
        facts = [f"{criterion}: {percent(top)} of {n:,}" for _, criterion, top, n in own.iter_rows()]
        worst = Severity.WARNING if float(own["top"].max()) >= TOP_MOST else None  # type: ignore[arg-type]
        yield CheckResult(own.height, f"{rater}: at the top level with half or more of the values on {plural(own.height, 'criterion', 'criteria')}", limited(facts), worst)  # fmt: skip


@check("judge_of_own_family", Severity.NOTE, "judges tend to favour their own kind: look at these systems apart")
def judge_of_own_family(view: View) -> Iterator[CheckResult]:
    """Models that rate systems of their own family."""
    rows = view.rated.filter(pl.col("rater_kind") == "model", pl.col("system").is_not_null())
    rows = rows.filter((pl.col("system") != pl.col("rater")).any().over("rater"))  # who only answers rates nobody
    counts = rows.group_by("rater", "system").len().sort("rater", "system")
    kin = [(rater, system, n) for rater, system, n in counts.iter_rows() if same_family(rater, system)]
    if kin:
        total = sum(n for _, _, n in kin)
        yield CheckResult(total, f"{plural(total, 'rating')} of a judge's own family", limited([f"{rater} on {system}: {n:,}" for rater, system, n in kin]))  # fmt: skip


@check(
    "one_person", Severity.NOTE, "how far people agree is unknown, so there is no ceiling against which to hold a judge"
)
def one_person(view: View) -> Iterator[CheckResult]:
    """Subjects that models rate and no more than one person."""
    people = view.rated.filter(pl.col("rater_kind") == "person")
    if not people.height or not (view.rated["rater_kind"] == "model").any():
        return
    raters_at_most = people.group_by("criterion", "subject").agg(pl.col("rater").n_unique())["rater"].max()
    if raters_at_most == 1:
        yield CheckResult(
            people["subject"].n_unique(), f"no subject is rated by two people; {counted(people, 'rater')} ratings", []
        )
