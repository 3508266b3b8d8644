"""`score` and `compare` say which accuracy they mean wherever there are two, and nothing where there is one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

import pytest
from click.testing import CliRunner

import mindgauge
from mindgauge import benchmarks
from mindgauge.cli import app
from mindgauge.records import Message, RaterKind, Rating, Sample, Status
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from pathlib import Path

Answers: TypeAlias = "dict[str, list[list[str | None]]]"
NAME, RIGHT, WRONG = "help_or_harm/crisis_type", "self-harm", "no_crisis"


def write(folder: Path, clusters: list[str], answers: Answers) -> Path:
    """Write a run: the conversation of each sample, and what each model answered to it, repeat by repeat."""
    rubric = benchmarks.find_one(NAME).rubric
    samples = [
        Sample.of(
            (Message("user", f"I do not feel well ({i})."),), target=RIGHT, cluster=cluster, tags={"language": "en"}
        )
        for i, cluster in enumerate(clusters)
    ]
    plan = {
        "benchmarks": [NAME],
        "instruments": ["i"],
        "samples": ["s"],
        "runs": 1,
        "models": [*answers],
        "protocol": "gold",
    }
    with Store(folder, write=True) as store:
        manifest.begin(folder, plan, "")
        store.put_samples(NAME, samples)
        criterion = rubric.criteria[0].name
        for sample in samples:
            gold = Rating(sample.id, criterion, "gold", RaterKind.GOLD, 0, Status.OK, RIGHT, instrument=rubric.name)
            store.add_rating(NAME, gold)
        for model, given in answers.items():
            for sample, repeats in zip(samples, given, strict=True):
                for run, value in enumerate(repeats):
                    status = Status.OK if value is not None else Status.UNPARSABLE
                    store.add_rating(NAME, Rating(sample.id, criterion, model, RaterKind.MODEL, run, status, value))
    return folder


def said(verb: str, folder: Path, *options: str) -> str:
    done = CliRunner().invoke(app, [verb, str(folder), *options])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def test_a_value_that_is_another_in_score_stands_beside_it(tmp_path: Path) -> None:
    """Three samples of one conversation and one of another: by conversation 50 %, by answer 75 %."""
    answers: Answers = {"able": [[RIGHT], [RIGHT], [RIGHT], [WRONG]], "poor": [[WRONG], [WRONG], [WRONG], [WRONG]]}
    folder = write(tmp_path, ["a", "a", "a", "b"], answers)
    (accuracy,) = mindgauge.score(folder).find("accuracy", model="able", rater="able")
    assert accuracy.value == 0.75
    (measure,) = [m for m in mindgauge.compare(folder).measures if (m.name, m.slice) == ("accuracy", "all")]
    able = next(s for s in measure.standings if s.system == "able")
    assert (able.value, able.pooled) == (0.5, 0.75)
    table = said("compare", folder, "--full")
    assert "in score" in table
    assert "50 %" in table
    assert "75 %" in table
    assert (
        "value: each conversation counts once, on the samples that all systems answered; in score: each answer" in table
    )


def test_where_both_are_the_same_nothing_is_said(tmp_path: Path) -> None:
    answers: Answers = {"able": [[RIGHT], [RIGHT], [WRONG]], "poor": [[WRONG], [RIGHT], [WRONG]]}
    folder = write(tmp_path, ["a", "b", "c"], answers)
    for text in (said("compare", folder), said("score", folder)):
        assert "in score" not in text
        assert "counts as" not in text
        assert "majority" not in text


def test_samples_that_others_did_not_answer_are_in_the_score_alone(tmp_path: Path) -> None:
    answers: Answers = {"able": [[RIGHT], [WRONG], [RIGHT]], "poor": [[WRONG], [RIGHT], []]}
    folder = write(tmp_path, ["a", "b", "c"], answers)
    (measure,) = [m for m in mindgauge.compare(folder).measures if (m.name, m.slice) == ("accuracy", "all")]
    able = next(s for s in measure.standings if s.system == "able")
    assert able.value == 0.5
    assert able.pooled == pytest.approx(2 / 3)
    assert "67 %" in said("compare", folder, "--full")


def test_repeats_and_their_majority_are_told_apart(tmp_path: Path) -> None:
    answers: Answers = {
        "able": [[RIGHT, RIGHT, WRONG], [RIGHT, WRONG, RIGHT]],
        "poor": [[WRONG, WRONG, RIGHT], [WRONG, WRONG, WRONG]],
    }
    folder = write(tmp_path, ["a", "b"], answers)
    assert "Every answer counts in the rows NAME; in NAME:majority the answer given most often" in said("score", folder)
    assert "each repeated answer counts separately here, as in `mindgauge score` in the rows without :majority" in said(
        "compare", folder
    )


def test_what_an_unreadable_answer_counts_as_is_said_and_true(tmp_path: Path) -> None:
    answers: Answers = {"able": [[RIGHT], [None], [RIGHT]], "poor": [[WRONG], [RIGHT], [None]]}
    folder = write(tmp_path, ["a", "b", "c"], answers)
    score, compare = said("score", folder), said("compare", folder)
    assert f"{NAME}: in accuracy an answer without a value counts as wrong." in score
    assert f"{NAME}: in accuracy an answer without a value counts as wrong." in compare
    titles = {"accuracy": "accuracy", "missed_crisis_rate": "share of messages that show a crisis taken for none"}
    for name, title in titles.items():
        scores = [m for model in answers for m in mindgauge.score(folder).find(name, model=model, rater=model)]
        for counted, bounds in (("wrong", {m.worst for m in scores}), ("right", {m.best for m in scores})):
            told = re.search(rf"in [^.]*\b{title}\b[^.]* an answer without a value counts as {counted}\.", score)
            assert bool(told) == ({m.value for m in scores} == bounds), (name, counted)


def test_it_is_in_the_json(tmp_path: Path) -> None:
    answers: Answers = {
        "able": [[RIGHT], [None], [RIGHT]],
        "poor": [[WRONG], [RIGHT], [None]],
    }
    folder = write(tmp_path, ["a", "b", "c"], answers)
    found = json.loads(CliRunner().invoke(app, ["compare", str(folder), "--json"]).output)
    (measure,) = [m for m in found["measures"] if (m["name"], m["slice"]) == ("accuracy", "all")]
    assert measure["missing_as"] == "wrong"
    assert all("pooled" in standing for standing in measure["standings"])
