"""Any encoder of `transformers` as a classifier: opened safely, fine-tuned by `training`, saved with its tokenizer."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mindgauge.raters.classifiers import memory, pretrained, tokens
from mindgauge.records.errors import MindgaugeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import torch
    from numpy.typing import NDArray

    from mindgauge.raters.classifiers import form

    Floats = NDArray[np.float64]

BUDGETS = {"cpu": 2048, "cuda": 32768}
"""Tokens of one batch when classifying, padding included, by device; what does not fit a processor's cache is slower."""
SHORTEST = 16
"""Tokens that a dialogue must be allowed, so that of a reply and of what it answers something is left."""


class Encoder:
    """A pretrained encoder with a linear head: one logit per label."""

    kind: ClassVar[str] = "encoder"

    def __init__(self, model: Any, tokenizer: Any, max_length: int) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.budget = BUDGETS.get(model.device.type, BUDGETS["cpu"])

    @classmethod
    def start(cls, name: str, labels: Sequence[str], max_length: int, device: str = "auto") -> Encoder:
        """Open pretrained weights for training: tags added, embeddings resized, a new head from torch's seed.

        Args:
            name: a folder, or a name on the hub.
            labels: q names, in the order of the logits.
            max_length: tokens of a dialogue; at most what the encoder has positions for.
            device: `auto`, `cpu` or `cuda`.

        Raises:
            UsageError: there are no such weights, they are pickled, or the hub cannot be reached.
        """
        tokenizer, model = pretrained.fresh(name, labels)
        tokens.add_tags(tokenizer)
        with pretrained.quiet(), pretrained.explained(name):
            model.resize_token_embeddings(len(tokenizer))
        longest = int(min(max_length, tokenizer.model_max_length, pretrained.positions(model)))
        return cls(model.to(place(device)), tokenizer, longest)

    @classmethod
    def load(cls, folder: Path, max_length: int, device: str = "auto") -> Encoder:
        """Open a classifier that `save` wrote.

        Raises:
            UsageError: a file is missing or broken, or the encoder has no positions for `max_length` tokens.
        """
        tokenizer, model = pretrained.saved(folder)
        if not SHORTEST <= max_length <= pretrained.positions(model):
            raise UsageError(f"{folder}: its encoder was not trained on dialogues of {max_length} tokens; train again")
        return cls(model.to(place(device)), tokenizer, max_length)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), configuration and tokenizer."""
        with pretrained.quiet():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    @property
    def outputs(self) -> int:
        """How many labels its logits are of, q."""
        return int(self.model.config.num_labels)

    def encode(self, dialogues: Sequence[form.Dialogue]) -> tokens.Encoded:
        """Return the dialogues as token ids."""
        return tokens.encode(self.tokenizer, dialogues, self.max_length)

    def logits(self, dialogues: Sequence[form.Dialogue], progress: Callable[[int], None] | None = None) -> Floats:
        """Return logits of shape (n, q); `progress` hears how many dialogues are done.

        Raises:
            MindgaugeError: the memory does not suffice, even for batches of half the size.
        """
        return self.classify(self.encode(dialogues), progress)

    def classify(self, encoded: tokens.Encoded, progress: Callable[[int], None] | None = None) -> Floats:
        """Return the logits of encoded dialogues, in their order."""
        try:
            return self._classify(encoded, progress)
        except RuntimeError as error:
            if not memory.ran_out(error):
                raise
        self.budget //= 2
        try:
            return self._classify(encoded, progress)
        except RuntimeError as error:
            if not memory.ran_out(error):
                raise
            raise MindgaugeError(
                f"out of memory, also with batches of {self.budget} tokens; choose a smaller encoder, or free some memory"
            ) from error

    def _classify(self, encoded: tokens.Encoded, progress: Callable[[int], None] | None) -> Floats:
        import torch

        logits = np.empty((len(encoded.ids), self.outputs))
        self.model.eval()
        count = 0
        with torch.inference_mode(), self.precision():
            for batch in tokens.by_budget(encoded.lengths, self.budget):
                logits[batch] = self.model(**self.tensors(encoded, batch)).logits.float().cpu().numpy()
                count += len(batch)
                if progress is not None:
                    progress(count)
        return logits

    def tensors(self, encoded: tokens.Encoded, batch: NDArray[np.intp]) -> dict[str, torch.Tensor]:
        """Return a padded batch as the model takes it."""
        import torch

        arrays = tokens.padded(encoded, batch, self.tokenizer.pad_token_id)
        wanted = self.tokenizer.model_input_names
        return {name: torch.from_numpy(arrays[name]).to(self.model.device) for name in arrays if name in wanted}

    def precision(self) -> contextlib.AbstractContextManager[object]:
        """Compute in bfloat16 on a GPU, in float32 elsewhere."""
        import torch

        if self.model.device.type == "cuda":
            half: contextlib.AbstractContextManager[object] = torch.autocast("cuda", dtype=torch.bfloat16)
            return half
        return contextlib.nullcontext()


def place(device: str) -> str:
    """Return the device to compute on.

    Raises:
        UsageError: there is no such device, or no such GPU here.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, number = device.partition(":")
    if kind not in BUDGETS or (number and not number.isdecimal()):
        raise UsageError(f"--device {device}: there is no such device; it is auto, cpu or cuda")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        missing = f"GPU {number}" if torch.cuda.device_count() else "GPU"
        raise UsageError(f"--device {device}: torch sees no {missing} here; use --device cpu or auto")
    return device
