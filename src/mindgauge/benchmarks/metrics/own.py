"""Metrics of the user's own: from a function of one rating, and from Python that lies with a benchmark."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from mindgauge.benchmarks.metrics.estimates import estimate
from mindgauge.benchmarks.metrics.metric_sentences import MetricWords
from mindgauge.benchmarks.metrics.table import Items, Metric, RatingTable, Recognition, mean_of
from mindgauge.records.errors import OwnCodeError, UsageError
from mindgauge.records.installed import OwnFunction, fault, is_ours
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mindgauge.benchmarks.metrics.table import Floats, Mask
    from mindgauge.records import Sample, Value
    from mindgauge.records.rubric import Criterion

_DIRECTIONS = ("", "higher", "lower")
T = TypeVar("T")
_MOST_KINDS = 200
"""Of targets and tags in made-up ratings."""
_MOST_SHOWN = 40
_TINY = 1e-9
"""What rounding may add to the ends of a scale."""
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


def guarded(metric: Metric, benchmark: str, folder: Path) -> Metric:
    """Return a user's metric, each function of which says in one line what is wrong with it.

    Args:
        metric: as it stands in their Python.
        benchmark: that it is of.
        folder: of their files.

    Computing it raises OwnCodeError where a function raised, or returned something else than it must. None of them can change
    the ratings that others look at.
    """
    fold = metric.fold
    checks: dict[str, Callable[..., Any]] = {
        "compute": lambda value, _, weights: _numbers(value, len(weights), "row of weights", metric),
        "item_score": lambda value, table: _numbers(value, len(fold(table).first if fold else table), "item", metric),
        "applies_to": lambda value, table: _mask(value, len(table)),
        "supports": lambda value, _: bool(value),
        "fold": lambda value, _: _instance(value, Items),
        "waits": lambda value, _: _instance(value, Recognition),
        "fills": lambda value, _: [_instance(filled, RatingTable) for filled in value],
        "chance": lambda value, _: value if value is None else float(value),
    }
    foreign = {
        name: OwnFunction(
            functools.partial(_unchanged, function),
            f"{benchmark}: its metric {metric.name}",
            folder,
            check,
            f"; {_MEND}",
        )
        for name, check in checks.items()
        if ((function := getattr(metric, name)) is not None or name == "compute")
        and not isinstance(function, OwnFunction)
        and not is_ours(function)
    }
    return msgspec.structs.replace(metric, **foreign) if foreign else metric


def faults(
    metrics: Sequence[Metric], criteria: Sequence[Criterion], samples: Sequence[Sample], tag_names: Sequence[str]
) -> list[str]:
    """Say what is wrong with a user's metrics, computed on made-up ratings: all levels, each alone, none at all.

    Args:
        metrics: those that are not somebody's own are not tried.
        criteria: that ratings are on.
        samples: whose targets and tags the ratings have.
        tag_names: of the tags that metrics look at.
    """
    sentences: dict[str, None] = {}
    for metric in metrics:
        if not any(isinstance(part, OwnFunction) for part in msgspec.structs.astuple(metric)):
            continue
        try:
            for table in (_made_up(criterion, samples, tag_names) for criterion in criteria if metric.suits(criterion)):
                for rows in (table, *(table.rows(table.code == code) for code in range(-1, len(table.levels)))):
                    _try(metric, rows)
        except OwnCodeError as error:
            sentences[str(error)] = None
    return [*sentences]


def _try(metric: Metric, table: RatingTable) -> None:
    """Call every function of a metric.

    Raises:
        OwnCodeError: one fails.
    """
    if not isinstance(metric.name, str) or metric.better not in _DIRECTIONS:
        raise OwnCodeError(f"metric {metric.name!r}: a name is text, and better is 'higher', 'lower' or ''")
    if (figure := estimate(metric, table, resamples=10)).fault:
        raise OwnCodeError(figure.note)
    for function in (metric.worth if metric.item_score else None, metric.waits, metric.chance):
        if function is not None:
            function(table)


def _made_up(criterion: Criterion, samples: Sequence[Sample], tag_names: Sequence[str]) -> RatingTable:
    """Return ratings of every level, and missing ones, with each target and each set of tags that samples have."""
    codes = {str(level): code for code, level in enumerate(criterion.values)}
    kinds = {
        (
            codes.get(str(sample.tags.get(f"target.{criterion.name}", sample.target)), -1),
            *(sample.tags.get(name, "") for name in tag_names),
        )
        for sample in samples
    }
    first = sorted(kinds)[:_MOST_KINDS] or [(-1, *("" for _ in tag_names))]
    rows = [(code, *kind) for code in range(-1, len(codes)) for kind in first]
    code, target, *tags = zip(*rows, strict=True)
    places = np.arange(len(rows))
    return RatingTable(
        criterion.values, np.array(code), np.array(target), places // 2, places, np.where(np.array(code) < 0, "failed", "ok"),
        tags={name: np.array(values, dtype=object) for name, values in zip(tag_names, tags, strict=True)},
    )  # fmt: skip


def _unchanged(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with ratings and weights that it can read and not change."""

    def read_only(argument: Any) -> Any:
        if isinstance(argument, RatingTable):
            return RatingTable(**read_only(msgspec.structs.asdict(argument)))
        if isinstance(argument, dict):
            return {name: read_only(part) for name, part in argument.items()}
        if isinstance(argument, np.ndarray):
            argument = argument.view()
            argument.flags.writeable = False
        return argument

    try:
        return function(*map(read_only, arguments))
    except UsageError as error:  # of `mindgauge.metric`
        raise OwnCodeError(f"{error}; {_MEND}") from error


def _numbers(value: Any, size: int, noun: str, metric: Metric) -> Floats:
    """Read what a metric returned as numbers, NaN where it is not defined.

    Raises:
        TypeError: these are no numbers, too few or too many, or none that a share can have.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" and not all(
        number is None or isinstance(number, int | float | np.floating | np.integer) for number in array.flat
    ):
        raise TypeError(f"{_shown(value)}, not numbers")
    if array.shape != (size,):
        raise TypeError(
            f"{_shown(value)} of shape {array.shape} for {plural(size, noun)}, and must return one number for each"
        )
    numbers = array.astype(np.float64)
    low, high = (0.0, 1.0) if metric.exact else metric.limits or (-np.inf, np.inf)
    outside = numbers[np.isinf(numbers) | (numbers < low - _TINY) | (numbers > high + _TINY)]
    if len(outside):
        scale = f"a number from {low:g} to {high:g}" if np.isfinite(high) else "a finite number"
        raise TypeError(f"{outside[0]:g}, not {scale}")
    return numbers


def _mask(value: Any, size: int) -> Mask:
    array = np.asarray(value)
    if array.dtype.kind != "b" or array.shape != (size,):
        raise TypeError(f"{_shown(value)}, not true or false for each of {plural(size, 'rating')}")
    return array


def _instance(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{_shown(value)}, not {kind.__name__}")
    return value


def _shown(value: object) -> str:
    """Name what a function returned: itself where it is short, and otherwise its type."""
    if isinstance(value, str):
        return repr(value[:_MOST_SHOWN])
    return f"{value}" if value is None or isinstance(value, int | float) else f"a {type(value).__name__}"


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
        code = getattr(worth, "__code__", None)
        reason = fault(error, Path(code.co_filename).parent if code else None)
        raise UsageError(
            f"metric {name}: its function raised {reason} on {', '.join(map(repr, rating))}; let it return None "
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
