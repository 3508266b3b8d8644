"""Whatever a file holds, reading it gives entries of the project or one line that says what is wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mindgauge.annotation.exchange import FORMATS, read
from mindgauge.records.errors import DataError, UsageError

from .conftest import ITEMS, NEGLECT, SAFE, known

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.annotation.exchange.reading import ImportedLabel

KNOWN = known()
WORDS = st.sampled_from([
    "subject", "criterion", "rater", "value", "category", "note", "phase", "labelling", "status", "evidence", "path", "at",
    "data", "annotations", "result", "from_name", "to_name", "type", "choices", "labels", "text", "textarea", "rating",
    "start", "end", "completed_by", "email", "was_cancelled", "created_at", "lead_time", "instance_id", "user_id", "id",
    "label_annotations", "span_annotations", "spans", "schema", "name", "instance_id_to_label_to_value", "reply",
    "instance_id_to_span_to_value", "annotator", "annotation", "user", "ana", "ben", SAFE, NEGLECT, ITEMS[0].id, "answered",
])  # fmt: skip
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 20), st.floats(), WORDS, WORDS, st.text(max_size=5))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5), max_leaves=30
)
RECORDS = st.lists(st.dictionaries(WORDS, VALUES, max_size=8), max_size=4)
ANSWERS = st.sampled_from([SAFE, NEGLECT, "cannot tell", ["x"], None, 7, True]) | VALUES
REGIONS = st.fixed_dictionaries(
    {
        "from_name": st.sampled_from(["category", "rater", "note", "evidence_in_reply"]) | SCALARS,
        "value": VALUES
        | st.dictionaries(st.sampled_from(["choices", "rating", "text", "labels", "start", "end"]), ANSWERS),
    },
    optional={"type": st.sampled_from(["choices", "rating", "labels", "textarea"]) | SCALARS},
)
TASKS = st.fixed_dictionaries(
    {"data": st.just({"subject": ITEMS[0].id, "reply": "text"}) | VALUES},
    optional={
        "annotations": VALUES
        | st.lists(st.fixed_dictionaries({"result": st.lists(REGIONS, max_size=4) | VALUES, "completed_by": st.just("ana") | VALUES}), max_size=3)
    },
)  # fmt: skip
SCHEMES = st.dictionaries(
    st.sampled_from(["category", "note", "why"]), VALUES | st.dictionaries(st.sampled_from([SAFE, "text_box"]), SCALARS)
)
SPANS = VALUES | st.lists(st.fixed_dictionaries({"start": SCALARS, "end": SCALARS}, optional={"text": VALUES}))
POTATO = st.fixed_dictionaries(
    {
        "instance_id": st.just(ITEMS[0].id),
        "user_id": st.just("ana"),
        "labels": SCHEMES,
        "spans": SPANS | st.fixed_dictionaries({"e": SPANS}),
    }
)
RATINGS = st.fixed_dictionaries(
    {"subject": st.just(ITEMS[0].id), "criterion": st.just("category"), "rater": st.just("ana"), "value": ANSWERS},
    optional=dict.fromkeys(
        ("answered", "status", "phase", "note", "evidence", "path", "at", "seconds", "rater_kind"), VALUES
    ),
)
QUIET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def attempt(path: Path, form: str) -> tuple[list[ImportedLabel], str]:
    try:
        return read(path, KNOWN, form)[1], ""
    except DataError as fault:
        return [], str(fault)


def reads_or_says_why(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for form in ("", *FORMATS):
        entries, fault = attempt(path, form)
        assert "\n" not in fault and len(fault) < 2000
        assert bool(entries) is not bool(fault)
        if entries:
            assert all(entry.item in ITEMS and entry.person.name in {"ana", "ben", "chi"} for entry in entries)
            assert all(e.answer is None or e.answer.criterion == "category" for e in entries)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet", "txt", ""])
@given(content=st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-16", "surrogatepass")))
@QUIET
def test_any_bytes(tmp_path: Path, ending: str, content: bytes) -> None:
    reads_or_says_why(tmp_path / f"file.{ending}", content)


@given(content=VALUES | RECORDS | st.lists(TASKS, min_size=1, max_size=3))
@QUIET
def test_any_json(tmp_path: Path, content: object) -> None:
    reads_or_says_why(tmp_path / "file.json", json.dumps(content).encode())


@given(rows=RECORDS | st.lists(POTATO, min_size=1, max_size=3) | st.lists(RATINGS, min_size=1, max_size=3))
@QUIET
def test_any_lines(tmp_path: Path, rows: list[object]) -> None:
    reads_or_says_why(tmp_path / "file.jsonl", "\n".join(map(json.dumps, rows)).encode())


@given(
    header=st.lists(WORDS, min_size=1, max_size=8),
    rows=st.lists(st.lists(WORDS | st.text(max_size=6), max_size=8), max_size=4),
)
@QUIET
def test_any_table(tmp_path: Path, header: list[str], rows: list[list[str]]) -> None:
    lines = [",".join(header), *(",".join(row) for row in rows)]
    reads_or_says_why(tmp_path / "file.csv", "\n".join(lines).encode("utf-8", "replace"))


@pytest.mark.parametrize("depth", [1_000, 200_000])
def test_deep_nesting(tmp_path: Path, depth: int) -> None:
    reads_or_says_why(tmp_path / "file.json", b"[" * depth + b"]" * depth)
    reads_or_says_why(tmp_path / "file.jsonl", b'{"instance_id": "1", "labels": ' + b"[" * depth + b"]" * depth + b"}")


def test_an_empty_file_and_one_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(DataError, match=r"empty\.csv: no ratings in it \(0 rows\)"):
        read(tmp_path / "empty.csv", KNOWN)
    with pytest.raises(DataError, match=r"gone\.csv: no such file"):
        read(tmp_path / "gone.csv", KNOWN)
    (tmp_path / "bare").write_text("x", encoding="utf-8")
    with pytest.raises(DataError, match=r"expected \.csv, .*, found no ending"):
        read(tmp_path / "bare", KNOWN)
    (tmp_path / "latin.csv").write_bytes("subject,rater\n1,Jürgen\n".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8 at byte 17; save it as UTF-8"):
        read(tmp_path / "latin.csv", KNOWN)
    with pytest.raises(UsageError, match="unknown format 'xlsx'; known are csv, parquet, label-studio, potato"):
        read(tmp_path / "latin.csv", KNOWN, "xlsx")
