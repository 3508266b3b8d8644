"""`audit`: what is wrong with this data?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge import benchmark as benchmarks
from mindgauge.analysis.audit import checks
from mindgauge.analysis.audit.finding import Finding, Severity
from mindgauge.analysis.audit.reading import layout, run, shape
from mindgauge.analysis.audit.reading import ratings as ratings_files
from mindgauge.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.material import Material
    from mindgauge.tables import Frame

ENOUGH = 3
"""A table with so many of the four columns of a ratings file is meant as one."""


class Audit(msgspec.Struct, frozen=True):
    """What is wrong with some data, the most severe first, and how much was looked at."""

    findings: list[Finding]
    source: str
    texts: int
    ratings: int
    counts: dict[str, int]
    """How many findings of each severity there are."""

    @property
    def table(self) -> pl.DataFrame:
        """The findings as a table, one row each."""
        rows = [msgspec.structs.asdict(finding) | {"severity": finding.severity.value} for finding in self.findings]
        columns: dict[str, pl.DataType | type[pl.DataType]] = {
            "id": pl.String, "severity": pl.String, "count": pl.Int64, "where": pl.List(pl.String), "effect": pl.String,
            "message": pl.String, "subject": pl.String,
        }  # fmt: skip
        return pl.DataFrame(rows, columns)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def audit(
    source: str | Path | Frame | Sequence[str | Path],
    *,
    data: str | Path | None = None,
    scale: str | Mapping[str, str] | None = None,
) -> Audit:
    """Find what is wrong with data before anybody computes on it.

    Args:
        source: the name of a benchmark (with `data`); a run directory; ratings files (CSV, JSONL, Parquet with subject,
            criterion, rater, value) or a table of ratings in memory; or any files and folders of tables and texts,
            also in zips.
        data: a copy of the authors' released files, whole or in part.
        scale: `1:5`, or the options of a closed question (`yes,no`), for all criteria or by criterion, where no rubric
            says it.

    Raises:
        UsageError: the name or the scale is wrong.
        DataError: there is nothing that can be read.
    """
    sources: list[str | Path | Frame] = list(source) if isinstance(source, list | tuple) else [source]  # type: ignore[list-item]  # a lone source
    scales = {"*": scale} if isinstance(scale, str) else dict(scale or {})
    findings, texts, ratings = [], 0, 0
    for subject, material in _materials(sources, data, scales):
        findings += checks.run(material, subject)
        texts, ratings = texts + material.texts.height, ratings + material.ratings.height
    findings = checks.ranked(findings)
    counts = {severity: sum(f.severity == severity for f in findings) for severity in Severity}
    named = ", ".join(str(s) if isinstance(s, str | Path) else "table" for s in sources)
    return Audit(findings, named, texts, ratings, {severity.value: n for severity, n in counts.items()})


def _materials(
    sources: Sequence[str | Path | Frame], data: str | Path | None, scale: Mapping[str, str]
) -> Iterator[tuple[str, Material]]:
    """Read what is to be audited, part by part, by name."""
    if data is not None:
        yield from _released(sources, Path(data))
        return
    tables = [source for source in sources if not isinstance(source, str | Path)]
    paths = [_there(source) for source in sources if isinstance(source, str | Path)]
    for path in paths:
        if (path / "run.sqlite").is_file():
            yield from run.read(path)
        elif layout.is_one(path):
            yield layout.read(path)
    ratings = [path for path in paths if path.is_file() and _is_ratings(path)]
    if ratings or tables:
        yield "ratings", ratings_files.material([*ratings, *tables], scale)
    known = [path for path in paths if (path / "run.sqlite").is_file() or layout.is_one(path)]
    others = [path for path in paths if path not in (*ratings, *known)]
    if others:
        found = list(shape.read(others))
        if not any(material.texts.height or material.ratings.height for _, material in found):
            notes = [note for _, material in found for note in material.notes]
            raise DataError("; ".join([f"{others[0]}: no table of texts or ratings here", *notes[:3]]))
        yield from found


def _there(source: str | Path) -> Path:
    """Return a path that exists; say what to do where the name is a benchmark's."""
    path = Path(source)
    known = benchmarks.names()
    if not path.exists() and str(source) in {*known, *(name.split("/")[0] for name in known)}:
        raise UsageError(f"audit {source}: say where the authors' files are, --data DIR")
    if not path.exists():
        raise DataError(f"{path}: no such file, folder or benchmark")
    return path


def _is_ratings(path: Path) -> bool:
    """Whether a file is, or is meant as, a ratings file."""
    if path.suffix.lower() not in ratings_files.SUFFIXES:
        return False
    return len({*ratings_files.REQUIRED} & {c.casefold() for c in ratings_files.columns(path)}) >= ENOUGH


def _released(sources: Sequence[str | Path | Frame], data: Path) -> Iterator[tuple[str, Material]]:
    if len(sources) != 1 or not isinstance(sources[0], str):
        raise UsageError("--data goes with the name of one benchmark")
    name = sources[0]
    try:
        found = [benchmark for benchmark in benchmarks.of_family(name) if benchmark.material is not None]
    except UsageError as error:
        raise UsageError(f"{error}; for any other data name the folder alone: mindgauge audit {data}") from error
    if not found:
        raise UsageError(
            f"{name} does not say how to read its files for an audit; audit the folder: mindgauge audit {data}"
        )
    for benchmark in found:
        assert benchmark.material is not None
        yield benchmark.name, benchmark.material(data)
