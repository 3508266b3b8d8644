"""Files as Potato wrote them: 2.12.1, started on our own export and answered in it, and the layouts before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.annotation.exchange import known as passages
from mindgauge.annotation.exchange import read
from mindgauge.commands.annotate.export import annotate_export
from mindgauge.records.errors import DataError

from .conftest import ITEMS, NEGLECT, SAFE, known, scored_items

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.annotation.exchange import ImportedLabel, Known
    from mindgauge.annotation.project import Annotation

ITEM = ITEMS[0]
START = passages.whole(ITEM).index(ITEM.reply)
SPAN = {"schema": "evidence", "name": "evidence", "title": "evidence", "start": START, "end": START + 14}
TEXT = ITEM.reply[:14]


def entries(path: Path, content: object, against: Known | None = None) -> list[ImportedLabel]:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), encoding="utf-8")
    form, found, _ = read(path, against or known())
    assert form == "potato"
    return found


def only(found: list[ImportedLabel]) -> tuple[str, object, str, list[tuple[str, str]]]:
    (entry,) = found
    assert entry.answer is not None and entry.item == ITEM
    return entry.person.name, entry.answer.value, entry.note, [(mark.quote, mark.source) for mark in entry.evidence]


LATEST = {
    "instance_id": ITEM.id,
    "user_id": "ana",
    "labels": {"category": {NEGLECT: NEGLECT}, "note": {"text_box": "好的 = so"}},
    "spans": {"evidence": [{**SPAN, "id": "evidence_evidence", "text": TEXT}]},
    "links": {},
}
STATE = {
    "user_id": "ana",
    "instance_id_to_behavioral_data": {},
    "instance_id_to_label_to_value": {
        ITEM.id: [
            [{"schema": "category", "name": NEGLECT}, NEGLECT],
            [{"schema": "note", "name": "text_box"}, "好的 = so"],
        ]
    },
    "instance_id_to_span_to_value": {ITEM.id: [[{**SPAN, "id": "evidence_evidence"}, True]]},
}
CSV = (
    f"instance_id,user_id,category.{NEGLECT},note.text_box,evidence._spans\r\n"
    f'{ITEM.id},ana,{NEGLECT},好的 = so,"[{{""schema"": ""evidence"", ""start"": {START}, ""end"": {START + 14}, ""text"": ""{TEXT}""}}]"\r\n'
)
TSV = f"instance_id\tuser_id\tcategory.{NEGLECT}\tnote.text_box\n{ITEM.id}\tana\t{NEGLECT}\t好的 = so\n"
WANTED = ("ana", NEGLECT, "好的 = so", [(TEXT, "reply")])


def test_what_potato_writes_today_is_read(tmp_path: Path) -> None:
    assert only(entries(tmp_path / "annotations.jsonl", LATEST)) == WANTED
    assert only(entries(tmp_path / "user_state.json", STATE)) == WANTED
    assert only(entries(tmp_path / "annotations.csv", CSV)) == WANTED
    assert only(entries(tmp_path / "annotations.tsv", TSV)) == (*WANTED[:3], [])


def test_what_earlier_versions_wrote_is_read(tmp_path: Path) -> None:
    """The person is the folder's name where the file does not say."""
    first = {
        "id": ITEM.id,
        "displayed_text": "…",
        "label_annotations": {"category": {SAFE: "1"}, "why": {"text_box": "kind"}},
        "span_annotations": [{"start": 0, "end": 14, "span": TEXT, "annotation": "evidence"}],
        "behavioral_data": {"time_string": "Time spent: 0d 0h 0m 12s "},
    }
    path = tmp_path / "ben" / "annotated_instances.jsonl"
    assert only(entries(path, first)) == ("ben", SAFE, "kind", [(TEXT, "")])
    assert only(entries(path, {"id": ITEM.id, "annotation": {"category": [SAFE]}})) == ("ben", SAFE, "", [])
    assert only(entries(path, {**first, "user_id": "chi"}))[0] == "chi"
    table = f"user,instance_id,displayed_text,category:::{SAFE},category:::{NEGLECT}\nchi,{ITEM.id},…,,1\n"
    assert only(entries(tmp_path / "annotated_instances.csv", table)) == ("chi", NEGLECT, "", [])


@pytest.mark.parametrize(
    "labels",
    [
        {"category": {"labels": {SAFE: True}}},
        {"category": {SAFE: "true", NEGLECT: "false"}},
        {"category": {SAFE: True, NEGLECT: False}},
        {"category": {SAFE: "8", NEGLECT: None}},
        {"category": {SAFE: "on"}},
        {"category": SAFE},
    ],
)
def test_a_label_is_chosen_in_many_ways(tmp_path: Path, labels: dict[str, Any]) -> None:
    state = {"instance_id_to_label_to_value": {ITEM.id: labels}}
    assert only(entries(tmp_path / "chi" / "user_state.json", state)) == ("chi", SAFE, "", [])


@pytest.mark.parametrize("labels", [{"4": "4"}, {"scale_4": "4"}, {"scale_4": True}, {"slider": 4}, {"": "4"}])
def test_scales_sliders_and_numbers_are_read(tmp_path: Path, labels: dict[str, Any]) -> None:
    record = {"instance_id": "row 1", "user_id": "ana", "labels": {"safety": labels}, "spans": {}}
    (entry,) = entries(tmp_path / "a.jsonl", record, known(scored_items(), "mentalbench"))
    assert entry.answer is not None and (entry.answer.criterion, entry.answer.value) == ("safety", 4)


def test_data_and_configuration_belong_to_the_annotations(labelled: Annotation, tmp_path: Path) -> None:
    annotate_export(labelled.folder, to="potato", out=tmp_path / "out")
    items = [json.loads(line) for line in (tmp_path / "out" / "data.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = {item["id"]: item["text"] for item in items}
    config = json.loads((tmp_path / "out" / "config.yaml").read_text(encoding="utf-8"))  # JSON is YAML, too
    schemes = {scheme["name"]: scheme for scheme in config["annotation_schemes"]}
    assert config["data_files"] == ["data.jsonl"] and len(items) == 6
    for line in (tmp_path / "out" / "annotations.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        assert record["user_id"] in config["user_config"]["users"]
        assert set(record["labels"]) <= set(schemes)
        assert set(record["labels"]["category"]) <= {label["name"] for label in schemes["category"]["labels"]}
        for span in record["spans"].get("evidence", []):
            assert texts[record["instance_id"]][span["start"] : span["end"]] == span["text"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": {"category": {SAFE: SAFE, NEGLECT: NEGLECT}}}, r"a\.jsonl:1: several answers to category"),
        ({"labels": {"mood": {"good": "good"}}}, "unknown criterion 'mood'"),
        ({"labels": {"category": {"Good": "Good"}}}, "category has no level 'Good'"),
        ({"user_id": "anna"}, r"unknown rater 'anna' \(did you mean ana\?\)"),
        ({"instance_id": "1"}, "unknown subject '1'"),
        ({"labels": {}}, "no labels of people in it"),
    ],
)
def test_a_fault_names_the_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        entries(tmp_path / "a.jsonl", {**LATEST, **change})
