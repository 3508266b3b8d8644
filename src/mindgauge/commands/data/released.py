"""What is known of the released files of benchmarks: which there are, where they may be had, which of them are here."""

from __future__ import annotations

import csv
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge import benchmarks
from mindgauge.benchmarks.registry import asked_family
from mindgauge.commands.command import command
from mindgauge.commands.data.download import PublicFile, is_whole
from mindgauge.records.command_result import Tabular, first_of
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.card import DataFile

LISTED = "released.tsv"
"""The files of folders, with size and SHA-256, beside the card that names the folders."""
FOLDER = Path("data")
"""Where released files go, a folder a family, unless a command says otherwise."""


class FamilyFiles(NamedTuple):
    """The released files of a family: those that may be had freely, and the benchmarks some of whose files may not."""

    family: str
    files: list[PublicFile]
    others: dict[str, list[str]]
    """Benchmark → the files and folders of it that are only given on request, or whose content is not known."""
    benchmarks: list[Benchmark]

    @property
    def size(self) -> int:
        """Bytes that may be had freely."""
        return sum(file.size for file in self.files)


def families(names: Sequence[str] = ()) -> list[FamilyFiles]:
    """Return what is known of the released files of some benchmarks, or of all that have any.

    Raises:
        UsageError: there is no such benchmark, or its card names a file outside of its folder.
    """
    members = [b for name in names or benchmarks.names() for b in asked_family(name)]
    by_family: dict[str, list[Benchmark]] = {}
    for benchmark in members:
        by_family.setdefault(benchmark.name.partition("/")[0], []).append(benchmark)
    listed = [_family(family, list(dict.fromkeys(m.name for m in rows)), rows) for family, rows in by_family.items()]
    return [family for family in listed if names or family.files or family.others]


def _family(name: str, order: list[str], rows: list[Benchmark]) -> FamilyFiles:
    by_name = {benchmark.name: benchmark for benchmark in rows}
    files: dict[str, PublicFile] = {}
    others: dict[str, list[str]] = {}
    for benchmark in (by_name[each] for each in order):
        for entry in benchmark.card.data:
            free = _files(benchmark, entry)
            files |= {file.path: file for file in free}
            if not free:
                others.setdefault(benchmark.name, []).append(entry.path)
    for file in files.values():
        if PurePosixPath(file.path).is_absolute() or ".." in PurePosixPath(file.path).parts:
            raise UsageError(f"{name}: its card names {file.path}, which is outside of its folder")
    return FamilyFiles(name, list(files.values()), others, [by_name[each] for each in order])


def _files(benchmark: Benchmark, entry: DataFile) -> list[PublicFile]:
    """Return the files of an entry that may be had freely and are known by their content."""
    if not entry.url:
        return []
    if entry.sha256:
        return [PublicFile(entry.path, entry.url, entry.size, entry.sha256)]
    table = next((f / LISTED for f in (benchmark.folder, benchmark.folder.parent) if (f / LISTED).is_file()), None)
    if table is None:
        return []
    lines = bounds.content(table).decode().splitlines()
    return [
        PublicFile(row["path"], entry.url + row["path"].removeprefix(f"{entry.path}/"), int(row["size"]), row["sha256"])
        for row in csv.DictReader(lines, delimiter="\t")
        if row["path"].startswith(f"{entry.path}/")
    ]


class DataListing(msgspec.Struct, frozen=True):
    """The released files of a benchmark: how many may be had freely, how large they are, and how many of these are here."""

    benchmark: str
    files: int
    size: int
    here: int
    folder: str
    on_request: list[str]
    """Files and folders that this program cannot bring."""
    licence: str
    obtain: str


class DataListings(Tabular, msgspec.Struct, frozen=True):
    """What there is of released files."""

    data: list[DataListing]

    def summary(self) -> Iterator[str]:
        """Say of each family how much may be had, and what is here."""
        yield from first_of(
            [
                f"{entry.benchmark}: {plural(entry.files, 'file')} may be had freely, {entry.here} of them are in {entry.folder}"
                for entry in self.data
            ],
            9,
        )

    def _listed(self) -> Sequence[DataListing]:
        return self.data


@command(without="names")
def papers_list(names: str | Sequence[str] = (), *, out: str | Path | None = None) -> DataListings:
    """List the released files: how many may be had freely, which are here, how to ask for the others.

    Args:
        names: benchmarks or families; all, if none is named.
        out: The folder of the files; if not given, data/FAMILY.

    Raises:
        UsageError: there is no such benchmark.
    """
    chosen = [names] if isinstance(names, str) else list(names)
    return DataListings([_listing(family, place(family, out)) for family in families(chosen)])


def place(family: FamilyFiles, out: str | Path | None) -> Path:
    """Return the folder of a family's files."""
    return Path(out) if out is not None else FOLDER / family.family


def _listing(family: FamilyFiles, folder: Path) -> DataListing:
    here = sum(is_whole(file, folder / file.path) for file in family.files)
    first = family.benchmarks[0]
    return DataListing(
        family.family if len(family.benchmarks) > 1 else first.name, len(family.files), family.size, here, str(folder),
        [path for paths in family.others.values() for path in paths], terms(family), obtain(family),
    )  # fmt: skip


def terms(family: FamilyFiles) -> str:
    """Return under which terms the files of a family stand."""
    return " ".join(dict.fromkeys(benchmark.card.licence for benchmark in family.benchmarks))


def obtain(family: FamilyFiles) -> str:
    """Return how the files that this program cannot bring are had."""
    wanting = [benchmark for benchmark in family.benchmarks if benchmark.name in family.others]
    return " ".join(dict.fromkeys(benchmark.card.obtain for benchmark in wanting))
