"""Files of replies and dialogues: an empty cell says nothing, in whichever format it is empty."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.raters.window import WHOLE, Unit
from mindgauge.records import Status
from mindgauge.records.errors import DataError
from mindgauge.runs import dialogue_files, inputs
from mindgauge.runs.reply_tables import read_dialogues, read_replies

if TYPE_CHECKING:
    from pathlib import Path

PSYCRISIS, SAFETY = benchmarks.find_one("psycrisis"), benchmarks.find_one("dialogue_safety")
FORMATS = ("csv", "jsonl", "parquet", "pandas-like")
NAMED = ("id", "model", "run", "category", "language", "target", "cluster")
SAID = [("My week was grey.", "What made it so?"), ("I cannot sleep.", "Since when?"), ("Nobody calls.", "I hear you.")]


def written(folder: Path, form: str, rows: list[dict[str, Any]]) -> Any:
    """Write rows, of which every one has every column; None is an empty cell, or in numbers no number."""
    path = folder / f"logs.{form}"
    flat = [{n: json.dumps(c) if isinstance(c, list) else c for n, c in row.items()} for row in rows]
    match form:
        case "csv":
            pl.DataFrame(flat, infer_schema_length=None).write_csv(path)
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        case "parquet":
            pl.DataFrame(flat, infer_schema_length=None).write_parquet(path)
        case _:
            numbers = {n: [float("nan") for _ in rows] for n in rows[0] if all(row[n] is None for row in rows)}
            return pl.DataFrame(flat, infer_schema_length=None).with_columns(
                pl.Series(n, c) for n, c in numbers.items()
            )
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_rows_that_name_nothing_share_nothing(tmp_path: Path, form: str) -> None:
    rows = [{"user": user, "reply": reply, **dict.fromkeys(NAMED)} for user, reply in SAID]
    source = written(tmp_path, form, rows)
    samples, replies = read_replies(source, PSYCRISIS, {})
    assert len({sample.cluster for sample in samples}) == 3
    assert all(sample.tags == {} and sample.target is None for sample in samples)
    assert {(reply.model, reply.run) for reply in replies} == {("table" if form == "pandas-like" else "logs", 0)}
    assert all("source_id" not in reply.provenance for reply in replies)
    logged = read_dialogues(source, SAFETY, {})[0]
    assert len({sample.cluster for sample in logged}) == 3
    assert all(sample.tags == {} and sample.target is None for sample in logged)


@pytest.mark.parametrize("form", FORMATS)
def test_dialogues_that_name_nothing_share_nothing(tmp_path: Path, form: str) -> None:
    talks = [[{"role": "user", "content": user}, {"role": "assistant", "content": reply}] for user, reply in SAID]
    found = dialogue_files.read(
        written(tmp_path, form, [{"messages": talk, **dict.fromkeys(NAMED)} for talk in talks]),
        PSYCRISIS,
        {},
        tuple(Unit),
    )
    assert len({sample.cluster for sample in found.samples}) == 3
    models = {reply.model.removesuffix(WHOLE) for reply in found.replies}
    assert {re.sub(r"^person \(client of (.*)\)$", r"\1", model) for model in models} <= {"logs", "table"}
    assert all("source_id" not in reply.provenance for reply in found.replies)


def test_blanks_are_empty_too_and_a_one_that_became_a_fraction_is_still_one(tmp_path: Path) -> None:
    blank = [{"user": user, "reply": reply, "cluster": " ", "id": "", "model": "\t"} for user, reply in SAID]
    samples, replies = read_replies(written(tmp_path, "jsonl", blank), PSYCRISIS, {})
    assert len({sample.cluster for sample in samples}) == 3
    assert {reply.model for reply in replies} == {"logs"}
    numbered = pl.DataFrame({"user": "a", "reply": "b", "cluster": 1.0, "id": 7.0})
    samples, replies = read_replies(numbered, PSYCRISIS, {})
    assert (samples[0].cluster, replies[0].provenance["source_id"]) == ("1", "7")


@pytest.mark.parametrize("form", FORMATS)
def test_a_reply_that_is_empty_stays_and_has_no_value(tmp_path: Path, form: str) -> None:
    rows = [{"user": user, "reply": None if place == 0 else reply} for place, (user, reply) in enumerate(SAID)]
    _, replies = read_replies(written(tmp_path, form, rows), PSYCRISIS, {})
    assert [reply.status for reply in replies] == [Status.UNPARSABLE, Status.OK, Status.OK]
    rows = [{"user": user, "answer": reply} for user, reply in SAID]
    with pytest.raises(DataError, match="no column 'reply', found user, answer"):
        read_replies(written(tmp_path, form, rows), PSYCRISIS, {})


@pytest.mark.parametrize("form", FORMATS)
def test_rows_that_repeat_an_earlier_one_count_once_and_are_told(tmp_path: Path, form: str) -> None:
    rows = [{"id": "a", "user": user, "reply": reply} for user, reply in [SAID[0], SAID[1], SAID[0], SAID[0]]]
    read = inputs.replies(written(tmp_path, form, rows), PSYCRISIS, {}, None)
    assert len(read.replies) == 2
    (note,) = read.notes
    first = (4, 2) if form == "csv" else (3, 1)
    assert "2 rows repeat the dialogue, reply, model and run of an earlier row" in note
    assert f"(first: line {first[0]} that of line {first[1]})" in note
    numbered = [{**row, "run": number} for number, row in enumerate(rows)]
    read = inputs.replies(written(tmp_path, form, numbered), PSYCRISIS, {}, None)
    assert (len(read.replies), [*read.notes]) == (4, [])


def test_names_that_no_store_can_hold_are_cleaned(tmp_path: Path) -> None:
    path = tmp_path / "logs.jsonl"
    path.write_text('{"user": "a", "reply": "b\\ud800", "id": "\\ud800", "model": "m\\u0000", "cluster": "c\\udfff"}\n')
    samples, replies = read_replies(path, PSYCRISIS, {})
    assert (samples[0].cluster, replies[0].model, replies[0].text) == ("c�", "m�", "b�")


def test_whatever_becomes_a_tag_can_be_mapped(tmp_path: Path) -> None:
    row = {"text": SAID[0][0], "reply": SAID[0][1], "Risiko": "yes", "Sprache": "de", "Bild": "no"}
    (tmp_path / "logs.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    columns = {"user": "text", "risk": "Risiko", "language": "Sprache", "graphic": "Bild"}
    (sample,) = read_dialogues(tmp_path / "logs.jsonl", SAFETY, columns)[0]
    assert {"risk": "yes", "language": "de", "graphic": "no"}.items() <= sample.tags.items()


@pytest.mark.parametrize("as_dialogues", [False, True])
def test_replies_that_join_as_a_further_model_only_by_their_file_s_name_are_told(
    tmp_path: Path, as_dialogues: bool
) -> None:
    logged: list[dict[str, Any]] = []

    def rate(name: str, answer: str, **more: str) -> list[str]:
        notices: list[str] = []
        row: dict[str, Any] = {"user": SAID[0][0], "reply": answer}
        if as_dialogues:
            messages = [
                {"role": "user", "content": row.pop("user")},
                {"role": "assistant", "content": row.pop("reply")},
            ]
            row["messages"] = messages
        path = tmp_path / f"{name}.jsonl"
        logged.append(row)
        path.write_text("".join(json.dumps({**said, **more}) + "\n" for said in logged), encoding="utf-8")
        source: dict[str, Any] = {"dialogues": path, "unit": "turn"} if as_dialogues else {"replies": path}
        mindgauge.rate(
            "help_or_harm/response", **source, judge="rule/refusal", out=tmp_path / "r", notice=notices.append
        )
        return [line for line in notices if "further model" in line]

    assert rate("monday", "I hear you.") == [], "a run of its own"
    assert rate("monday", "I hear you.") == [], "the same again"
    (line,) = rate("tuesday", "I am here.")
    assert "those of a further model, tuesday, beside monday: the file has no column that names the model" in line
    assert rate("wednesday", "Tell me more.", model="wednesday") == [], "the file itself says so"
