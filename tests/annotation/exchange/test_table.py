from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge import reliability
from mindgauge.annotation import submissions
from mindgauge.annotation.exchange import read
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.commands.annotate.export import annotate_export
from mindgauge.records.errors import DataError
from mindgauge.records.files.texts import neutralised, restored
from mindgauge.records.text import shown
from tests.annotation.conftest import PEOPLE, begin, own_items

from .conftest import ITEMS, NEGLECT, SAFE, known, submit

if TYPE_CHECKING:
    from pathlib import Path

LEADING = st.sampled_from(["", "'", "''", "=", "+", "-", "@", "\t", "\r", "\n", " ", "'=", "''@"])
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def written(path: Path, *rows: dict[str, object]) -> Path:
    pl.DataFrame(rows, infer_schema_length=None).write_csv(path)
    return path


@given(st.builds(str.__add__, LEADING, TEXT))
def test_what_is_neutralised_is_no_formula_and_is_restored(text: str) -> None:
    safe = neutralised(pl.DataFrame({"note": [text]}))["note"][0]
    assert not safe.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert restored(safe) == shown(text)


@given(st.lists(st.builds(str.__add__, LEADING, TEXT), min_size=1, max_size=5))
def test_notes_survive_csv_to_the_letter(notes: list[str]) -> None:
    frame = neutralised(pl.DataFrame({"row": range(len(notes)), "note": notes}))
    content = frame.write_csv(quote_style="non_numeric")
    found = [restored(row["note"]) for row in csv.DictReader(io.StringIO(content, newline=""))]
    assert found == [*map(shown, notes)]


def test_ratings_are_read_by_reliability(tmp_path: Path) -> None:
    with begin(tmp_path / "many", items=own_items(34)) as a:
        for place, name in enumerate(("ana", "ben", "chi")):
            for number, item in enumerate(a.items(1)):
                value = (
                    SAFE if (number + (place == 2 and number % 5 == 0) + (place == 1 and number == 1)) % 2 else NEGLECT
                )
                submit(a, name, item.id, Answer("category", Answered.OK, value))
    annotate_export(tmp_path / "many", out=tmp_path / "out", everything=True)
    cards = reliability(tmp_path / "out" / "ratings.csv", reference=["ana", "ben"]).cards
    assert [(card.judge, card.n) for card in cards] == [("chi", 34)]
    assert cards[0].estimates["percent"].value == pytest.approx((27 + 26) / 68)
    assert cards[0].estimates["ceiling_percent"].value == pytest.approx(33 / 34)
    both = reliability([tmp_path / "out" / "ratings.csv", tmp_path / "out" / "gold.csv"], reference=["people"]).cards
    assert {card.judge for card in both} == {"ana", "ben", "chi"}


def test_ratings_are_what_people_said_alone_and_history_has_the_rest(tmp_path: Path) -> None:
    """Below the gate people change their labels; agreement among them must not be flattered by that."""
    with begin(tmp_path / "a", items=own_items(4), gate=0.9) as a:
        for name in ("ana", "ben", "chi"):
            for number, item in enumerate(a.items(1)):
                value = NEGLECT if name == "chi" and number == 0 else SAFE
                submit(a, name, item.id, Answer("category", Answered.OK, value))
        assert a.batches()[-1].phase is Phase.REVIEW
        disputed, subject = a.items(1)[0].id, a.items(1)[0].subject
        for name in ("ana", "ben", "chi"):
            submit(a, name, disputed, Answer("category", Answered.OK, SAFE), note="on second thoughts")
        assert a.batches()[-1].phase is Phase.CLOSED
    annotate_export(tmp_path / "a", out=tmp_path / "out")
    alone = {(row["subject"], row["rater"]): row for row in rows(tmp_path / "out" / "ratings.csv")}
    assert len(alone) == 12
    assert alone[subject, "chi"]["value"] == NEGLECT
    assert alone[subject, "chi"]["item"] == disputed
    assert {key for key, row in alone.items() if row["superseded"] == "yes"} == {
        (subject, n) for n in ("ana", "ben", "chi")
    }
    history = rows(tmp_path / "out" / "history.csv")
    assert len(history) == 15
    assert [row["value"] for row in history if (row["subject"], row["rater"]) == (subject, "chi")] == [NEGLECT, SAFE]
    assert sum(row["superseded"] == "no" for row in history) == 12
    gold = rows(tmp_path / "out" / "gold.csv")
    assert {(row["value"], row["policy"], row["votes"]) for row in gold} == {
        (SAFE, "unanimous", json.dumps({SAFE: 3}, separators=(",", ":")))
    }


def test_disagreement_that_remains_is_exported_as_a_tie(tmp_path: Path) -> None:
    with begin(tmp_path / "a", items=own_items(1), people=PEOPLE[:2]) as a:
        for name, value in (("ana", SAFE), ("ben", NEGLECT)):
            submit(a, name, a.items(1)[0].id, Answer("category", Answered.OK, value))
    annotate_export(tmp_path / "a", out=tmp_path / "out", everything=True)
    (gold,) = rows(tmp_path / "out" / "gold.csv")
    assert (gold["tie"], gold["value"], gold["status"]) == ("yes", "", "unparsable")
    assert json.loads(gold["votes"]) == {NEGLECT: 1, SAFE: 1}


def test_a_walk_that_was_taken_back_is_not_a_rating(tmp_path: Path) -> None:
    with begin(tmp_path / "a", items=own_items(2)) as a:
        item = a.items(1)[0].id
        submit(a, "ana", item, Answer("category", Answered.OK, SAFE))
        submissions.undo(a, a.named("ana"), "form")
    annotate_export(tmp_path / "a", out=tmp_path / "out", everything=True)
    assert rows(tmp_path / "out" / "ratings.csv") == []
    assert [row["answered"] for row in rows(tmp_path / "out" / "history.csv")] == ["ok", "withdrawn"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_a_table_from_elsewhere_needs_four_columns(tmp_path: Path, ending: str) -> None:
    table = pl.DataFrame(
        {
            "subject": [item.id for item in ITEMS[:2]],
            "criterion": ["category"] * 2,
            "rater": ["ANA", "ben"],
            "value": ["7", "cannot tell"],
        }
    )
    path = tmp_path / f"theirs.{ending}"
    match ending:
        case "csv" | "tsv":
            table.write_csv(path, separator="," if ending == "csv" else "\t")
        case "jsonl":
            table.write_ndjson(path)
        case _:
            table.write_parquet(path)
    form, entries, _ = read(path, known())
    assert form == ("parquet" if ending == "parquet" else "csv")
    assert [(e.person.name, e.item.id, e.answer.value if e.answer else None) for e in entries] == [
        ("ana", ITEMS[0].id, SAFE),
        ("ben", ITEMS[1].id, None),
    ]
    assert entries[1].answer is not None and entries[1].answer.answered is Answered.CANNOT_TELL


def test_columns_people_and_criteria_may_have_other_names(tmp_path: Path) -> None:
    item = ITEMS[0]
    path = written(tmp_path / "t.csv", {"item": item.id, "frage": "sicher", "coder": "A1", "antwort": SAFE})
    names = {
        "subject": "item",
        "criterion": "frage",
        "rater": "coder",
        "value": "antwort",
        "rater.ana": "A1",
        "criterion.category": "sicher",
    }
    (entry,) = read(path, known(names=names))[1]
    assert (entry.person.name, entry.item, entry.answer) == ("ana", item, Answer("category", Answered.OK, SAFE))


def test_judges_and_gold_in_a_table_are_left_out(tmp_path: Path) -> None:
    item = ITEMS[0].id
    about = {"subject": item, "criterion": "category", "value": SAFE}
    path = written(
        tmp_path / "t.csv",
        {**about, "rater": "some/model", "rater_kind": "model"},
        {**about, "rater": "people", "rater_kind": "gold"},
        {**about, "rater": "ana", "rater_kind": "person"},
    )
    assert [entry.person.name for entry in read(path, known())[1]] == ["ana"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rater": "anna"}, r"t\.csv:2: unknown rater 'anna' \(did you mean ana\?\); known are ana, ben, chi"),
        ({"rater": "dana"}, "dana is adjudicator; only annotators' labels"),
        ({"subject": "0"}, "unknown subject '0'"),
        ({"criterion": "categry"}, r"unknown criterion 'categry' \(did you mean category\?\)"),
        ({"value": "Safe Respons"}, r"category has no level 'Safe Respons' \(did you mean Safe Response\?\); known are Nonsense,"),
        ({"value": "NA"}, "category has no level 'NA'"),
        ({"value": "not_applicable"}, "it always applies"),
        ({"value": None, "answered": "ok"}, "no value, and neither `answered` nor `status` says why"),
        ({"path": '[[0, "yes"]]'}, "its path leads elsewhere"),
        ({"path": "[[0"}, "the column `path` is no list as an export writes it"),
        ({"evidence": "[1]"}, "the column `evidence` is no list as an export writes it"),
        ({"at": "yesterday"}, "'yesterday' is not a date and time"),
        ({"seconds": "-1"}, "'-1' is no number of seconds"),
        ({"note": "x" * 10_001}, "a note of 10,001 characters"),
    ],
)  # fmt: skip
def test_a_fault_is_one_line_that_names_the_row(tmp_path: Path, change: dict[str, object], message: str) -> None:
    row = {"subject": ITEMS[0].id, "criterion": "category", "rater": "ana", "value": SAFE, "note": "fine"}
    path = written(tmp_path / "t.csv", {**row, **change})
    with pytest.raises(DataError, match=message) as fault:
        read(path, known())
    assert "\n" not in str(fault.value)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", {"subject": "1", "criterion": "category", "value": SAFE})
    with pytest.raises(DataError, match="no column rater; needed are subject, criterion, rater, value, found subject,"):
        read(path, known())
