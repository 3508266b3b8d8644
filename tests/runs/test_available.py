"""Of a family, what has data runs: a broken file is named and stops its own tasks alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.commands.run import run
from mindgauge.models.scripted import Scripted
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.runs.inputs import at_hand
from mindgauge.store import manifest
from tests import in_process
from tests.benchmarks.trustmh import small_set

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stub import Stub

LACKING = {"help_or_harm/crisis_type", "trustmh/diagnosis", "trustmh/escalation", "trustmh/robustness_diagnosis", "trustmh/sycophancy_pas"}  # fmt: skip
"""What the release itself has no data for."""
BROKEN: dict[str, tuple[bytes, set[str], str]] = {
    "external/psy_eval/USMLE-mental.jsonl": (b'{"question": "Wh', {"trustmh/knowledge"}, ":1: broken JSON (Unterminated string starting at)"),
    "external/emobench/EU.jsonl": ("{}".encode("utf-16"), {"trustmh/emotion"}, ":1: expected qid, language, "),
    "external/cssrs/500_Reddit_users_posts_labels.csv": (b"User,Text,Label\n1,2,3\n", {"trustmh/severity"}, ": expected columns Post, found User, Text, Label"),
    "dataset/PsyHarm.csv": (b"", {"trustmh/jailbreak", "trustmh/toxicity"}, ": expected rows, found an empty file"),
    "dataset/PsyLeak_control.txt": (b"One line alone?", {"trustmh/privacy_leakage"}, ": expected 3 lines, one for each story, found 1"),
    "external/confaide/tier_2_labels.txt": (b"12.5\n-80.1\n", {"trustmh/privacy_awareness"}, ", found 4"),
    "external/esconv/testWithStrategy_short.tsv": (
        b"Hello.\r\n", {"trustmh/emotional_support", "trustmh/robustness_support"},
        ":1: expected utterances that end with the supporter's, found 'Hello.'",
    ),
    "dataset/ESConv_fair.json": (b"[", {"trustmh/fairness"}, ":1: broken JSON (Expecting value)"),
    "external/elephant/AITA_sample.csv": (b"prompt\nOne.\n", {"trustmh/sycophancy_aita"}, ": expected columns is_asshole or ytanta, found prompt"),
    "ethics.zip": (b"PK\x03\x04", {"trustmh/ethics"}, ": expected a zip, found File is not a zip file"),
    "external/cpsycoun/CPsyCounE.zip": (b"PK\x03\x04", {"trustmh/intervention"}, ": expected a zip, found File is not a zip file"),
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return small_set.write(tmp_path / "data", small_set.files())


def family() -> list[str]:
    return [benchmark.name for benchmark in benchmarks.find("trustmh")]


def subject() -> Scripted:
    return Scripted("made", lambda _: json.dumps({"choice": "A"}))


def test_what_the_set_has_data_for_is_run_and_the_rest_is_named(data: Path) -> None:
    known = at_hand(benchmarks.find("trustmh"), data, None, 1)
    assert {benchmark.name for benchmark in known.benchmarks} == {*family()} - LACKING
    assert known.missing.keys() == LACKING
    assert known.broken == {}
    assert all(known.samples)
    assert all("\n" not in line for line in known.lines)
    noted = {b.name for b in known.benchmarks if b.notes is not None and b.notes(data)}
    ours = {"trustmh/sycophancy_oeq", "trustmh/sycophancy_aita"}  # the ten rows of a sample, as released
    assert noted == {*family()} - LACKING - ours
    assert "USMLE-mental.jsonl: expected 727 questions, found 5" in " ".join(known.notes)


@pytest.mark.parametrize("path", BROKEN)
def test_a_broken_file_stops_its_own_tasks_alone(path: str, data: Path) -> None:
    content, tasks, fault = BROKEN[path]
    (data / path).write_bytes(content)
    known = at_hand(benchmarks.find("trustmh"), data, None, 1)
    maybe = LACKING if path.endswith(".zip") else set()
    assert tasks <= known.broken.keys() <= tasks | maybe
    assert {benchmark.name for benchmark in known.benchmarks} == {*family()} - LACKING - tasks
    for task in tasks:
        why = known.broken[task]
        assert f"/{path}{fault}" in why
        assert "\n" not in why
    assert {line.partition(" is not run: ")[0] for line in known.lines} >= tasks | LACKING


def test_a_run_keeps_why_a_task_is_not_in_it(data: Path, tmp_path: Path) -> None:
    (data / "external/psy_eval/USMLE-mental.jsonl").write_bytes(b"{")
    told: list[str] = []
    names = ["trustmh/knowledge", "trustmh/emotion", "trustmh/diagnosis"]
    found = run(names, model=subject(), data=data, out=tmp_path / "run", limit=2, notice=told.append)
    assert isinstance(found, Scores)
    assert found.benchmark == "trustmh/emotion"
    assert found.broken.keys() == {"trustmh/knowledge"}
    assert "USMLE-mental.jsonl:1: broken JSON (Expecting property name" in found.broken["trustmh/knowledge"]
    for lines in (told, found.notes):
        assert any("trustmh/knowledge" in line and "USMLE-mental.jsonl:1: broken JSON (" in line for line in lines)
        assert any("trustmh/diagnosis" in line and "no D4 or SWMH here" in line for line in lines)
    left = manifest.read(tmp_path / "run")["not_run"]
    assert left["missing"].keys() == {"trustmh/diagnosis"}
    assert left["broken"] == found.broken


def test_when_the_file_is_mended_the_same_run_goes_on_whole(data: Path, tmp_path: Path) -> None:
    path = data / "external/psy_eval/USMLE-mental.jsonl"
    whole = path.read_bytes()
    names = ["trustmh/knowledge", "trustmh/emotion"]
    path.write_bytes(whole[:20])
    run(names, model=subject(), data=data, out=tmp_path / "first", limit=2)
    path.write_bytes(whole)
    found = run(names, model=subject(), data=data, out=tmp_path / "second", limit=2)
    assert isinstance(found, Scores)
    assert found.benchmark == "trustmh/knowledge, trustmh/emotion"
    assert found.broken == {}


def test_nothing_at_hand_is_the_first_fault(tmp_path: Path, data: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingDataError, match=r"no USMLE-mental\.jsonl here"):
        at_hand(benchmarks.find("trustmh/knowledge"), tmp_path / "empty", None, None)
    (data / "external/emobench/EU.jsonl").write_bytes(b"\x00")
    with pytest.raises(DataError, match=r"EU\.jsonl: not text: 1 of its bytes are null; save it again$"):
        at_hand(benchmarks.find("trustmh/emotion"), data, None, None)


@pytest.mark.parametrize("broken", [False, True])
def test_the_command_line_fails_in_one_line_where_data_is_broken_not_where_it_is_missing(
    data: Path, tmp_path: Path, stub: Stub, *, broken: bool
) -> None:
    if broken:
        (data / "external/emobench/EU.jsonl").write_bytes(b"[]\n")
    names = ["trustmh/knowledge", "trustmh/emotion", "trustmh/diagnosis"]
    options = ["--model", stub.model, "--data", str(data), "--out", str(tmp_path / "run"), "--limit", "2", "--json"]
    done = in_process.mindgauge("run", *names, *options)
    assert done.returncode == (1 if broken else 0), done.stderr
    scores = json.loads(done.stdout)
    assert "trustmh/knowledge" in scores["benchmark"]
    last = done.stderr.splitlines()[-1] if done.stderr else ""
    assert last.startswith("mindgauge: trustmh/emotion was not run: ") is broken
    assert ("EU.jsonl:1: expected an object, found list" in last) is broken
    assert "Traceback" not in done.stderr
    assert "no D4 or SWMH here" in done.stderr
