"""The training loop, step by step: gradients, schedule, checkpoints, and what it does where things go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mindgauge.raters.classifiers import calibration, training
from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.raters.classifiers.training import Recipe
from mindgauge.records import Message
from mindgauge.records.errors import MindgaugeError, UsageError
from tests.on_use import OnUse
from tests.raters.classifiers import encoders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch
else:
    torch = OnUse("torch")

LABELS = tuple(encoders.SAID)
QUICK = Recipe(epochs=4, batch=8, lr=5e-3)


def start(tiny: Path, *, dropout: bool = True) -> Encoder:
    torch.manual_seed(1)
    found = Encoder.start(str(tiny), LABELS, 48, "cpu")
    for module in found.model.modules():
        if isinstance(module, torch.nn.Dropout) and not dropout:
            module.p = 0.0
    return found


def part(encoder: Encoder, each: int, seed: int) -> tuple[Any, np.ndarray]:
    rows = encoders.rows(each, seed=seed)
    codes = np.array([LABELS.index(row["label"]) for row in rows])
    return encoder.encode([(Message("user", row["text"]),) for row in rows]), codes


def fit(
    encoder: Encoder, folder: Path, recipe: Recipe = QUICK, progress: Callable[[int, int], None] | None = None
) -> Any:
    folder.mkdir(exist_ok=True)
    train, dev = part(encoder, 40, 0), part(encoder, 8, 1)
    return training.fit(
        encoder, train, dev, np.ones(3), recipe, seed=3, checkpoint=folder / "checkpoint.pt", progress=progress
    )


def weights_of(encoder: Encoder) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone() for name, tensor in encoder.model.state_dict().items()}


def test_a_step_is_the_same_in_pieces(tiny: Path) -> None:
    """The gradient of a step is that of the weighted mean over all its examples, however it is cut."""
    found, losses = [], []
    for pieces in (1, 3, 16):
        encoder = start(tiny, dropout=False)
        encoded, codes = part(encoder, 6, 0)
        state = training._prepared(encoder.model, Recipe(lr=1e-2), 4)
        rows, weights = np.arange(16), np.array([2.0, 0.5, 1.0])
        losses.append(training.step(encoder, state, (encoded, codes), rows, weights, pieces))
        found.append({name: parameter.grad for name, parameter in encoder.model.named_parameters()})
    with torch.no_grad():
        logits = start(tiny, dropout=False).model(**encoder.tensors(encoded, np.arange(16))).logits
    expected = torch.nn.functional.cross_entropy(logits, torch.from_numpy(codes[:16]), torch.tensor([2.0, 0.5, 1.0]))
    assert losses == pytest.approx([float(expected)] * 3, rel=1e-5)
    for name, gradient in found[0].items():
        assert all(torch.allclose(gradient, other[name], atol=1e-6) for other in found[1:]), name


def test_biases_and_normalisations_do_not_decay(tiny: Path) -> None:
    encoder = start(tiny)
    decayed, kept = training._prepared(encoder.model, Recipe(), 10)["optimizer"].param_groups
    assert (decayed["weight_decay"], kept["weight_decay"]) == (0.01, 0.0)
    inside = {id(p) for p in kept["params"]}
    named = {name for name, p in encoder.model.named_parameters() if id(p) in inside}
    assert named == {n for n, _ in encoder.model.named_parameters() if n.endswith("bias") or "LayerNorm" in n}


def test_it_learns_and_keeps_the_best_epoch(tiny: Path, tmp_path: Path) -> None:
    encoder = start(tiny)
    steps: list[tuple[int, int]] = []
    history = fit(encoder, tmp_path, progress=lambda *step: steps.append(step))
    best = history[calibration.best(history)]
    assert best["macro_f1"] > 0.6
    dev = part(encoder, 8, 1)
    assert {**best, **calibration.standing(encoder.classify(dev[0]), dev[1])} == pytest.approx(best)
    assert steps[-1] == (15 * len(history), 60)


def test_a_killed_training_goes_on_as_if_nothing_had_been(tiny: Path, tmp_path: Path) -> None:
    whole = start(tiny)
    expected = fit(whole, tmp_path / "whole")
    killed = start(tiny)

    def kill(step: int, steps: int) -> None:
        if step == 40:  # in the third epoch
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(killed, tmp_path / "killed", progress=kill)
    again = start(tiny)
    steps: list[int] = []
    found = fit(again, tmp_path / "killed", progress=lambda step, _: steps.append(step))
    assert steps[0] == 31
    assert found == expected
    theirs = weights_of(again)
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in weights_of(whole).items())


def test_training_stops_when_nothing_is_gained(tiny: Path, tmp_path: Path) -> None:
    assert len(fit(start(tiny), tmp_path, Recipe(epochs=9, batch=60, lr=0.0, patience=2))) == 3
    assert len(fit(start(tiny), tmp_path / "all", Recipe(epochs=4, batch=60, lr=0.0, patience=0))) == 4


def test_weights_that_became_no_numbers_end_training(tiny: Path, tmp_path: Path) -> None:
    """The loss of the last step is that before it, so only the development part can tell."""
    encoder = start(tiny)

    def spoil(step: int, steps: int) -> None:
        if step == steps:
            with torch.no_grad():
                encoder.model.classifier.bias.fill_(float("inf"))

    with pytest.raises(MindgaugeError, match="the weights gave no numbers any more after epoch 2; lower --lr"):
        fit(encoder, tmp_path, Recipe(epochs=2, batch=8, lr=5e-3), spoil)


@pytest.mark.parametrize("content", [b"", b"half a check", b"\x80\x02c__builtin__\nprint\nU\x02hiR."])
def test_a_damaged_checkpoint_is_one_line(content: bytes, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(content)
    with pytest.raises(UsageError, match=r"checkpoint\.pt: damaged; delete it, and the same command starts"):
        fit(start(tiny), tmp_path)


def test_a_loss_that_is_no_number_ends_training(tiny: Path, tmp_path: Path) -> None:
    encoder = start(tiny)
    with torch.no_grad():
        encoder.model.classifier.bias.fill_(float("nan"))
    with pytest.raises(MindgaugeError, match="the loss became nan in epoch 1; lower --lr"):
        fit(encoder, tmp_path)
