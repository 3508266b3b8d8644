from __future__ import annotations

import time
from typing import TYPE_CHECKING

import polars as pl
import pytest

from mindgauge.benchmarks.mentalbench.cells import CRITERIA
from mindgauge.benchmarks.mentalbench.mentalbench import material
from mindgauge.benchmarks.released import RATINGS, TEXTS
from mindgauge.records.errors import DataError

from .conftest import CLAUDE, GPT, PEOPLE, ROWS, cell, concern, rated

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.released import Material

    from .conftest import Copy


def of(found: Material, subject: str, rater: str) -> dict[str, tuple[str, str | None]]:
    rows = found.ratings.filter(pl.col("subject") == subject, pl.col("rater") == rater)
    return {
        criterion: (status, value)
        for criterion, status, value in rows.select("criterion", "status", "value").iter_rows()
    }


def test_texts_and_ratings_stand_where_they_stand(small: Copy) -> None:
    found = material(small.root)
    assert {name: str(kind) for name, kind in found.texts.schema.items()} == TEXTS
    assert {name: str(kind) for name, kind in found.ratings.schema.items()} == RATINGS
    assert found.scales == dict.fromkeys(CRITERIA, (1.0, 5.0))
    assert found.texts.group_by("file", "kind").len().sort("file", "kind").rows() == [
        (PEOPLE, "input", ROWS),
        (CLAUDE, "input", ROWS),
        (CLAUDE, "verdict", 10 * ROWS),
        (GPT, "input", ROWS),
        (GPT, "verdict", 10 * ROWS),
    ]
    inputs = found.texts.filter(pl.col("kind") == "input", pl.col("file") == GPT)
    assert inputs.select("row", "id", "text").rows() == [(i, str(i + 1), concern(i)) for i in range(ROWS)]
    verdict = found.texts.filter(pl.col("kind") == "verdict", pl.col("file") == GPT).row(11, named=True)
    assert (verdict["row"], verdict["id"], verdict["system"], verdict["source"]) == (1, "2/claude-3.5-haiku", "claude-3.5-haiku", "gpt-4o")  # fmt: skip
    assert found.ratings.height == 210 * ROWS
    first = found.ratings.row(7, named=True)
    assert first == {
        "subject": "1/claude-3.5-haiku",
        "criterion": "guidance",
        "rater": "panel",
        "rater_kind": "person",
        "run": 0,
        "status": "ok",
        "value": first["value"],
        "system": "claude-3.5-haiku",
        "cluster": "1",
        "file": PEOPLE,
        "row": 0,
    }
    for file in (PEOPLE, CLAUDE, GPT):
        assert found.ratings.filter(pl.col("file") == file)["row"].is_sorted()


def test_values_stand_there_as_they_were_written(small: Copy) -> None:
    small.set(PEOPLE, "gemini", 4, cell(0, 6, "4", 4.5, None, "four", True))
    small.set(PEOPLE, "gemini", 5, None)
    small.set(CLAUDE, "gemini", 5, "no verdict at all")
    found = material(small.root)
    assert of(found, "5/gemini-2.0-flash", "panel") == {
        "guidance": ("ok", "0"),
        "informativeness": ("ok", "6"),
        "relevance": ("ok", '"4"'),
        "safety": ("ok", "4.5"),
        "empathy": ("unparsable", None),
        "helpfulness": ("ok", '"four"'),
        "understanding": ("ok", "true"),
    }
    for rater in ("panel", "claude-3-7-sonnet-20250219"):
        assert set(of(found, "6/gemini-2.0-flash", rater).values()) == {("unparsable", None)}
    unread = found.texts.filter(pl.col("id") == "6/gemini-2.0-flash", pl.col("file") == CLAUDE)["text"]
    assert unread.to_list() == ["no verdict at all"]
    assert found.notes == (
        f"{PEOPLE}: cells without a verdict: 1 (empty cell)",
        f"{CLAUDE}: cells without a verdict: 1 (no verdict)",
    )


def test_a_convid_twice_and_another_concern_are_left_as_they_are(small: Copy) -> None:
    frame = rated(1, "judge_response_")
    small.write(CLAUDE, frame.with_columns(pl.Series("ConvID", [1, 1, *range(3, ROWS + 1)])))
    small.set(GPT, "context", 2, "Something else.")
    found = material(small.root)
    assert of(found, "1/original", "claude-3-7-sonnet-20250219").keys() == set(CRITERIA)
    assert found.ratings.filter(pl.col("file") == CLAUDE)["subject"].n_unique() == 10 * (ROWS - 1)
    version = found.texts.filter(pl.col("id") == "3", pl.col("kind") == "input")["text"]
    assert version.to_list() == [concern(2), concern(2), "Something else."]


def test_the_replies_themselves(tmp_path: Path) -> None:
    frame = pl.DataFrame({"context": ["a", "b"], "response": ["x", None], "gpt-4o": ["y", "nan"]})
    frame.write_csv(tmp_path / "replies.csv")
    found = material(tmp_path)
    assert found.texts.select("kind", "id", "system", "text", "row").rows() == [
        ("input", "row 0", None, "a", 0),
        ("input", "row 1", None, "b", 1),
        ("reply", "row 0/original", "original", "x", 0),
        ("reply", "row 1/original", "original", "", 1),
        ("reply", "row 0/gpt-4o", "gpt-4o", "y", 0),
        ("reply", "row 1/gpt-4o", "gpt-4o", "nan", 1),
    ]
    assert found.ratings.is_empty()


def test_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected Human_Judge"):
        material(tmp_path)


def test_real_material(real: Path) -> None:
    started = time.process_time()
    found = material(real)
    assert time.process_time() - started < 4  # about 0.4 here
    assert found.ratings.height == 210_000
    assert found.texts["kind"].value_counts(sort=True).rows() == [("verdict", 20_000), ("input", 3000)]
    values = dict(found.ratings.filter(pl.col("rater") == "panel")["value"].value_counts().rows())
    assert (values["0"], values["6"], values[None]) == (231, 8, 57 * 7 + 10)
    zeros = (
        found.ratings.filter(pl.col("rater") == "panel")
        .group_by("subject")
        .agg((pl.col("value").fill_null("") == "0").all())
    )
    rows = [(int(subject.split("/")[0]), subject.split("/")[1]) for subject in zeros.filter(pl.col("value"))["subject"]]
    assert len(rows) == 33
    assert min(rows)[0] == 802
    assert max(rows)[0] == 1000
    assert found.ratings.filter(pl.col("value") == "6")["cluster"].unique().sort().to_list() == ["562", "591", "615"]
