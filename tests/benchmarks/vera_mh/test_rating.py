"""Whole dialogues rated by the authors' tree: what judges are asked, what does not apply, and what stands in the scores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks.vera_mh.released import DIMENSIONS
from mindgauge.cli import app
from mindgauge.models.scripted import Scripted
from mindgauge.records.errors import DataError, UsageError
from mindgauge.store import Store
from tests.benchmarks.vera_mh import made

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

TALKS = {
    "wet": ("It has been grey for weeks.", "Grey how? Do you mean rain?"),
    "dry": ("The sun is out.", "Enjoy it."),
    "lost": ("There are clouds.", "I see."),
}
WET = {
    "a": "Yes",
    "b": "No",
    "d": "No",
    "d2": "Yes",
    "f": "Not at all",
    "g": "no",
    "g2": "no",
    "h": "yes",
    "h2": "not_applicable",
}
DRY = {"a": "No", "c": "No"}


def dialogues(path: Path) -> Path:
    rows = [
        {"id": name, "model": "frog", "messages": [{"role": "user", "content": said}, {"role": "assistant", "content": reply}]}
        for name, (said, reply) in TALKS.items()
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def judge(request: Request) -> str:
    """Answer by what the talk says; of one question alone, that one."""
    text, schema = request.messages[0].content, request.schema
    assert schema is not None
    given = WET if "grey for weeks" in text else DRY if "The sun is out" in text else {"a": "Yes", "b": "perhaps"}
    verdict = made.answers(**given)
    return json.dumps({name: verdict.get(name) for name in schema["properties"]})


@pytest.mark.parametrize("mode", ["joint", "split"])
def test_dialogues_are_rated_by_the_tree_and_what_does_not_apply_is_outside_of_n(tmp_path: Path, mode: str) -> None:
    data, run = made.release(tmp_path / "data"), tmp_path / "run"
    talks = dialogues(tmp_path / "talks.jsonl")
    scores = mindgauge.rate(
        "vera_mh", dialogues=talks, unit="dialogue", judge=Scripted("j", judge), data=data, out=run, mode=mode
    )
    assert isinstance(scores, Scores)
    with Store(run) as store:
        ratings = list(store.ratings("vera_mh"))
        replies = {reply.id: reply.sample for reply in store.replies("vera_mh")}
        said = {sample.id: sample.messages[0].content for sample in store.samples("vera_mh")}
    by_talk = {(said[replies[r.subject]], r.criterion): r for r in ratings}
    assert {r.rater for r in ratings} == {"j (tree)"}
    wet = [by_talk[TALKS["wet"][0], name] for name in DIMENSIONS]
    assert [r.value for r in wet] == ["best", "weak", None, "best", "harmful"]
    assert [r.status.value for r in wet] == ["ok", "ok", "not_applicable", "ok", "ok"]
    assert {by_talk[TALKS["dry"][0], name].status.value for name in DIMENSIONS} == {"not_applicable"}
    assert {by_talk[TALKS["lost"][0], name].status.value for name in DIMENSIONS} == {"unparsable"}
    figures = {s.criterion: s for s in scores.find("safety_score") if s.slice == "all"}
    assert (figures["confirms"].n, figures["confirms"].missing, figures["confirms"].value) == (2, 1, 50.0)
    assert (figures["guides"].n, figures["guides"].missing) == (1, 1), (
        "not applicable is no 0, and an unread verdict stays"
    )
    of_dimensions = [r.status.value for r in ratings if r.criterion in DIMENSIONS]
    assert of_dimensions.count("not_applicable") == 6
    path = wet[0].provenance["path"]
    assert [(step["name"], step["answer"]) for step in path] == [
        ("a", "Yes"), ("b", "No"), ("d", "No"), ("d2", "Yes"), ("f", "Not at all"), ("g", "no"), ("g2", "no"), ("h", "yes"),
    ]  # fmt: skip


def test_in_split_mode_each_question_is_a_call_and_only_those_on_the_way_are_asked(tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def listening(request: Request) -> str:
        assert request.schema is not None
        asked.append([name for name in request.schema["properties"] if name not in {"quotes", "rationale"}])
        return judge(request)

    data, talks = made.release(tmp_path / "data"), dialogues(tmp_path / "talks.jsonl")
    mindgauge.rate(
        "vera_mh", dialogues=talks, unit="dialogue", judge=Scripted("j", listening), data=data,
        out=tmp_path / "run", mode="split",
    )  # fmt: skip
    assert all(len(names) == 1 for names in asked)
    assert sorted(name for (name,) in asked if name in {"qc", "qd2", "qf2", "qh2"}) == ["qc", "qd2"]


def test_the_whole_run_is_one_instrument(tmp_path: Path) -> None:
    talks, run = dialogues(tmp_path / "talks.jsonl"), tmp_path / "run"

    def rated(tree: Path | None) -> None:
        mindgauge.rate(
            "vera_mh", dialogues=talks, unit="dialogue", judge=Scripted("j", judge), data=tree, out=run, mode="joint"
        )

    rated(made.release(tmp_path / "data"))
    other = made.release(tmp_path / "other", tree=made.changed(0, Question="Is it about to rain?"))
    with pytest.raises(UsageError, match=r"the words of the tree of vera_mh are not this run's"):
        rated(other)
    report = mindgauge.report(run)
    assert "j (tree)" in report.markdown.read_text(encoding="utf-8").replace("\\", "")


def test_what_does_not_go_with_a_tree_is_said_in_a_line(tmp_path: Path) -> None:
    data, talks = made.release(tmp_path / "data"), dialogues(tmp_path / "talks.jsonl")
    with pytest.raises(
        UsageError, match="the files below --data have a tree of questions; leave out --method, or --data"
    ):
        mindgauge.rate(
            "vera_mh", dialogues=talks, unit="dialogue", judge=Scripted("j", judge), data=data, method="chain"
        )
    with pytest.raises(UsageError, match="psycrisis is rated by its own rubric, whatever lies below --data"):
        mindgauge.rate("psycrisis", dialogues=talks, judge=Scripted("j", judge), data=data)
    with pytest.raises(DataError, match="no such folder"):
        mindgauge.rate("vera_mh", dialogues=talks, judge=Scripted("j", judge), data=tmp_path / "nowhere")


def test_the_command_line_takes_the_tree(tmp_path: Path) -> None:
    data, talks = made.release(tmp_path / "data"), dialogues(tmp_path / "talks.jsonl")
    line = ["rate", "vera_mh", "--dialogues", str(talks), "--unit", "dialogue", "--judge", "http://127.0.0.1:9/v1#j"]
    done = CliRunner().invoke(app, [*line, "--data", str(data), "--mode", "split", "--out", str(tmp_path / "run"), "--dry-run"])  # fmt: skip
    assert done.exception is None, done.output
    assert " 36 " in done.output, "twelve questions of three dialogues at most"
