"""What `train` refuses, and in which words."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge import benchmarks
from mindgauge.commands.train import train
from mindgauge.records.errors import DataError, UsageError
from tests.raters.classifiers import encoders
from tests.raters.classifiers.conftest import write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., Path]

__all__ = ["write"]


def test_a_label_with_one_example_is_kept_and_said(write: Write, tmp_path: Path) -> None:
    path = write([*encoders.rows(15), {"text": "something else", "label": "odd"}])
    kept = train(path, out=tmp_path / "out", baseline=True, folds=3)
    assert any("cross-validation: fewer than 2 examples of odd (1)" in note for note in kept.notes)
    [recall] = [f for f in kept.figures if (f.name, f.label) == ("recall", "odd")]
    assert (recall.n, recall.value) == (1, 0.0)
    limited = train(path, out=tmp_path / "limit", baseline=True, limit=21)
    assert limited.parts["train"]["all samples"] + limited.parts["development"]["all samples"] == 21


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "say what to train"),
        ({"baseline": True, "encoder": "x"}, "say what to train"),
        ({"baseline": True, "dev": 0.7}, "--dev 0.7: give a share above 0 and below 0.5"),
        ({"baseline": True, "folds": 1}, "--folds must be at least 2"),
        ({"baseline": True, "folds": 2, "test": "held.csv"}, "leave out --test"),
        ({"baseline": True, "risk": 1.5}, "--risk must lie between 0 and 1"),
        ({"encoder": "x", "epochs": 0}, "--seeds, --epochs and --batch must be at least 1"),
        ({"encoder": "x", "max_length": 15}, "--max-length must be at least 16"),
        ({"encoder": "x", "lr": float("nan")}, "--lr nan: give a small number"),
        ({"encoder": "x", "lr": -1.0}, "--lr -1.0: give a small number"),
        ({"baseline": True, "where": {"split": ("train",)}}, "--where and --labels-from go by the tags of a benchmark"),
        ({"baseline": True, "labels_from": "label"}, "--where and --labels-from go by the tags of a benchmark"),
        ({"baseline": True, "test_where": {"a": ("b",)}}, "--test-where chooses among the samples of a benchmark"),
        ({"encoder": "./nowhere"}, "./nowhere: not an encoder that transformers can open"),
        ({"baseline": True, "test": "dialogue_unsafety"}, "unknown benchmark"),
        (
            {"baseline": True, "test": "help_or_harm/crisis_type"},
            f"its rubric is {re.escape(benchmarks.find_one('help_or_harm/crisis_type').rubric.name)}, the training data's is dialogues@1",
        ),
    ],
)
def test_wrong_requests_are_one_line(asked: dict[str, Any], said: str, write: Write, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        train(write(encoders.rows(10)), out=tmp_path / "out", **asked)
    assert not (tmp_path / "out").exists()


def test_a_benchmark_has_its_own_rubric(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--rubric says whose labels a file's are; a benchmark or a run has its own"):
        train("dialogue_safety", out=tmp_path / "out", baseline=True, rubric="dialogue_safety")


def test_replies_and_messages_are_not_mixed(write: Write, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = encoders.rows(10)
    said = "28 dialogues end with a reply and 2 with the person's message"
    mixed = [row if i < 2 else {**row, "reply": "I hear you"} for i, row in enumerate(rows)]
    with pytest.raises(DataError, match=said):
        train(write(mixed), out=tmp_path / "out", baseline=True)
    test = write([row | {"reply": "I hear you"} for row in encoders.rows(5, seed=1)], "held.jsonl")
    with pytest.raises(DataError, match="15 dialogues end with a reply and 30 with the person's message"):
        train(write(rows), out=tmp_path / "out", baseline=True, test=test)
    assert train(write(rows), out=tmp_path / "out", baseline=True).decision.reads == "message"


def test_a_fold_needs_dialogues_of_several_labels(write: Write, tmp_path: Path) -> None:
    few = [{"text": f"{label} {i}", "label": label} for label in ("a", "b") for i in range(2)]
    with pytest.raises(DataError, match=r"leave no development part|one label only|too few dialogues"):
        train(write(few), out=tmp_path / "out", baseline=True, folds=3)
    with pytest.raises(DataError, match=r"leave no development part"):
        train(write([row | {"cluster": "one"} for row in few]), out=tmp_path / "out", baseline=True)


def test_where_all_is_test_data_nothing_is_left(write: Write, tmp_path: Path) -> None:
    rows = encoders.rows(10)
    path, test = write(rows), write([{**row, "text": f"again {row['text']}"} for row in rows], "held.jsonl")
    with pytest.raises(DataError, match="nothing is left to learn from"):
        train(path, out=tmp_path / "no", baseline=True, test=test)


def test_texts_with_nothing_in_common_are_said(write: Write, tmp_path: Path) -> None:
    letters = "abcdefghij"
    rows = [{"text": letter, "label": "even" if i % 2 else "odd"} for i, letter in enumerate(letters)]
    with pytest.raises(DataError, match="share no character"):
        train(write(rows), out=tmp_path / "out", baseline=True, dev=0.2)


def test_weights_that_are_gone_are_said(write: Write, tmp_path: Path) -> None:
    path = write(encoders.rows(15))
    train(path, out=tmp_path / "out", baseline=True)
    (tmp_path / "out/model.safetensors").unlink()
    with pytest.raises(UsageError, match=r"its model\.safetensors is gone; delete the folder and train again"):
        train(path, out=tmp_path / "out", baseline=True)


def test_a_damaged_trial_is_said(write: Write, tmp_path: Path) -> None:
    path = write(encoders.rows(15))
    train(path, out=tmp_path / "out", baseline=True)
    (tmp_path / "out/trials/seed-1/trial.json").write_text('{"seed": 1, "dev": [[null]]}', encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"trial\.json: damaged; delete .*seed-1, and the same command trains it again"
    ):
        train(path, out=tmp_path / "out", baseline=True)


def test_test_samples_are_not_trained_on_by_accident(tmp_path: Path) -> None:
    rows = [
        {
            "context": f"[seeker]今天是第{i}天，有点累",
            "response": "[supporter]听起来不容易。",
            "label": 7 if i % 2 else 2,
        }
        for i in range(20)
    ]
    (tmp_path / "test.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    with pytest.raises(DataError, match=r"these are all test samples.*--folds 5.*on purpose with --where"):
        train("dialogue_safety", data=tmp_path, out=tmp_path / "out", baseline=True)
    meant = train("dialogue_safety", data=tmp_path, out=tmp_path / "out", baseline=True, where={"split": ("test",)})
    assert meant.tested == "development"
