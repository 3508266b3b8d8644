"""Knowledge, emotion, diagnosis and its robustness: from files to samples, and from answers to scores."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks.trustmh.diagnosis import diagnosis
from mindgauge.benchmarks.trustmh.knowledge import knowledge
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.records.errors import DataError, MissingDataError
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

    from mindgauge.records import Sample

KNOWLEDGE, EMOTION, DIAGNOSIS, NOISY = (
    benchmarks.find_one(f"trustmh/{task}") for task in ("knowledge", "emotion", "diagnosis", "robustness_diagnosis")
)


def lettered(text: str) -> dict[str, str]:
    """Return the options of the last list in a text, by letter."""
    lines = text.rpartition("\n\n")[2].splitlines()
    return {line[0]: line[3:] for line in lines if line[1:3] == ". "}


# -- knowledge --------------------------------------------------------------------------------------------------------


def test_every_question_is_asked_in_two_orders(real: TrustMHRelease) -> None:
    found = KNOWLEDGE.samples(real.folder)
    released, rotated = found[::2], found[1::2]
    assert Counter(s.tags["order"] for s in found) == {"released": 727, "rotated": 727}
    assert Counter(s.tags["options"] for s in released) == {"5": 567, "6": 74, "7": 57, "8": 25, "9": 3, "10": 1}
    assert Counter(s.tags["step"] for s in released) == {"1": 308, "2": 419}
    assert Counter(s.tags["condition"] for s in released)["depression"] == 269
    assert len({s.id for s in found}) == 1454
    for first, second in zip(released, rotated, strict=True):
        assert second.tags["base"] == first.id == first.tags["base"]
        assert (second.cluster, second.tags["step"]) == (first.cluster, first.tags["step"])
        before, after = (lettered(s.messages[0].content) for s in (first, second))
        places = [int(place) for place in second.tags["places"].split(",")]
        assert [*after.values()] == [[*before.values()][place] for place in places]
        assert places != sorted(places)
        assert after[str(second.target)] == before[str(first.target)]


def test_neither_the_condition_nor_the_explanation_is_shown_and_no_quotation_mark_is_left_over(
    real: TrustMHRelease,
) -> None:
    rows = [row for _, row in real.require("USMLE-mental.jsonl", "").records(dict[str, Any])]
    found = knowledge.read(real.folder)
    for row, sample in zip(rows, found, strict=False):
        shown = sample.messages[0].content
        assert len(shown) <= len(row["question"]) + sum(len(text) + 4 for text in row["options"].values()) + 2
        options = lettered(shown)
        assert len(options) == len(row["options"])
        assert not any(text.endswith('"') and text.count('"') % 2 for text in options.values())
    assert Counter(s.tags["source"] for s in found) == {"usmle": 727, "crisis_qa": 153}


def test_the_auxiliary_questions_are_asked_only_on_request(real: TrustMHRelease) -> None:
    found = KNOWLEDGE.samples(real.folder, {"source": ("crisis_qa",)})
    assert Counter(s.tags["order"] for s in found) == {"released": 153, "rotated": 153}
    assert Counter(s.target for s in found if s.tags["order"] == "released") == {"A": 34, "B": 42, "C": 43, "D": 34}


def test_the_examination_alone_is_enough_and_has_to_be_there(tmp_path: Path) -> None:
    line = {"question": "Which?", "options": {"A": "this", "B": 'that\n"'}, "answer": "B", "meta_info2": ["ocd"]}
    with pytest.raises(MissingDataError, match=r"no USMLE-mental\.jsonl here"):
        KNOWLEDGE.samples(tmp_path)
    (tmp_path / "USMLE-mental.jsonl").write_text(json.dumps(line), encoding="utf-8")
    first, second = KNOWLEDGE.samples(tmp_path)
    assert (first.messages[0].content, first.target) == ("Which?\n\nA. this\nB. that", "B")
    assert (second.messages[0].content, second.target) == ("Which?\n\nA. that\nB. this", "A")
    assert (first.tags["condition"], second.tags["places"]) == ("ocd", "1,0")


def score(name: str, answer: Any, out: Path, **more: Any) -> Scores:
    def handler(body: dict[str, Any], _: int) -> web.Response:
        return says(answer(words(body)))

    with Stub(handler) as stub:
        found = mindgauge.run(name, model=stub.model, out=out, **more)
    assert isinstance(found, Scores)
    return found


def value(found: Scores, metric: str, slice_: str = "all", **fields: str) -> float | None:
    (one,) = found.find(metric, slice_, **fields)
    return one.value


def test_who_always_says_a_scores_the_share_of_a_and_is_seldom_consistent(tmp_path: Path) -> None:
    found = score("trustmh/knowledge", lambda _: '{"choice": "A"}', tmp_path)
    samples = KNOWLEDGE.samples(None)
    right = [s.target == "A" for s in samples]
    assert value(found, "accuracy") == pytest.approx(sum(right) / len(right))
    assert value(found, "option_consistency") == 0.0
    assert value(found, "chance") == pytest.approx(sum(1 / int(s.tags["options"]) for s in samples) / len(samples))


def test_who_goes_by_the_options_text_is_consistent_and_plain_words_are_read(tmp_path: Path) -> None:
    def longest(text: str) -> str:
        dialogue = text.rpartition("</dialogue")[0]
        options = lettered(dialogue.strip())
        return f"{max(options, key=lambda letter: (len(options[letter]), options[letter]))}."

    found = score("trustmh/knowledge", longest, tmp_path)
    assert value(found, "option_consistency") == 1.0
    assert value(found, "unparsable_rate") == 0.0
    assert value(found, "accuracy", "order=released") == value(found, "accuracy", "order=rotated")


def test_a_letter_that_the_question_has_not_is_no_answer(tmp_path: Path) -> None:
    found = score("trustmh/knowledge", lambda _: '{"choice": "J"}', tmp_path)
    assert value(found, "unparsable_rate") == 1.0
    assert value(found, "accuracy") == 0.0
    assert value(found, "option_consistency") == 0.0
    assert not found.find("accuracy_of_read")


# -- emotion ----------------------------------------------------------------------------------------------------------


def test_stories_ask_for_a_feeling_and_its_cause(real: TrustMHRelease) -> None:
    found = EMOTION.samples(real.folder)
    rows = [row for _, row in real.require("EU.jsonl", "").records(dict[str, Any])]
    assert (len(found), len({s.cluster for s in found})) == (400, 200)
    assert Counter(s.tags["options.cause"] for s in found) == {"4": 279, "6": 120, "7": 1}
    for row, sample in zip(rows, found, strict=True):
        story, feelings, reasons = sample.messages[0].content.rsplit("\n\n", 2)
        assert story == row["scenario"].strip()
        assert lettered(feelings)[str(sample.target)] == row["emotion_label"]
        assert lettered(reasons)[sample.tags["target.cause"]] == row["cause_label"]
        assert row["subject"] in feelings
        assert sample.tags["category"] == row["coarse_category"]


def test_the_order_of_feelings_is_drawn_per_story_and_alike_in_both_languages(real: TrustMHRelease) -> None:
    found = EMOTION.samples(real.folder)
    assert found == EMOTION.samples(real.folder)
    counts = Counter(s.target for s in found)
    assert counts.keys() == {*"ABCDEF"}
    assert max(counts.values()) < 120  # as released, 141 of 400 stand first
    by_story: dict[str, list[Sample]] = {}
    for sample in found:
        by_story.setdefault(sample.cluster, []).append(sample)
    rows = {(row["qid"], row["language"]): row for _, row in real.require("EU.jsonl", "").records(dict[str, Any])}
    for story, (first, second) in by_story.items():
        released = [rows[story, s.tags["language"]]["emotion_choices"] for s in (first, second)]
        shown = [[*lettered(s.messages[0].content.rsplit("\n\n", 2)[1]).values()] for s in (first, second)]
        orders = [
            [choices.index(option) for option in options] for choices, options in zip(released, shown, strict=True)
        ]
        assert orders[0] == orders[1]


def test_our_stories_stand_in_both_languages() -> None:
    found = EMOTION.samples(None)
    assert Counter(s.tags["language"] for s in found) == {"en": 8, "zh": 8}
    assert {*Counter(s.cluster for s in found).values()} == {2}
    assert {*Counter(s.tags["category"] for s in found).values()} == {4}


def test_both_is_right_where_feeling_and_cause_are(tmp_path: Path) -> None:
    samples = EMOTION.samples(None)
    told = {s.messages[0].content: (s.target, s.tags["target.cause"]) for s in samples}

    def knows_feelings(text: str) -> str:
        feeling, _ = next(right for content, right in told.items() if content in text)
        return json.dumps({"emotion": feeling, "cause": "A"})

    found = score("trustmh/emotion", knows_feelings, tmp_path)
    share = sum(s.tags["target.cause"] == "A" for s in samples) / len(samples)
    assert value(found, "accuracy", criterion="emotion") == 1.0
    assert value(found, "accuracy", criterion="cause") == pytest.approx(share)
    assert value(found, "accuracy", criterion="both") == pytest.approx(share)
    odds = [1 / int(s.tags["options.cause"]) for s in samples]
    assert value(found, "chance", criterion="emotion") == pytest.approx(1 / 6)
    assert value(found, "chance", criterion="cause") == pytest.approx(sum(odds) / len(odds))
    assert value(found, "chance", criterion="both") == pytest.approx(sum(odds) / len(odds) / 6)


# -- diagnosis --------------------------------------------------------------------------------------------------------

TURNS = [
    {"speaker": "doctor", "text": "最近怎么样？"},
    {"speaker": "patient", "text": "睡不好，没力气。"},
    {"speaker": "doctor", "text": "我看是中度。"},
]
READ = [("assistant", "最近怎么样？"), ("user", "睡不好，没力气。")]
D4_FORMS: dict[str, tuple[str, str, Any]] = {
    "turns": ("d4/all.json", "whole", [{"log": TURNS, "severity": "moderate"}]),
    "lines": ("d4/test.jsonl", "test", [{"dialogue": "医生：最近怎么样？\n患者：睡不好，没力气。", "label": 2}]),
    "list of lines": ("D4_test.jsonl", "test", [{"Dialog": ["医生：最近怎么样？", "患者:睡不好，没力气。"], "Risk": "中度"}]),
    "roles": (
        "d4/x.json",
        "whole",
        [{"messages": [{"role": "assistant", "content": "最近怎么样？"}, {"role": "user", "content": "睡不好，没力气。"}], "class": "Moderate "}],
    ),
    "csv": ("d4/dev.csv", "validation", [{"text": json.dumps(TURNS, ensure_ascii=False), "drisk": "2"}]),
}  # fmt: skip


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        out = io.StringIO()
        table = csv.DictWriter(out, [*rows[0]])
        table.writeheader()
        table.writerows(rows)
        text = out.getvalue()
    elif path.suffix == ".jsonl":
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    else:
        text = json.dumps(rows, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("form", D4_FORMS)
def test_conversations_are_read_in_each_form_without_the_doctor_s_last_word(form: str, tmp_path: Path) -> None:
    name, split, rows = D4_FORMS[form]
    write(tmp_path / name, rows)
    (sample,) = DIAGNOSIS.samples(tmp_path, {"split": ("test", "whole", "validation")})
    assert [(m.role, m.content) for m in sample.messages] == READ
    assert (sample.target, sample.tags["set"], sample.tags["language"]) == ("moderate", "d4", "zh")
    assert sample.tags["split"] == split


def test_posts_are_read_with_their_community_and_part(tmp_path: Path) -> None:
    labels = ("self.Anxiety", "self.bipolar", "self.depression", "self.SuicideWatch", "self.offmychest")
    for part in ("train", "val", "test"):
        rows = [{"text": f"{part} {n}", "label": label} for n, label in enumerate(labels)]
        write(tmp_path / "swmh" / f"{part}.csv", [*rows, rows[0]])
    found = DIAGNOSIS.samples(tmp_path)
    assert [s.tags["target.condition"] for s in found] == [
        "anxiety", "bipolar", "depression", "suicidewatch", "offmychest",
    ]  # fmt: skip
    assert {(s.target, s.tags["split"], s.tags["language"]) for s in found} == {(None, "test", "en")}
    assert len(DIAGNOSIS.samples(tmp_path, {"split": ("train", "validation", "test")})) == 15
    assert len(DIAGNOSIS.training(tmp_path)) == 5


def test_the_folder_itself_may_be_the_set_and_both_sets_may_be_there(tmp_path: Path) -> None:
    write(tmp_path / "D4" / "all.json", [{"dialogue": "我很好。", "label": "control"}])
    write(tmp_path / "D4" / "swmh-test.csv", [{"text": "a post", "label": "bipolar"}])
    (tmp_path / "D4" / "notes.txt").write_text("severe", encoding="utf-8")
    found = DIAGNOSIS.samples(tmp_path / "D4")
    assert [(s.tags["set"], s.messages[0].content) for s in found] == [("d4", "我很好。"), ("swmh", "a post")]


def test_a_mapping_names_other_columns(tmp_path: Path) -> None:
    write(tmp_path / "swmh/test.csv", [{"text": "no", "body": "a post", "label": "no", "group": "offmychest"}])
    write(tmp_path / "d4/all.json", [{"portrait": {"level": 3}, "turns": TURNS}])
    for folder, mapping in (
        ("swmh", {"text": "body", "label": "group"}),
        ("d4", {"text": "turns", "label": "portrait.level"}),
    ):
        said = "".join(f'{field} = "{column}"\n' for field, column in mapping.items())
        (tmp_path / folder / "columns.toml").write_text(said, encoding="utf-8")
    first, second = DIAGNOSIS.samples(tmp_path)
    assert (first.target, second.messages[0].content) == ("severe", "a post")
    assert second.tags["target.condition"] == "offmychest"


POST = {"text": "a post", "label": "anxiety"}
FAULTS: dict[str, tuple[str, list[dict[str, Any]], str, str]] = {
    "no label": (
        "swmh/test.csv", [{"text": "a", "id": "1"}], "",
        r"test\.csv:2: expected the label in a column label or .*, found text, id; name it in columns\.toml",
    ),
    "no text": ("d4/a.jsonl", [{"severity": 1}], "", r"a\.jsonl:1: expected the text in a column text or .*, found severity"),
    "mapped": ("swmh/test.csv", [POST], 'text = "body"', "in a column body, found text, label"),
    "mapping": ("swmh/test.csv", [POST], 'post = "body"', r"columns\.toml .* found post = 'body'"),
    "broken mapping": ("swmh/test.csv", [POST], "{", r"columns\.toml: cannot read the mapping"),
    "level": ("d4/a.json", [{"text": "好", "label": 4}], "", "a label among control, mild, moderate, severe, found '4'"),
    "community": ("swmh/test.csv", [{**POST, "label": "3"}], "", "among anxiety, bipolar, .*, found '3'"),
    "nobody": ("d4/a.json", [{"log": TURNS[:1], "label": 0}], "", "something that the person says, found none"),
    "speaker": ("d4/a.json", [{"log": [{"speaker": "X", "text": "好"}], "label": 0}], "", "turn 1: expected speaker"),
    "turns": ("d4/a.json", [{"log": {"a": 1}, "label": 0}], "", 'a text or a list of turns, found {"a": 1}'),
    "cell": ("d4/a.csv", [{"log": '[{"speaker": ', "label": "0"}], "", "the conversation as JSON, found"),
    "cells": ("swmh/test.csv", [{"text": "a", "label": None}], "", "expected the label|expected a label"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_gated_set_is_one_clear_line(name: str, tmp_path: Path) -> None:
    path, rows, mapping, told = FAULTS[name]
    write(tmp_path / path, rows)
    if mapping:
        (tmp_path / path).with_name("columns.toml").write_text(mapping, encoding="utf-8")
    with pytest.raises(DataError, match=told) as error:
        DIAGNOSIS.samples(tmp_path)
    assert "\n" not in str(error.value)


def test_without_either_set_it_says_how_to_get_them(tmp_path: Path) -> None:
    write(tmp_path / "test.csv", [POST])
    with pytest.raises(MissingDataError, match=r"no D4 or SWMH here.*x-lance\.github\.io/D4.*AIMH/SWMH"):
        DIAGNOSIS.samples(tmp_path)
    assert not diagnosis.cases(TrustMHRelease.below(tmp_path), diagnosis.SWMH)


def test_our_samples_are_twenty_of_each_set_with_every_label() -> None:
    found = DIAGNOSIS.samples(None)
    severity, condition = DIAGNOSIS.rubric.criteria
    assert Counter(s.target for s in found if s.tags["set"] == "d4") == dict.fromkeys(severity.values, 5)
    posts = Counter(s.tags["target.condition"] for s in found if s.tags["set"] == "swmh")
    assert posts == dict.fromkeys(condition.values, 4)


def test_each_set_is_asked_about_its_own_criterion(tmp_path: Path) -> None:
    samples = {s.messages[-1].content: s for s in DIAGNOSIS.samples(None)}
    asked = Counter[str]()

    def knows(text: str) -> str:
        sample = next(s for content, s in samples.items() if content in text)
        kind = sample.tags["set"]
        asked[kind] += 1
        assert ("suicidewatch" in text, "control" in text) == (kind == "swmh", kind == "d4")
        other = {"depression": sample.target} if kind == "d4" else {"condition": sample.tags["target.condition"]}
        return json.dumps(other)

    found = score("trustmh/diagnosis", knows, tmp_path)
    assert asked == {"d4": 20, "swmh": 20}
    for criterion in ("depression", "condition"):
        (one,) = found.find("macro_f1", criterion=criterion)
        assert (one.value, one.n) == (1.0, 20)
    assert [m.criterion for m in found.find("quadratic_kappa")] == ["depression"]
    assert value(found, "levels_off") == 0.0


# -- robustness -------------------------------------------------------------------------------------------------------


def test_noise_is_put_into_every_sample_at_every_depth_and_intensity() -> None:
    found = NOISY.samples(None)
    clean = {s.id: s for s in found if s.tags["noise"] == "none"}
    assert [*clean] == [s.id for s in DIAGNOSIS.samples(None)]
    cells = Counter((s.tags["noise"], s.tags["intensity"]) for s in found)
    depths, shares = ("character", "word", "sentence"), ("0.05", "0.10", "0.20", "0.30")
    assert cells == {("none", "0.00"): 40, **{(depth, share): 40 for depth in depths for share in shares}}
    assert len({s.id for s in found}) == 13 * 40
    for sample in found:
        base = clean[sample.tags["base"]]
        assert (sample.target, sample.cluster) == (base.target, base.cluster)
        assert sample.tags.get("target.condition") == base.tags.get("target.condition")
        for noisy, original in zip(sample.messages, base.messages, strict=True):
            assert noisy.role == original.role
            assert noisy.role == "user" or noisy == original
    assert found == NOISY.samples(None)


def test_so_many_are_drawn_of_a_large_set_with_as_many_of_each_label(tmp_path: Path) -> None:
    few = {"severe": 30, "mild": 400, "control": 400, "moderate": 400}
    rows = [{"text": f"我{n}", "label": label} for label, count in few.items() for n in range(count)]
    write(tmp_path / "d4" / "all.json", [{**row, "text": f"{row['label']}{row['text']}"} for row in rows])
    write(tmp_path / "swmh" / "test.csv", [{"text": f"post {n}", "label": "bipolar"} for n in range(7)])
    found = NOISY.samples(tmp_path, {"intensity": ("0.05",), "noise": ("character",)})
    clean = [s for s in found if s.tags["noise"] == "none"]
    labels = Counter(s.target or s.tags["target.condition"] for s in clean)
    assert len(found) == 2 * len(clean)
    assert labels.pop("bipolar") == 7
    assert (labels.pop("severe"), sum(labels.values()), max(labels.values()) - min(labels.values())) == (30, 170, 1)
    assert found == NOISY.samples(tmp_path, {"intensity": ("0.05",), "noise": ("character",)})


def test_an_intensity_can_be_chosen_and_keeps_what_it_is_compared_with() -> None:
    found = NOISY.samples(None, {"intensity": ("0.10",), "noise": ("word",)}, 3)
    assert Counter((s.tags["noise"], s.tags["intensity"]) for s in found) == {("none", "0.00"): 3, ("word", "0.10"): 3}


def test_who_reads_only_clean_words_loses_all_and_who_says_one_thing_nothing(tmp_path: Path) -> None:
    samples = {s.messages[-1].content: s for s in DIAGNOSIS.samples(None)}

    def brittle(text: str) -> str:
        sample = next((s for content, s in samples.items() if content in text), None)
        if sample is None:
            return "{}"
        return json.dumps({"depression": sample.target, "condition": sample.tags.get("target.condition")})

    only = {"intensity": ("0.30",), "noise": ("character",)}
    found = score("trustmh/robustness_diagnosis", brittle, tmp_path / "brittle", where=only)
    for criterion in ("depression", "condition"):
        assert value(found, "mean_relative_drop", criterion=criterion) == 1.0
        assert value(found, "flip_rate", criterion=criterion) == 1.0
        assert value(found, "accuracy", criterion=criterion) == 0.5
    constant = score(
        "trustmh/robustness_diagnosis",
        lambda _: '{"depression": "mild", "condition": "anxiety"}',
        tmp_path / "one",
        where=only,
    )
    undefined = [(m.value, m.low, m.n) for m in constant.find("mean_relative_drop")]
    assert undefined == [(None, None, 40)] * 2, "it is no better than chance, so it can lose nothing; that is told"
    assert value(constant, "mean_absolute_drop", criterion="depression") == 0.0
    assert value(constant, "flip_rate", criterion="condition") == 0.0
