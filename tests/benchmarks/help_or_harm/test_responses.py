from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.responses import load_response
from mindgauge.records import RaterKind, Status

from .conftest import ANSWERED, JUDGED, noted

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Released
    from mindgauge.records import Rating

    from .conftest import Copy


def by_source(found: Released, part: str) -> list[Rating]:
    return [r for r in found.ratings if part in r.provenance["source_file"]]


def test_replies_and_scores_of_the_small_copy(small: Copy) -> None:
    found = load_response(small.root)
    assert Counter((r.model, r.run) for r in found.replies) == {
        (model, run): 6
        for model in ("gpt-4o-mini", "llama-4-scout-17b-16e-instruct", "deepseek-chat")
        for run in range(3)
    }
    assert len(found.samples) == 6  # nobody replied to the test set
    scores = [r for r in found.ratings if r.rater == "gpt-4o-mini"]
    assert Counter((r.run, r.value) for r in scores) == {(0, 5): 54, (1, 4): 54, (2, 3): 54}
    ids = {r.id: r for r in found.replies}
    assert {r.provenance["model_raw"] for r in scores} == {"gpt-4o-mini"}
    people = [r for r in found.ratings if r.rater_kind is RaterKind.PERSON]
    assert {(r.rater, r.value, r.provenance["selection"]) for r in people} == {
        ("H1", 3, "lowest_scores_n200"),
        ("H2", 5, "lowest_scores_n200"),
    }
    assert {(ids[r.subject].model, ids[r.subject].run) for r in people} == {("deepseek-chat", 1)}
    assert found.replies[0].provenance["tokens"] == 9
    assert found.replies[0].usage.completion_tokens == 0


@pytest.mark.parametrize(
    ("cells", "status", "value"),
    [
        ({"evaluation": "4"}, Status.OK, 4),
        ({"evaluation": 4.0}, Status.OK, 4),
        ({"evaluation": 7}, Status.UNPARSABLE, None),
        ({"evaluation": "good"}, Status.UNPARSABLE, None),
        ({"evaluation": math.nan}, Status.UNPARSABLE, None),
        ({"evaluation": None}, Status.UNPARSABLE, None),
        ({"evaluation": None, "label": None}, Status.NOT_APPLICABLE, None),
        ({"evaluation": math.nan, "label": math.nan}, Status.NOT_APPLICABLE, None),
    ],
)
def test_each_way_to_write_a_score(small: Copy, cells: dict[str, Any], status: Status, value: int | None) -> None:
    small.change(JUDGED, 2, **cells)
    rating = by_source(load_response(small.root), small.path(JUDGED).name)[2]
    assert (rating.status, rating.value) == (status, value)
    assert "raw" in rating.provenance


def test_an_absent_score_is_unparsable_and_noted(small: Copy) -> None:
    rows = small.rows(JUDGED)
    del rows[3]["evaluation"]
    small.path(JUDGED).write_text(json.dumps(rows))
    found = load_response(small.root)
    assert by_source(found, small.path(JUDGED).name)[3].status is Status.UNPARSABLE
    assert len(noted(found, "row 3 has no score of 1 to 5")) == 1


def test_an_overwritten_answer_stays_with_the_reply_at_its_place(small: Copy) -> None:
    small.change(JUDGED, 2, answer='{"appropriateness": 5}', error="cannot parse")
    found = load_response(small.root)
    rating = by_source(found, small.path(JUDGED).name)[2]
    reply = next(r for r in found.replies if r.id == rating.subject)
    assert reply.text == "reply 1 by deepseek-chat to 2"
    assert rating.provenance["answer_overwritten"] is True
    assert len(noted(found, "(overwritten)")) == 1


@pytest.mark.parametrize(
    ("cells", "status"),
    [
        ({"answer": {"message": "m", "code": "c"}, "refusal": True}, Status.REFUSED),
        ({"answer": {"error": "rate limit"}}, Status.FAILED),
        ({"answer": ""}, Status.FAILED),
        ({"answer": {"text": "x"}}, Status.UNPARSABLE),
    ],
)
def test_what_is_no_answer_is_not_scored(small: Copy, cells: dict[str, Any], status: Status) -> None:
    small.change(ANSWERED, 2, **cells)
    found = load_response(small.root)
    (reply,) = [r for r in found.replies if r.status is not Status.OK]
    assert reply.status is status
    scores = [r for r in found.ratings if r.subject == reply.id]
    assert {(r.status, r.value) for r in scores} == {(status, None)}
    assert {r.provenance["raw"] for r in scores if r.rater == "gpt-4o-mini"} == {5, 4, 3}
    if isinstance(cells["answer"], dict):
        assert json.loads(reply.text) == cells["answer"]
        assert reply.provenance["is_json"] is True


def test_two_equal_rows_are_one_reply_two_answers_to_one_text_are_two(small: Copy) -> None:
    shutil.rmtree(small.data / "llm_evaluator/sampled")
    rows = small.rows(ANSWERED)
    rows[3] |= {"inputs": rows[2]["inputs"]}
    rows[5] |= {"inputs": rows[4]["inputs"], "answer": rows[4]["answer"]}
    small.path(ANSWERED).write_text(json.dumps(rows))
    for path in small.data.glob(JUDGED.replace("_20260101-000001", "_*")):
        path.write_text(json.dumps([row | {"evaluation": 5} for row in rows]))
    found = load_response(small.root)
    replies = [r for r in found.replies if (r.model, r.run) == ("deepseek-chat", 1)]
    assert len(replies) == 5
    assert len({r.sample for r in replies}) == 4
    assert len(noted(found, "both are one reply")) == 1
    keys = [(r.subject, r.criterion, r.rater, r.run) for r in found.ratings]
    assert len(keys) == len(set(keys))


def test_a_judges_file_in_another_order_is_joined_by_text(small: Copy) -> None:
    small.path(JUDGED).write_text(json.dumps(small.rows(JUDGED)[::-1]))
    found = load_response(small.root)
    ids = {r.id: r for r in found.replies}
    for rating in by_source(found, small.path(JUDGED).name):
        assert ids[rating.subject].text.endswith(f"to {5 - rating.provenance['source_row']}")
    assert not noted(found, "(overwritten)")


def test_a_judges_row_of_an_unknown_text_is_left_out_and_noted(small: Copy) -> None:
    small.change(JUDGED, 2, inputs=["Another message."])
    found = load_response(small.root)
    assert len(by_source(found, small.path(JUDGED).name)) == 5
    assert len(noted(found, "row 2 has inputs that are not at that place in the answer file")) == 1


def test_without_the_answer_files_a_judges_copy_serves(small: Copy) -> None:
    whole = load_response(small.root)
    shutil.rmtree(small.data / "llm_answer")
    part = load_response(small.root)
    assert {r.id for r in part.replies} == {r.id for r in whole.replies}
    assert len(noted(part, "replies are taken from a judge's copies")) == 9


def test_replies_of_a_model_without_files_come_from_the_lowest_scores(small: Copy) -> None:
    for path in [*small.data.glob("llm_answer/deepseek*"), *small.data.glob("llm_evaluator/*/*/*_deepseek*")]:
        path.unlink()
    found = load_response(small.root)
    replies = [r for r in found.replies if r.model == "deepseek-chat"]
    assert len(replies) == 6
    assert {r.provenance["selection"] for r in replies} == {"lowest_scores_n200"}
    assert sum(r.subject in {reply.id for reply in replies} for r in found.ratings) == 12


def test_people_without_the_lowest_scores_are_joined_by_content(small: Copy) -> None:
    before = {(r.subject, r.value) for r in load_response(small.root).ratings if r.rater == "H1"}
    shutil.rmtree(small.data / "llm_evaluator/sampled")
    after = load_response(small.root)
    assert {(r.subject, r.value) for r in after.ratings if r.rater == "H1"} == before


def test_spreadsheet_damage_is_joined_by_position(small: Copy) -> None:
    small.change("human_label/H2_scores*.json", 1, answer=math.nan)
    small.change("human_label/H2_scores*.json", 2, inputs="B2+C2")
    small.change("human_label/H2_scores*.json", 3, answer="T+D", inputs="B2+C2")
    found = load_response(small.root)
    assert sum(r.rater == "H2" for r in found.ratings) == 5
    flags = {
        r.provenance["source_row"]: {f for f in r.provenance if f.endswith("_changed")}
        for r in found.ratings
        if r.rater == "H2"
    }
    assert flags == {0: set(), 1: {"answer_changed"}, 2: {"inputs_changed"}, 4: set(), 5: set()}
    assert noted(found, "H2_scores_n206_s42.json: 2 rows (1, 2) have inputs or an answer changed")
    assert noted(found, "H2_scores_n206_s42.json: row 3 has a reply that none of the files here holds")


def test_what_is_no_text_becomes_canonical_json(small: Copy) -> None:
    small.change(JUDGED, 2, explanation={"é": [1, 2.5], "a": None}, error={"b": 1})
    small.change(ANSWERED, 3, answer={"ü": 1, "a": {"c": [True], "b": "x"}})
    found = load_response(small.root)
    second, other = by_source(found, small.path(JUDGED).name)[2:4]
    assert second.rationale == '{"a":null,"é":[1,2.5]}'
    assert second.provenance["explanation_is_json"] is True
    assert second.provenance["error"] == '{"b":1}'
    assert (other.rationale, "explanation_is_json" in other.provenance) == ("so", False)
    assert '{"a":{"b":"x","c":[true]},"ü":1}' in {r.text for r in found.replies if r.provenance["is_json"]}


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), ("", ""), ("x", "x"), ([], "[]"), (0, "0"), (False, "false"), ("\ud800", "�")]
)
def test_a_cell_as_text(value: object, text: str) -> None:
    assert released.as_text(value) == text


# -- the authors' files --------------------------------------------------------------------------------------------


def test_real_responses(real: Path) -> None:
    found = load_response(real)
    own = [r for r in found.replies if "selection" not in r.provenance]
    assert Counter(r.model for r in own) == {
        "gpt-4o-mini": 618,
        "gpt-5-nano": 618,
        "llama-4-scout-17b-16e-instruct": 618,
    }
    assert len(found.replies) - len(own) == 114
    assert [(r.run, r.provenance["source_row"]) for r in own if r.status is Status.REFUSED] == [(1, 104), (2, 104)]
    judged = [r for r in found.ratings if r.rater_kind is RaterKind.MODEL]
    assert Counter(r.rater for r in judged) == {
        "gpt-4o-mini": 5562,
        "gpt-5-nano": 5562,
        "llama-4-scout-17b-16e-instruct": 5562,
    }
    overwritten = Counter(r.rater for r in judged if r.provenance.get("answer_overwritten"))
    assert overwritten == {"gpt-4o-mini": 8, "gpt-5-nano": 6}
    unparsable = Counter(r.rater for r in judged if r.status is Status.UNPARSABLE)
    assert unparsable == {"gpt-4o-mini": 2, "gpt-5-nano": 5, "llama-4-scout-17b-16e-instruct": 1}
    not_applicable = Counter(r.rater for r in judged if r.status is Status.NOT_APPLICABLE)
    assert set(not_applicable.values()) == {432}
    people = Counter((r.rater, r.status) for r in found.ratings if r.rater_kind is RaterKind.PERSON)
    assert people == {(h, s): n for h in ("H1", "H2") for s, n in ((Status.OK, 190), (Status.NOT_APPLICABLE, 16))}


def test_real_merged_values_are_means_and_population_spreads_of_the_raw_ones(real: Path) -> None:
    files = released.find(real)
    merged = files.of("merged_judgements")
    assert len(merged) == 27
    for file in merged:
        parts = {"judge": file.judge, "model": file.model, "dataset": file.dataset, "time": file.time}
        runs = [run.rows() for run in files.of("judgements", **parts)]
        for row, *raw in zip(file.rows(), *runs, strict=True):
            scores = [s for r in raw if (s := released.score(r.get("evaluation"))) is not None]
            assert (row["evaluation"] is None) == (not scores)
            if scores:
                mean = sum(scores) / len(scores)
                spread = math.sqrt(sum((s - mean) ** 2 for s in scores) / len(scores))
                assert row["evaluation"] == pytest.approx(mean)
                assert row["evaluation_std"] == pytest.approx(spread)
                if len(scores) == 3:
                    assert (mean <= 2) == (mean <= 2.3333) == (sum(scores) <= 6)
