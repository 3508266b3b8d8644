"""Versions of the rubric: all are kept, and a batch has that of its first label."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select

from mindgauge import private, sealed
from mindgauge.annotation import schema
from mindgauge.errors import UsageError
from mindgauge.records import encode
from mindgauge.rubric import Rubric

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from mindgauge.annotation.database import Database

FILE = "rubric.toml"
"""The copy in the project's folder, which its owner may revise."""


def instrument(rubric: Rubric) -> str:
    """Return how ratings name a rubric: its id, its version and the hash of its words."""
    return f"{rubric.name}#{rubric.hash[:12]}"


def add(c: Connection, rubric: Rubric) -> None:
    """Add a version, as the newest."""
    row = {"instrument": instrument(rubric), "body": encode(rubric).decode(), "at": time.time()}
    c.execute(insert(schema.rubrics).values(**row))


def take_up(database: Database, path: Path, newest: Rubric) -> None:
    """Take up the file, if it was revised, for the batches that nobody has begun; write it, if it is gone.

    Raises:
        UsageError: it was changed after labels were given without a new version, or other things than words were.
    """
    if not path.exists():
        newest.write(path)
        return
    revised = Rubric.load(path)
    if revised.hash == newest.hash:
        _seal(path)
        return
    if _frame(revised) != _frame(newest):
        raise UsageError(
            f"{path}: its id, a criterion or a level is another than in this project; words may change, for others begin "
            "a new project"
        )

    def take(c: Connection) -> None:
        versions = list(c.execute(select(schema.rubrics.c.instrument).order_by(schema.rubrics.c.number)).scalars())
        if versions[-1] == instrument(revised):  # the answer to the commit was lost
            return
        labels = c.execute(select(func.count()).select_from(schema.labels)).scalar_one()
        if labels and revised.name in {version.partition("#")[0] for version in versions}:
            raise UsageError(
                f"{path}: changed after {labels} labels were given; raise its version (now {revised.version}), and the "
                "batches that nobody has begun use it, or put the old file back"
            )
        if instrument(revised) in versions:
            raise UsageError(f"{path}: an earlier version again; put the newest back, or give this one a new version")
        add(c, revised)

    database.write(take)
    _seal(path)


def _seal(path: Path) -> None:
    """Give the owner's file its checksum, once it is known to be what they mean: runs are scored by its levels."""
    content = path.read_bytes()
    if sealed.seal(content) != content:
        private.write(path, sealed.seal(content))


def _frame(rubric: Rubric) -> object:
    """Return what labels hang on: another version has other words, not other names or levels."""
    return rubric.id, [(criterion.name, criterion.scale, criterion.values) for criterion in rubric.criteria]
