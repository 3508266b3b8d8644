"""A judge's means corrected by people's ratings: whether these are of a part like the rest, and whether the judge may have seen them.

One place says it: an audit finds it, a card warns of it, and nothing is corrected by such a part.

A judge that was written, tuned or chosen on labels agrees with people better there than elsewhere, and its corrected mean
is wrong: nothing in the correction can tell. So a corrected mean says what speaks for it, beside people's own mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis import drawn
from mindgauge.analysis.reliability.card import Bound, CorrectedMean
from mindgauge.records.rounding import count, decimal
from mindgauge.stats import correction, labelling, sampling, stratified
from mindgauge.stats.jackknife import student
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from mindgauge.stats.interval import Ends
    from mindgauge.store.run import Store

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


SELECTED = 0.25
"""Standard deviations by which the judge's scores of both differ where these are no longer alike (Rubin 2001)."""
CHANCE = 0.01
"""With which chance anything is said of a criterion, all systems together, where chance chose what people rated."""


class Chosen(NamedTuple):
    """The judge's mean score of subjects that people rated, and of the `n` others.

    `system` is empty where it is of all systems. `within_systems` says that the two differ within systems, each counting by what
    it has of both; otherwise people only rated more of some systems than of others, which is no fault of the part.
    """

    system: str
    labelled: float
    others: float
    n: int
    within_systems: bool

    @property
    def side(self) -> str:
        """Whether the judge scored what people rated lower or higher than the rest."""
        return "lower" if self.labelled < self.others else "higher"


class SubjectMeans(NamedTuple):
    """Subjects that a judge was given, in the order of their codes, shape (n,) each: means by judge and by people, NaN if none."""

    subject: Codes
    cluster: Codes
    system: Codes
    judge: Floats
    people: Floats

    @classmethod
    def of(cls, judge_rows: pl.DataFrame, rated: pl.DataFrame) -> SubjectMeans:
        """Average a judge's verdicts and people's ratings.

        Args:
            judge_rows: the judge's rows, missing verdicts included: subject, cluster, system (codes), number.
            rated: people's valued rows: subject, number.
        """
        places = judge_rows["subject"].to_numpy()
        subject, first = np.unique(places, return_index=True)
        cluster, system = (judge_rows[name].to_numpy()[first] for name in ("cluster", "system"))
        size = int(max(places.max(initial=-1), rated["subject"].to_numpy().max(initial=-1))) + 1
        judge, people = (_means(rows, size)[subject] for rows in (judge_rows, rated))
        return cls(subject, cluster, system, judge, people)

    def at(self, rows: Mask | Codes) -> SubjectMeans:
        """Return some of the subjects."""
        return SubjectMeans(
            self.subject[rows], self.cluster[rows], self.system[rows], self.judge[rows], self.people[rows]
        )

    def by_system(self) -> list[SubjectMeans]:
        """Return each system's, in the order of their codes."""
        order = np.argsort(self.system, kind="stable")
        ends = np.flatnonzero(np.diff(self.system[order])) + 1
        return [self.at(rows) for rows in np.split(order, ends) if len(rows)]

    @property
    def labelled(self) -> Mask:
        """Which of them people rated."""
        return np.isfinite(self.people)


def _means(rows: pl.DataFrame, size: int) -> Floats:
    """Return the mean number of each subject's rows, shape (size,)."""
    number = rows["number"].to_numpy()
    valued = np.isfinite(number)
    subject = rows["subject"].to_numpy()[valued]
    sums, counts = np.bincount(subject, number[valued], size), np.bincount(subject, minlength=size)
    return ratio(sums, counts)


def chosen(means: SubjectMeans, systems: Sequence[str]) -> list[Chosen]:
    """Return what is found: over all systems first, then of each.

    Args:
        means: of subjects that the judge was given; those without a verdict say nothing.
        systems: names, by index.
    """
    scores = means.at(np.isfinite(means.judge))
    present = np.unique(scores.system)
    gaps = differences(scores.judge, scores.labelled, scores.cluster, scores.system)
    if not gaps and len(present) > 1:
        gaps = differences(scores.judge, scores.labelled, scores.cluster, np.zeros_like(scores.system))
        return [Chosen("", gap.labelled, gap.others, gap.n, within_systems=False) for gap in gaps]
    return [
        Chosen(
            "" if gap.stratum is None else systems[present[gap.stratum]],
            gap.labelled, gap.others, gap.n, within_systems=True,
        )
        for gap in gaps
    ]  # fmt: skip


def differences(
    scores: Floats, labelled: Mask, cluster: ArrayLike, system: ArrayLike, p: float = CHANCE
) -> list[labelling.LabellingGap]:
    """Return by how much labelled subjects' scores differ from others' of the same system: over all systems, and in each.

    Args:
        scores: of subjects, shape (n,).
        labelled: shape (n,), which of them are.
        cluster: shape (n,), labels of the clusters.
        system: shape (n,), labels of the systems.
        p: the chance that anything is said where chance chose.
    """
    return labelling.gaps(scores, labelled, cluster, system, least=SELECTED, alpha=p)


FEWEST = labelling.FEWEST
"""Labelled conversations of a system from which its mean is corrected; with fewer, nothing tells how far they vary."""
COMPLETE = "people rated every subject that the judge was given, so there is nothing to correct"
CHOSEN = "people rated what this judge scored {side} than the rest{where}, so they cannot correct its mean"


def corrected(
    means: SubjectMeans,
    rated: pl.DataFrame,
    systems: Sequence[str],
    gaps: Sequence[Chosen],
    *,
    selected: str,
    ends: Ends | None = None,
) -> list[CorrectedMean]:
    """Correct the judge's mean of each system, and of all where there are several.

    People's ratings must be of a random part of what the judge was given of a system; they may be more of one system
    than of another. Where they were selected by what a judge thought, nothing is corrected. A row whose correction has
    no value says why.

    Args:
        means: of the subjects that the judge was given.
        rated: people's valued rows: subject, and `drawn.COLUMNS` where they were drawn.
        systems: names, by index.
        gaps: how what people rated differs from the rest, see `chosen`.
        selected: why people rated what they rated, if it depended on a judge.
        ends: the lowest and the highest value of the scale.
    """
    if selected:
        return []
    if drawn.is_drawn(rated):
        return _drawn(means, rated, systems, ends)
    faults = {gap.system: gap for gap in gaps if gap.within_systems}
    present = [_System(systems[part.system[0]], part) for part in means.by_system() if np.isfinite(part.judge).any()]
    rows = []
    for system in present:
        fault = faults.get("") or faults.get(system.name)
        reason = CHOSEN.format(side=fault.side, where="") if fault else system.lacking
        rows.append(_row(system.name, system.means, _corrected(system.means, ends), reason))
    if len(present) > 1:
        rows.append(_all(present, next(iter(faults.values()), None), ends))
    return rows


def _corrected(means: SubjectMeans, ends: Ends | None) -> correction.CorrectedIntervals:
    return correction.prediction_powered_mean(means.judge, means.people, means.cluster, ends=ends)


class _System(NamedTuple):
    """A system's subjects."""

    name: str
    means: SubjectMeans

    @property
    def labelled(self) -> int:
        """Conversations in which people rated it."""
        return len(np.unique(self.means.cluster[self.means.labelled]))

    @property
    def complete(self) -> bool:
        """Whether people rated all of it."""
        return bool(self.means.labelled.all())

    @property
    def lacking(self) -> str:
        """Why people's ratings do not correct the judge's mean; nothing where they do."""
        if self.complete:
            return COMPLETE
        if self.labelled >= FEWEST:
            return ""
        count = {0: "nothing", 1: "one conversation"}.get(self.labelled, f"{self.labelled} conversations")
        return f"people rated {count} of it; to correct the judge takes {FEWEST} conversations"


def _all(systems: list[_System], fault: Chosen | None, ends: Ends | None) -> CorrectedMean:
    """Correct the mean over all systems, each with its share of what the judge was given."""
    means = SubjectMeans(*map(np.concatenate, zip(*(system.means for system in systems), strict=True)))
    sparse = [system for system in systems if system.labelled < FEWEST and not system.complete]
    reason = ""
    if fault:
        reason = CHOSEN.format(side=fault.side, where=f" of {fault.system}" if fault.system else "")
    elif all(system.complete for system in systems):
        reason = COMPLETE
    elif sparse:
        names = ", ".join(system.name or "a system without a name" for system in sparse[:_NAMED])
        remainder = f" and {len(sparse) - _NAMED} more" if len(sparse) > _NAMED else ""
        reason = f"of {names}{remainder} people rated fewer than {FEWEST} conversations, and all systems count by their share"
    overall = stratified.prediction_powered_mean(means.judge, means.people, means.cluster, means.system, ends=ends)
    return _row("", means, overall, reason)


_NAMED = 3
_OTHER = 0.05
"""By how much of the frame what a judge rated may differ from it before its mean is that of something else."""


def _drawn(means: SubjectMeans, rated: pl.DataFrame, systems: Sequence[str], ends: Ends | None) -> list[CorrectedMean]:
    """Correct the judge by what people rated of a draw, each by what it stands for: of all systems, and of each."""
    frame = float(rated["frame"].max() or 0.0)  # type: ignore[arg-type]
    n, reason = len(means.subject), ""
    if frame and abs(n - frame) > _OTHER * frame:
        reason = f"the judge rated {count(n)} replies, and people's were drawn from {count(int(frame))}: its mean is not that of the frame"
    parts = means.by_system()
    named = [(systems[part.system[0]], part) for part in parts]
    wholes = [*named, ("", means)] if len(parts) > 1 else named
    subjects = rated.unique("subject", keep="first").sort("subject")
    return [_weighted(name, part, subjects, reason, ends) for name, part in wholes if np.isfinite(part.judge).any()]


def _weighted(name: str, means: SubjectMeans, subjects: pl.DataFrame, reason: str, ends: Ends | None) -> CorrectedMean:
    if not means.labelled.any():
        return _row(name, means, _corrected(means, ends), "people rated nothing of it")
    labelled = subjects.filter(pl.col("subject").is_in(means.subject))
    sample = drawn.sample(labelled)
    overall = sampling.prediction_powered_mean(means.judge, means.people, means.cluster, sample, ends=ends)
    if not reason and labelled["cluster"].n_unique() < FEWEST:
        reason = _System(name, means).lacking
    return _row(name, means, overall, reason)


def _row(name: str, means: SubjectMeans, overall: correction.CorrectedIntervals, reason: str) -> CorrectedMean:
    return CorrectedMean(
        name, len(means.subject), int(means.labelled.sum()), Bound(*overall.judge_only), Bound(*overall.human_only),
        Bound(None, note=reason) if reason else Bound(*overall.corrected), None if reason else overall.gain,
    )  # fmt: skip


OLDER = "the labels are older than their last verdicts"
UNDATED = "nothing says whether the labels are younger"
PUBLIC = "the labels are public"
_CHANCE = 0.01
"""With which chance a judge that has not seen the labels shows any sign of it."""
_SIGNS = 4
_LEAST = 0.25
"""Standard deviations from which labelled and other replies differ."""
_FEWEST = 10
"""Conversations with two people from which a judge is held against people's own errors."""

_DATES = """
SELECT rater, min(json_extract(provenance, '$.at')), max(json_extract(provenance, '$.at')) FROM ratings
WHERE subject IN (SELECT subject FROM ratings WHERE rater_kind = 'person') GROUP BY rater"""


class Dates(NamedTuple):
    """When a rater gave its first and its last value, in seconds since 1970."""

    first: float
    last: float


def dates(store: Store) -> dict[str, Dates]:
    """Return when raters rated what people rated, as far as a run knows it."""
    return {
        rater: Dates(float(first), float(last)) for rater, first, last in store.select(_DATES) if first is not None
    }  # fmt: skip


def together(parts: Iterable[Mapping[str, Dates]]) -> dict[str, Dates]:
    """Put the dates of several runs together."""
    merged: dict[str, Dates] = {}
    for rater, (first, last) in (item for dated in parts for item in dated.items()):
        own = merged.get(rater, Dates(first, last))
        merged[rater] = Dates(min(first, own.first), max(last, own.last))
    return merged


def doubt(
    judge: str,
    people: Sequence[str],
    dated: Mapping[str, Dates],
    *,
    public: bool,
    evidence: Callable[[], Iterable[str]],
) -> str:
    """Say why it cannot be excluded that a judge has seen the labels; empty where they are younger than all of its verdicts.

    Args:
        judge: a rater.
        people: whose labels they are.
        dated: when raters rated.
        public: whether the labels were released.
        evidence: finds what `signs` yields; asked for only where labels are not younger.
    """
    reason = OLDER
    if public:
        reason = PUBLIC
    elif judge not in dated or any(person not in dated for person in people):
        reason = UNDATED
    elif all(dated[person].first > dated[judge].last for person in people):
        return ""
    return "; ".join([reason, *evidence()])


def signs(means: SubjectMeans, judge_rows: pl.DataFrame, others: pl.DataFrame, people: pl.DataFrame) -> Iterator[str]:
    """Yield what a judge that has seen the labels may show; one that has not shows none of it in 99 of 100 cases.

    Without a label of the others: how far the judge is from itself where it was asked again, from other judges, and
    from its mean of a system. And with two people: a judge that knows nothing of their errors correlates with each of
    them at most by the square root of their own correlation (Spearman 1904).

    Args:
        means: of the subjects that the judge was given.
        judge_rows: its rows: subject, number.
        others: other judges' rows: subject, rater, number.
        people: each person's first value of a subject: subject, cluster, rater, number.
    """
    yield from _compared(means, judge_rows, others)
    yield from _beyond(means, people)


def _compared(means: SubjectMeans, judge_rows: pl.DataFrame, others: pl.DataFrame) -> Iterator[str]:
    number = pl.col("number")
    own = judge_rows.drop_nulls("number").group_by("subject").agg(spread=number.std())
    other = others.group_by("subject", "rater").agg(number.mean()).group_by("subject").agg(number.mean())
    scored = np.isfinite(means.judge)
    counts = np.bincount(means.system[scored], minlength=int(means.system.max(initial=-1)) + 1)
    typical = ratio(np.bincount(means.system[scored], means.judge[scored], len(counts)), counts)
    for target, distance in (
        ("its own repeats", _placed(means, own, "spread")),
        ("other judges", np.abs(means.judge - _placed(means, other, "number"))),
        ("its mean of a model", np.abs(means.judge - typical[means.system])),
    ):
        finite = np.isfinite(distance)
        part = means.at(finite)
        gaps = labelling.gaps(
            distance[finite], part.labelled, part.cluster, part.system, least=_LEAST, alpha=_CHANCE / _SIGNS
        )
        for gap in gaps[:1]:
            yield f"it is {decimal(gap.labelled)} from {target} on labelled replies and {decimal(gap.others)} elsewhere"


def _placed(means: SubjectMeans, rows: pl.DataFrame, column: str) -> Floats:
    """Return a number for each of the subjects, NaN where there is none."""
    placed = pl.DataFrame({"subject": means.subject}).join(
        rows.with_columns(pl.col("subject").cast(pl.Int64)), on="subject", how="left", maintain_order="left"
    )
    return placed[column].cast(pl.Float64).fill_null(np.nan).to_numpy()


def _beyond(means: SubjectMeans, people: pl.DataFrame) -> Iterator[str]:
    """Yield that a judge shares people's errors, where c² / (var(f) t) is surely above 1: c with a person, t of two people."""
    judge = pl.DataFrame({"subject": means.subject, "system": means.system, "judge": means.judge}).filter(
        pl.col("judge").is_finite()
    )
    rated = people.select(pl.col("subject").cast(pl.Int64), "cluster", "rater", "number").join(judge, on="subject")
    rated = rated.filter(pl.len().over("subject") > 1)
    if rated["cluster"].n_unique() < _FEWEST:
        return
    rated = rated.with_columns(pl.col("number") - pl.col("number").mean().over("system", "rater"))
    by_subject = rated.with_columns(pl.col("judge") - pl.col("judge").mean().over("system")).group_by("subject").agg(
        pl.col("cluster", "judge").first(), k=pl.len().cast(pl.Float64), total=pl.col("number").sum(), square=pl.col("number").pow(2).sum()
    )  # fmt: skip
    k, total, f = (by_subject[name].to_numpy() for name in ("k", "total", "judge"))
    pairs = (total**2 - by_subject["square"].to_numpy()) / (k * (k - 1))
    _, cluster = np.unique(by_subject["cluster"].to_numpy(), return_inverse=True)
    sums = np.stack([np.bincount(cluster, values) for values in (f * total / k, f * f, pairs)])
    total_sums = sums.sum(axis=1)
    if total_sums.min() <= 0:
        return
    left_out = np.log(np.maximum(np.abs(total_sums[:, None] - sums), 1e-300))
    interval = student(
        float(2 * np.log(total_sums[0]) - np.log(total_sums[1]) - np.log(total_sums[2])), 2 * left_out[0] - left_out[1] - left_out[2],
        np.ones(sums.shape[1], dtype=np.intp), level=1 - 2 * _CHANCE / _SIGNS,
    )  # fmt: skip
    if interval.low is not None and interval.low > 0:
        yield "it agrees with people better than their own agreement allows a judge that does not know their errors"
