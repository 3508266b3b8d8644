"""Shapes are as label-studio-sdk 2.1.2 validates them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from mindgauge.annotation.exchange import export as passages
from mindgauge.annotation.exchange import read
from mindgauge.commands.annotate.export import annotate_export
from mindgauge.records import Evidence
from mindgauge.records.errors import DataError

from .conftest import ITEMS, NEGLECT, SAFE, known, scored_items

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.annotation.exchange import Known
    from mindgauge.annotation.exchange.reading import ImportedLabel
    from mindgauge.annotation.project import Annotation

ITEM = ITEMS[0]
QUOTE = ITEM.reply[:14]


def entries(tmp_path: Path, content: object, against: Known | None = None) -> list[ImportedLabel]:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    form, found, _ = read(path, against or known())
    assert form == "label-studio"
    return found


def task(*results: dict[str, Any], **annotation: object) -> dict[str, Any]:
    data = {"subject": ITEM.id, "dialogue": "…", "reply": ITEM.reply}
    return {
        "id": 7,
        "data": data,
        "annotations": [{"completed_by": {"id": 3, "email": "ana"}, "result": results, **annotation}],
    }


def region(name: str, kind: str, **value: object) -> dict[str, Any]:
    return {"id": "r", "from_name": name, "to_name": "reply", "type": kind, "value": value}


def test_tasks_and_configuration_belong_together(labelled: Annotation, tmp_path: Path) -> None:
    """Every control and object that a result names is in the configuration, and so is every choice."""
    annotate_export(labelled.folder, to="label-studio", out=tmp_path / "out")
    view = ElementTree.parse(tmp_path / "out" / "config.xml").getroot()
    objects = {text.get("name"): text.get("value") for text in view.iter("Text")}
    controls = {node.get("name"): node for node in view if node.get("toName")}
    assert {node.get("toName") for node in controls.values()} <= set(objects)
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="utf-8"))
    assert len(tasks) == 6
    ids = []
    for one in tasks:
        assert all(value == f"${name}" and name in one["data"] for name, value in objects.items())
        assert len(one["annotations"]) == 3
        for result in (result for annotation in one["annotations"] for result in annotation["result"]):
            ids.append(result["id"])
            control, value = controls[result["from_name"]], result["value"]
            assert control.get("toName") == result["to_name"] and control.tag.lower() == result["type"]
            if result["type"] == "choices":
                assert set(value["choices"]) <= {choice.get("value") for choice in control.iter("Choice")}
            if result["type"] == "labels":
                assert one["data"][result["to_name"]][value["start"] : value["end"]] == value["text"]
    assert len(ids) == len(set(ids))
    assert sum(a["was_cancelled"] for one in tasks for a in one["annotations"]) == 1


def test_places_count_code_points_as_label_studio_does() -> None:
    item = scored_items()[1]
    found = passages.mark_place(item, Evidence("exam 😔.", source="dialogue"))
    assert found is not None
    assert passages.dialogue(item)[found[1] : found[1] + 7] == "exam 😔."


def test_answers_ratings_notes_and_marked_words_are_read(tmp_path: Path) -> None:
    found = entries(
        tmp_path,
        [
            task(
                region("category", "choices", choices=["safe_response"]),
                region("why", "textarea", text=["short", "and kind"]),
                region("evidence_in_reply", "labels", start=0, end=14, text=QUOTE, labels=["evidence"]),
                region("marks", "labels", start=0, end=6, text=ITEM.reply[:6], labels=["any"]),
                {"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"},
                created_at="2021-03-09T22:16:08.728353Z",
                lead_time=4.288,
                was_cancelled=False,
            )
        ],
    )
    (entry,) = found
    assert entry.person.name == "ana" and entry.item == ITEM
    assert entry.answer is not None and entry.answer.value == SAFE
    assert entry.note == "short\nand kind" and entry.seconds == 4.288 and entry.time == 1615328168.728353
    assert [(mark.quote, mark.source) for mark in entry.evidence] == [(QUOTE, "reply"), (ITEM.reply[:6], "reply")]


def test_stars_are_numbers(tmp_path: Path) -> None:
    item = scored_items()[0]
    rated = task(region("safety", "rating", rating=4), region("empathy", "number", number=2))
    rated["data"] = {"id": "row 0"}  # the id that the item had in its own file
    found = entries(tmp_path, [rated], known(scored_items(), "mentalbench"))
    assert {e.answer.criterion: e.answer.value for e in found if e.answer} == {"safety": 4, "empathy": 2}
    assert [e.item for e in found] == [item, item]


def test_a_cancelled_annotation_was_handed_on(tmp_path: Path) -> None:
    (entry,) = entries(tmp_path, [task(was_cancelled=True)])
    assert entry.answer is None


def test_people_go_by_the_control_or_by_how_label_studio_names_them(tmp_path: Path) -> None:
    answer = region("category", "choices", choices=[SAFE])
    chosen = task(answer, region("rater", "choices", choices=["ben"]))
    numbered = task(answer, completed_by=5)
    (first,) = entries(tmp_path, [chosen])
    (second,) = entries(tmp_path, [numbered], known(names={"rater.chi": "5"}))
    assert (first.person.name, second.person.name) == ("ben", "chi")
    with pytest.raises(
        DataError,
        match=r"task 1, annotation 1: unknown rater '5'; known are ana, ben, chi; name theirs with --map rater.OURS=5",
    ):
        entries(tmp_path, [numbered])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"tasks": []}, "expected Label Studio's list of tasks, found dict"),
        ([], "expected Label Studio's list of tasks"),
        ([1], "expected Label Studio's list of tasks"),
        ([{"data": {}, "annotations": []}], r"no labels of people in it; export JSON \(not JSON-MIN\), with a criterion's name on each control \(category\)"),
        ([{"subject": ITEM.id, "category": NEGLECT, "annotator": "ana"}], r"no labels of people in it; export JSON \(not JSON-MIN\)"),
        ([task(region("marks", "labels", start=0, end=6, labels=["any"]))], "annotation 1: marked words without their text"),
        ([task(region("category", "choices", choices=[SAFE, NEGLECT]))], "several answers to category"),
        ([task(region("category", "choices", choices=[SAFE]), region("category", "choices", choices=[NEGLECT]))], "several answers to category"),
        ([task(region("mood", "choices", choices=["good"]))], "unknown criterion 'mood'; known are category"),
        ([task(region("category", "rating", rating=9))], "category has no level '9'"),
        ([{"data": {"subject": "?"}, "annotations": [{"result": [], "was_cancelled": True}]}], "unknown rater|unknown subject"),
        ([{"data": {}, "annotations": [7]}], "task 1, annotation 1: expected an object, found int"),
    ],
)  # fmt: skip
def test_a_fault_names_task_and_annotation(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        entries(tmp_path, content)


def test_broken_json_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text("[{", encoding="utf-8")
    with pytest.raises(DataError, match=r"tasks\.json:1: broken JSON"):
        read(path, known())
