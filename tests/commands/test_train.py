"""`train` from end to end: what is learned, what is kept apart, what is saved, and what is refused."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from safetensors.numpy import load_file

from mindgauge import benchmarks
from mindgauge.commands.train import train
from mindgauge.raters.classifier import open_classifier
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError, UsageError
from tests.raters.classifiers import encoders
from tests.raters.classifiers.conftest import one_thread, tiny, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., Path]

__all__ = ["one_thread", "tiny", "write"]
QUICK: dict[str, Any] = {"epochs": 3, "batch": 8, "lr": 5e-3, "dev": 0.2}


def test_a_baseline_learns_and_says_what_it_is_worth(write: Write, tmp_path: Path) -> None:
    test = write(encoders.rows(15, seed=2), "test.jsonl")
    found = train(write(encoders.rows(30)), out=tmp_path / "out", baseline=True, test=test, risk=0.4)
    [accuracy] = [f for f in found.figures if f.name == "accuracy"]
    assert accuracy.part == "test" and accuracy.n == 45 and accuracy.value is not None and accuracy.value > 0.9
    assert accuracy.low is not None and accuracy.low < accuracy.value
    assert accuracy.majority == pytest.approx(1 / 3)
    assert {(f.name, f.label) for f in found.figures} > {("macro_f1", ""), ("recall", "panic"), ("precision", "sad")}
    assert {name: part["all samples"] for name, part in found.parts.items()} == {
        "train": 81,
        "development": 9,
        "test": 45,
    }
    assert set(found.calibration) == {"test, before", "test"}
    assert set(found.abstention) == {"development", "test"}
    assert found.table.height == len(found.figures)
    assert 'as a judge: judge="classifier/' in str(found).replace("\n ", "")
    classifier = open_classifier(tmp_path / "out")
    assert classifier.probabilities([Sample.of((Message("user", "I cannot breathe"),))]).argmax() == 1
    card = (tmp_path / "out/card.md").read_text()
    assert (
        "What it must not be used for" in card and "| accuracy |" in card and "On test data that played no part" in card
    )
    assert not any(row["text"] in card for row in encoders.rows(30))
    taught = [Sample.of((Message("user", row["text"]),)) for row in encoders.rows(30)]
    held = [Sample.of((Message("user", row["text"]),)) for row in encoders.rows(15, seed=2)]
    assert classifier.seen is not None
    assert {classifier.seen.how(sample) for sample in taught} == {"text"}, "what chose it counts, too"
    assert {classifier.seen.how(sample) for sample in held} == {"no"}
    (tmp_path / "out/seen.json").unlink()
    train(write(encoders.rows(30)), out=tmp_path / "out", baseline=True, test=test, risk=0.4)
    assert open_classifier(tmp_path / "out").seen == classifier.seen, "the same command brings it back"


def test_an_encoder_is_trained_for_each_seed(tiny: Path, write: Write, tmp_path: Path) -> None:
    stages: list[str] = []
    found = train(
        write(encoders.rows(24)), out=tmp_path / "out", encoder=tiny, test=write(encoders.rows(10, seed=2), "held.jsonl"),
        seeds=3, max_length=48, progress=lambda stage, _, __: stages.append(stage), **QUICK,
    )  # fmt: skip
    assert [t.seed for t in found.trials] == [1, 2, 3]
    assert set(stages) == {"training seed-1", "training seed-2", "training seed-3"}
    [accuracy] = [f for f in found.figures if f.name == "accuracy"]
    assert accuracy.mean is not None and accuracy.sd is not None
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files >= {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "rubric.toml",
        "classifier.toml",
        "card.md",
        "manifest.toml",
    }
    assert not list((tmp_path / "out").rglob("*.pt")) and not list((tmp_path / "out/trials").rglob("*.safetensors"))
    best = max(found.trials, key=lambda t: max(e["merit"] for e in t.history))
    assert found.chosen == best.seed
    opened = open_classifier(tmp_path / "out")
    samples = [Sample.of((Message("user", row["text"]),)) for row in encoders.rows(10, seed=2)]
    named = [opened.labels[i] for i in opened.probabilities(samples).argmax(axis=1)]
    right = [name == row["label"] for name, row in zip(named, encoders.rows(10, seed=2), strict=True)]
    assert sum(right) / 30 == pytest.approx(accuracy.value)


def test_what_an_encoder_learned_before_is_not_forgotten(tiny: Path, write: Write, tmp_path: Path) -> None:
    """A classifier that goes on from another has seen the dialogues of both."""
    once, quick = {**QUICK, "epochs": 1}, encoders.rows(8, seed=5)
    train(write(encoders.rows(8)), out=tmp_path / "first", encoder=tiny, **once)
    held = write([*encoders.rows(2, seed=6), *encoders.rows(8)[:3]], "held.jsonl")
    path = write(quick, "more.jsonl")
    found = train(path, out=tmp_path / "second", encoder=tmp_path / "first", test=held, **once)
    assert any("is a classifier that has learned from tested samples" in note for note in found.notes)
    opened = open_classifier(tmp_path / "second")
    assert opened.seen is not None
    for rows, how in ((quick, "text"), (encoders.rows(8), "text"), (encoders.rows(2, seed=6), "no")):
        assert {opened.seen.how(Sample.of((Message("user", row["text"]),))) for row in rows} == {how}
    new = train(path, out=tmp_path / "new", encoder=tiny, test=held, **once)
    assert not any("is a classifier" in note for note in new.notes)


def test_a_killed_training_goes_on_and_a_finished_one_is_not_repeated(tiny: Path, write: Write, tmp_path: Path) -> None:
    path = write(encoders.rows(20))
    asked: dict[str, Any] = {"encoder": tiny, "seeds": 2, **QUICK}

    def kill(stage: str, step: int, _: int) -> None:
        if stage == "training seed-2" and step == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(path, out=tmp_path / "killed", progress=kill, **asked)
    steps: list[tuple[str, int]] = []
    found = train(path, out=tmp_path / "killed", progress=lambda stage, step, _: steps.append((stage, step)), **asked)
    assert steps[0] == ("training seed-2", 1)
    whole = train(path, out=tmp_path / "whole", **asked)
    assert [t.history for t in found.trials] == [t.history for t in whole.trials]
    assert found.figures == whole.figures
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("killed", "whole"))
    assert all((one[key] == other[key]).all() for key in one)
    again = train(path, out=tmp_path / "killed", progress=lambda *_: pytest.fail("trained again"), risk=0.5, **asked)
    assert again.figures == found.figures and again.decision.risk == 0.5
    with pytest.raises(UsageError, match="holds a run with another plan"):
        train(path, out=tmp_path / "killed", **{**asked, "seeds": 1})


def test_cross_validation_tests_every_sample_once(write: Write, tmp_path: Path) -> None:
    rows = [
        row | {"cluster": f"talk {i // 3}"} for i, row in enumerate(sorted(encoders.rows(20), key=lambda r: r["label"]))
    ]
    found = train(write(rows), out=tmp_path / "out", baseline=True, folds=4)
    assert {f.part for f in found.figures} == {"cross-validation"}
    [accuracy] = [f for f in found.figures if f.name == "accuracy"]
    assert (accuracy.n, accuracy.clusters) == (60, 20)
    assert [t.fold for t in found.trials] == [None, 1, 2, 3, 4]
    assert open_classifier(tmp_path / "out").labels == ("calm", "panic", "sad")


def test_what_is_tested_is_taken_out_of_training(write: Write, tmp_path: Path) -> None:
    rows = encoders.rows(20)
    test = [
        rows[0],
        rows[1] | {"text": "another text of this dialogue", "cluster": rows[1]["cluster"]},
        *encoders.rows(4, seed=7),
    ]
    found = train(write(rows), out=tmp_path / "out", baseline=True, test=write(test, "held.jsonl"))
    assert "training: 2 samples removed from dialogues that are tested, or choose" in found.notes
    assert sum(part["all samples"] for name, part in found.parts.items() if name != "test") == 58


def test_a_split_column_says_what_is_what(write: Write, tmp_path: Path) -> None:
    marked = [
        row | {"split": split}
        for split, seed, n in (("train", 0, 20), ("dev", 1, 5), ("test", 2, 6))
        for row in encoders.rows(n, seed=seed)
    ]
    found = train(write(marked), out=tmp_path / "out", baseline=True)
    assert {name: part["all samples"] for name, part in found.parts.items()} == {
        "train": 60,
        "development": 15,
        "test": 18,
    }
    with pytest.raises(UsageError, match="the data itself says what is development and test"):
        train(write(marked), out=tmp_path / "no", baseline=True, folds=3)
    only = [row for row in marked if row["split"] == "test"]
    with pytest.raises(DataError, match="these are all test samples"):
        train(write(only, "only.jsonl"), out=tmp_path / "no", baseline=True)


def test_a_benchmarks_rubric_checks_a_files_labels(write: Write, tmp_path: Path) -> None:
    rows = [
        {"text": f"{row['text']}", "label": {"calm": "no-crisis", "panic": "焦虑危机", "sad": "suicidal"}[row["label"]]}
        for row in encoders.rows(12)
    ]
    found = train(write(rows), out=tmp_path / "out", baseline=True, rubric="help_or_harm/crisis_type")
    assert found.rubric == benchmarks.find_one("help_or_harm/crisis_type").rubric.name
    assert {"missed_crisis_rate", "overcalled_crisis_rate"} <= {f.name for f in found.figures}
    assert any("fewer than 2 examples of" in note and "self-harm (0)" in note for note in found.notes)
    with pytest.raises(
        DataError, match=r"bad\.jsonl:1: the label 'sucidal' is not in the rubric: did you mean 'suicidal_ideation'"
    ):
        train(
            write([{"text": "a", "label": "sucidal"}], "bad.jsonl"),
            out=tmp_path / "no",
            baseline=True,
            rubric="help_or_harm/crisis_type",
        )
    with pytest.raises(UsageError, match="has several criteria; name one with --criterion"):
        train(write(rows), out=tmp_path / "no", baseline=True, rubric="mentalbench")


def test_a_benchmarks_own_samples_are_trained_on(tmp_path: Path) -> None:
    found = train("help_or_harm/crisis_type", out=tmp_path / "out", baseline=True, folds=3)
    assert found.data == "help_or_harm/crisis_type"
    assert all(part["all samples"] for part in found.parts.values())
    with pytest.raises(UsageError, match="train on one benchmark or run, or on files"):
        train(["help_or_harm/crisis_type", "mentalbench"], out=tmp_path / "no", baseline=True)
    with pytest.raises(DataError, match=r"nothing here has a label on .* --labels-from TAG"):
        train("help_or_harm/crisis_type", out=tmp_path / "no", baseline=True, labels_from="shipped_label")


def test_the_manifest_says_what_was_done(write: Write, tmp_path: Path) -> None:
    train(write(encoders.rows(15)), out=tmp_path / "out", baseline=True, command="mindgauge train …")
    found = tomllib.loads((tmp_path / "out/manifest.toml").read_text(encoding="utf-8"))
    assert found["command"] == "mindgauge train …" and found["mindgauge"].startswith("mindgauge ")
    assert len(found["plan"]["train_hash"]) == 32
    assert found["versions"]["scikit-learn"]
