from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.inputs import load_crisis_type, read_inputs
from mindgauge.benchmarks.help_or_harm.responses import load_response
from mindgauge.records import RaterKind, Status
from mindgauge.records.errors import DataError

from .conftest import ANSWERED, JUDGED, noted

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Copy


# -- names and cells -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "parts"),
    [
        ("H4_labelled_n9_s1.json", "human_labels", {"rater": "H4"}),
        ("human-labeled-sampled_dataset_n9-merged_labels.json", "consensus", {}),
        ("grok-9-labelled-some-set-merged-labels.json", "merged_labels", {"model": "grok-9", "dataset": "some-set"}),
        ("a-b-labeled-s_1-20301231-235959.json", "labels", {"model": "a-b", "time": "20301231-235959"}),
        (
            "j-evaluation_m-1-answers-d-s4-20250101-000000_20260101-000000.json",
            "judgements",
            {"judge": "j", "model": "m-1", "dataset": "d-s4", "again": "20260101-000000"},
        ),
        ("m-answers-d-20250101-000000.json", "answers", {"model": "m", "dataset": "d"}),
        ("sampled_lowest_scores_n200__jury.json", "lowest", {"rater": "jury"}),
    ],
)
def test_a_name_says_what_a_file_holds(name: str, kind: str, parts: dict[str, str]) -> None:
    found = released.parse_name(name)
    assert found is not None
    assert found[0] == kind
    assert parts.items() <= found[1].items()


@pytest.mark.parametrize("name", ["readme.json", "._H1_labeled_n206.json", "merged_dataset_all.json"])
def test_other_files_are_not_the_authors(name: str) -> None:
    assert released.parse_name(name) is None


@pytest.mark.parametrize(("raw", "value"), [(4, 4), ("4", 4), (4.0, 4), (" 5 ", 5), ("3.0", 3)])
def test_a_score_is_read_however_it_is_written(raw: object, value: int) -> None:
    assert released.score(raw) == value
    assert type(released.score(raw)) is int


@pytest.mark.parametrize("raw", [0, 6, "6", 3.5, "3.5", "four", "", None, True, math.nan, [4], {"a": 1}, "4/5"])
def test_what_is_no_score_is_none(raw: object) -> None:
    assert released.score(raw) is None


def test_the_mode_is_strict() -> None:
    assert released.mode(["a", "b", "a", None]) == "a"
    assert released.mode(["a", "b"]) is None
    assert released.mode([None]) is None


# -- inputs --------------------------------------------------------------------------------------------------------


def test_samples_carry_what_is_known(small: Copy) -> None:
    samples = read_inputs(small.root)
    assert [s.tags["split"] for s in samples] == ["validation"] * 6 + ["test"] * 4
    assert [s.target for s in samples] == [None, *LABELS_AFTER_THE_TIE, None, None, None, None]
    assert "category" not in samples[0].tags  # people tie; the shipped label breaks the tie with a model's vote
    assert samples[0].tags["shipped_label"] == "self-harm"
    assert samples[0].tags["source"] == "hugg_16k"
    assert [s.tags["source"] for s in samples[1:3]] == ["hugg_2", "hugg_2"]
    assert samples[8].tags == {
        "category": "substance_abuse_or_withdrawal",
        "label_source": "model",
        "language": "en",
        "split": "test",
        "source": "hugg_1",
        "shipped_label": "substance_abuse_or_withdrawal",
    }
    assert samples[1].messages[0].content == "This is validation message 1.\nIt has two sentences."
    assert all(s.cluster == s.id for s in samples)


LABELS_AFTER_THE_TIE = ["no_crisis", "anxiety_crisis", "no_crisis", "violent_thoughts", "suicidal_ideation"]


def test_the_folder_may_be_given_from_outside_or_inside(small: Copy) -> None:
    outside, inside = load_response(small.root), load_response(small.data)
    assert outside.replies == inside.replies
    assert outside.ratings == inside.ratings


def test_a_text_is_one_sample_wherever_it_stands(small: Copy) -> None:
    first = small.rows("processed/*_merged_*.json")[1]["inputs"]
    small.change("processed/*_merged_*.json", 4, inputs=first)
    small.change("processed/*nPerD*.json", 3, inputs=first)
    found = load_crisis_type(small.root)
    assert len(found.samples) == len({s.id for s in found.samples}) == 8
    assert len(noted(found, "row 4 has the text of row 1")) == 1
    assert len(noted(found, "row 3 has the text of a validation row")) == 1


def test_without_the_processed_files_inputs_come_from_others(small: Copy) -> None:
    whole = load_crisis_type(small.root)
    shutil.rmtree(small.data / "processed")
    part = load_crisis_type(small.root)
    assert {s.id for s in part.samples} == {s.id for s in whole.samples}
    assert len(noted(part, "missing; its inputs are read from")) == 2


def test_people_alone_are_enough(small: Copy) -> None:
    for folder in ("processed", "llm_label", "llm_answer", "llm_evaluator"):
        shutil.rmtree(small.data / folder)
    found = load_crisis_type(small.root)
    assert [s.tags["split"] for s in found.samples] == ["validation"] * 6
    assert Counter(r.rater for r in found.ratings) == {"H1": 6, "H2": 6, "H3": 6, "H4": 6}


def test_any_size_and_any_name(tmp_path: Path) -> None:
    rows = [{"inputs": ["One neutral line."], "label": None, "dataset_id": "x", "answer": "Yes.", "evaluation": "5"}]
    (tmp_path / "newmodel-9-answers-myset-20991231-000000.json").write_text(json.dumps(rows))
    name = "newjudge-evaluation_newmodel-9-answers-myset-20991231-000000_20991231-000001.json"
    (tmp_path / name).write_text(json.dumps(rows))
    found = load_response(tmp_path)
    assert [(r.model, r.run, r.status) for r in found.replies] == [("newmodel-9", 0, Status.OK)]
    assert [(r.rater, r.value) for r in found.ratings] == [("newjudge", 5)]


# -- labels --------------------------------------------------------------------------------------------------------


def test_every_run_of_a_labeller_is_kept_apart(small: Copy) -> None:
    small.change("llm_label/*000002.json", 0, label="")
    small.change("llm_label/*000003.json", 1, label="loneliness")
    found = load_crisis_type(small.root)
    model = [r for r in found.ratings if r.rater == "gpt-4o-mini"]
    assert Counter(r.run for r in model) == {0: 6, 1: 6, 2: 6}
    failed = [r for r in model if r.status is Status.UNPARSABLE]
    assert [(r.run, r.value, r.provenance["raw"]) for r in failed] == [(1, None, ""), (2, None, "loneliness")]
    assert model[0].rationale == "because"
    assert model[0].provenance["source_file"] == f"llm_label/{small.path('llm_label/*000001.json').name}"
    people = [r for r in found.ratings if r.rater_kind is RaterKind.PERSON]
    assert len(people) == 24
    assert not any(r.rater_kind is RaterKind.GOLD for r in found.ratings)


def test_rows_in_another_order_are_joined_by_text_and_noted(small: Copy) -> None:
    before = {(r.subject, r.value) for r in load_crisis_type(small.root).ratings if r.rater == "H1"}
    rows = small.rows("human_label/H1_labeled*.json")
    small.path("human_label/H1_labeled*.json").write_text(json.dumps(rows[::-1]))
    found = load_crisis_type(small.root)
    assert {(r.subject, r.value) for r in found.ratings if r.rater == "H1"} == before
    assert len(noted(found, "H1_labeled_n206_s42.json: 6 rows")) == 1


def test_a_half_file_leaves_the_rest_usable(small: Copy) -> None:
    rows = small.rows("human_label/H1_labeled*.json")
    small.path("human_label/H1_labeled*.json").write_text(json.dumps(rows[:2]))
    found = load_crisis_type(small.root)
    assert Counter(r.rater for r in found.ratings if r.rater.startswith("H")) == {"H1": 2, "H2": 6, "H3": 6, "H4": 6}


# -- what cannot be used -------------------------------------------------------------------------------------------


def test_an_empty_or_missing_folder_says_what_was_expected(tmp_path: Path) -> None:
    for read in (read_inputs, load_crisis_type, load_response):
        for folder in (tmp_path, tmp_path / "nowhere"):
            with pytest.raises(DataError, match=r"processed/sampled_dataset") as caught:
                read(folder)
            assert "\n" not in str(caught.value)


def test_a_broken_file_is_named_with_its_line(small: Copy) -> None:
    small.path(ANSWERED).write_text('[\n{"inputs": ["a"],\n')
    with pytest.raises(DataError, match=r"deepseek-chat-answers-.*\.json:3: broken JSON"):
        load_response(small.root)


def test_a_row_without_inputs_is_named(small: Copy) -> None:
    small.change(ANSWERED, 4, inputs=None)
    with pytest.raises(DataError, match=r"\.json: row 4 needs `inputs`"):
        load_response(small.root)


def test_notes_quote_no_text(small: Copy) -> None:
    small.change(JUDGED, 2, answer="overwritten")
    for load in (load_crisis_type, load_response):
        assert not any("message" in note or "reply 1" in note for note in load(small.root).notes)


# -- the authors' files --------------------------------------------------------------------------------------------


def test_real_inputs(real: Path) -> None:
    samples = read_inputs(real)
    assert len(samples) == 2193
    assert Counter(s.tags["split"] for s in samples) == {"validation": 204, "test": 1989}
    assert len({s.tags["source"] for s in samples}) == 12
    assert all(s.target is None for s in samples if s.tags["split"] == "test")


def test_real_labels(real: Path) -> None:
    found = load_crisis_type(real)
    failures = Counter(
        (r.rater, r.run) for r in found.ratings if r.status is Status.UNPARSABLE and "n_200_" in str(r.provenance)
    )
    assert failures == {
        ("gpt-4o-mini", 1): 1,
        ("gpt-4o-mini", 2): 2,
        ("gpt-5-nano", 0): 1,
        ("llama-4-scout-17b-16e-instruct", 0): 7,
        ("llama-4-scout-17b-16e-instruct", 1): 6,
        ("llama-4-scout-17b-16e-instruct", 2): 10,
    }
    keys = [(r.subject, r.criterion, r.rater, r.run) for r in found.ratings]
    assert len(keys) == len(set(keys))
    assert len(noted(found, "has the text of a validation row")) == 35
