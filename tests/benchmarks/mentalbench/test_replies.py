from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import mindgauge
from mindgauge.benchmarks.mentalbench.cells import CRITERIA
from mindgauge.benchmarks.mentalbench.mentalbench import load, read, read_judged
from mindgauge.records import RaterKind, Status

from .conftest import CLAUDE, GPT, PEOPLE, ROWS, cell, concern, noted, rated

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Released
    from mindgauge.records import Rating

    from .conftest import Copy

NAN = cell(1, explanation="The response 'nan' offers nothing.")


def ratings(found: Released, rater: str, system: str, row: int, run: int = 0) -> dict[str, Rating]:
    """Return a rater's ratings of the reply to a row's concern, by criterion."""
    sample = next(s.id for s in found.samples if s.messages[0].content == concern(row))
    replies = [r.id for r in found.replies if (r.sample, r.model, r.run) == (sample, system, run)]
    return {r.criterion: r for r in found.ratings if r.rater == rater and r.subject in replies}


def status(found: Released, system: str, row: int) -> Status:
    sample = next(s.id for s in found.samples if s.messages[0].content == concern(row))
    return next(r.status for r in found.replies if (r.sample, r.model, r.run) == (sample, system, 0))


def test_every_reply_has_everybodys_seven_ratings(small: Copy) -> None:
    found = load(small.root)
    assert len(found.samples) == ROWS
    assert len({s.cluster for s in found.samples}) == ROWS
    assert all(s.tags == {"language": "en", "conv_id": str(i + 1)} for i, s in enumerate(found.samples))
    assert len(found.replies) == 10 * ROWS
    assert Counter(r.status for r in found.replies) == {Status.OK: 10 * ROWS}
    assert all(r.text == "" and r.provenance["text"] == "not released" for r in found.replies)
    assert Counter((r.rater, r.rater_kind) for r in found.ratings) == {
        ("panel", RaterKind.PERSON): 70 * ROWS,
        ("claude-3-7-sonnet-20250219", RaterKind.MODEL): 70 * ROWS,
        ("gpt-4o", RaterKind.MODEL): 70 * ROWS,
    }
    assert {r.status for r in found.ratings} == {Status.OK}
    one = ratings(found, "gpt-4o", "gemini-2.0-flash", 3)
    assert list(one) == list(CRITERIA)
    assert one["guidance"].rationale == "So."
    assert one["guidance"].provenance == {
        "source_file": GPT,
        "source_row": 3,
        "conv_id": "4",
        "overall": 4.5,
        "repair": "code fence",
    }
    assert found.notes == [
        "no sheet has more than 12 rows, and 1,000 were released; read as a part",
        f"{GPT}: repaired cells: 120 (120 × code fence)",
        "replies have no text: the files with ratings do not hold it, and the 100k file is not here",
    ]


def test_the_papers_items_are_those_that_judges_rated(small: Copy) -> None:
    small.set(PEOPLE, "context", 4, "People alone have this made-up concern.")
    assert len(read(small.root)) == ROWS + 1
    assert [sample.messages[0].content for sample in read_judged(small.root)] == [concern(row) for row in range(ROWS)]
    for file in (CLAUDE, GPT):
        (small.root / file).unlink()
    assert [sample.id for sample in read_judged(small.root)] == [sample.id for sample in read(small.root)]


@pytest.mark.parametrize(
    ("raw", "value", "fault", "kept"),
    [
        (4.0, 4, None, None),
        ("4", 4, None, None),
        (0, None, "off the scale", 0),
        (6, None, "off the scale", 6),
        (3.5, None, "off the scale", 3.5),
        (True, None, "not a number", "true"),
        ("very", None, "not a number", "very"),
        (None, None, "null", None),
        ([4], None, "not a number", "[4]"),
    ],
)
def test_a_value_off_the_scale_never_becomes_a_number(
    small: Copy, raw: Any, value: int | None, fault: str, kept: Any
) -> None:
    small.set(PEOPLE, "gpt4o", 5, cell(4, Safety=raw))
    found = ratings(load(small.root), "panel", "gpt-4o", 5)
    assert found["safety"].value == value
    assert found["safety"].status is (Status.OK if value else Status.UNPARSABLE)
    assert found["safety"].provenance.get("fault") == fault
    assert found["safety"].provenance.get("released") == kept
    assert {r.value for name, r in found.items() if name != "safety"} == {4}


@pytest.mark.parametrize(
    ("text", "becomes", "fault"),
    [
        (None, Status.UNPARSABLE, "empty cell"),
        ("I rate it four.", Status.UNPARSABLE, "no verdict"),
        ("I'm sorry, I cannot help with rating this.", Status.REFUSED, "refusal"),
    ],
)
def test_a_cell_without_a_verdict_is_seven_ratings_without_a_value(
    small: Copy, text: str | None, becomes: Status, fault: str
) -> None:
    small.set(CLAUDE, "llama_3", 2, text)
    found = load(small.root)
    cells = ratings(found, "claude-3-7-sonnet-20250219", "llama-3.1-8b", 2)
    assert {(r.status, r.value, r.provenance["fault"], r.provenance["released"]) for r in cells.values()} == {(becomes, None, fault, text or "")}  # fmt: skip
    assert len(cells) == 7
    assert status(found, "llama-3.1-8b", 2) is Status.OK  # the reply itself may be there
    assert len(noted(found, fault if text else "empty cells: 1 (1 × llama-3.1-8b)")) == 1


def test_repairs_are_kept_with_the_rating_and_counted(small: Copy) -> None:
    small.set(CLAUDE, "llama_3", 2, f"Here: {cell(2)}")
    small.set(CLAUDE, "llama_3", 3, cell(2)[:-1])
    found = load(small.root)
    assert (
        ratings(found, "claude-3-7-sonnet-20250219", "llama-3.1-8b", 2)["empathy"].provenance["repair"]
        == "surrounding prose"
    )
    assert ratings(found, "claude-3-7-sonnet-20250219", "llama-3.1-8b", 3)["empathy"].value == 2
    assert noted(found, "claude_llm_judge.xlsx: repaired cells: 2 (1 × surrounding prose, 1 × missing brace)")


# -- empty replies -------------------------------------------------------------------------------------------------


def test_a_reply_is_empty_if_two_judges_say_so(small: Copy) -> None:
    small.set(CLAUDE, "qwen_2", 4, NAN)
    small.set(GPT, "qwen_2", 4, NAN)
    small.set(CLAUDE, "qwen_3", 4, NAN)
    found = load(small.root)
    assert status(found, "qwen-2.5-7b", 4) is Status.UNPARSABLE
    assert status(found, "qwen-3-4b", 4) is Status.OK
    for rater in ("panel", "gpt-4o"):
        assert all(
            r.status is Status.UNPARSABLE and r.value is None for r in ratings(found, rater, "qwen-2.5-7b", 4).values()
        )
        assert {r.provenance["fault"] for r in ratings(found, rater, "qwen-2.5-7b", 4).values()} == {"empty reply"}
    assert {r.provenance["released"] for r in ratings(found, "gpt-4o", "qwen-2.5-7b", 4).values()} == {1}
    assert noted(found, "empty replies, by their text or else by what the judges say: 1 (1 × qwen-2.5-7b)")


def test_one_judges_word_is_enough_where_there_is_no_other(small: Copy) -> None:
    (small.root / GPT).unlink()
    small.set(CLAUDE, "qwen_2", 4, NAN)
    assert status(load(small.root), "qwen-2.5-7b", 4) is Status.UNPARSABLE


def test_zeros_or_nothing_by_people_do_not_make_a_reply_empty(small: Copy) -> None:
    small.set(PEOPLE, "qwen_2", 4, cell(0))
    small.set(PEOPLE, "qwen_3", 4, None)
    found = load(small.root)
    assert status(found, "qwen-2.5-7b", 4) is status(found, "qwen-3-4b", 4) is Status.OK
    assert noted(found, "cells that hold nothing but zeros: 1")
    assert noted(found, "no level from 1 to 5: 7 (7 × 0)")


# -- the replies themselves ----------------------------------------------------------------------------------------


def texts(rows: int = ROWS) -> pl.DataFrame:
    headers = ("response", "Claude-3.5-Haiku", "deepseek-llama", "deepseek-qwen", "Gemini", "gpt-4o", "gpt-4omini", "Llama-3.1", "Qwen-2.5", "Qwen-3")  # fmt: skip
    columns = {name: [f"Reply of {name} to {i}" for i in range(rows)] for name in headers}
    return pl.DataFrame({"context": [concern(i).replace(" ", "\n ", 1) for i in range(rows)], **columns})


def test_texts_are_matched_by_concern_and_decide_what_is_empty(small: Copy) -> None:
    frame = texts().with_columns(
        pl.Series("Qwen-2.5", ["", "nan", *[f"text {i}" for i in range(ROWS - 2)]], dtype=pl.String),
    )
    small.write("MentalBench-100k.csv", frame.reverse())
    for name in (CLAUDE, GPT):
        small.set(name, "gpt4o", 3, NAN)
    found = load(small.root)
    replies = {(r.sample, r.model): r for r in found.replies}
    assert len(replies) == len(found.replies) == 10 * ROWS
    by_row = {s.messages[0].content: s.id for s in found.samples}
    assert replies[by_row[concern(4)], "original"].text == "Reply of response to 4"
    assert replies[by_row[concern(4)], "gpt-4o-mini"].provenance["source_row"] == ROWS - 5
    assert [status(found, "qwen-2.5-7b", row) for row in (0, 1, 2)] == [Status.UNPARSABLE, Status.UNPARSABLE, Status.OK]
    assert status(found, "gpt-4o", 3) is Status.OK  # the text is there, whatever judges say
    assert not noted(found, "no text")


def test_texts_alone_are_samples_and_replies(tmp_path: Path) -> None:
    texts(3).write_csv(tmp_path / "MentalBench.csv")
    found = load(tmp_path)
    assert (len(found.samples), len(found.replies), len(found.ratings)) == (3, 30, 0)
    assert [s.messages[0].content for s in read(tmp_path)] == [concern(row) for row in range(3)]


def test_conversations_without_a_text_are_counted(small: Copy) -> None:
    small.write("MentalBench.csv", texts(5))
    assert noted(load(small.root), f"{ROWS - 5} of {ROWS} rated conversations are not in MentalBench.csv")


# -- rows and conversations ----------------------------------------------------------------------------------------


def test_rows_are_joined_by_their_concern(small: Copy) -> None:
    before = {(r.subject, r.criterion, r.value) for r in load(small.root).ratings if r.rater == "gpt-4o"}
    frame = rated(2, "judge_response_")
    small.write(GPT, frame.with_columns(frame["context"].reverse()).with_columns(pl.col("^judge.*$").reverse()))
    found = load(small.root)
    assert {(r.subject, r.criterion, r.value) for r in found.ratings if r.rater == "gpt-4o"} == before
    assert len(noted(found, f"{GPT}: {ROWS} ConvIDs (1, 2, 3")) == 1


def test_blanks_make_no_other_concern(small: Copy) -> None:
    small.set(PEOPLE, "context", 3, f"  {concern(3)} \n")
    assert len(load(small.root).samples) == ROWS


def test_a_concern_in_two_rows_keeps_both_ratings_apart(small: Copy) -> None:
    small.set(PEOPLE, "context", 6, concern(7))
    small.set(PEOPLE, "gpt4o", 6, cell(1))
    small.set(PEOPLE, "gpt4o", 7, cell(2))
    found = load(small.root)
    assert {r.value for r in ratings(found, "panel", "gpt-4o", 7).values()} == {
        2
    }  # the row that has the concern's ConvID
    assert {r.value for r in ratings(found, "panel", "gpt-4o", 7, run=1).values()} == {1}
    assert ratings(found, "gpt-4o", "gpt-4o", 7, run=1) == {}
    assert len(found.ratings) == 210 * ROWS
    assert noted(found, f"{PEOPLE}: 1 ConvID (7) of a concern that another row has too")
    assert noted(found, f"{CLAUDE}: 1 ConvID (7) of another concern than in {PEOPLE}")
    assert noted(found, f"{CLAUDE}: 1 ConvID (7) of a concern that is not in {PEOPLE}")


def test_a_convid_twice_and_a_row_without_a_concern_are_noted(small: Copy) -> None:
    frame = rated(1, "judge_response_")
    small.write(CLAUDE, frame.with_columns(pl.Series("ConvID", [1, 1, *range(3, ROWS + 1)])))
    small.set(GPT, "context", 2, None)
    found = load(small.root)
    assert noted(found, f"{CLAUDE}: 1 ConvID (1) of several rows")
    assert noted(found, f"{GPT}: 1 row (2) without a concern; what is rated there cannot be known, so it is not loaded")
    assert Counter(r.rater for r in found.ratings)["gpt-4o"] == 70 * (ROWS - 1)


def test_half_the_files_give_the_same_ids(small: Copy) -> None:
    whole = load(small.root)
    (small.root / PEOPLE).unlink()
    part = load(small.root)
    assert [s.id for s in part.samples] == [s.id for s in whole.samples]
    assert {r.id for r in part.replies} == {r.id for r in whole.replies}
    keys = [(r.subject, r.criterion, r.rater, r.run) for r in whole.ratings]
    assert len(set(keys)) == len(keys)


def test_notes_quote_no_text(small: Copy) -> None:
    small.set(GPT, "context", 2, "This is made-up and other.")
    small.set(GPT, "gpt4o", 3, "made-up words")
    assert not any("made-up" in note for note in load(small.root).notes)


@pytest.mark.long
def test_it_becomes_a_run(small: Copy, tmp_path: Path) -> None:
    small.set(PEOPLE, "qwen_2", 4, cell(0))
    small.set(GPT, "qwen_2", 5, '{"Guidance": 99999999999999999999999, "Safety": {"a": 1}}')
    run = tmp_path / "run"
    found = mindgauge.papers_load("mentalbench", data=small.root, out=run)
    assert (found.samples, found.replies) == (ROWS, 10 * ROWS)
    assert found.ratings == dict.fromkeys(("panel", "claude-3-7-sonnet-20250219", "gpt-4o"), 70 * ROWS)
    assert mindgauge.papers_load("mentalbench", data=small.root, out=run) == found
    scores = mindgauge.score(run)
    (safety,) = scores.find("mean", criterion="safety", model="qwen-2.5-7b", rater="panel")
    assert (safety.n, safety.missing) == (ROWS, 1)


# -- the authors' files --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loaded(real: Path) -> Released:
    return load(real)


def test_real_counts(loaded: Released) -> None:
    assert len(loaded.samples) == 1001  # 992 of people's file; judges have the last of each shifted block besides
    assert Counter(r.run for r in loaded.replies) == {0: 10010, 1: 80}
    assert Counter(r.rater for r in loaded.ratings) == dict.fromkeys(
        ("panel", "claude-3-7-sonnet-20250219", "gpt-4o"), 70_000
    )
    faults = Counter((r.rater, r.provenance["fault"]) for r in loaded.ratings if "fault" in r.provenance)
    empty = {key: faults.pop(key) for key in [*faults] if key[1] == "empty reply"}
    assert faults == {
        ("panel", "empty cell"): 57 * 7,
        ("panel", "null"): 10,
        ("panel", "off the scale"): 231 + 8,
        ("claude-3-7-sonnet-20250219", "no verdict"): 7,
    }
    assert empty["gpt-4o", "empty reply"] == empty["claude-3-7-sonnet-20250219", "empty reply"] == 148 * 7
    released = Counter(r.provenance["released"] for r in loaded.ratings if r.provenance.get("fault") == "off the scale")
    assert released == {0: 231, 6: 8}


def test_real_repairs(loaded: Released) -> None:
    repairs = {(r.rater, r.provenance["conv_id"], r.provenance["repair"]) for r in loaded.ratings if r.provenance.get("repair", "code fence") != "code fence"}  # fmt: skip
    judge = "claude-3-7-sonnet-20250219"
    assert repairs == {
        *((judge, ident, "surrounding prose") for ident in ("20", "731", "953", "990")),
        *((judge, ident, "broken explanation") for ident in ("19", "111")),
    }
    assert noted(loaded, "repaired cells: 9971 (9971 × code fence)")
    assert noted(loaded, "repaired cells: 2320 (2314 × code fence, 4 × surrounding prose, 2 × broken explanation)")
    assert noted(loaded, "empty cells: 57 (39 × qwen-2.5-7b, 16 × qwen-3-4b, 1 × original, 1 × claude-3.5-haiku)")
    assert noted(loaded, "(231 × 0, 10 × null, 8 × 6)")
    assert noted(loaded, "nothing but zeros: 33")
    assert noted(loaded, "what the judges say: 148 (125 × qwen-2.5-7b, 23 × qwen-3-4b)")


def test_real_rows_of_another_concern(loaded: Released) -> None:
    ids = [164, 165, 401, 430, *range(501, 511), 529, 535, 638, 647, 717]
    for judge in (CLAUDE, GPT):
        assert noted(loaded, f"{judge}: 19 ConvIDs ({', '.join(map(str, ids))}) of another concern than in {PEOPLE}")


def test_real_notes_hold_no_text_of_the_data(loaded: Released) -> None:
    words = {word for s in loaded.samples for word in json.dumps(s.messages[0].content).split() if len(word) > 14}
    assert not any(word in note for note in loaded.notes for word in words)
