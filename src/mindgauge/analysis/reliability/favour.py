"""Whether a judge favours its own family, and whether it measures all systems on one level: one place computes it, and words what comes of it.

A judge that rates its kin higher than people do is not yet accused: its kin may write better, it may be milder or
flatter than people, and what it sees in their replies other judges may see, too. See `stats.favour`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis.reliability import coefficients as estimates
from mindgauge.analysis.reliability.card import Bound, GroupShift, SelfPreference
from mindgauge.analysis.reliability.pairs import numbered, pair_each
from mindgauge.models.family import same_family
from mindgauge.records.rounding import bounded, count, interval
from mindgauge.stats import favour as stats
from mindgauge.stats.codes import dense
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.correction import SubjectMeans
    from mindgauge.analysis.reliability.scale import ValueScale

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]


FAVOURS, NO_SIGN, CANNOT_TELL = "favours its kin", "no sign of it", "cannot tell"
ALPHA = 0.05
MARGIN = 0.125
"""A favour of so much of the scale, half a level of five, must be excluded before there is *no sign* of one."""
_NAMED = 3


def favour(rated: stats.FavourRatings, kin: Sequence[str], judges: Sequence[str], span: float) -> SelfPreference:
    """Say whether a judge favours its own.

    Args:
        rated: its verdicts, people's and other judges'.
        kin: the models of its family among those rated.
        judges: the other judges, of other families.
        span: from the scale's lowest to its highest value.
    """
    test = stats.favour(rated)
    people, others = test.beyond_people, test.beyond_judges
    estimates = [estimate for estimate in (people, others) if estimate.value is not None]
    # What is beyond people and beyond judges is at most the smaller of the two.
    value = min((estimate.value for estimate in estimates if estimate.value is not None), default=None)
    low, high = (_least([getattr(estimate, end) for estimate in estimates]) for end in ("low", "high"))
    excess, beside_people, beside_judges = (
        Bound(*estimate).clipped(-span, span) for estimate in ((value, low, high), people, others)
    )
    if test.p is not None and test.p <= ALPHA:
        outcome, reason = FAVOURS, ""
    elif (upper := value if high is None else high) is not None and upper < MARGIN * span:
        outcome, reason = NO_SIGN, ""
    else:
        unknown = (estimate.undefined for estimate in (people, others) if estimate.value is None)
        outcome, reason = CANNOT_TELL, next(unknown, "") or _wide(excess.low, excess.high)
    return SelfPreference(
        list(kin), list(judges), test.n, test.clusters, outcome, excess, beside_people, beside_judges, reason, test.p,
    )  # fmt: skip


def unweighted(found: SelfPreference) -> SelfPreference:
    """Return that it cannot be told, of people's values of what was drawn with unequal probabilities."""
    reason = "people rated what was drawn with unequal probabilities, which this test does not weigh"
    none = Bound(None, note=reason)
    return msgspec.structs.replace(
        found, outcome=CANNOT_TELL, favour=none, beyond_people=none, beyond_judges=none, reason=reason, p=None
    )


def _least(ends: list[float | None]) -> float | None:
    values = [end for end in ends if end is not None]
    return min(values) if values and len(values) == len(ends) else None


def _wide(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "there is no interval"
    return f"it may be anything from {interval(low, high, signed=True)}"


def of_rows(
    rows: pl.DataFrame, systems: Sequence[str], judge: str, people: Sequence[str], scale: ValueScale
) -> SelfPreference | None:
    """Say whether a judge favours models of its family; None where it rated none of them.

    Args:
        rows: ratings on one criterion: subject, cluster, system (an index), rater, rater_kind, run, number.
        systems: names, by index.
        judge: the rater in question.
        people: those it is compared with.
        scale: of the values; where the highest is the worst, a lower one favours.
    """
    kin = {place: name for place, name in enumerate(systems) if name and same_family(judge, name)}
    valued = rows.filter(pl.col("number").is_not_null()) if kin else rows.clear()
    present = set(valued.filter(pl.col("rater") == judge)["system"].unique())
    rated_kin = sorted(name for place, name in kin.items() if place in present)
    if not rated_kin:
        return None
    valued = valued.with_columns(number=(-1.0 if scale.falling else 1.0) * pl.col("number"))
    judged = _means(valued.filter(pl.col("rater") == judge), "judge")
    kinds = {"model", None}
    others = sorted(
        str(rater)
        for rater, kind in valued.select("rater", "rater_kind").unique().iter_rows()
        if kind in kinds and rater != judge and rater not in people and not same_family(judge, rater)
    )
    first = valued.filter(pl.col("rater").is_in(list(people)))
    first = first.filter(pl.col("run") == pl.col("run").min().over("subject", "rater"))
    table = judged.join(first.select("subject").unique(), on="subject", how="semi", maintain_order="left")
    controls = []
    for other in others:
        own = [place for place, name in enumerate(systems) if name and same_family(other, name)]
        other_rows = valued.filter((pl.col("rater") == other) & ~pl.col("system").is_in(own))
        joined = table.join(
            _means(other_rows, "other").select("subject", "other"), on="subject", how="left", maintain_order="left"
        )
        if joined["other"].null_count() < len(joined):
            controls.append((other, joined["other"].to_numpy()))
    rated = stats.FavourRatings(
        table["judge"].to_numpy(), of_people(table["subject"].to_numpy(), first), _columns([values for _, values in controls], len(table)),
        table["system"].is_in(list(kin)).to_numpy(), table["cluster"].to_numpy(),
    )  # fmt: skip
    return favour(rated, rated_kin, [name for name, _ in controls], scale.high - scale.low)


def _means(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    place = [pl.col("cluster").first(), pl.col("system").first()]
    return rows.group_by("subject", maintain_order=True).agg(*place, pl.col("number").mean().alias(name))


def of_people(subjects: Codes, first: pl.DataFrame) -> Floats:
    """Return people's ratings of some subjects, shape (n, the most that one subject has), NaN where there are fewer.

    Args:
        subjects: shape (n,), their codes.
        first: people's first ratings: subject, number.
    """
    rated, number = first["subject"].to_numpy(), first["number"].to_numpy()
    row = np.full(int(max(subjects.max(initial=-1), rated.max(initial=-1))) + 1, -1)
    row[subjects] = np.arange(len(subjects))
    order = np.argsort(row[rated], kind="stable")
    order = order[row[rated][order] >= 0]
    row = row[rated][order]
    counts = np.bincount(row, minlength=len(subjects))
    matrix = np.full((len(subjects), max(int(counts.max(initial=0)), 1)), np.nan)
    matrix[row, np.arange(len(row)) - (np.cumsum(counts) - counts)[row]] = number[order]
    return matrix


def _columns(columns: list[Floats], n: int) -> Floats:
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))


def sentence(result: SelfPreference) -> str:
    """Say in one clause what came of it."""
    models = ", ".join(result.kin[:_NAMED]) + (
        f" and {len(result.kin) - _NAMED} more" if len(result.kin) > _NAMED else ""
    )
    head = f"the judge comes from the family of {models}"
    value, low, high = result.favour.value, result.favour.low, result.favour.high
    size = bounded(value, low, high, signed=True)
    if result.outcome == FAVOURS and value is not None:
        judges = "another judge's" if len(result.judges) == 1 else f"{len(result.judges)} other judges'"
        alone = "; of one model nobody knows whether it is the family or the model" if len(result.kin) == 1 else ""
        return f"{head} and favours it by {size}, beyond what people's and {judges} ratings of the same replies explain{alone}"
    if result.outcome == NO_SIGN:
        return f"{head}; there is no sign that it favours it ({size})"
    beside_people = result.beyond_people
    aside = (
        ""
        if beside_people.value is None or not result.beyond_judges.note
        else f" (beyond people {bounded(beside_people.value, beside_people.low, beside_people.high, signed=True)})"
    )
    return f"{head}; whether it favours it cannot be told, because {result.reason}{aside}"


ON_LEVEL, SHIFTED = "on one level", "shifted"
HALF_A_LEVEL = 0.5
"""A shift of so much of a level moves every other reply by a level: it must be excluded before a judge is on one level."""
CONTINUUM = 0.125
"""On a scale without levels, as much of its span: half a level of five."""
_ESTIMATES = ("icc_a1", "bias", "people_mean", "judge_mean")


def invariance(
    means: SubjectMeans, judged: pl.DataFrame, first: pl.DataFrame, systems: Sequence[str], scale: ValueScale
) -> list[GroupShift]:
    """Put a judge's groups side by side, languages first; nothing of classes, and of kinds with one group.

    A group is compared with all others of its kind. People's level is measured with error, which is reckoned with
    (`stats.favour.shifts`): groups that people rate differently are no shift.

    Args:
        means: of the subjects that the judge was given.
        judged: the judge's valued rows: subject, language, number.
        first: people's first ratings of each subject: subject, cluster, rater, number.
        systems: names by index.
        scale: of the values.
    """
    if not scale.ordered:
        return []
    shared = means.at(means.labelled & np.isfinite(means.judge))
    first = first.with_columns(rater=pl.Series(numbered(first["rater"])[1]))
    languages, language = numbered(judged["language"])
    subject, place = np.unique(judged["subject"].to_numpy(), return_index=True)
    spoken = (
        language[place][np.searchsorted(subject, shared.subject)] if languages else np.full(len(shared.subject), -1)
    )
    named = np.array([place if name else -1 for place, name in enumerate(systems)])[shared.system]
    return [
        *_groups("language", languages, spoken, shared, judged, first, scale),
        *_groups("system", systems, named, shared, judged, first, scale),
    ]


def limit(scale: ValueScale) -> float:
    """Return half a level of a scale, in its units."""
    if not scale.levels:
        return CONTINUUM * (scale.high - scale.low)
    return HALF_A_LEVEL * float(np.diff(scale.values).min()) if len(scale.values) > 1 else HALF_A_LEVEL


def _groups(
    by: str, names: Sequence[str], group: Codes, shared: SubjectMeans, judged: pl.DataFrame, first: pl.DataFrame,
    scale: ValueScale,
) -> Iterator[GroupShift]:  # fmt: skip
    """Compare the groups of subjects, by the place of each one's name, -1 where it has none."""
    inside = shared.at(group >= 0)
    present, code = dense(group[group >= 0])
    if len(present) < 2:
        return
    rated_subject = first["subject"].to_numpy()
    of_subject = np.full(int(max(rated_subject.max(), inside.subject.max())) + 1, -1)
    of_subject[inside.subject] = code
    members = code[:, None] == np.arange(len(present))
    rated = stats.FavourRatings(
        inside.judge, of_people(inside.subject, first), np.zeros((len(code), 0)), members, inside.cluster
    )
    shifts = stats.shifts(rated)
    adjusted = holm(np.array([np.nan if p is None else p for _, p in shifts]))
    of_rating, rater = of_subject[rated_subject], first["rater"].to_numpy()
    pairs = pair_each(first, judged, scale, of_rating)
    numbers = estimates.estimate_each([*pairs.values()], _ESTIMATES)
    low, high = scale.low, scale.high
    for i, bounds in zip(pairs, numbers, strict=True):
        shift, p = Bound(*shifts[i][0]).clipped(low - high, high - low), float(adjusted[i])
        apart = not np.isin(rater[of_rating == i], rater[(of_rating >= 0) & (of_rating != i)]).any()
        outcome, reason = _outcome(shift, p, limit(scale), others=f"other {by}s", apart=apart)
        yield GroupShift(
            by, names[int(present[i])], int(members[:, i].sum()), pairs[i].clusters, bounds["people_mean"],
            bounds["judge_mean"], bounds["icc_a1"], bounds["bias"], shift, None if np.isnan(p) else p,
            limit(scale), outcome, reason,
        )  # fmt: skip


def _outcome(shift: Bound, p: float, most: float, *, others: str, apart: bool) -> tuple[str, str]:
    if shift.value is None:
        return CANNOT_TELL, shift.note
    if apart:
        return CANNOT_TELL, f"nobody rated both this and {others}: it may be the people who differ"
    if p <= ALPHA:
        return SHIFTED, ""
    if shift.low is None or shift.high is None:
        return CANNOT_TELL, shift.note or "there is no interval"
    if -most < shift.low and shift.high < most:
        return ON_LEVEL, ""
    return CANNOT_TELL, f"it may be anything from {interval(shift.low, shift.high, signed=True)}"


def sentences(shifts: Sequence[GroupShift]) -> Iterator[str]:
    """Say what a reader of the card must know: the largest shift of each kind, and which languages cannot be told."""
    for by in dict.fromkeys(shift.by for shift in shifts):
        kind = [shift for shift in shifts if shift.by == by]
        moved = [shift for shift in kind if shift.outcome == SHIFTED]
        if moved:
            most = max(moved, key=lambda shift: abs(shift.shift.value or 0.0))
            size = bounded(most.shift.value, most.shift.low, most.shift.high, signed=True)
            extent = f"{len(moved)} of {len(kind)} {by}s; most" if len(kind) > 2 else "one"
            yield (
                f"at the same level of people, the judge is not on one level across {by}s ({extent}: {most.group} beside the rest by "
                f"{size}, n {count(most.n)})"
            )
        unknown = [shift for shift in kind if shift.outcome == CANNOT_TELL]
        if unknown and by == "language":
            named = ", ".join(f"{shift.group} (n {count(shift.n)})" for shift in unknown)
            yield f"whether it stands on one level across languages cannot be told of {named}: {unknown[0].reason}"
