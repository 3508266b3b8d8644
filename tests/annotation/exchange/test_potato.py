"""Files as Potato 2.12.1 wrote them, started on our own export and answered in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.annotation.exchange import export as passages
from mindgauge.annotation.exchange import read
from mindgauge.commands.annotate.export import annotate_export
from mindgauge.records.errors import DataError

from .conftest import ITEMS, NEGLECT, SAFE, known, scored_items

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.annotation.exchange import Known
    from mindgauge.annotation.exchange.reading import ImportedLabel
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
WANTED = ("ana", NEGLECT, "好的 = so", [(TEXT, "reply")])


def test_what_potato_writes_today_is_read(tmp_path: Path) -> None:
    assert only(entries(tmp_path / "annotations.jsonl", LATEST)) == WANTED
    chosen = {"category": {SAFE: True, NEGLECT: False}, "why": {"text_box": "kind"}}
    other = {**LATEST, "labels": chosen, "spans": {"evidence": [{**SPAN, "text": "another text"}]}}
    assert only(entries(tmp_path / "annotations.jsonl", other)) == ("ana", SAFE, "kind", [("another text", "")])


def test_scores_are_read(tmp_path: Path) -> None:
    record = {"instance_id": "row 1", "user_id": "ana", "labels": {"safety": {"4": "4"}}, "spans": {}}
    (entry,) = entries(tmp_path / "a.jsonl", record, known(scored_items(), "mentalbench"))
    assert entry.answer is not None and (entry.answer.criterion, entry.answer.value) == ("safety", 4)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("user_state.json", json.dumps({"user_id": "ana", "instance_id_to_label_to_value": {ITEM.id: {"category": SAFE}}})),
        ("annotations.csv", f"instance_id,user_id,category.{SAFE}\n{ITEM.id},ana,{SAFE}\n"),
        ("annotated_instances.jsonl", json.dumps({"id": ITEM.id, "label_annotations": {"category": {SAFE: "1"}}})),
    ],
)  # fmt: skip
def test_other_layouts_are_refused_in_a_line(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    for form in ("", "potato"):
        with pytest.raises(DataError) as fault:
            read(tmp_path / name, known(), form)
        assert "\n" not in str(fault.value)


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
