"""What is opened is what was trained: a folder that lacks something is one line, and never random weights."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.records.errors import UsageError
from tests.on_use import OnUse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch
    from safetensors import torch as tensors

    Harm = Callable[[Path], object]
else:
    torch, tensors = OnUse("torch"), OnUse("safetensors.torch")

LABELS = ("calm", "panic", "sad")


@pytest.fixture(scope="module")
def whole(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    Encoder.start(str(tiny), LABELS, 48, 1).save(folder)
    return folder


def config(**changed: Any) -> Harm:
    def harm(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changed), encoding="utf-8")

    return harm


def without(part: str) -> Harm:
    def harm(folder: Path) -> None:
        path = folder / "model.safetensors"
        kept = {name: tensor for name, tensor in tensors.load_file(path).items() if part not in name}
        tensors.save_file(kept, path, {"format": "pt"})

    return harm


def no_tokenizer(folder: Path) -> None:
    for path in folder.glob("*token*"):
        path.unlink()


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (without("classifier.weight"), r"its weights lack classifier\.weight, or have them in another shape"),
        (without("embeddings"), r"its weights lack bert\.embeddings\.\S+ and \d+ more"),
        (config(hidden_size=64), "or have them in another shape than config.json says"),
        (config(id2label={"0": "a", "1": "b"}), r"its weights lack classifier\.bias and 1 more"),
        (config(hidden_size="wide"), "not an encoder that transformers can open"),
        (no_tokenizer, "its tokenizer has no vocabulary"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "not an encoder that transformers can open"),
    ],
)
def test_a_classifier_that_lacks_something_is_not_opened(whole: Path, tmp_path: Path, harm: Harm, said: str) -> None:
    shutil.copytree(whole, tmp_path / "mine")
    harm(tmp_path / "mine")
    with pytest.raises(UsageError, match=said):
        Encoder.load(tmp_path / "mine", 48)


@pytest.mark.parametrize("length", [0, 15, 63])
def test_a_length_that_its_encoder_cannot_have_is_refused(whole: Path, length: int) -> None:
    with pytest.raises(UsageError, match=f"was not trained on dialogues of {length} tokens"):
        Encoder.load(whole, length)


def test_an_encoder_to_train_needs_all_but_head_and_pooler(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "bare")
    without("pooler")(tmp_path / "bare")
    assert Encoder.start(str(tmp_path / "bare"), LABELS, 48, 1).outputs == 3
    without("layer.1.")(tmp_path / "bare")
    with pytest.raises(UsageError, match=r"its weights lack bert\.encoder\.layer\.1\."):
        Encoder.start(str(tmp_path / "bare"), LABELS, 48, 1)


def test_an_encoder_may_read_without_limit(tiny: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, XLNetConfig, XLNetModel

    tokenizer = AutoTokenizer.from_pretrained(tiny, model_max_length=10**6)
    config = XLNetConfig(vocab_size=len(tokenizer), d_model=16, n_layer=1, n_head=1, d_inner=16)
    XLNetModel(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert Encoder.start(str(tmp_path), LABELS, 600, 1).max_length == 600
