"""`status --salvage`: what can still be read of a damaged run, as a new run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from mindgauge.annotation import blind
from mindgauge.benchmarks import standalone_rubric
from mindgauge.commands.command import CommandOption, command
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private
from mindgauge.records.rounding import plural
from mindgauge.records.rubric import Rubric
from mindgauge.store import manifest, reading
from mindgauge.store import salvage as store
from mindgauge.store.failures import PENDING
from mindgauge.store.locks import check, nobody_writes
from mindgauge.store.opening import absent
from mindgauge.store.salvage import Kept

if TYPE_CHECKING:
    from collections.abc import Sequence

_ANOTHER = "the command that made the run writes another"


class Salvaged(Tabular, msgspec.Struct, frozen=True):
    """What of a damaged run is in the new one, table by table."""

    run: str
    out: str
    tables: list[Kept]
    notes: list[str]

    @property
    def whole(self) -> bool:
        """Whether nothing was found to be damaged."""
        return not any(table.lost or table.pages for table in self.tables)

    def summary(self) -> list[str]:
        """Say what could be read and what was lost, and how to go on."""
        kept, lost, pages = (sum(getattr(table, name) for table in self.tables) for name in ("kept", "lost", "pages"))
        damage = (
            "nothing was found damaged" if self.whole else f"{plural(lost, 'row')} and {plural(pages, 'page')} lost"
        )
        return [
            f"{self.run}: {plural(kept, 'row')} kept, {damage}",
            *noted(self.notes, 3),
            f"{self.out}: the command that made the run, with this `out`, pays only for what was lost.",
        ]

    def _listed(self) -> list[Kept]:
        return self.tables


@command(doing="Salvaging")
def salvage(run: str | Path, *, out: Annotated[str | Path, CommandOption(flag="--salvage", metavar="DIR")]) -> Salvaged:
    """Write what can be read of a damaged run into a new one.

    The command that made the run, with the new folder as `--out`, then pays only for what was lost.

    Args:
        run: The damaged run's directory; it is not changed.
        out: Write what can be read of a damaged run into this folder: new, or empty.

    Raises:
        UsageError: there is no run, somebody is writing it, another version wrote it, or `out` holds something or
            has no locks.
        MindgaugeError: the damaged file cannot be copied, or the new one not be written.
    """
    folder, path = Path(run), Path(out)
    database = folder / "run.sqlite"
    if not database.is_file():
        raise UsageError(absent(folder))
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path}: not empty; what is salvaged goes into a new folder, choose another --out")
    try:
        private.folder(path)
        check(path)
        with nobody_writes(folder) as locked, private.writing(path):
            tables, strange = store.salvage(database, path / "run.sqlite")
            waiting = folder / PENDING / "run.sqlite"
            if waiting.is_file():
                private.folder(path / PENDING)
                strange += store.salvage(waiting, path / PENDING / "run.sqlite")[1]
            notes = [*_left_out(strange), *_beside(folder, path)]
            if not locked:
                notes.append(
                    f"{folder}: its file system has no locks; if anything wrote the run meanwhile, salvage it again"
                )
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    return Salvaged(str(folder), str(path), tables, notes)


def _left_out(strange: Sequence[str]) -> list[str]:
    """Say what of the damaged file is not Mindgauge's, and so is not in the new run."""
    if not strange:
        return []
    named = ", ".join(strange[:5]) + (f" and {len(strange) - 5} more" if len(strange) > 5 else "")
    return [f"left out, since no Mindgauge made it: {named}"]


def _beside(folder: Path, path: Path) -> list[str]:
    """Copy what stands beside the database, and say what of it is damaged: rubrics, and the manifest.

    A damaged manifest goes along under another name, for eyes alone: it may still tell which command made the run.
    """
    notes = []
    private.copy_files(folder / "rubrics", path / "rubrics")
    for file in (folder / standalone_rubric.FILE, folder / blind.FILE, *sorted(folder.glob("view-draw-*.json"))):
        private.copied(file, path / file.name)
    if (folder / reading.FILE).is_file() and not private.copied(folder / reading.FILE, path / reading.FILE):
        notes.append(
            f"{folder / reading.FILE}: too large to be copied here; copy it yourself, it says what people read"
        )
    for rubric in sorted((*path.glob(standalone_rubric.FILE), *(path / "rubrics").glob("*.toml"))):
        try:
            Rubric.kept(rubric)
        except UsageError as error:
            notes.append(str(error))
    damaged = folder / "manifest.toml"
    try:
        content = manifest.read(folder)
    except UsageError:
        if private.copied(damaged, path / f"{damaged.name}.damaged"):
            return [*notes, f"{damaged}: damaged, kept as {path / damaged.name}.damaged to look at; {_ANOTHER}"]
        return [*notes, f"{damaged}: damaged; {_ANOTHER}"]
    if not content:
        return [*notes, f"{folder} has no manifest.toml; {_ANOTHER}"]
    manifest.write(path, content)
    return notes
