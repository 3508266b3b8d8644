"""Sentences where there is next to nothing: no label, no answer, every verdict readable."""

import json
from pathlib import Path

from mindgauge import benchmarks
from mindgauge.records import Message, RaterKind, Rating, Sample, Status
from mindgauge.reports.page import ReportFiles, write
from mindgauge.store import Store, manifest

ASKED = "dialogue_safety"


def flow(folder: Path, values: list[str | None]) -> str:
    """Report answers to messages that have no label; None is an answer that cannot be read."""
    criterion = benchmarks.find_one(ASKED).rubric.criteria[0]
    with Store(folder, write=True) as store:
        manifest.begin(folder, {"benchmarks": [ASKED]}, "")
        samples = [
            Sample.of((Message("user", f"invented message {i}"), Message("assistant", "an invented reply")))
            for i in range(len(values))
        ]
        store.put_samples(ASKED, samples)
        for sample, value in zip(samples, values, strict=True):
            status = Status.UNPARSABLE if value is None else Status.OK
            store.add_rating(ASKED, Rating(sample.id, criterion.name, "acme/a", RaterKind.MODEL, 0, status, value))
    (found,) = json.loads(write([folder]).json.read_text(encoding="utf-8"))["weak"]["flows"]
    return str(found["finding"])


def test_no_step_is_named_where_no_answer_can_be_read(tmp_path: Path) -> None:
    assert flow(tmp_path / "run", [None] * 5) == "No answer has a label (5 of 5 without one)"


def test_the_fullest_step_is_not_called_most_answers(tmp_path: Path) -> None:
    nodes = benchmarks.find_one(ASKED).rubric.criteria[0].nodes
    first, second, third = (str(node.levels[0]) for node in nodes[:3])
    said = flow(tmp_path / "run", [first, first, second, third, None])
    assert said.startswith("Answers end most often at step 1, ")
    assert said.endswith("(2 of 5)")


def test_a_judge_whose_verdicts_could_all_be_used(rated_files: ReportFiles) -> None:
    judges = json.loads(rated_files.json.read_text(encoding="utf-8"))["trust"]["judges"]
    assert judges
    assert all(any(fact.endswith(", all could be used.") for fact in judge["facts"]) for judge in judges)
