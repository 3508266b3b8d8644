"""How a run's database is laid out."""

SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE samples (benchmark TEXT, position INTEGER, id TEXT, body BLOB,
    PRIMARY KEY (benchmark, id));
CREATE INDEX samples_in_order ON samples (benchmark, position);
CREATE TABLE replies (benchmark TEXT, id TEXT, sample TEXT, model TEXT, run INTEGER, status TEXT, text TEXT,
    finish_reason TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, cached_tokens INTEGER, seconds REAL,
    provenance BLOB, PRIMARY KEY (benchmark, id));
CREATE TABLE ratings (benchmark TEXT, subject TEXT, criterion TEXT, rater TEXT, rater_kind TEXT, run INTEGER,
    status TEXT, value, rationale TEXT, evidence BLOB, instrument TEXT, provenance BLOB,
    PRIMARY KEY (benchmark, rater, criterion, subject, run)) WITHOUT ROWID;
CREATE TABLE calls (key BLOB PRIMARY KEY, prompt BLOB, benchmark TEXT, model TEXT, run INTEGER, status TEXT, text TEXT,
    finish_reason TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, cached_tokens INTEGER, seconds REAL,
    attempts INTEGER, model_resolved TEXT, fingerprint TEXT, cost REAL, error TEXT, at REAL);
"""
