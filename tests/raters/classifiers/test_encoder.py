"""Opening encoders safely, and classifying without a trace of how batches were cut."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import huggingface_hub.constants
import numpy as np
import pytest

from mindgauge.raters.classifiers import calibration, dialogues, encoder
from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.records import Message, Sample
from mindgauge.records.errors import MindgaugeError, UsageError
from tests.on_use import OnUse
from tests.raters.classifiers import encoders

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from mindgauge.raters.classifiers.dialogues import DataSplit
else:
    torch = OnUse("torch")

LABELS = ("calm", "panic", "sad")
DIALOGUES = [
    tuple(Message("assistant" if i % 2 else "user", row["text"]) for i, row in enumerate(encoders.rows(4, seed=n)[:n]))
    for n in (1, 2, 3, 4, 5, 1, 2)
]  # fmt: skip


@pytest.fixture
def fresh(tiny: Path) -> Encoder:
    return Encoder.start(str(tiny), LABELS, 48, 1)


def test_a_new_classifier_has_a_head(fresh: Encoder) -> None:
    assert fresh.model.config.id2label == dict(enumerate(LABELS))
    assert fresh.max_length == 48
    assert fresh.model.dtype == torch.float32


def test_positions_bound_the_length(tiny: Path) -> None:
    assert Encoder.start(str(tiny), LABELS, 512, 1).max_length == 62


def test_logits_are_in_order_and_do_not_depend_on_the_batches(fresh: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_one = np.concatenate([fresh.logits([dialogue]) for dialogue in DIALOGUES])
    assert fresh.logits(DIALOGUES) == pytest.approx(one_by_one, abs=1e-5)
    monkeypatch.setattr(encoder, "BATCH", 2)
    assert fresh.logits(DIALOGUES) == pytest.approx(one_by_one, abs=1e-5)
    assert fresh.logits([]).shape == (0, 3)


def test_what_is_saved_is_what_is_opened(fresh: Encoder, tmp_path: Path) -> None:
    fresh.save(tmp_path)
    again = Encoder.load(tmp_path, 48)
    assert np.array_equal(again.logits(DIALOGUES), fresh.logits(DIALOGUES))
    assert not list(tmp_path.glob("*.bin"))


def test_a_classifier_with_other_labels_gets_a_new_head(fresh: Encoder, tmp_path: Path) -> None:
    fresh.save(tmp_path)
    other = Encoder.start(str(tmp_path), ("yes", "no"), 48, 1)
    assert other.logits(DIALOGUES).shape == (len(DIALOGUES), 2)


def test_positions_of_roberta_begin_behind_its_padding(tiny: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, RobertaConfig, RobertaModel

    tokenizer = AutoTokenizer.from_pretrained(tiny, model_max_length=10**6)
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=1, intermediate_size=16,
        max_position_embeddings=34, pad_token_id=1, type_vocab_size=2,
    )  # fmt: skip
    RobertaModel(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    opened = Encoder.start(str(tmp_path), LABELS, 512, 1)
    assert opened.max_length == 32
    assert opened.logits([(Message("user", "work " * 100),)]).shape == (1, 3)


def test_a_model_without_padding_is_no_encoder(tiny: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    shutil.copytree(tiny, tmp_path / "bare")
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    tokenizer.pad_token = None
    tokenizer.save_pretrained(tmp_path / "bare")
    with pytest.raises(UsageError, match="its tokenizer has no padding token"):
        Encoder.start(str(tmp_path / "bare"), LABELS, 48, 1)


def test_code_that_comes_with_a_model_is_not_run(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "foreign"
    shutil.copytree(tiny, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "foreign", "auto_map": {"AutoConfig": "foreign.Config"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "foreign.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: pass\n")
    with pytest.raises(UsageError, match="not an encoder that transformers can open"):
        encoder.check(str(folder))
    assert not (tmp_path / "ran").exists()


def test_a_gpu_computes_in_bfloat16(fresh: Encoder) -> None:
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    seen: list[torch.dtype] = []
    fresh.model.classifier.register_forward_hook(lambda _, __, out: seen.append(out.dtype))
    assert np.isfinite(fresh.logits(DIALOGUES)).all()
    assert set(seen) == {torch.bfloat16}


def test_pickled_weights_are_refused(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(tiny, folder)
    torch.save(Encoder.start(str(tiny), LABELS, 48, 1).model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(UsageError, match=r"pytorch_model\.bin: pickled weights are refused"):
        Encoder.start(str(folder), LABELS, 48, 1)


def test_an_encoder_that_is_none_is_said(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"nowhere: not an encoder that transformers can open"):
        encoder.check(str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="not an encoder that transformers can open"):
        encoder.check(str(tmp_path))
    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    (broken / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(UsageError, match="not an encoder that transformers can open"):
        Encoder.start(str(broken), LABELS, 48, 1)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UsageError, match=r"give its folder, or its name where the hub can be reached.*--baseline"):
        encoder.check("nobody/no-encoder")


# -- training ---------------------------------------------------------------------------------------------------------


def part(each: int, seed: int) -> DataSplit:
    rows = encoders.rows(each, seed=seed)
    return dialogues.part([Sample.of((Message("user", r["text"]),), target=r["label"]) for r in rows], LABELS)


def fit(found: Encoder, folder: Path, *, epochs: int = 4, lr: float = 5e-3, batch: int = 8, **more: Any) -> Any:
    return encoder.fit(found, part(40, 0), part(8, 1), epochs=epochs, batch=batch, lr=lr, seed=3, folder=folder, **more)


def test_it_learns_keeps_the_best_epoch_and_is_the_same_again(tiny: Path, fresh: Encoder, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    history = fit(fresh, tmp_path / "one", progress=lambda *step: steps.append(step))
    best = history[calibration.best(history)]
    assert best["macro_f1"] > 0.6
    dev = part(8, 1)
    assert calibration.standing(fresh.logits(dev.dialogues), dev.codes) == pytest.approx(best, abs=1e-4)
    assert steps[-1] == (15 * len(history), 60)
    assert not (tmp_path / "one").exists()
    again = Encoder.start(str(tiny), LABELS, 48, 1)
    assert fit(again, tmp_path / "two") == history
    theirs = again.model.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in fresh.model.state_dict().items())


def test_training_stops_when_nothing_is_gained(fresh: Encoder, tmp_path: Path) -> None:
    assert len(fit(fresh, tmp_path / "one", epochs=9, lr=0.0, batch=60)) == 3


def test_weights_that_are_no_numbers_end_training(fresh: Encoder, tmp_path: Path) -> None:
    with torch.no_grad():
        fresh.model.classifier.bias.fill_(float("nan"))
    with pytest.raises(MindgaugeError, match="the weights give no numbers any more; lower --lr"):
        fit(fresh, tmp_path / "one")
