"""Reading what people bring, faults included: no crash, no silent loss, bounded memory."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING

import polars as pl
import pytest
import xlsxwriter  # type: ignore[import-untyped]

import mindgauge
from mindgauge.analysis.audit.reading import shape
from mindgauge.analysis.audit.reading.shape import AuditTable, flat, tables
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.released import Material


def read(path: Path) -> tuple[list[AuditTable], list[str]]:
    notes: list[str] = []
    return tables([path], notes), notes


def materials(path: Path) -> dict[str, Material]:
    return dict(shape.read([path]))


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def long(number: int) -> str:
    return f"This is what person number {number} wrote about the day in words of their own."


# -- files ------------------------------------------------------------------------------------------------------------


def test_hidden_and_foreign_files_are_left_out_and_the_latter_told(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "id,text\n1,x\n")
    write(tmp_path / ".git/b.csv", "id,text\n1,x\n")
    write(tmp_path / "c.png", b"\x89PNG")
    found, notes = read(tmp_path)
    assert [table.file for table in found] == ["a.csv"]
    assert notes == ["c.png: not a table or text, not read"]


def test_a_zip_is_read_in_natural_order_and_what_cannot_be_is_told(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("x.csv", "a\n1\n")
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in (10, 2, 1):
            archive.writestr(f"run/{number}.json", json.dumps({"context": long(number), "label": number}))
        archive.writestr("again.zip", inner.getvalue())
        archive.writestr("broken.csv", "a,b\n" + "1,2\n" * 2000)
    damaged = bytearray(path.read_bytes())
    start = damaged.index(b"broken.csv") + len(b"broken.csv")
    damaged[start : start + 8] = b"\xff" * 8
    path.write_bytes(bytes(damaged))
    found, notes = read(tmp_path)
    assert [(table.file, [row["label"] for row in table.rows]) for table in found] == [
        ("data.zip/run", ["1", "2", "10"])
    ]
    assert any(note == "data.zip/again.zip: a zip inside a zip, not read" for note in notes)
    assert any(
        note.startswith("data.zip/broken.csv: cannot read it (broken.csv in data.zip cannot be unpacked")
        for note in notes
    )


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "FILE", 100_000)
    monkeypatch.setattr(bounds, "ARCHIVE", 150_000)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.csv", b"0" * 50_000_000)
        for name in ("one.csv", "two.csv"):
            archive.writestr(name, "text\n" + "some words\n" * 8000)
    assert path.stat().st_size < 100_000
    found, notes = read(path)
    assert [table.file for table in found] == ["bomb.zip/one.csv"]
    assert [note.partition(" MiB")[0] for note in sorted(notes)] == [
        "bomb.zip/bomb.csv: cannot read it (bomb.csv in bomb.zip has more than 0",
        "bomb.zip/two.csv: cannot read it (two.csv in bomb.zip is not read, since its files have more than 0",
    ]


def test_no_zip_and_an_encrypted_member_are_told(tmp_path: Path) -> None:
    write(tmp_path / "no.zip", "this is no zip")
    path = tmp_path / "secret.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "text\nx\n")
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(content))
    found, notes = read(tmp_path)
    assert found == []
    assert notes[0].startswith("no.zip: not a readable zip")
    assert (
        notes[1] == "secret.zip/a.csv: cannot read it (a.csv in secret.zip is encrypted; unpack it yourself), not read"
    )


# -- tables -----------------------------------------------------------------------------------------------------------


def test_headers_that_are_odd_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "\ufeff text ,,Unnamed: 2,text\na,b,c,d\ne,f\n")
    (table,), notes = read(path)
    assert table.rows[0] == {"text": "a", "column 1": "b", "Unnamed: 2": "c", "text (3)": "d"}
    assert [note.removeprefix("a.csv: ") for note in notes] == [
        "begins with a byte order mark, which some readers take for a part of the first column's name",
        "the column name ' text ' has blanks around it",
        "the column 'text' occurs twice; the first is read as it, the other as 'text (3)'",
        "columns 1, 2 have no name",
        "1 rows with more or fewer cells than the header",
    ]


def test_quotes_that_are_out_of_place_are_told_once_and_taken_as_they_stand(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'text,note\na,b\n"he said \\"no\\" to me",c\nd,e\n"f" g,h\n')
    (table,), notes = read(path)
    assert [row["note"] for row in table.rows] == ["b", "c", "e", "h"]
    assert notes == ['a.csv:3: broken CSV (a quote within a quoted cell; write it twice, ""), taken as it stands']


def test_what_is_odd_in_the_rows_of_a_ratings_file_is_told(tmp_path: Path) -> None:
    rows = "".join(f"s{n},safety,{rater},{n % 5}\n" for n in range(9) for rater in ("H1", "H2"))
    path = write(tmp_path / "r.csv", f'subject,criterion,rater,value\n{rows}"s9" x,safety,H1,3\ns9,safety,H2\n')
    (found,) = [finding for finding in mindgauge.audit(path).findings if finding.id == "reader_notes"]
    assert found.count == 2
    assert "r.csv:20: broken CSV" in str(found.where)
    assert "1 rows with more or fewer cells than the header" in str(found.where)


def test_encodings(tmp_path: Path) -> None:
    latin, wide = (
        write(tmp_path / "a.csv", "text\ncafé\n".encode("latin-1")),
        write(tmp_path / "b.csv", "text\ncafé\n".encode("utf-16")),
    )
    (table,), notes = read(latin)
    assert table.rows == [{"text": "caf\ufffd"}]
    assert notes == ["a.csv: not UTF-8 at byte 8; what cannot be read is U+FFFD"]
    assert read(wide)[0][0].rows == [{"text": "café"}]


def test_every_kind_of_table_says_the_same(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["1", "2"], "text": ["one, two", "three\nfour"]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "b.jsonl")
    frame.write_csv(tmp_path / "c.csv")
    frame.write_csv(tmp_path / "d.tsv", separator="\t")
    frame.write_csv(tmp_path / "e.csv", separator=";")
    write(tmp_path / "f.json", json.dumps(frame.to_dicts()))
    write(tmp_path / "g.json", json.dumps({"what": "a release", "results": frame.to_dicts()}))
    with xlsxwriter.Workbook(tmp_path / "h.xlsx") as book:
        sheet = book.add_worksheet("only")
        for number, row in enumerate([frame.columns, *frame.rows()]):
            sheet.write_row(number, 0, row)
    found, notes = read(tmp_path)
    assert notes == []
    assert {table.name: table.rows for table in found} == dict.fromkeys(
        ["a.parquet", "b.jsonl", "c.csv", "d.tsv", "e.csv", "f.json", "g.json#results", "h.xlsx"], frame.to_dicts()
    )


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("a.json", '[{"a": 1},', "a.json:1: broken JSON"),
        ("a.json", "3", "a.json: neither a list nor an object, not read"),
        ("a.json", "[" * 100_000, "a.json: broken JSON (nested too deeply: at most 64"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', "a.jsonl:2: broken JSON"),
        ("a.csv", "", "a.csv: no rows"),
        ("a.csv", "text\n", "a.csv: no rows"),
        ("a.parquet", "PAR1 not", "a.parquet: not a Parquet file that can be read"),
        ("a.xlsx", "no workbook", "a.xlsx: not a workbook that can be read"),
        ("a.tsv", "one line\nanother line\n", "a.tsv: no tab in it, read line by line"),
        ("a.txt", "--\nx\n" * 40, "a.txt: most lines repeat each other, so it is taken for a report and not audited"),
    ],
)
def test_what_is_broken_is_told(tmp_path: Path, name: str, content: str, note: str) -> None:
    _, notes = read(write(tmp_path / name, content))
    assert any(told.startswith(note) for told in notes), notes


def test_a_single_remark_is_counted_as_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(
        "\ufeffid,text\n1,I slept badly before the exam.\n2,The house is so quiet since she left.\n".encode()
    )
    [finding] = mindgauge.audit(path).findings
    assert finding.message == "1 remark on reading the files"


def test_nested_records_become_columns() -> None:
    record = {
        "choices": [{"message": {"role": "assistant", "content": "hello"}}], "usage": {"tokens": 3},
        "dialog": [{"speaker": "seeker", "content": "I am\ntired"}, {"speaker": "supporter", "content": "I hear"}],
        "options": {"A": "yes", "B": "no"}, "inputs": ["one", "two"], "score": float("nan"), "none": None,
    }  # fmt: skip
    assert flat(record) == {
        "choices.message.role": "assistant", "choices.message.content": "hello",
        "dialog": "seeker: I am tired\nsupporter: I hear", "options": "A. yes\nB. no", "inputs": "one\ntwo", "score": "nan",
    }  # fmt: skip


# -- what belongs together --------------------------------------------------------------------------------------------


def test_files_for_several_systems_are_one_material(tmp_path: Path) -> None:
    for model, rows in (("gpt-4o", 40), ("claude-3", 40), ("qwen-2", 10)):
        for tier in ("2a", "2b"):
            answers = [{"id": i, "info": long(i) + tier, "human": i % 5, "model": (i + 1) % 5} for i in range(rows)]
            write(tmp_path / f"report_{model}_tier_{tier}.json", json.dumps(answers))
    found = materials(tmp_path)
    assert len(found) == 2
    for material in found.values():
        assert set(material.texts["system"]) == {"gpt-4o", "claude-3", "qwen-2"}
        counts = dict(material.ratings.group_by("rater").len().iter_rows())
        assert counts == {"human": 40, "gpt-4o": 40, "claude-3": 40, "qwen-2": 10}


def test_runs_without_a_models_name_are_versions_if_their_texts_are_the_same(tmp_path: Path) -> None:
    for run in ("one", "two"):
        write(tmp_path / f"runs/{run}.csv", "text,prediction\n" + "".join(f"{long(i)},{i % 2}\n" for i in range(30)))
    for topic, first in (("work", 0), ("family", 100)):
        write(
            tmp_path / f"topics/{topic}.csv",
            "text,age\n" + "".join(f"{long(i)},{i}\n" for i in range(first, first + 30)),
        )
    runs, topics = materials(tmp_path / "runs").values(), materials(tmp_path / "topics").values()
    assert set(next(iter(runs)).texts["system"]) == {"one", "two"}
    assert set(next(iter(topics)).texts["system"]) == {None}


def test_splits_come_from_names_or_a_column(tmp_path: Path) -> None:
    rows = "".join(f"{i},{long(i)},{'ab'[i % 2]}\n" for i in range(40))
    for name in ("trainShort.csv", "dev_short.csv", "test_short.csv"):
        write(tmp_path / name, "id,text,label\n" + rows)
    found = list(materials(tmp_path).values())
    assert {split for material in found for split in material.texts["split"]} == {"train", "validation", "test"}
    path = write(tmp_path / "all/all.csv", "text,split\n" + "".join(f"{long(i)},{'ab'[i % 2]}\n" for i in range(40)))
    (material,) = materials(path.parent).values()
    assert set(material.texts["split"]) == {"a", "b"}


def test_columns_are_known_by_name_and_content(tmp_path: Path) -> None:
    rows = [
        {
            "sample_id": i, "scenario": long(i), "options": "A.yes\nB.no\nC.maybe", "expected_reasoning": "AB"[i % 2],
            "response": {"content": f"I would say {i} and explain it in a sentence."}, "model_choice_option": "ABC"[i % 3],
            "judge_parsed": {"sc1": i % 5 + 1, "sc1_reason": f"It is clear enough, reply {i}."}, "source": "xy"[i % 2],
        }
        for i in range(60)
    ]  # fmt: skip
    (material,) = materials(write(tmp_path / "a.json", json.dumps(rows))).values()
    assert dict(material.texts.group_by("kind").len().iter_rows()) == {"input": 60, "reply": 60, "verdict": 60}
    assert material.options == {"label": ("A", "B", "C")}
    raters = material.ratings.select("rater", "rater_kind", "criterion").unique().rows()
    assert set(raters) == {
        ("gold", "gold", "label"), ("model_choice_option", "model", "label"), ("judge_parsed", "model", "sc1"),
    }  # fmt: skip
    assert set(material.texts["source"]) == {"x", "y"}
    assert material.texts["id"].n_unique() == 60
