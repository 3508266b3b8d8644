"""The folder of an annotation project as a run directory: made whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private
from mindgauge.runs import run_folder
from mindgauge.runs.options import RunConfig
from mindgauge.store import Store, locks, manifest
from mindgauge.store.soundness import seal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.commands.annotate.source import LabelSource


@contextlib.contextmanager
def made_whole(folder: Path, otherwise: str = "serve what is here") -> Iterator[Path]:
    """Give a folder beside to work in, which becomes this one in the end; nothing is left of it if anything fails.

    Raises:
        UsageError: something is there already, or the file system has no locks.
    """
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UsageError(f"{folder}: something is here already; choose a new folder, or {otherwise}")
    path = folder.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    locks.check(path.parent)
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def keep(folder: Path, benchmark: Benchmark, source: LabelSource, command: str) -> None:
    """Make the folder a run: a copy of the one that was given, or one with what the file holds."""
    provided = source.given
    if provided.run is not None:
        _copy(provided.run, folder)
    else:
        config = RunConfig(command=command)
        plan = run_folder.plan_record([benchmark], [provided.samples], config, **provided.named)
        provided.kept(folder, plan, config).close()
    about = {"rubric": benchmark.rubric.name, "items": provided.source, "since": manifest.now()}
    annotation = about | ({} if benchmark.standalone else {"benchmark": benchmark.name})
    manifest.write(folder, {**manifest.read(folder), "annotation": annotation})


def _copy(run: Path, folder: Path) -> None:
    """Copy a run as it is now, and the rubrics of classifiers in it, which people may go on to write elsewhere."""
    try:
        with Store(run) as store:
            private.new(folder / "run.sqlite")
            store.select("VACUUM INTO ?", (os.fspath(folder / "run.sqlite"),))
        seal(folder / "run.sqlite")
    except sqlite3.Error as error:
        raise MindgaugeError(
            f"{run}: cannot copy the run to {folder.parent} ({error}); see that there is room"
        ) from error
    manifest.write(folder, manifest.read(run))
    private.copy_files(run / "rubrics", folder / "rubrics")
