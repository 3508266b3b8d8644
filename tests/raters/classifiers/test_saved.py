"""A saved classifier: what opens it again, and what it refuses."""

from __future__ import annotations

import shutil
import tomllib
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mindgauge import benchmarks
from mindgauge.raters import classifier as saved
from mindgauge.raters.classifier import Decision, open_classifier
from mindgauge.raters.classifiers import dialogues, tfidf
from mindgauge.raters.classifiers.dialogues import TrainingDigests
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError, RubricError, UsageError
from mindgauge.records.rubric import Level, Rubric
from tests.raters.classifiers import encoders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, write: Callable[..., Path]) -> Path:
    """A baseline as `train` saves it."""
    rows = dialogues.rows(write(encoders.rows(20)), {})
    rubric = dialogues.rubric_of(rows, "moods")
    whole = dialogues.part(list(dialogues.samples(rows, rubric.criteria[0])), rubric.criteria[0].values)
    model, _ = tfidf.fit(whole, whole, 3)
    place = tmp_path / "moods"
    place.mkdir()
    model.save(place)
    saved.describe(place, rubric, Decision("tfidf", rubric.name, rubric.hash, 2.0, 0, 0.8, 0.1, "message"))
    return place


def said(text: str) -> Sample:
    return Sample.of((Message("user", text),))


def test_it_opens_as_it_was_saved(folder: Path) -> None:
    found = open_classifier(folder)
    assert found.labels == ("calm", "panic", "sad")
    assert found.rubric == Rubric.load(folder / "rubric.toml")
    assert found.decision == Decision("tfidf", "moods@1", found.rubric.hash, 2.0, 0, 0.8, 0.1, "message")
    probabilities = found.probabilities([said("I cannot breathe"), said("my dog makes me smile")])
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert probabilities.argmax(axis=1).tolist() == [1, 0]
    with pytest.raises(DataError, match="an empty dialogue"):
        found.probabilities([said(" ")])


def test_it_decides_above_the_threshold_only(folder: Path) -> None:
    found = open_classifier(folder)
    rows = np.array([[0.8, 0.1, 0.1], [0.1, 0.79, 0.11]])
    assert found.decide(rows) == ["calm", None]
    found.decision = msgspec.structs.replace(found.decision, threshold=None)
    assert found.decide(rows) == ["calm", "panic"]


def test_the_instrument_is_rubric_weights_and_decision(folder: Path, tmp_path: Path) -> None:
    first = open_classifier(folder)
    moved = tmp_path / "elsewhere"
    shutil.copytree(folder, moved)
    assert open_classifier(moved).instrument == first.instrument
    assert first.instrument.startswith("moods@1#")
    saved.describe(moved, first.rubric, msgspec.structs.replace(first.decision, threshold=0.9))
    assert open_classifier(moved).instrument != first.instrument


def test_another_rubric_is_refused(folder: Path) -> None:
    found = open_classifier(folder)
    found.answering(found.rubric, about_reply=False)
    two = msgspec.structs.replace(
        found.rubric, criteria=(*found.rubric.criteria, msgspec.structs.replace(found.criterion, name="other"))
    )
    found.answering(two, about_reply=False)
    newer = msgspec.structs.replace(found.rubric, version="2")
    with pytest.raises(
        UsageError, match="trained on moods@1, criterion 'label', but this is rated by moods@2; train it again"
    ):
        found.answering(newer, about_reply=False)
    more = msgspec.structs.replace(found.criterion, levels=(*found.criterion.levels, Level("angry", {"en": "angry"})))
    with pytest.raises(UsageError, match="the same version, other words"):
        found.answering(found.rubric.only(more), about_reply=False)


@pytest.mark.parametrize(
    ("damage", "error", "words"),
    [
        (shutil.rmtree, UsageError, "no such folder"),
        (lambda f: (f / "classifier.toml").unlink(), UsageError, "no classifier.toml in it"),
        (lambda f: (f / "classifier.toml").write_text("form = 2\nkind = 3"), UsageError, "not a classifier"),
        (lambda f: (f / "classifier.toml").write_text((f / "classifier.toml").read_text().replace("form = 2", "")), UsageError, "another version of mindgauge trained it"),
        (lambda f: (f / "rubric.toml").unlink(), RubricError, "cannot read the rubric"),
        (lambda f: (f / "rubric.toml").write_text((f / "rubric.toml").read_text().replace("calm", "quiet")), UsageError, "is not the one it was trained on"),
        (lambda f: (f / "model.safetensors").unlink(), UsageError, "no model.safetensors in it"),
        (lambda f: (f / "model.safetensors").write_bytes(b"broken"), UsageError, "damaged"),
        (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), UsageError, "pickled weights are refused"),
    ],
)  # fmt: skip
def test_what_is_damaged_is_said(
    folder: Path, damage: Callable[[Path], object], error: type[Exception], words: str
) -> None:
    damage(folder)
    with pytest.raises(error, match=words):
        open_classifier(folder)


def tensors(folder: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    found = load_file(folder / "model.safetensors")
    change(found)
    save_file(found, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.pop("idf"), "its parts do not fit together"),
        (lambda t: t.update({"idf": t["idf"][:-1]}), "its parts do not fit together"),
        (lambda t: t.update({"coefficient": t["coefficient"].T.copy()}), "its parts do not fit together"),
        (lambda t: t.update({"bucket": t["bucket"] + 2**22}), "its parts do not fit together"),
        (lambda t: t.update({"bucket": t["bucket"][::-1].copy()}), "its parts do not fit together"),
        (lambda t: t.update({"bucket": t["bucket"].astype(np.float32)}), "its parts do not fit together"),
        (lambda t: t.update({n: t[n][..., :2].copy() for n in ("coefficient", "intercept")}), "its weights are for 2 labels, and its rubric has 3"),
    ],
)  # fmt: skip
def test_weights_of_another_shape_are_said(
    folder: Path, change: Callable[[dict[str, np.ndarray]], None], words: str
) -> None:
    tensors(folder, change)
    with pytest.raises(UsageError, match=words):
        open_classifier(folder)


def test_weights_that_give_no_numbers_are_said(folder: Path) -> None:
    """Without this, every answer would look like an abstention."""
    tensors(folder, lambda t: t.update(intercept=np.full_like(t["intercept"], np.nan)))
    with pytest.raises(UsageError, match="its weights give no numbers"):
        open_classifier(folder).probabilities([said("I cannot breathe")])


def test_what_it_learned_from_is_known_or_not(folder: Path) -> None:
    assert open_classifier(folder).seen is None, "saved before there were digests"
    TrainingDigests.of([said("I cannot breathe")]).save(folder)
    found = open_classifier(folder).seen
    assert found is not None and found.how(said("i cannot  breathe!")) == "text"
    (folder / "seen.json").write_text('{"texts": [3]}', encoding="utf-8")
    with pytest.raises(UsageError, match=r"seen\.json: damaged"):
        open_classifier(folder)


def test_a_rubric_with_decision_nodes_is_saved_whole(tmp_path: Path) -> None:
    """Nodes but the last have nothing in `otherwise`, for which TOML has no word."""
    rubric = benchmarks.find_one("dialogue_safety").rubric
    decision = Decision("tfidf", rubric.name, rubric.hash, 1.0, reads="message")
    saved.describe(tmp_path, rubric, decision)
    assert Rubric.load(tmp_path / "rubric.toml") == rubric
    stated = tomllib.loads((tmp_path / saved.FILE).read_text())
    assert stated.pop("form") == saved.FORM
    assert msgspec.convert(stated, Decision) == decision


@pytest.mark.parametrize(
    ("known", "wrong"),
    [
        ("temperature = 2.0", "temperature = 0.0"),
        ("temperature = 2.0", "temperature = inf"),
        ("temperature = 2.0", "temperature = nan"),
        ("temperature = 2.0", "temperature = 2.0\nthreshold = nan"),
        ("temperature = 2.0", "temperature = 2.0\nthreshold = 1e9"),
        ("temperature = 2.0", "temperature = 2.0\nmax_length = -5"),
        ('"tfidf"', '"forest"'),
    ],
)
def test_a_decision_that_makes_no_sense_is_refused(folder: Path, known: str, wrong: str) -> None:
    path = folder / saved.FILE
    path.write_text(path.read_text().replace(known, wrong))
    with pytest.raises(UsageError, match="not a classifier"):
        open_classifier(folder)


def test_weights_in_several_files_have_one_hash(tmp_path: Path) -> None:
    assert saved.weights_hash(tmp_path) == ""
    (tmp_path / "model-1.safetensors").write_bytes(b"one")
    single = saved.weights_hash(tmp_path)
    (tmp_path / "model-2.safetensors").write_bytes(b"two")
    assert len({single, saved.weights_hash(tmp_path), ""}) == 3
