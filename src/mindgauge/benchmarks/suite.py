"""A suite: dimensions, the tasks that each is made of, and the score that each task goes by; `suite.toml` in a family's folder.

A task's benchmark is mostly a member of the family; a task that another family has already is not there twice.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).parent
FILE = "suite.toml"


class TaskMetric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A metric of one criterion, on the samples with the tags in `where`."""

    metric: str
    criterion: str
    where: dict[str, str] = {}
    chance: float | None = None
    """Its value under guessing, where that does not follow from how many options there are."""


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model does in one benchmark, and the score that it goes by: the mean of the headline's parts."""

    name: str
    title: str
    benchmark: str
    headline: Annotated[tuple[TaskMetric, ...], Meta(min_length=1)]
    better: Literal["higher", "lower"]
    low: float
    """Where the metric's scale ends, in its own unit; a value outside counts as the end."""
    high: float
    defined: Literal["authors", "upstream", "ours"]
    """Who defined the score: the suite's authors, the data set's own paper, or we."""
    published: str = ""
    """The task's row in the suite's published table of ranks, if it is there."""
    whichever: bool = False
    """Data come in one of several kinds, so the headline is of those parts of which there are ratings."""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"{self.name}: low is {self.low:g} and high {self.high:g}; low must be less")

    def scaled(self, value: float) -> float:
        """Return how far a value is on the way from the worst to the best, in [0, 1]."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return 1.0 - share if self.better == "lower" else share


class Dimension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tasks that are averaged."""

    name: str
    tasks: Annotated[tuple[Task, ...], Meta(min_length=1)]


class Suite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A family of benchmarks that is summed up in dimensions; `name` is the family's."""

    name: str
    title: str
    dimensions: Annotated[tuple[Dimension, ...], Meta(min_length=1)]

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of all dimensions."""
        return tuple(task for dimension in self.dimensions for task in dimension.tasks)

    @classmethod
    def load(cls, folder: Path) -> Suite:
        """Read the suite of a family's folder.

        Raises:
            UsageError: there is none, it is not as it should be, or a name is in it twice.
        """
        path = folder / FILE
        try:
            suite = msgspec.convert({"name": folder.name, **bounds.toml(path)}, cls)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: cannot be used as a suite ({error})") from error
        tasks = suite.tasks
        for names in ([d.name for d in suite.dimensions], [t.name for t in tasks], [t.benchmark for t in tasks]):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise UsageError(f"{path}: {twice} is there twice; name it once")
        return suite


def names() -> list[str]:
    """Return the names of all suites, which are those of their families."""
    return sorted(path.parent.name for path in HERE.glob(f"*/{FILE}"))


def find(name: str) -> Suite | None:
    """Return the suite of a family; None where it has none.

    Raises:
        UsageError: its file is not as it should be.
    """
    return _load(HERE / name) if name in names() else None


def members_elsewhere(name: str) -> tuple[str, ...]:
    """Return the benchmarks of a family's suite that stand in other families' folders."""
    suite = find(name)
    tasks = () if suite is None else suite.tasks
    return tuple(task.benchmark for task in tasks if not task.benchmark.startswith(f"{name}/"))


def of(benchmarks: Iterable[str]) -> str:
    """Return the suite that several benchmarks are tasks of; empty where there is none, or only one of them is."""
    named = {*benchmarks}
    return next((name for name in names() if len(named & order(name).keys()) > 1), "")


@functools.cache
def headlines(benchmark: str) -> frozenset[str]:
    """Return the names of the metrics that a benchmark goes by in any suite."""
    tasks = (task for name in names() for task in _load(HERE / name).tasks if task.benchmark == benchmark)
    return frozenset(part.metric for task in tasks for part in task.headline)


def order(name: str) -> dict[str, int]:
    """Return the place of each benchmark in a family's suite; empty where it has none."""
    suite = find(name)
    return {} if suite is None else {task.benchmark: place for place, task in enumerate(suite.tasks)}


_load = functools.cache(Suite.load)
