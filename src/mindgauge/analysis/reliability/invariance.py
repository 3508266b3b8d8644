"""Whether a judge stands on people's level across languages and systems: ordinal DIF with people's level as the yardstick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.reliability import coefficients as estimates
from mindgauge.analysis.reliability.card import Bound, GroupShift
from mindgauge.analysis.reliability.favour import of_people
from mindgauge.analysis.reliability.pairs import numbered, pair_each
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

ON_LEVEL, SHIFTED, CANNOT_TELL = "on one level", "shifted", "cannot tell"
ALPHA = 0.05
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
