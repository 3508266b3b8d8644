"""Claims held against data: what a paper or a page states, and what its ratings give.

A claim is an estimate with an interval and a number. Two things go wrong with such intervals without anybody noticing:
they are those of a judge's repeats, or of ratings as if each were a draw of its own, where other conversations are what
is spoken about. So the interval is recomputed in all three ways, and the one that the claim has is named.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis.independence import OWN_NOISE, REPEATS
from mindgauge.records.english import nearest
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds
from mindgauge.records.rounding import bounded, count, decimal, plural
from mindgauge.stats import agreement, bootstrap, repeats
from mindgauge.stats.level import level

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.ratings import Ratings
    from mindgauge.analysis.reliability.scale import ValueScale
    from mindgauge.stats.interval import Interval

    Floats = NDArray[np.float64]
    _Figure = Callable[[NDArray[np.intp]], float]

ALIKE = 1.25
"""Two intervals are the same if neither is wider than the other by more than this: a bootstrap's noise and other methods."""
METRICS = ("mean", "share", "percent", "kappa", "kappa_linear", "kappa_quadratic", "fleiss_kappa", "alpha")
OF_ONE = ("mean", "share")
"""Metrics of raters' values; the others are of agreement."""

Verdict: TypeAlias = Literal["holds", "differs", "interval of repeats", "interval of ratings", "n counts ratings", "cannot be checked"]  # fmt: skip
"""The first that is true, in the order differs, interval of repeats, interval of ratings, n counts ratings, holds."""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry `[[claim]]` of a claims file; see docs/tasks/audit_ratings.md."""

    metric: str
    estimate: float
    criterion: str = ""
    rater: str | list[str] = ""
    system: str = ""
    values: list[int | float | str] = []
    low: float | None = None
    high: float | None = None
    n: int | None = None
    level: float = 0.95
    name: str = ""

    @property
    def raters(self) -> list[str]:
        """The raters that it names."""
        return self.rater if isinstance(self.rater, list) else [self.rater] if self.rater else []

    @property
    def about(self) -> str:
        """Its name, or what it is about."""
        return self.name or ", ".join(
            filter(None, [self.metric, self.criterion, " and ".join(self.raters), self.system])
        )


class _ClaimsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    claim: list[Claim]


class CheckedClaim(msgspec.Struct, frozen=True):
    """What became of a claim: a verdict, and a sentence for each thing there is to say.

    `estimate`, `low` and `high` are recomputed, over conversations; `repeats` and `ratings` are the half-widths of the
    other two intervals, None where there is none. `n_ratings`, `n_subjects`, `n_conversations`, `n_repeats` count what it
    was recomputed from.
    """

    claim: str
    verdict: Verdict
    sentences: list[str]
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    repeats: float | None = None
    ratings: float | None = None
    n_ratings: int = 0
    n_subjects: int = 0
    n_conversations: int = 0
    n_repeats: int = 0


def load(path: str | Path) -> list[Claim]:
    """Read a claims file.

    Raises:
        UsageError: it is not there, is no TOML, or an entry is not as docs/tasks/audit_ratings.md says.
    """
    try:
        table = bounds.toml_value(bounds.content(Path(path), bounds.SETTINGS))
        claims = msgspec.convert(table, _ClaimsFile).claim
    except OSError as error:
        raise UsageError(f"--claims {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"--claims {path}: not a file of claims ({error}); each entry is [[claim]] with metric and estimate") from error  # fmt: skip
    if not claims:
        raise UsageError(f"--claims {path}: no claim in it; each entry is [[claim]] with metric and estimate")
    for number, claim in enumerate(claims, 1):
        fault = (
            "estimate is no number" if not np.isfinite(claim.estimate)
            else "low and high go together" if (claim.low is None) != (claim.high is None)
            else f"low ({claim.low:g}) is not below high ({claim.high:g})" if claim.low is not None and claim.high is not None and not claim.low < claim.high
            else f"level {claim.level:g} is not between 0 and 1, as 0.95 is" if not 0 < claim.level < 1
            else f"n is {claim.n}" if claim.n is not None and claim.n < 1
            else "a share needs values, the levels that it counts" if claim.metric == "share" and not claim.values
            else ""
        )  # fmt: skip
        if fault:
            raise UsageError(f"--claims {path}: claim {number} ({claim.about}): {fault}")
    return claims


def held(claims: Sequence[Claim], ratings: Ratings) -> list[CheckedClaim]:
    """Hold claims against ratings, one after the other."""
    return [_held(claim, ratings) for claim in claims]


class _Recomputed(NamedTuple):
    """A claim's figure from the ratings: over conversations, over repeats, over ratings, and what these are."""

    conversations: Interval
    repeats: Interval
    ratings: Interval
    n_ratings: int
    n_subjects: int
    n_conversations: int
    n_repeats: int


def _held(claim: Claim, ratings: Ratings) -> CheckedClaim:
    try:
        figure = _recomputed(claim, ratings)
    except UsageError as error:
        return CheckedClaim(claim.about, "cannot be checked", [f"{claim.about}: cannot be checked: {error}"])
    value = figure.conversations.value
    if value is None:
        return CheckedClaim(claim.about, "cannot be checked", [f"{claim.about}: cannot be checked: {figure.conversations.undefined}"])  # fmt: skip
    measurement = level(
        claim.metric, ordered=(ratings.scales.get(claim.criterion) or next(iter(ratings.scales.values()))).ordered
    )
    about = f"{claim.about} ({measurement})" if measurement else claim.about
    sentences: list[str] = []
    verdicts: list[Verdict] = []
    if abs(value - claim.estimate) > _rounding(claim.estimate):
        verdicts.append("differs")
        sentences.append(
            f"{about}: {_written(claim.estimate)} is claimed, the ratings give {_written(value)}, {decimal(value - claim.estimate, 3, signed=True)}"
        )
    if claim.low is not None and claim.high is not None:
        if not claim.low - _rounding(claim.low) <= claim.estimate <= claim.high + _rounding(claim.high):
            verdicts.append("differs")
            sentences.append(f"{about}: the estimate lies outside its own interval")
        verdict, sentence = _interval(claim, figure, claim.low, claim.high)
        verdicts += [verdict] if verdict else []
        sentences += [f"{about}: {sentence}"] if sentence else []
    if claim.n is not None:
        verdict, sentence = _number(claim.n, figure)
        verdicts += [verdict] if verdict else []
        sentences += [f"{about}: {sentence}"] if sentence else []
    order: tuple[Verdict, ...] = ("differs", "interval of repeats", "interval of ratings", "n counts ratings")
    worst: Verdict = next((verdict for verdict in order if verdict in verdicts), "holds")
    interval = bounded(value, figure.conversations.low, figure.conversations.high)
    if worst == "holds":
        sentences.insert(
            0, f"{about}: holds; the ratings give {interval} over {plural(figure.n_conversations, 'conversation')}"
        )
    return CheckedClaim(
        claim.about, worst, sentences, value, figure.conversations.low, figure.conversations.high, _half(figure.repeats),
        _half(figure.ratings), *figure[3:],
    )  # fmt: skip


def _interval(claim: Claim, figure: _Recomputed, low: float, high: float) -> tuple[Verdict | None, str]:
    """Say which of the three intervals the claimed one is."""
    stated = repeats.rescaled((high - low) / 2, claim.level)
    rounding = repeats.rescaled(max(_rounding(low), _rounding(high)), claim.level)
    own, repeated, single = (_half(part) for part in (figure.conversations, figure.repeats, figure.ratings))
    if figure.n_conversations < 2 and figure.n_repeats >= REPEATS:
        return "interval of repeats", f"there is one conversation and {figure.n_repeats} repeats: {OWN_NOISE}"
    if own is None or _near(stated, own, rounding):
        return None, "" if own is not None else f"its interval cannot be checked ({figure.conversations.undefined})"
    recomputed = f"{bounded(figure.conversations.value, figure.conversations.low, figure.conversations.high)} over {plural(figure.n_conversations, 'conversation')}"
    if stated > own:
        return (
            None,
            f"its interval is wider than that over conversations by a factor of {decimal(stated / own, 1)}: {recomputed}",
        )
    factor = f"narrower by a factor of {decimal(own / max(stated, 1e-12), 1)} than {recomputed}"
    near = [
        (abs(np.log(max(half, 1e-12) / max(stated, 1e-12))), name)
        for name, half in (("repeats", repeated), ("ratings", single))
        if half is not None and _near(stated, half, rounding)
    ]
    kind: Verdict = "differs"
    sentence = f"its interval is {factor}, and is that of no unit here"
    if near and min(near)[1] == "repeats":
        kind, sentence = (
            "interval of repeats",
            f"its interval is that of {figure.n_repeats} repeats, not of conversations, {factor}: {OWN_NOISE}",
        )
    elif near:
        kind, sentence = (
            "interval of ratings",
            f"its interval takes each of {plural(figure.n_ratings, 'rating')} for a draw of its own, {factor}",
        )
    return kind, sentence


def _near(stated: float, half: float, rounding: float) -> bool:
    return half / ALIKE - rounding <= stated <= half * ALIKE + rounding


def _number(n: int, figure: _Recomputed) -> tuple[Verdict | None, str]:
    """Say what n counts."""
    if n == figure.n_conversations:
        return None, ""
    sampled = f"{plural(figure.n_conversations, 'conversation')} are what was drawn"
    if n == figure.n_subjects:
        return "n counts ratings", f"n = {count(n)} counts subjects: {sampled}"
    if n == figure.n_ratings:
        own, single = _half(figure.conversations), _half(figure.ratings)
        effect = f", and carry as much as {count(round(n * (single / own) ** 2))} independent ratings" if own and single and own > single else ""  # fmt: skip
        return "n counts ratings", f"n = {count(n)} counts ratings (pseudo-replication): {sampled}{effect}"
    if n == figure.n_repeats:
        return "n counts ratings", f"n = {count(n)} counts repeats: {sampled}"
    return "differs", (
        f"n = {count(n)} is claimed; here are {plural(figure.n_ratings, 'rating')} of {plural(figure.n_subjects, 'subject')} in "
        f"{plural(figure.n_conversations, 'conversation')}"
    )


def _recomputed(claim: Claim, ratings: Ratings) -> _Recomputed:
    """Recompute a claim's figure.

    Raises:
        UsageError: it cannot be, and why.
    """
    if claim.metric not in METRICS:
        raise UsageError(f"{claim.metric} is not recomputed here; {', '.join(METRICS)} are")
    criteria = ratings.frame["criterion"].unique().sort().to_list()
    criterion = claim.criterion or (criteria[0] if len(criteria) == 1 else "")
    if not criterion:
        raise UsageError(f"it names no criterion; there are {', '.join(criteria[:8])}")
    rows = ratings.frame
    for column, name in (
        ("criterion", criterion),
        *(("rater", rater) for rater in claim.raters),
        ("system", claim.system),
    ):
        _known(rows, column, name)
    scale = ratings.scales[criterion]
    rows = scale.numbered(rows.filter(pl.col("criterion") == criterion)).filter(pl.col("number").is_not_null())
    if claim.system:
        rows = rows.filter(pl.col("system") == claim.system)
    raters = claim.raters or rows["rater"].unique().sort().to_list()
    rows = rows.filter(pl.col("rater").is_in(raters)).sort("cluster", "subject", "rater", "run")
    if rows.is_empty():
        raise UsageError("there is no such rating with a value")
    numbers = _placed(scale, claim.values)
    if claim.metric in OF_ONE:
        if len(raters) > 1 and not claim.raters:
            raise UsageError(f"it names no rater; there are {', '.join(raters[:8])}")
        return _of_values(rows, claim.metric, numbers, scale)
    return _of_agreement(rows, claim.metric, raters, scale)


def _placed(scale: ValueScale, values: Sequence[int | float | str]) -> list[float]:
    """Return levels as numbers.

    Raises:
        UsageError: one is not on the scale.
    """
    try:
        return [scale.place(str(value)) for value in values]
    except ValueError as error:
        raise UsageError(str(error)) from error


def _known(rows: pl.DataFrame, column: str, name: str) -> None:
    present = rows[column].drop_nulls().unique().sort().to_list()
    if name and name not in present:
        hint = nearest(name, present, f"there are {', '.join(present[:8]) or 'none'}")
        raise UsageError(f"no {column} {name!r}; {hint}")


def _of_values(rows: pl.DataFrame, metric: str, values: list[float], scale: ValueScale) -> _Recomputed:
    """Recompute a mean of values, or the share of some levels."""
    number = rows["number"].to_numpy()
    x = number if metric == "mean" else np.isin(number, values).astype(float)
    ends = (scale.low, scale.high) if metric == "mean" else (0.0, 1.0)
    cluster = rows["cluster"].rank("dense").to_numpy().astype(np.intp) - 1
    sums = np.stack([np.bincount(cluster, x), np.bincount(cluster).astype(float)], axis=1)
    by_conversation = bootstrap.interval_of_sums(
        lambda total: total[:, 0] / np.maximum(total[:, 1], 1), sums, ends=ends
    )
    return _with_counts(rows, by_conversation, _by_run(rows, lambda own: float(x[own].mean())), repeats.over(x))


def _by_run(rows: pl.DataFrame, figure: _Figure) -> Interval:
    """Return the interval over repeats; none where there are fewer than two."""
    run = rows["run"].to_numpy()
    return repeats.over(np.array([figure(np.flatnonzero(run == number)) for number in np.unique(run)]))


def _of_agreement(rows: pl.DataFrame, metric: str, raters: Sequence[str], scale: ValueScale) -> _Recomputed:
    """Recompute agreement among raters, each run of theirs for itself, or of one rater's runs with each other."""
    runs = rows["run"].n_unique()
    if len(raters) < 2 and runs < 2:
        raise UsageError(f"agreement takes two raters or two runs, and there is only {raters[0]}")
    if metric.startswith("kappa") and len(raters) != 2 and not (len(raters) == 1 and runs == 2):
        raise UsageError(f"{metric} is of two raters; name both")
    key = "run" if len(raters) == 1 else "rater"
    unit_rows = rows if key == "run" else rows.with_columns(subject=pl.concat_str("subject", "run", separator=" #"))
    wide = unit_rows.pivot(key, index=["cluster", "subject"], values="number", aggregate_function="first").sort(
        "cluster", "subject"
    )
    matrix = wide.drop("cluster", "subject").to_numpy().astype(float)
    cluster = wide["cluster"].rank("dense").to_numpy().astype(np.intp) - 1
    run = wide["subject"].str.extract(r" #(-?\d+)$").to_numpy() if key == "rater" else np.zeros(len(wide))
    by_conversation = _agreement(metric, matrix, cluster, scale)
    single = _agreement(metric, matrix, np.arange(len(matrix)), scale)
    run_values = [
        value for number in np.unique(run)
        if (value := _agreement(metric, matrix[run == number], cluster[run == number], scale, 2).value) is not None
    ]  # fmt: skip
    shared = (np.isfinite(matrix).sum(axis=1) > 1) if matrix.shape[1] > 1 else np.zeros(len(matrix), dtype=bool)
    shared_rows = unit_rows.join(wide.filter(pl.Series(shared)).select("subject"), on="subject", how="semi")
    return _with_counts(shared_rows, by_conversation, repeats.over(np.array(run_values)), single)


def _agreement(
    metric: str, matrix: Floats, cluster: NDArray[np.intp], scale: ValueScale, resamples: int = 2000
) -> Interval:
    levels = scale.values if scale.levels else None
    options = agreement.EstimateOptions(levels=levels, cluster=cluster, resamples=resamples)
    if metric == "fleiss_kappa":
        return agreement.fleiss(matrix, **options)
    if metric == "alpha":
        return agreement.alpha(matrix, "ordinal" if scale.ordered else "nominal", **options)
    if metric == "percent":
        equal = np.array([_equal_pairs(row) for row in matrix])
        sums = np.stack([np.bincount(cluster, equal[:, 0]), np.bincount(cluster, equal[:, 1])], axis=1)
        return bootstrap.interval_of_sums(
            lambda total: np.where(total[:, 1] > 0, total[:, 0] / np.maximum(total[:, 1], 1e-12), np.nan), sums, resamples=resamples, ends=(0.0, 1.0)
        )  # fmt: skip
    return agreement.kappa(matrix, metric.removeprefix("kappa").lstrip("_") or "nominal", **options)  # type: ignore[arg-type]


def _equal_pairs(row: Floats) -> tuple[float, float]:
    """Return the share of pairs of values that are equal, and 1; zeros where there is no pair."""
    values = row[np.isfinite(row)]
    n = len(values)
    if n < 2:
        return 0.0, 0.0
    same = (values[:, None] == values[None, :]).sum() - n
    return float(same / (n * (n - 1))), 1.0


def _with_counts(
    rows: pl.DataFrame, by_conversation: Interval, by_repeat: Interval, by_rating: Interval
) -> _Recomputed:
    subjects = rows["subject"].str.replace(r" #-?\d+$", "").n_unique()
    return _Recomputed(
        by_conversation, by_repeat, by_rating, len(rows), subjects, rows["cluster"].n_unique(), rows["run"].n_unique()
    )


def _half(interval: Interval) -> float | None:
    return None if interval.low is None or interval.high is None else (interval.high - interval.low) / 2


def _rounding(stated: float) -> float:
    """Return half a unit of the last decimal that a number is written with."""
    decimals = len(repr(float(stated)).partition(".")[2].rstrip("0")) if "e" not in repr(float(stated)) else 12
    return 0.5 * 10.0 ** -max(decimals, 1) + 1e-9


def _written(value: float) -> str:
    return decimal(value, 3)
