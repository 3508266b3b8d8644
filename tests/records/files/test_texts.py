from __future__ import annotations

import gc
import json
import weakref
import zipfile
from encodings.aliases import aliases
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.records import Message
from mindgauge.records.errors import DataError
from mindgauge.records.files import folder, tables, texts

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [{"user": 'hello, "you"\nthere', "reply": "你好"}, {"user": "b", "reply": "c"}]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_the_same_rows_from_every_kind(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        pl.DataFrame(ROWS).write_csv(path)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    elif kind == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n", encoding="utf-8")
    else:
        pl.DataFrame(ROWS).write_parquet(path)
    assert [row for _, row in tables.rows(path)] == ROWS


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.jsonl", b'{"a": 1}\n{"a": ', "a.jsonl:2: broken JSON"),
        ("a.jsonl", b'{"a": 1}\n[1]', "a.jsonl:2: expected an object, found list"),
        ("a.jsonl", b'{"a": ' + b"9" * 5000 + b"}", "a.jsonl:1: broken JSON (a number of 5,000 digits; write it as text)"),
        ("a.jsonl", b'{"a": ' + b"[" * 100_000, "a.jsonl:1: broken JSON (nested too deeply: at most 64 lists and objects"),
        ("a.csv", b"a,b\n1,2,3\n", "a.csv:2: more cells"),
        ("a.csv", b'a,b\n"1,2\n', "broken CSV"),
        ("a.csv", b"a,b\n\xff\xfe,2\n", "not UTF-8 at byte 4"),
        ("a.parquet", b"PAR1", "not a Parquet file"),
        ("a.doc", b"", "expected .csv, .tsv, .jsonl, .ndjson, .json, .parquet, .xlsx, found .doc"),
    ],
)  # fmt: skip
def test_a_bad_table_is_one_line_with_its_place(tmp_path: Path, name: str, content: bytes, fault: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        list(tables.rows(path))
    assert fault in str(caught.value)
    with pytest.raises(DataError, match="no such file"):
        list(tables.rows(tmp_path / "missing.csv"))


@pytest.mark.parametrize(
    "encoding", sorted({*aliases.values(), "idna", "punycode", "undefined", "unicode_escape", "utf_8_sig", "none such"})
)
def test_whatever_encoding_is_named_a_file_is_read_or_refused_in_a_line(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"user,reply\nhello,there\n")
    try:
        list(tables.rows(path, {"encoding": encoding}))
    except DataError as error:
        assert str(error).startswith(str(path))  # noqa: PT017 - some are read


@pytest.mark.parametrize("encoding", ["hex", "base64", "rot13", "idna", "none such"])
def test_an_encoding_that_is_none_of_texts_is_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"user,reply\nhello,there\n")
    with pytest.raises(DataError, match=f"unknown encoding: {encoding}; name"):
        list(tables.rows(path, {"encoding": encoding}))


def test_of_several_lists_in_an_object_none_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"data": [{"user": "a"}], "more": [{"user": "b"}]}')
    with pytest.raises(DataError, match=r"expected a list of objects, found several \(data, more\)"):
        list(tables.rows(path))


def test_a_zip_with_two_files_of_one_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "user\na\n")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.csv", "user\nb\n")
    for named in (path, path / "a.csv"):
        with pytest.raises(DataError, match=r"t\.zip: it holds two files called a\.csv, and .*; rename or remove one"):
            list(tables.rows(named))


@pytest.mark.parametrize("kind", ["csv", "json", "jsonl", "parquet"])
def test_a_table_goes_without_the_garbage_collector_and_its_file_with_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    getattr(pl.DataFrame(ROWS), f"write_{kind}".replace("jsonl", "ndjson"))(path)
    gc.disable()
    try:
        table = tables.open_table(path)
        assert len(list(table.cells())) == len(table.frame(["user"])) == len(list(table.rows())) == 2
        alive = weakref.ref(table)
        del table
        assert alive() is None
    finally:
        gc.enable()


def test_json_takes_nan_and_names_the_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": NaN, "b": -Infinity}]')
    assert texts.read_records(path) == [{"a": None, "b": None}]
    path.write_text('[{"a": 1},\n {"a": \n')
    with pytest.raises(DataError, match=r"x\.json:3: broken JSON"):
        texts.read_json(path)
    path.write_text('[{"a": ' + "9" * 5000 + "}]")
    with pytest.raises(DataError, match=r"x\.json: broken JSON \(a number of 5,000 digits; write it as text\)"):
        texts.read_json(path)
    path.write_text('{"a": 1}')
    with pytest.raises(DataError, match="expected a list of objects, found dict"):
        texts.read_records(path)


@given(st.binary(max_size=200))
def test_reading_bytes_never_ends_in_a_traceback(content: bytes) -> None:
    import tempfile
    from pathlib import Path as RealPath

    with tempfile.TemporaryDirectory() as folder:
        for kind in ("csv", "jsonl", "json"):
            path = RealPath(folder) / f"x.{kind}"
            path.write_bytes(content)
            try:
                texts.read_json(path) if kind == "json" else list(tables.rows(path))
            except DataError as error:
                assert "\n" not in str(error)  # noqa: PT017 - it need not be raised


def test_dialogues() -> None:
    assert texts.dialogue({"user": "hi\x00"}, "f:1") == (Message("user", "hi\N{REPLACEMENT CHARACTER}"),)
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert texts.dialogue({"messages": messages}, "f:1") == texts.dialogue({"messages": json.dumps(messages)}, "f:1")


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"user": "  "},
        {"user": 5},
        {"messages": "nope"},
        {"messages": [{"role": "boss", "content": "x"}]},
        {"messages": []},
        {"messages": [{"role": "user"}]},
        {"messages": "[" * 100_000},
        {"messages": "9" * 5000},
    ],
)
def test_what_is_no_dialogue_says_where(row: dict[str, object]) -> None:
    with pytest.raises(DataError, match=r"^f:3: "):
        texts.dialogue(row, "f:3")


def test_whole_numbers() -> None:
    assert [texts.whole(v, "f:1", "run") for v in (2, "2", 2.0, "2.0")] == [2, 2, 2, 2]
    for bad in ("x", 2.5, None, "nan", "inf", 10**400):
        with pytest.raises(DataError, match="run must be a whole number"):
            texts.whole(bad, "f:1", "run")


class _Unmarked(zipfile.ZipInfo):
    """A file whose name is in an encoding that the zip does not say."""

    encoding = "utf-8"

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802 - so it is called there
        return self.filename.encode(self.encoding), self.flag_bits


def test_a_name_in_a_zip_of_macos_is_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "gespräche.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(_Unmarked("Antworten für Anna.csv"), "user\nI cannot sleep.\n")
        archive.writestr(_Unmarked("回复.csv"), "user\nI feel low.\n")
    assert [file.name for file in folder.members(path, PurePosixPath())] == ["Antworten für Anna.csv", "回复.csv"]
    assert [row for _, row in tables.rows(path / "回复.csv")] == [{"user": "I feel low."}]


@pytest.mark.parametrize(
    ("name", "encoding"),
    [("回复.csv", "gbk"), ("第1组 回复与评分.csv", "gbk"), ("年度.csv", "utf-8"), ("Café ñandú.csv", "cp437"), ("Ωmega.csv", "cp437")],
)  # fmt: skip
def test_a_name_in_a_zip_of_a_chinese_windows_is_as_it_was_written_and_no_other_is_taken_for_one(
    tmp_path: Path, name: str, encoding: str
) -> None:
    path, entry = tmp_path / "a.zip", _Unmarked(name)
    entry.encoding = encoding
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, "user\nI feel low.\n")
    assert [file.name for file in folder.members(path, PurePosixPath())] == [name]
