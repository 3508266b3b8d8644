"""From a run's ratings to judges beside each other: how they agree, whether they repeat themselves, what their verdicts took."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis.compare import RatingOrigin
from mindgauge.analysis.fitness import Qualification
from mindgauge.analysis.judge_comparison.paired import ACCURACY, bounds, of_systems, pair
from mindgauge.analysis.reliability.card import Bound, estimate_columns
from mindgauge.analysis.reliability.ratings import read
from mindgauge.records import instruments
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import bounded, count, plural
from mindgauge.stats import bootstrap, comparison, proportion
from mindgauge.stats.jackknife import p_value, student
from mindgauge.stats.significance import holm
from mindgauge.store.run import UNPRICED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.judge_comparison.paired import Floats, JudgePair
    from mindgauge.analysis.reliability.ratings import Ratings
    from mindgauge.analysis.reliability.scale import ValueScale
    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store


MAIN = ("kappa_quadratic", "kappa", "accuracy")
"""The agreement that is named first, as far as a criterion's levels have it."""


class JudgeAgreement(msgspec.Struct, frozen=True):
    """One judge beside the reference on one criterion.

    `n` subjects were given to both, `missing` of them have no value from the judge: it gave none that can be read, or
    said that the criterion does not apply. `estimates` holds, of single verdicts, `accuracy`, `f1` (the mean over levels
    that the reference gave), of yes and no also `f1_yes`, `kappa` and `kappa_quadratic`; of subjects' means
    `pearson`, `spearman`, `kendall` (tau-b); of systems' means the same with `system_` before. `worst` and `best` are the
    accuracy if all missing verdicts were wrong, or right.
    """

    judge: str
    reference: str
    criterion: str
    n: int
    missing: int
    clusters: int
    systems: int
    estimates: dict[str, Bound]
    worst: float | None
    best: float | None


class Stability(msgspec.Struct, frozen=True):
    """What a judge says when it is asked again.

    Of `n` subjects with verdicts on all criteria in all runs, `identical` is the share whose verdicts are the same in
    all runs; `incomplete` subjects lack a verdict, or no criterion applies to them. `flips` is, by criterion, the chance that two runs differ.
    """

    judge: str
    runs: int
    n: int
    incomplete: int
    clusters: int
    identical: Bound
    flips: dict[str, Bound]


class JudgeCost(msgspec.Struct, frozen=True):
    """What a judge's verdicts took; a verdict is one criterion of one subject in one run, readable or not.

    Dollars and seconds are per thousand verdicts, None where unknown; tokens per verdict. `cached` are those of the
    prompt that the server read before.
    """

    judge: str
    verdicts: int
    calls: int
    dollars: float | None
    seconds: float | None
    prompt_tokens: float
    cached_tokens: float
    completion_tokens: float


class JudgeDifference(msgspec.Struct, frozen=True):
    """The first judge's measure less the second's, on subjects that both have a value for.

    `adjusted` is p after Holm over all pairs and criteria of the measure; `real` says that it is at most .05 and that 0
    lies outside the interval; None where that cannot be said (`note`).
    """

    measure: str
    criterion: str
    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None
    real: bool | None
    better: str
    n: int
    clusters: int
    note: str = ""


def _agreement_order(entry: JudgeAgreement) -> float:
    """Return how far a judge agrees, by which the worst is named first."""
    value = next((entry.estimates[name].value for name in MAIN if name in entry.estimates), None)
    return -1.0 if value is None else value


class JudgeComparison(Tabular, msgspec.Struct, frozen=True):
    """Judges beside each other; without people, `reference` is empty and judges are compared among themselves."""

    run: str
    benchmark: str
    reference: str
    agreements: list[JudgeAgreement]
    stability: list[Stability]
    taken: list[JudgeCost]
    differences: list[JudgeDifference]
    notes: list[str]
    qualifications: list[Qualification] = []
    """How judges did in their entry test; empty where none took it."""

    def summary(self) -> list[str]:
        """Say how far each judge agrees, criterion by criterion, and how many differences are real."""
        against = self.reference or "each other"
        lines = [
            f"{entry.judge} on {entry.criterion}: {name.replace('_', ' ')} {bounded(bound.value, bound.low, bound.high)}, "
            f"n {count(entry.n)}, {count(entry.missing)} missing"
            for entry in sorted(self.agreements, key=_agreement_order)
            for name in [next((name for name in MAIN if name in entry.estimates), "")]
            for bound in [entry.estimates.get(name, Bound(None))]
        ]
        real = sum(difference.real is True for difference in self.differences)
        return [
            f"{self.benchmark}: judges beside {against}",
            *first_of(lines, 5),
            *(
                [f"{count(real)} of {plural(len(self.differences), 'difference')} are real."]
                if self.differences
                else []
            ),
            *noted(self.notes),
            f"The run: {self.run}; .differences, .stability and .taken have the rest.",
        ]

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in msgspec.structs.asdict(agreement).items() if name != "estimates"}
            | estimate_columns(agreement.estimates)
            for agreement in self.agreements
        ]


ALPHA = 0.05
_JUDGES = ("model", "classifier", "panel")
NOBODY = "no labels by people: judges are compared with each other, which says nothing about who is right"


class IntervalOptions(NamedTuple):
    """How intervals are made."""

    resamples: int = 2000
    seed: int = 0


class _JudgedCriterion(NamedTuple):
    """The ratings on one criterion, with `number` for words, too; what does not apply has none."""

    name: str
    scale: ValueScale
    rows: pl.DataFrame

    @classmethod
    def of(cls, ratings: Ratings, name: str) -> _JudgedCriterion:
        scale = ratings.scales[name]
        rows = ratings.frame.filter(pl.col("criterion") == name)
        return cls(name, scale, scale.numbered(rows).with_columns(pl.col("cluster", "system").fill_null("")))

    def by(self, *raters: str) -> pl.DataFrame:
        """Return what was given to some raters, missing verdicts included."""
        return self.rows.filter(pl.col("rater").is_in(raters))


def compare(
    store: Store, benchmark: Benchmark, folder: Path, named: Sequence[str], options: IntervalOptions
) -> JudgeComparison:
    """Put the judges of a run beside people, or where nobody else rated beside each other.

    Args:
        store: of the run.
        benchmark: whose replies were judged.
        folder: of the run.
        named: the raters to compare with; people if not given.
        options: of the intervals.

    Raises:
        UsageError: a named rater is not there.
        DataError: there are no ratings.
    """
    ratings = read([folder])
    kinds = dict(ratings.frame.select("rater", "rater_kind").unique().sort("rater").iter_rows())
    unknown = next((name for name in named if name not in kinds), None)
    if unknown is not None:
        raise UsageError(f"--reference {unknown!r}: no such rater; raters are {', '.join(kinds)}")
    people = list(named) or [rater for rater, kind in kinds.items() if kind == "person"]
    judges = [rater for rater, kind in kinds.items() if kind in _JUDGES and rater not in people]
    sentences = instruments.all_differences(judges, people, ratings.instruments)
    notes = [*sentences, *ratings.notes, *([] if people else [NOBODY])]
    agreements: list[JudgeAgreement] = []
    differences: list[JudgeDifference] = []
    for name in ratings.frame["criterion"].unique().sort().to_list():
        criterion = _JudgedCriterion.of(ratings, name)
        if people:
            notes += _inapplicable(criterion, people, judges)
            agreements += [_agreement(criterion, people, judge, options) for judge in judges]
            differences += _differences(criterion, people, judges, options)
        else:
            agreements += [_agreement(criterion, [a], b, options) for a, b in combinations(judges, 2)]
    criteria = [criterion.name for criterion in benchmark.rubric.criteria]
    return JudgeComparison(
        str(folder), benchmark.name, ", ".join(people), agreements,
        [stability(ratings.frame.filter(pl.col("rater") == judge), judge, criteria) for judge in judges],
        list(taken(store, benchmark.name)), _adjusted(differences), notes,
    )  # fmt: skip


def _agreement(
    criterion: _JudgedCriterion, reference: Sequence[str], judge: str, options: IntervalOptions
) -> JudgeAgreement:
    judge_rows, people_rows = criterion.by(judge), _valued(criterion.by(*reference))
    judged = _valued(judge_rows)
    subjects = judge_rows.join(people_rows, on="subject", how="semi")["subject"].n_unique()
    paired = pair(people_rows, judged, criterion.scale)
    names = ", ".join(reference)
    if paired is None:
        return JudgeAgreement(judge, names, criterion.name, subjects, subjects, 0, 0, {}, None, None)
    estimates = bounds(paired)
    systems = people_rows.join(judged, on="subject", how="semi")["system"].unique().sort().to_list()
    if criterion.scale.ordered:
        estimates |= of_systems(people_rows, judged, systems, options.resamples, options.seed)
    right = estimates[ACCURACY].value if ACCURACY in estimates else None
    worst = None if right is None else right * paired.subjects / subjects
    best = None if worst is None else worst + (subjects - paired.subjects) / subjects
    return JudgeAgreement(
        judge,
        names,
        criterion.name,
        subjects,
        subjects - paired.subjects,
        len(paired.clusters),
        len(systems),
        estimates,
        worst,
        best,
    )


def _inapplicable(criterion: _JudgedCriterion, people: Sequence[str], judges: Sequence[str]) -> list[str]:
    """Say of how many subjects a judge finds that the criterion does not apply where people gave a value."""
    people_rows, notes = _valued(criterion.by(*people)), []
    for judge in judges:
        inapplicable = (
            criterion.by(judge).filter(pl.col("status") == "not_applicable").join(people_rows, on="subject", how="semi")
        )
        if inapplicable.height:
            notes.append(f"{criterion.name}: {judge} has {inapplicable['subject'].n_unique()} replies as not applicable, or with no known protocol, where people gave a value; without any other value of the judge they count as missing")  # fmt: skip
    return notes


def _valued(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("number").is_not_null())


def _differences(
    criterion: _JudgedCriterion, people: Sequence[str], judges: Sequence[str], options: IntervalOptions
) -> list[JudgeDifference]:
    people_rows = _valued(criterion.by(*people))
    rows = {judge: _valued(criterion.by(judge)) for judge in judges}
    differences: list[JudgeDifference] = []
    for first, second in combinations(judges, 2):
        shared = people_rows.join(rows[first], on="subject", how="semi").join(rows[second], on="subject", how="semi")
        sides = [pair(shared, rows[judge], criterion.scale) for judge in (first, second)]
        if sides[0] is not None and sides[1] is not None:
            differences += _measured(criterion.name, (first, second), (sides[0], sides[1]), options)
    return differences


def _measured(
    criterion: str, names: tuple[str, str], sides: tuple[JudgePair, JudgePair], options: IntervalOptions
) -> list[JudgeDifference]:
    """Compare two judges by every measure, on the same subjects: p is adjusted later, over all of a measure's tests."""
    totals, left_out = [side.whole() for side in sides], [side.left_out() for side in sides]
    n, clusters = sides[0].subjects, len(sides[0].clusters)
    differences = []
    for measure in totals[0]:
        value = float(totals[0][measure][0] - totals[1][measure][0])
        without_one = left_out[0][measure] - left_out[1][measure]
        if measure == ACCURACY:
            low, high, p, note = _flipped(sides, options)
        else:
            counts = np.ones(clusters, dtype=np.intp)
            _, low, high, note = student(value, without_one, counts)
            p = p_value(value, without_one, counts)
        finite = value if np.isfinite(value) else None
        differences.append(
            JudgeDifference(measure, criterion, *names, finite, low, high, p, None, None, "", n, clusters, note)
        )
    return differences


def _flipped(
    sides: tuple[JudgePair, JudgePair], options: IntervalOptions
) -> tuple[float | None, float | None, float | None, str]:
    """Compare accuracies: the sign-flip test of conversations' sums, percentiles over conversations of their ratio."""
    first, second = (_right(side) for side in sides)
    sums = np.column_stack([first - second, sides[0].singles.sum(axis=1)])
    interval = bootstrap.interval_of_sums(
        lambda totals: totals[:, 0] / totals[:, 1],
        sums,
        resamples=options.resamples * 5,
        seed=options.seed,
        ends=(-1.0, 1.0),
    )
    if len(sums) < 2:
        return interval.low, interval.high, None, interval.undefined
    (p,) = comparison.sign_flip(sums[:, :1], resamples=options.resamples * 5, seed=options.seed)
    return interval.low, interval.high, float(p), interval.undefined


def _right(side: JudgePair) -> Floats:
    """Return how many subjects' verdicts are right in each conversation, shape (C,)."""
    q = len(side.scale.values)
    return np.asarray(side.singles[:, np.arange(q) * (q + 1)].sum(axis=1))


def _adjusted(differences: list[JudgeDifference]) -> list[JudgeDifference]:
    families: dict[str, list[int]] = defaultdict(list)
    for place, difference in enumerate(differences):
        families[difference.measure].append(place)
    adjusted = np.full(len(differences), np.nan)
    for places in families.values():
        adjusted[places] = holm(
            np.array([np.nan if differences[i].p is None else differences[i].p for i in places], dtype=float)
        )
    return [_decided(difference, float(p)) for difference, p in zip(differences, adjusted, strict=True)]


def _decided(difference: JudgeDifference, adjusted: float) -> JudgeDifference:
    if np.isnan(adjusted) or difference.value is None or difference.low is None or difference.high is None:
        return difference
    real = adjusted <= ALPHA and not difference.low <= 0 <= difference.high
    better = (difference.first if difference.value > 0 else difference.second) if real else ""
    return msgspec.structs.replace(difference, adjusted=adjusted, real=real, better=better)


# Whether a judge says the same when it is asked again.


_SAID = ("ok", "not_applicable")


def stability(rows: pl.DataFrame, judge: str, criteria: Sequence[str]) -> Stability:
    """Compare a judge's runs with each other.

    Args:
        rows: the judge's ratings: subject, cluster, criterion, run, value, status.
        judge: its name.
        criteria: those that it was asked about; composites follow from them.
    """
    rows = rows.filter(pl.col("criterion").is_in(criteria))
    runs = rows["run"].n_unique()
    answered = pl.col("status").is_in(_SAID)
    vectors = rows.group_by("subject", "run", maintain_order=True).agg(
        pl.col("cluster").first(),
        vector=pl.coalesce("value", "status").sort_by("criterion").str.join("\0"),
        complete=answered.all() & (pl.col("status") == "ok").any(),
    )
    subjects = vectors.group_by("subject", maintain_order=True).agg(
        pl.col("cluster").first(),
        whole=pl.col("complete").all() & (pl.len() == runs),
        kinds=pl.col("vector").n_unique(),
    )
    complete_subjects = subjects.filter("whole")
    flips = {name: _flips(rows.filter((pl.col("criterion") == name) & answered)) for name in criteria}
    if runs < 2:
        undefined = Bound(None, note="judged once; --judge-runs 3 asks again")
        return Stability(judge, runs, 0, 0, 0, undefined, {})
    identical = share(complete_subjects.select("cluster", share=(pl.col("kinds") == 1).cast(pl.Float64)))
    clusters = complete_subjects["cluster"].n_unique()
    return Stability(
        judge, runs, len(complete_subjects), len(subjects) - len(complete_subjects), clusters, identical, flips
    )


def _flips(rows: pl.DataFrame) -> Bound:
    """Return the chance that two runs of a subject differ, each subject weighing the same."""
    counts = rows.group_by("subject", pl.coalesce("value", "status").alias("said"), maintain_order=True).agg(
        pl.col("cluster").first(), n=pl.len().cast(pl.Float64)
    )
    n = pl.col("n")
    subjects = counts.group_by("subject", maintain_order=True).agg(
        pl.col("cluster").first(), runs=n.sum(), same=(n * (n - 1)).sum() / (n.sum() * (n.sum() - 1))
    )
    return share(subjects.filter(pl.col("runs") > 1).select("cluster", share=1 - pl.col("same")))


def share(rows: pl.DataFrame) -> Bound:
    """Return the mean of shares with exact bounds that take conversations as n.

    Args:
        rows: columns cluster and share.
    """
    if rows.is_empty():
        return Bound(None, note="no subject has two readable verdicts")
    value, clusters = float(rows["share"].mean()), rows["cluster"].n_unique()  # type: ignore[arg-type]  # of numbers
    return Bound(*proportion.share(value, clusters))


# What judges' verdicts took: the calls that stand in their provenance.


def taken(store: Store, benchmark: str) -> Iterator[JudgeCost]:
    """Return what each judge took whose calls the run keeps. One call may give several verdicts, and counts once."""
    verdicts: dict[str, int] = {}
    keys: dict[str, set[str]] = {}
    query = "SELECT rater, provenance FROM ratings WHERE benchmark = ? AND rater_kind = 'model'"
    for rater, provenance in store.select(query, (benchmark,)):
        verdicts[rater] = verdicts.get(rater, 0) + 1
        keys.setdefault(rater, set()).update(msgspec.json.decode(provenance, type=RatingOrigin).calls)
    query = f"SELECT key, {UNPRICED}, cost, seconds, prompt_tokens, cached_tokens, completion_tokens FROM calls WHERE benchmark = ?"  # noqa: S608 - constant text
    calls = {row[0].hex(): row[1:] for row in store.select(query, (benchmark,))}
    for rater, n in verdicts.items():
        judge_calls = [calls[key] for key in keys[rater] if key in calls]
        if not judge_calls:
            continue
        unpriced, cost, seconds, *tokens = zip(*judge_calls, strict=True)
        paid = [price for price in cost if price is not None]
        dollars = None if any(unpriced) or not paid else 1000 * sum(paid) / n
        yield JudgeCost(
            rater, n, len(judge_calls), dollars, 1000 * sum(seconds) / n, *(sum(counts) / n for counts in tokens)
        )
