"""`export`: a run in another tool's format."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from mindgauge.benchmark import Benchmark
    from mindgauge.exports.folder import Folder, Written
    from mindgauge.store import Store

FORMATS = ("csv", "parquet", "hub")


class Exported(msgspec.Struct, frozen=True):
    """What was written, file by file; `notes` says what of the run has no place in the format."""

    run: str
    to: str
    path: str
    files: list[Written]
    notes: list[str]

    @property
    def table(self) -> pl.DataFrame:
        """The files as a table, one row each."""
        import polars as pl

        return pl.DataFrame([msgspec.structs.asdict(file) for file in self.files], infer_schema_length=None)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def export(run: str | Path, *, to: str, out: str | Path | None = None, licence: str | None = None) -> Exported:
    """Write a run for other tools.

    Args:
        run: a run directory.
        to: `csv` or `parquet`, for samples, replies and ratings as plain tables, or `hub`, for the Hugging Face layout.
        out: the folder to write, new, empty, or an earlier export that was not changed since; inside the run if not given.
        licence: what you publish under; `hub` needs one.

    Raises:
        UsageError: there is no run, the format is unknown, it needs a licence, or `out` is somebody else's.
    """
    from mindgauge.analysis.score import open_run
    from mindgauge.exports.folder import Folder

    if to not in FORMATS:
        near = difflib.get_close_matches(to.lower(), FORMATS, 1, 0.4)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(FORMATS)}"
        raise UsageError(f"unknown format {to!r}: {hint}")
    if to == "hub" and not (licence or "").strip():
        raise UsageError("the Hugging Face layout is made to be published: state its licence with --licence")
    folder = Path(run)
    store, found, manifest = open_run(folder)
    with store:
        there = [b for b in found if store.count_samples(b.name)]
        writable, notes = _writable(folder, there, to)
        with Folder(Path(out) if out is not None else folder / f"export-{to}") as files:
            _write(files, to, store, writable, manifest, licence or "")
    return Exported(str(folder), to, str(files.out), files.written, notes)


def _writable(run: Path, found: list[Benchmark], to: str) -> tuple[list[Benchmark], list[str]]:
    """Return the benchmarks that a format has a place for, and a note on each other."""
    if to != "hub":
        return found, []
    closed = [b.name for b in found if b.closed]
    if len(closed) == len(found):
        raise UsageError(
            f"{run}: {', '.join(closed) or 'this run'} has no replies, which the hub layout is about; use --to csv or --to parquet"
        )
    return [b for b in found if not b.closed], [f"{name}: a closed question, without replies; not in the hub layout" for name in closed]


def _write(files: Folder, to: str, store: Store, found: list[Benchmark], manifest: dict[str, Any], licence: str) -> None:
    from mindgauge.exports import hub, tabular

    if to == "csv":
        tabular.write_csv(files, store, found)
    elif to == "parquet":
        tabular.write_parquet(files, store, found)
    else:
        if len(found) > 1:
            names = ", ".join(b.name for b in found)
            raise UsageError(f"{store.folder}: several benchmarks have replies here ({names}); the hub layout holds one, export a run of one")
        hub.write(files, store, found[0], manifest, licence)
