"""Metrics of the user's own: from a function of one rating, and from Python that lies with a benchmark."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from mindgauge.benchmarks.metrics.metric_sentences import MetricWords
from mindgauge.benchmarks.metrics.table import Metric, mean_of
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.benchmarks.metrics.table import Floats, RatingTable
    from mindgauge.records import Value

_DIRECTIONS = ("", "higher", "lower")
_MEND = "mend it and repeat the command: what models answered is kept"


def metric(
    worth: Callable[..., float | bool | None],
    *,
    name: str = "",
    title: str = "",
    better: str = "",
    criteria: str | tuple[str, ...] | list[str] = (),
    share: bool = False,
) -> Metric:
    """Return the metric that is the mean of what each rating is worth, for `score(run, metrics=[…])`.

    Intervals over conversations, repeats, slices and the bounds for missing ratings come with it.

    Args:
        worth: `worth(value)`, or `worth(value, target)` where samples have a target: a number, or None where the rating says
            nothing. It is called once for each level of a criterion, so it must always answer the same.
        name: of the metric; the function's if not given.
        title: what it is called in a sentence, `{}` standing for the criterion; its name if not given.
        better: which values are better, `higher` or `lower`; empty where neither is.
        criteria: the criteria that it is about; all if not given.
        share: each rating is worth 0 or 1, so that the mean is a share, with exact bounds.

    Raises:
        UsageError: the name, the direction or the signature is wrong; once it computes, that `worth` raised or returned something
            that is no number, or, of a share, not 0 or 1.
    """
    name = name or getattr(worth, "__name__", "")
    if not name.isidentifier():
        raise UsageError(f"a metric needs a name of letters, digits and _, not {name!r}: mindgauge.metric(f, name=…)")
    if better not in _DIRECTIONS:
        raise UsageError(f"metric {name}: better is 'higher' or 'lower', not {better!r}")
    with_target = _takes_target(worth, name)

    @functools.cache
    def of_levels(levels: tuple[Value, ...]) -> Floats:
        """Return what each level is worth with each target, shape (levels + 1, levels + 1); the last ones are missing."""
        grid = np.full((len(levels) + 1, len(levels) + 1), np.nan)
        for place, level in enumerate(levels):
            if with_target:
                grid[place, :-1] = [_number(worth, (level, target), name, share=share) for target in levels]
            else:
                grid[place, :] = _number(worth, (level,), name, share=share)
        return grid

    def item_score(table: RatingTable) -> Floats:
        return np.asarray(of_levels(table.levels)[table.code, table.target])

    own = mean_of(name, item_score, better, exact=share)
    words = MetricWords(title=title) if title else own.words
    selected = (criteria,) if isinstance(criteria, str) else tuple(criteria)
    return msgspec.structs.replace(own, words=words, criteria=selected)


def guarded(metric: Metric, benchmark: str) -> Metric:
    """Return a metric of somebody's own that says in one line what is wrong with it.

    Args:
        metric: as it stands in their Python.
        benchmark: that it is of.

    Computing it raises UsageError where it raised, or where its answer is not one number for each row of weights.
    """
    if isinstance(metric.compute, _OwnStatistic):
        return metric
    return msgspec.structs.replace(
        metric, compute=_OwnStatistic(metric.compute, f"{benchmark}: its metric {metric.name}")
    )


class _OwnStatistic(NamedTuple):
    """A stranger's function of weighted ratings."""

    compute: Callable[[RatingTable, Floats], Floats]
    metric: str

    def __call__(self, table: RatingTable, weights: Floats) -> Floats:
        """Compute it.

        Raises:
            UsageError: the function raised, or returned something else than numbers of shape (B,).
        """
        try:
            values = np.asarray(self.compute(table, weights), dtype=np.float64)
        except MindgaugeError:
            raise
        except Exception as error:
            raise UsageError(f"{self.metric} raised {type(error).__name__}: {error}; {_MEND}") from error
        if values.shape != weights.shape[:1]:
            raise UsageError(
                f"{self.metric} returned an array of shape {values.shape} for {plural(len(weights), 'row')} of weights, and must return "
                f"one number for each; {_MEND}"
            )
        return values


def _takes_target(worth: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(worth).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [p for p in parameters if p.default is p.empty and p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    if len(needed) not in {1, 2}:
        raise UsageError(
            f"metric {name}: its function takes (value) or (value, target), not {inspect.signature(worth)}"
        )
    return len(needed) == 2


def _number(worth: Callable[..., Any], rating: tuple[Value, ...], name: str, *, share: bool) -> float:
    """Ask what a rating is worth.

    Raises:
        UsageError: the function raised, or its answer is no number, or none that a share can be the mean of.
    """
    try:
        answer = worth(*rating)
    except Exception as error:
        raise UsageError(
            f"metric {name}: its function raised {type(error).__name__} on {', '.join(map(repr, rating))}: {error}; let it return None "
            "for what it does not know, or name the criteria that it is about"
        ) from error
    if answer is None:
        return float("nan")
    try:
        number = float(answer)
    except (TypeError, ValueError):
        number = float("inf")
    if not np.isfinite(number) or isinstance(answer, str):
        raise UsageError(
            f"metric {name}: its function returned {answer!r} on {', '.join(map(repr, rating))}, not a number"
        )
    if share and number not in {0.0, 1.0}:
        raise UsageError(
            f"metric {name}: a rating of a share is worth 0 or 1, not {answer!r} ({', '.join(map(repr, rating))})"
        )
    return number
