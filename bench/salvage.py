"""How many rows `salvage` recovers from damaged runs, beside what other code recovers from the same ones.

    python bench/salvage.py [--before SRC] [--files 10]

The battery is that of `tests/faults`: single bytes of three small runs are flipped, kind by kind (`tests/faults/flips.py`);
of a run with 900 rows and long texts the header, the first page, whole pages and their headers are overwritten, emptied or
cut off; and 64 bytes of a killed run's log are overwritten. Every damaged run is salvaged by the code at hand and, with
`--before`, by that of another folder, such as an older checkout's `src`. A row is recovered if it is the one that was
written; `others` counts what else is in the new run, such as rows that had been deleted, and `said` how many rows the
command itself calls lost. The table is Markdown, for `bench/results/salvage.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
PAGE = 4096
TABLES = ("samples", "replies", "series", "origins", "pieces", "rated", "calls", "overdue", "batches", "batch_calls")
Damage = Callable[[bytearray, random.Random], None]


def salvage_all(folder: Path) -> None:
    """Salvage every run in a folder; print of each the rows and what was called lost. What runs in the process of a code."""
    from mindgauge.commands.salvage import salvage

    for run in sorted(folder.glob("*/run")):
        found = salvage(run, out=run.parent / "new")
        lost = sum(table.lost for table in found.tables), sum(table.pages for table in found.tables)
        print(json.dumps([run.parent.name, rows(run.parent / "new"), lost]))
        shutil.rmtree(run.parent / "new")


def rows(run: Path) -> dict[str, list[str]]:
    """Return the rows of each table."""
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        return {table: sorted(map(repr, db.execute(f"SELECT * FROM {table}"))) for table in TABLES}


def inner(file: bytearray) -> list[int]:
    """Return where pages begin that lead to pages of rows."""
    return [at for at in range(PAGE, len(file), PAGE) if file[at] in {2, 5} and file[at + 1 : at + 3] == b"\0\0"]


def overwritten(places: Callable[[bytearray], list[int]], length: int, count: int) -> Damage:
    """Return a damage: random bytes at some of these places."""

    def damage(file: bytearray, draw: random.Random) -> None:
        there = places(file)
        for at in draw.sample(there, min(count, len(there))):
            file[at : at + length] = draw.randbytes(length)

    return damage


def cut(file: bytearray, draw: random.Random) -> None:
    del file[draw.randrange(len(file) // 4, len(file)) :]


def emptied(file: bytearray, draw: random.Random) -> None:
    at = draw.randrange(PAGE, len(file) - 4 * PAGE)
    file[at : at + 4 * PAGE] = bytes(4 * PAGE)


def every(file: bytearray) -> list[int]:
    return [*range(PAGE, len(file), PAGE)]


DAMAGES: dict[str, Damage] = {
    "the header overwritten": overwritten(lambda _: [0], 100, 1),
    "the first page overwritten": overwritten(lambda _: [0], PAGE, 1),
    "the file cut": cut,
    "five pages overwritten": overwritten(every, PAGE, 5),
    "four pages emptied": emptied,
    "eight page headers overwritten": overwritten(every, 16, 8),
    "three inner pages overwritten": overwritten(inner, PAGE, 3),
}


def made(folder: Path, files: int) -> dict[str, tuple[str, Path]]:
    """Write the damaged runs; return of each its kind of damage and the run that it was made of."""
    from tests.commands.test_salvage import _filled
    from tests.faults import flips

    damaged: dict[str, tuple[str, Path]] = {}
    wholes = folder / "wholes"
    for name, how in (("closed", {}), ("killed", {"killed": True}), ("without text", {"text": False})):
        run = flips.made(wholes / name / "run", **how)
        kinds = {kind: at for kind, at in flips.places(run).items() if at[0][0].startswith("run.sqlite")}
        kinds.pop("run.sqlite.checksum", None)
        for kind, at in sorted(kinds.items()):
            for number in range(files):
                draw = random.Random(f"{name} {kind} {number}")
                file, place = draw.choice(at)
                ident = f"{len(damaged):05}"
                with flips.flipped(run, file, place, draw):
                    shutil.copytree(run, folder / ident / "run")
                damaged[ident] = (f"a byte of {kind}, {name}", run)
    big = _filled(wholes / "big")
    for kind, damage in DAMAGES.items():
        for number in range(files):
            ident = f"{len(damaged):05}"
            shutil.copytree(big, folder / ident / "run")
            database = folder / ident / "run" / "run.sqlite"
            content = bytearray(database.read_bytes())
            damage(content, random.Random(f"{kind} {number}"))
            database.write_bytes(content)
            damaged[ident] = (kind, big)
    killed = wholes / "killed" / "run"
    for number in range(files):
        ident = f"{len(damaged):05}"
        shutil.copytree(killed, folder / ident / "run")
        log = folder / ident / "run" / "run.sqlite-wal"
        content, draw = bytearray(log.read_bytes()), random.Random(f"log {number}")
        first = draw.randrange(len(content) // 4)
        content[first : first + 64] = draw.randbytes(64)
        log.write_bytes(content)
        damaged[ident] = ("64 bytes of a killed run's log", killed)
    return damaged


def recovered(source: str, folder: Path, damaged: dict[str, tuple[str, Path]]) -> dict[str, Counter[str]]:
    """Let the code of a folder salvage all; return by kind of damage what became of the rows."""
    command = [sys.executable, __file__, "--salvage", str(folder)]
    out = subprocess.run(command, env={**os.environ, "PYTHONPATH": source}, stdout=subprocess.PIPE, check=True).stdout
    wholes = {run: rows(run) for run in {run for _, run in damaged.values()}}
    kinds: dict[str, Counter[str]] = {}
    for line in out.splitlines():
        ident, there, (lost, pages) = json.loads(line)
        kind, whole = damaged[ident][0], wholes[damaged[ident][1]]
        right = sum((Counter(whole[name]) & Counter(there[name])).total() for name in TABLES)
        kinds.setdefault(kind, Counter()).update(
            files=1,
            written=sum(map(len, whole.values())),
            recovered=right,
            others=sum(map(len, there.values())) - right,
            said=lost,
            pages=pages,
        )
    return kinds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="a folder with other code")
    parser.add_argument("--files", type=int, default=10, help="damaged runs of each kind")
    parser.add_argument("--salvage", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.salvage:
        salvage_all(arguments.salvage)
        return
    with tempfile.TemporaryDirectory() as name:
        damaged = made(Path(name), arguments.files)
        sources = {"before": arguments.before, "now": str(ROOT / "src")}
        found = {code: recovered(src, Path(name), damaged) for code, src in sources.items() if src}
    print(
        "| damage | files | rows written |",
        *(f" {code}: recovered | others | said lost, and pages |" for code in found),
    )
    print(f"|---|---|---|{'---|---|---|' * len(found)}")
    totals = {code: sum(kinds.values(), Counter()) for code, kinds in found.items()}
    for kind in [*found["now"], None]:
        cells = [(totals if kind is None else {c: k[kind] for c, k in found.items()})[code] for code in found]
        facts = [f"{c['recovered']:,} | {c['others']:,} | {c['said']:,}, {c['pages']:,}" for c in cells]
        print(f"| {kind or 'all'} | {cells[0]['files']:,} | {cells[0]['written']:,} | {' | '.join(facts)} |")


if __name__ == "__main__":
    main()
