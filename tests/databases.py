"""What tests do with the database of a run, past our own code."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def without_log(folder: Path) -> Path:
    """Write what stands in a run's log into its database file, so that this file is all there is; return the folder."""
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder
