"""How a run's database is laid out.

Ratings are many and say much alike, so what they share is kept once, and `ratings` is a view that puts them together:
`series` names benchmark, rater and criterion, `origins` what is the same for all that a rater says in one command, and
`pieces` a rationale, quotes or the course of a call, which all ratings of one answer share. Every row ends with a checksum
over its values (`rows.py`).
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from typing import NamedTuple

SCHEMA_VERSION = 4
SCHEMA = """
CREATE TABLE samples (benchmark TEXT, position INTEGER, id TEXT, body BLOB, checksum INTEGER,
    PRIMARY KEY (benchmark, id));
CREATE INDEX samples_in_order ON samples (benchmark, position);
CREATE TABLE replies (benchmark TEXT, id TEXT, sample TEXT, model TEXT, run INTEGER, status TEXT, text TEXT,
    finish_reason TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, cached_tokens INTEGER, seconds REAL,
    provenance BLOB, checksum INTEGER, PRIMARY KEY (benchmark, id));
CREATE INDEX replies_by_model ON replies (benchmark, model, status, sample, run);
CREATE TABLE series (id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL, rater TEXT NOT NULL, criterion TEXT NOT NULL,
    checksum INTEGER, UNIQUE (benchmark, rater, criterion));
CREATE TABLE origins (id INTEGER PRIMARY KEY, rater_kind TEXT NOT NULL, instrument TEXT NOT NULL,
    selection TEXT, protocol TEXT, members TEXT NOT NULL, checksum INTEGER,
    UNIQUE (rater_kind, instrument, members));
CREATE TABLE pieces (id INTEGER PRIMARY KEY, said TEXT NOT NULL, checksum INTEGER);
CREATE TABLE rated (series INTEGER REFERENCES series (id), subject TEXT, run INTEGER, status TEXT, value,
    origin INTEGER REFERENCES origins (id), reason INTEGER, quotes INTEGER, course INTEGER, own TEXT,
    checksum INTEGER, PRIMARY KEY (series, subject, run)) WITHOUT ROWID;
CREATE VIEW ratings AS SELECT series.benchmark, rated.subject, series.criterion, series.rater, origins.rater_kind,
    rated.run, rated.status, rated.value,
    (SELECT said FROM pieces WHERE id = rated.reason) AS rationale,
    (SELECT said FROM pieces WHERE id = rated.quotes) AS evidence,
    origins.instrument, origins.selection, origins.protocol,
    '{' || rtrim(origins.members || coalesce((SELECT said FROM pieces WHERE id = rated.course), '')
        || coalesce(rated.own, ''), ',') || '}' AS provenance
    FROM series JOIN rated ON rated.series = series.id LEFT JOIN origins ON origins.id = rated.origin;
CREATE TRIGGER ratings_dropped INSTEAD OF DELETE ON ratings BEGIN
    DELETE FROM rated WHERE subject = OLD.subject AND run = OLD.run AND series =
        (SELECT id FROM series WHERE benchmark = OLD.benchmark AND rater = OLD.rater AND criterion = OLD.criterion);
END;
CREATE TABLE calls (key BLOB PRIMARY KEY, prompt BLOB, benchmark TEXT, model TEXT, run INTEGER, status TEXT, text TEXT,
    finish_reason TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, cached_tokens INTEGER, seconds REAL,
    attempts INTEGER, model_resolved TEXT, fingerprint TEXT, cost REAL, error TEXT, at REAL,
    unsupported TEXT, checksum INTEGER);
CREATE INDEX calls_by_model ON calls (model, benchmark, status, prompt_tokens, completion_tokens, cached_tokens, seconds,
    attempts, cost);
CREATE TABLE batches (id TEXT PRIMARY KEY, model TEXT, file TEXT, remote TEXT, found INTEGER, began REAL, calls INTEGER,
    note TEXT, unsupported TEXT, checksum INTEGER);
CREATE TABLE batch_calls (key BLOB PRIMARY KEY, batch TEXT, attempt INTEGER, checksum INTEGER) WITHOUT ROWID;
CREATE INDEX batch_calls_of ON batch_calls (batch);
CREATE TRIGGER batch_call_kept AFTER INSERT ON calls BEGIN
    DELETE FROM batch_calls WHERE key = NEW.key;
END;
"""


class Part(NamedTuple):
    """Something that a database has a name for."""

    kind: str
    """`table`, `index`, `view` or `trigger`."""
    name: str
    of: str
    """The table that it belongs to; a table's own name."""
    root: int
    """The page where it begins; 0 where it has none."""
    sql: str | None
    """None where the index came with its table."""


PARTS = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema"


@functools.cache
def usual_parts() -> tuple[Part, ...]:
    """Return what every run of this version is made of."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return tuple(Part(*row) for row in db.execute(PARTS))
