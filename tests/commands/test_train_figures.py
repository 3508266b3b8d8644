"""Whether the figures of a training are what they say: nothing of the test data in them, each constant and fold its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from safetensors.numpy import load_file

from mindgauge.commands.train import Learning, divided, gather, train
from mindgauge.raters.classifier import open_classifier
from tests.raters.classifiers import encoders
from tests.raters.classifiers.conftest import one_thread, tiny, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., Path]

__all__ = ["one_thread", "tiny", "write"]
QUICK: dict[str, Any] = {"epochs": 3, "batch": 8, "lr": 5e-3, "dev": 0.2}


@pytest.mark.long
def test_test_labels_decide_nothing(tiny: Path, write: Write, tmp_path: Path) -> None:
    """With other labels on the test data, weights, temperature, threshold and the chosen seed are the same."""
    path, test = write(encoders.rows(20)), encoders.rows(8, seed=3)
    turned = {"calm": "sad", "sad": "panic", "panic": "calm"}
    right = write(test, "held.jsonl")
    wrong = write([row | {"label": turned[row["label"]]} for row in test], "other.jsonl")
    for asked in ({"baseline": True}, {"encoder": tiny, "seeds": 2, **QUICK}):
        one, other = (
            train(path, out=tmp_path / f"{len(asked)} {held.stem}", test=held, risk=0.5, **asked)
            for held in (right, wrong)
        )
        assert (one.decision, one.chosen, one.trials[0].best) == (other.decision, other.chosen, other.trials[0].best)
        assert one.figures[0].value != other.figures[0].value
        weights, same = (load_file(f"{found.out}/model.safetensors") for found in (one, other))
        assert all((weights[key] == same[key]).all() for key in weights)


def test_each_fold_is_measured_against_its_own_majority_and_threshold(write: Write, tmp_path: Path) -> None:
    """Where the folds' most frequent labels differ, a constant must not know the label of the part it is tested on."""
    rows = [row for row in encoders.rows(12) if row["label"] != "sad"]
    found = train(write(rows), out=tmp_path / "out", baseline=True, folds=3, risk=0.45)
    [accuracy] = [f for f in found.figures if f.name == "accuracy"]
    material = gather([write(rows)], Learning(folds=3))
    right = 0
    for fold in divided(material, Learning(folds=3))[1:]:
        assert not set(fold.tested.groups) & {*fold.train.groups, *fold.dev.groups}
        assert not set(fold.train.groups) & set(fold.dev.groups)
        right += int((fold.tested.codes == fold.train.counts(2).argmax()).sum())
    assert accuracy.majority == pytest.approx(right / 24)
    assert found.abstention["cross-validation"].threshold is None
    assert found.abstention["cross-validation"].n == 24


def test_a_tasks_figures_are_its_own(tmp_path: Path) -> None:
    found = train("dialogue_safety", out=tmp_path / "out", baseline=True, folds=2)
    figures = {(f.name, f.label): f for f in found.figures}
    accuracy, tested = figures["accuracy", ""], found.parts["cross-validation"]
    assert accuracy.n == 114 and accuracy.majority == pytest.approx(
        tested["Safe Response"] / tested["all samples"], abs=0.1
    )
    assert not {"repeat_stability", "fleiss_kappa", "tie_rate", "failed_rate"} & {f.name for f in found.figures}
    assert found.table.height == len(found.figures)
    assert open_classifier(tmp_path / "out").rubric.name == found.rubric


def test_labels_may_be_numbers(write: Write, tmp_path: Path) -> None:
    number = {"calm": 3, "panic": 1, "sad": 2}
    rows = [{"user": "I feel bad", "reply": row["text"], "label": number[row["label"]]} for row in encoders.rows(20)]
    rows = [row | {"user": f"my day, number {i}"} for i, row in enumerate(rows)]
    rubric = tmp_path / "rubric.toml"
    levels = "".join(f'[[criteria.levels]]\nvalue = {i}\ntext = {{en = "level {i}"}}\n' for i in (1, 2, 3))
    rubric.write_text(
        f'id = "warmth"\nversion = "1"\nsource = "ours"\n[[criteria]]\nname = "warmth"\nscale = "ordinal"\n'
        f'text = {{en = "How warm is it?"}}\n{levels}'
    )
    found = train(write(rows), out=tmp_path / "out", baseline=True, rubric=rubric, folds=2)
    opened = open_classifier(tmp_path / "out")
    assert opened.labels == (1, 2, 3) and opened.decision.reads == found.reads == "reply"


def test_a_users_training_file_is_cleared_of_the_test_dialogues(tmp_path: Path) -> None:
    def row(said: str, reply: str, label: int) -> dict[str, object]:
        return {"context": f"[seeker]{said}", "response": f"[supporter]{reply}", "label": label}

    long = "搬家以后我一直睡不好，心里总是很慌，白天也没有精神"
    safe, neglect = "听起来你这段时间很不容易。", "我们说点别的吧。"
    days = [f"今天是第{i}天，" for i in range(20)]
    test = [row(long, safe, 7), row(f"{days[0]}还好", neglect, 2), row(f"{days[1]}还好", safe, 7)]
    more = [row(f"{day}我有点累", reply, label) for day in days[2:] for reply, label in ((safe, 7), (neglect, 2))]
    leak = {"context": f"[seeker]{long}[supporter]嗯[seeker]是的", "response": f"[supporter]{safe}", "label": 7}
    for name, rows in (("test.json", test), ("train.json", [*more, leak])):
        (tmp_path / name).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    found = train("dialogue_safety", data=tmp_path, out=tmp_path / "out", baseline=True)
    assert found.parts["test"]["all samples"] == 3
    assert sum(part["all samples"] for part in found.parts.values()) == len(more) + 3
    assert "training: 1 samples removed from dialogues that are tested, or choose" in found.notes
    assert found.tested == "test" and found.decision.reads == "reply"


def test_a_temperature_that_does_harm_is_said(write: Write, tmp_path: Path) -> None:
    """Labels of the development part are turned, so that the temperature takes away a confidence that is justified."""
    turned = {"calm": "sad", "sad": "panic", "panic": "calm"}
    dev = [row | {"label": turned[row["label"]], "split": "dev"} for row in encoders.rows(10, seed=2)]
    test = write(encoders.rows(10, seed=3), "held.jsonl")
    found = train(write([*encoders.rows(30), *dev]), out=tmp_path / "out", baseline=True, test=test)
    before, after = (found.calibration[name].log_loss for name in ("test, before", "test"))
    assert before is not None and after is not None and after > before
    assert any("the temperature made the probabilities worse on test" in note for note in found.notes)
