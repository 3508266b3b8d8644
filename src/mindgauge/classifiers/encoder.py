"""Any encoder of `transformers` as a classifier: opened safely, fine-tuned by `training`, saved with its tokenizer."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mindgauge.classifiers import extra, form, tokens
from mindgauge.errors import MindgaugeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import torch
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WEIGHTS = "model.safetensors"
BUDGETS = {"cpu": 2048, "cuda": 32768}
"""Tokens of one batch when classifying, padding included, by device; what does not fit a processor's cache is slower."""
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")


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
        tokenizer, model = _open(name, labels)
        if tokenizer.pad_token_id is None:
            raise UsageError(f"{name}: its tokenizer has no padding token; give an encoder, such as BERT")
        tokens.add_tags(tokenizer)
        with _quiet():
            model.resize_token_embeddings(len(tokenizer))
        longest = int(min(max_length, tokenizer.model_max_length, _positions(model)))
        return cls(model.to(place(device)), tokenizer, longest)

    @classmethod
    def load(cls, folder: Path, max_length: int, device: str = "auto") -> Encoder:
        """Open a classifier that `save` wrote.

        Raises:
            UsageError: a file is missing or broken.
        """
        tokenizer, model = _open(str(folder), None)
        return cls(model.to(place(device)), tokenizer, max_length)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), configuration and tokenizer."""
        with _quiet():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    def encode(self, dialogues: Sequence[form.Dialogue]) -> tokens.Encoded:
        """Return the dialogues as token ids."""
        return tokens.encode(self.tokenizer, dialogues, self.max_length)

    def logits(self, dialogues: Sequence[form.Dialogue], told: Callable[[int], None] | None = None) -> Floats:
        """Return logits of shape (n, q); `told` hears how many dialogues are done.

        Raises:
            MindgaugeError: the memory does not suffice, even for batches of half the size.
        """
        return self.classify(self.encode(dialogues), told)

    def classify(self, encoded: tokens.Encoded, told: Callable[[int], None] | None = None) -> Floats:
        """Return the logits of encoded dialogues, in their order."""
        try:
            return self._classify(encoded, told)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
        self.budget //= 2
        try:
            return self._classify(encoded, told)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            raise MindgaugeError(
                f"out of memory, also with batches of {self.budget} tokens; choose a smaller encoder, or free some memory"
            ) from error

    def _classify(self, encoded: tokens.Encoded, told: Callable[[int], None] | None) -> Floats:
        import torch

        found = np.empty((len(encoded.ids), self.model.config.num_labels))
        self.model.eval()
        done = 0
        with torch.inference_mode(), self.precision():
            for batch in tokens.by_budget(encoded.lengths, self.budget):
                found[batch] = self.model(**self.tensors(encoded, batch)).logits.float().cpu().numpy()
                done += len(batch)
                if told is not None:
                    told(done)
        return found

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
        UsageError: a GPU is asked for and none is there.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise UsageError(f"--device {device}: torch sees no GPU here; use --device cpu or auto")
    return device


def _positions(model: Any) -> float:
    """Return how many tokens the encoder has positions for; RoBERTa's are counted from behind that of its padding."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            return int(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    return getattr(model.config, "max_position_embeddings", None) or math.inf


@contextlib.contextmanager
def enough_memory() -> Iterator[None]:
    """Say in one line that memory ran out where smaller batches do not help."""
    try:
        yield
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        raise MindgaugeError("out of memory for the encoder itself; choose a smaller one, or --device cpu") from error


def out_of_memory(error: RuntimeError) -> bool:
    """Whether torch could not get memory: its own error on a GPU, the allocator's words on a CPU."""
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def refuse_pickle(folder: Path) -> None:
    """See that a folder's weights are numbers only.

    Raises:
        UsageError: it holds no safetensors but pickled weights, which can run any program when they are opened.
    """
    pickled = next((path.name for pattern in _PICKLES for path in sorted(folder.glob(pattern))), None)
    if pickled and not any(folder.glob("*.safetensors")):
        raise UsageError(
            f"{folder / pickled}: pickled weights are refused, since opening them can run any program; "
            "convert them to model.safetensors where you trust their source"
        )


def check(name: str) -> str:
    """See that an encoder can be had before anything is begun.

    Returns:
        The revision of an encoder on the hub; empty for a folder.

    Raises:
        UsageError: there is no such folder, its weights are pickled, or the hub has none of this name or cannot be
            reached.
    """
    extra.need(extra.ENCODER)
    from transformers import AutoConfig

    folder = Path(name)
    if folder.is_dir():
        refuse_pickle(folder)
    elif name.startswith((".", "/", "~")) or folder.suffix or name.count("/") > 1:
        raise UsageError(f"{name}: no such folder; give the folder of an encoder, or its name on the hub")
    with _quiet(), _explained(name):
        config = AutoConfig.from_pretrained(name, local_files_only=folder.is_dir(), trust_remote_code=False)
    return str(getattr(config, "_commit_hash", None) or "")


def _open(name: str, labels: Sequence[str] | None) -> tuple[Any, Any]:
    """Open tokenizer and model, the latter with a new head if there are labels; only safetensors, no foreign code."""
    check(name)
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    safe = {"local_files_only": Path(name).is_dir(), "trust_remote_code": False}
    head: dict[str, Any] = {}
    if labels is not None:
        names = dict(enumerate(labels))
        head = {"id2label": names, "label2id": {v: k for k, v in names.items()}, "ignore_mismatched_sizes": True}
        head |= {"num_labels": len(labels), "problem_type": "single_label_classification"}
    with _quiet(), _explained(name):
        tokenizer = AutoTokenizer.from_pretrained(name, **safe)
        model = AutoModelForSequenceClassification.from_pretrained(
            name, use_safetensors=True, dtype="float32", **safe, **head
        )
    return tokenizer, model


@contextlib.contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn what transformers raises into one line that says what to do."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        if Path(name).is_dir():
            raise UsageError(f"{name}: not an encoder that transformers can open ({said})") from error
        why = "it cannot be reached" if "couldn't connect" in said else said
        raise UsageError(
            f"{name}: not a folder here, and the hub did not give it ({why}); where there is a network, check the name, or "
            "download it there and give its folder with --encoder; or train with --baseline, which needs no download"
        ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers from reporting what is known here: a new head, larger embeddings, a hub out of reach."""
    from huggingface_hub.utils import logging as hub
    from transformers.utils import logging

    verbosity, bars, hub_verbosity = logging.get_verbosity(), logging.is_progress_bar_enabled(), hub.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    hub.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        hub.set_verbosity(hub_verbosity)
        if bars:
            logging.enable_progress_bar()
