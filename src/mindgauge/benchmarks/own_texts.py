"""Texts that a user brings: any table of messages as samples of any benchmark, whatever its authors' files look like.

A table has `user` (one message) or `messages` (a dialogue), and optionally `own_columns.COLUMNS` and the tags that a benchmark
looks at. It is a file, or a folder or zip of files, which is then read whole; where no table is in it, each text file is a
message. The authors' released files are recognised first. Nothing is guessed: where no column is the message, a refusal says
which columns there are and which `--map` would do. Nothing is left out in silence.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.benchmarks import own_columns
from mindgauge.benchmarks.own_reader import OwnReader
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mindgauge.benchmarks.own_columns import TextFile
    from mindgauge.benchmarks.sampled import SampledBenchmark
    from mindgauge.records import Sample


class NeitherError(MissingDataError):
    """What lies there is neither the authors' files nor texts of the user's own."""

    def __init__(self, refusal: DataError, fault: DataError, *, theirs: bool) -> None:
        """Put two reasons into one line.

        Args:
            refusal: why it is not the authors'.
            fault: why it is not the user's.
            theirs: whether the first is the likelier.
        """
        self.refusal = str(refusal)
        lines = (
            f"{refusal}; nor are texts of your own there: {fault}"
            if theirs
            else f"{fault}; nor are they the authors' files: {refusal}"
        )
        super().__init__(lines)


def unreleased(data: Path) -> list[Sample]:
    """Read the authors' files of a benchmark that has none: every table is one of the user's own.

    Raises:
        MissingDataError: always.
    """
    raise MissingDataError(f"{data}: there are no released files of this benchmark")


class TakenSamples(NamedTuple):
    """The samples that are asked about, what must be known of how they were read, and whether they are the user's own."""

    samples: list[Sample]
    notes: list[str]
    own: bool
    population: Callable[[], list[Sample]]
    """Returns all that a limit takes from."""


def _selected(
    benchmark: SampledBenchmark,
    candidates: list[Sample],
    keep: dict[str, tuple[str, ...]],
    limit: int | None,
    notes: list[str],
    *,
    own: bool,
) -> TakenSamples:
    samples = benchmark.selected(candidates, keep, limit)
    return TakenSamples(samples, notes, own, partial(benchmark.selected, candidates, keep, None))


def take(
    benchmark: SampledBenchmark,
    data: Path | None,
    where: dict[str, tuple[str, ...]] | None = None,
    limit: int | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    by_protocol: bool = False,
) -> TakenSamples:
    """Return the samples that a benchmark is to ask about: the authors', the user's own, or those of this project.

    Args:
        benchmark: that asks.
        data: the authors' released files, or a table, folder or zip of the user's; our own samples if not given.
        where: tag → values to keep.
        limit: at most this many, each with its variants, spread evenly over the classes in the order of the file.
        columns: our name → the user's column, and how the file is read; it takes the place of `columns.toml` beside a table.
        by_protocol: whether judges rate by the protocol that a sample's tag names, so that one must be there.

    Raises:
        MissingDataError: neither the authors' files are there nor a column that the benchmark needs.
        DataError: nothing is there, or nothing usable, or it is broken.
        UsageError: `columns` names something that is not read.
    """
    if data is None:
        return _selected(benchmark, benchmark.own_samples(), dict(where or {}), limit, [], own=False)
    if not data.exists() and not own_columns.lying(data).files:  # nor is it a member of a zip
        raise DataError(
            f"{data}: no such file or folder; --data takes a table or texts of your own, a folder or zip of them, or the folder "
            "of the authors' released files"
        )
    if columns or benchmark.load_mapped is not None or benchmark.read is unreleased:
        files = own_columns.opened(benchmark, data, columns)
        return _own(benchmark, data, files, where, limit, by_protocol=by_protocol)
    try:
        released = benchmark.read(data)
    except DataError as refusal:
        if (data.is_dir() and not isinstance(refusal, MissingDataError)) or not own_columns.lying(data).files:
            raise
        try:
            files = own_columns.opened(benchmark, data, columns)
        except DataError as fault:
            raise NeitherError(refusal, fault, theirs=data.is_dir()) from fault
        return _own(benchmark, data, files, where, limit, by_protocol=by_protocol)
    notes = benchmark.notes(data) if benchmark.notes is not None else []
    return _selected(benchmark, released, {**benchmark.keep, **(where or {})}, limit, notes, own=False)


def _own(
    benchmark: SampledBenchmark,
    data: Path,
    files: list[TextFile],
    where: dict[str, tuple[str, ...]] | None,
    limit: int | None,
    *,
    by_protocol: bool,
) -> TakenSamples:
    reader = OwnReader(benchmark, data)
    for file in files:
        reader.read(file)
    samples = reader.samples(by_protocol=by_protocol)
    notes, others = reader.notes(by_protocol=by_protocol), own_columns.lying(data).others
    if others:
        notes.append(f"{data}: {plural(len(others), 'file is', 'files are')} not read: {named(others, limit=5)}")
    return _selected(benchmark, samples, dict(where or {}), limit, notes, own=True)
