"""`audit`: what is wrong with this data?"""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import polars as pl

from mindgauge import benchmarks
from mindgauge.analysis.audit import checks
from mindgauge.analysis.audit import claims as claim_check
from mindgauge.analysis.audit.claims import CheckedClaim
from mindgauge.analysis.audit.reading import known_forms, shape
from mindgauge.analysis.audit.reading import known_forms as ratings_files
from mindgauge.analysis.audit.reading.hub_tables import read_layout
from mindgauge.analysis.audit.view import Finding, Severity
from mindgauge.analysis.reliability.ratings import read
from mindgauge.benchmarks import hub_layout, own_folder, self_stated
from mindgauge.commands.command import NAMED, command
from mindgauge.records.command_result import Tabular, first_of
from mindgauge.records.errors import DataError, UnclearRatingsError, UsageError
from mindgauge.records.files import folder, mapping
from mindgauge.records.files import tables as reader
from mindgauge.records.ratings import NOTHING_SAID
from mindgauge.records.rounding import plural
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.benchmarks.released import Material
    from mindgauge.records.files.mapping import ColumnMap
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.ratings import RatingLayout

NAMES = tuple(
    dict.fromkeys((*ratings_files.REQUIRED, *ratings_files.OPTIONAL, *ratings_files.TEXTS_OF, "id", "messages"))
)
"""Columns that may be mapped."""


class Audit(Tabular, msgspec.Struct, frozen=True):
    """What is wrong with some data, the most severe first, and how much was looked at."""

    findings: list[Finding]
    source: str
    texts: int
    ratings: int
    counts: dict[str, int]
    """How many findings of each severity there are."""
    claims: list[CheckedClaim] = []
    """What became of each claim, where a file of them was given."""

    def summary(self) -> list[str]:
        """Say what was looked at, and name the worst findings."""
        counts = ", ".join(plural(n, severity) for severity, n in self.counts.items() if n) or "nothing contradictions"
        findings = [f"{finding.severity.value}: {finding.message}" for finding in self.findings]
        return [
            f"{self.source}: {counts}; looked at {plural(self.texts, 'text')} and {plural(self.ratings, 'rating')}",
            *first_of([sentence for claim in self.claims for sentence in claim.sentences[:1]], 7),
            *first_of(findings, 7),
            *([".table says where each stands and what it does to results."] if findings else []),
        ]

    @property
    def table(self) -> pl.DataFrame:
        """The findings as a table, one row each."""
        rows = [msgspec.structs.asdict(finding) | {"severity": finding.severity.value} for finding in self.findings]
        columns: dict[str, pl.DataType | type[pl.DataType]] = {
            "id": pl.String, "severity": pl.String, "count": pl.Int64, "where": pl.List(pl.String), "effect": pl.String,
            "message": pl.String, "subject": pl.String,
        }  # fmt: skip
        return pl.DataFrame(rows, columns)


@command(
    first="data scale claims fail_on map levels criteria rater subject drop",
    doing="Looking",
)
def audit(
    source: Annotated[str | Path | Frame | Sequence[str | Path], NAMED],
    *,
    data: str | Path | None = None,
    scale: str | Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    layout: RatingLayout = NOTHING_SAID,
    claims: str | Path | None = None,
) -> Audit:
    """Find what is wrong with data: each finding with its severity, count, places, and what it does to results.

    Args:
        source: A benchmark (with --data), a run, ratings files, or any files and folders of tables, also in zips.
        data: A copy of the authors' released files, whole or in part.
        scale: 1:5, or the options (yes,no), for all criteria; or CRITERION=1:5. May be repeated.
        columns: our name → the file's name of a column, see `mapping`.
        layout: how ratings stand in tables, where that is not seen from them.
        claims: Hold the claims of a file (claims.toml) against the ratings; docs/tasks/audit_ratings.md.

    Raises:
        UsageError: the name, the scale or the file of claims is wrong.
        DataError: there is nothing that can be read.
    """
    sources: list[str | Path | Frame] = list(source) if isinstance(source, list | tuple) else [source]  # type: ignore[list-item]  # a lone source
    scales = {"*": scale} if isinstance(scale, str) else dict(scale or {})
    stated = claim_check.load(claims) if claims is not None else []
    if stated and data is not None:
        raise UsageError(
            "--claims goes with ratings files or a run; write the released ratings out by `papers load` first"
        )
    findings, texts, ratings = [], 0, 0
    for subject, material in _materials(sources, data, scales, mapping.read(columns, NAMES), layout):
        findings += checks.run(material, subject)
        texts, ratings = texts + material.texts.height, ratings + material.ratings.height
    findings = checks.ranked(findings)
    counts = {severity: sum(f.severity == severity for f in findings) for severity in Severity}
    named = ", ".join(str(s) if isinstance(s, str | Path) else "table" for s in sources)
    described = dataclasses.replace(layout, columns=dict(columns or {})) if columns else layout
    checked = claim_check.held(stated, read(sources, scale=scales, layout=described)) if stated else []
    return Audit(findings, named, texts, ratings, {severity.value: n for severity, n in counts.items()}, checked)


def _materials(
    sources: Sequence[str | Path | Frame],
    data: str | Path | None,
    scale: Mapping[str, str],
    column_map: ColumnMap,
    layout: RatingLayout,
) -> Iterator[tuple[str, Material]]:
    """Read what is to be audited, part by part, by name."""
    if data is not None:
        if column_map != mapping.NOTHING:
            raise UsageError("--map goes with files of tables; a benchmark knows its authors' files")
        yield from _released(sources, Path(data))
        return
    tables = [reader.open_table(source) for source in sources if not isinstance(source, str | Path)]
    paths = [_there(source) for source in sources if isinstance(source, str | Path)]
    for path in paths:
        if (path / "run.sqlite").is_file():
            yield from known_forms.read_run(path)
        elif hub_layout.is_one(path):
            title, material = read_layout(path)
            yield title, material._replace(contradictions=tuple(self_stated.faults(path, (), Counter())))
    notes: list[str] = []
    ratings = {
        path: table for path in paths if _alone(path) and (table := ratings_files.opened(path, column_map, notes))
    }
    if ratings or tables:
        yield "ratings", ratings_files.material([*ratings.values(), *tables], scale, column_map.columns, notes)
    run_paths = [path for path in paths if (path / "run.sqlite").is_file() or hub_layout.is_one(path)]
    others = [path for path in paths if path not in (*ratings, *run_paths)]
    if others:
        yield from _anything(others, scale, column_map, layout)


def _anything(
    paths: Sequence[Path], scale: Mapping[str, str], column_map: ColumnMap, layout: RatingLayout
) -> Iterator[tuple[str, Material]]:
    """Read the texts of any files, and their ratings, in whatever shape these are."""
    materials = list(shape.read([folder.at(path) for path in paths], column_map))
    has_texts = any(material.texts.height for _, material in materials)
    rated = None
    if layout != NOTHING_SAID or not any(material.ratings.height for _, material in materials):
        try:
            rated = known_forms.any_shape(paths, layout, scale)
        except UnclearRatingsError as error:
            if not has_texts or layout != NOTHING_SAID:
                raise
            materials.append(("the ratings", shape.remarks([f"ratings are not read: {error}"])))
    if rated is not None:
        yield "ratings", rated
    elif not has_texts and not any(material.ratings.height for _, material in materials):
        remarks = [note for _, material in materials for note in material.notes]
        raise DataError("; ".join([f"{paths[0]}: no table of texts or ratings here", *remarks[:3]]))
    yield from materials


def _there(source: str | Path) -> Path:
    """Return a path that exists; say what to do where the name is a benchmark's."""
    path = Path(source)
    names = benchmarks.names()
    exists = path.exists() or isinstance(folder.at(path), folder.File)
    if not exists and str(source) in {*names, *(name.split("/")[0] for name in names)}:
        raise UsageError(f"audit {source}: say where the authors' files are, --data DIR")
    if not exists:
        raise DataError(f"{path}: no such file, folder or benchmark")
    if own_folder.is_one(path) and (samples := own_folder.sample_files(path)):
        return samples[0]  # the folder's other files are no data
    return path


def _alone(path: Path) -> bool:
    """Whether a path is a file, or a folder with nothing but one, and what says how to read it."""
    if not path.is_dir():
        return True
    inside = [file for file in path.iterdir() if not folder.hidden(file.name) and file.name != mapping.FILE]
    return len(inside) == 1 and inside[0].is_file()


def _released(sources: Sequence[str | Path | Frame], data: Path) -> Iterator[tuple[str, Material]]:
    if len(sources) != 1 or not isinstance(sources[0], str):
        raise UsageError("--data goes with the name of one benchmark")
    name = sources[0]
    try:
        auditable = [benchmark for benchmark in benchmarks.asked_family(name) if benchmark.material is not None]
    except UsageError as error:
        raise UsageError(f"{error}; for any other data name the folder alone: {command_line('audit', data)}") from error
    if hub_layout.is_one(data):
        for place, benchmark in enumerate(auditable or benchmarks.asked_family(name)):
            title, material = read_layout(data, benchmark)
            contradictions = () if place else self_stated.faults(data, (), Counter())
            yield title, material._replace(contradictions=tuple(contradictions))
        return
    if not auditable:
        raise UsageError(
            f"{name} does not say how to read its files for an audit; audit the folder: {command_line('audit', data)}"
        )
    contradictions = self_stated.faults(data, auditable, Counter())
    for benchmark in auditable:
        assert benchmark.material is not None
        yield benchmark.name, benchmark.material(data)._replace(contradictions=tuple(contradictions))
        contradictions = []
