"""Any encoder of `transformers` as a classifier: opened safely, dialogues as pairs of segments, batches of like length.

Opened are safetensors only, with no foreign code and nothing random where weights should be. What a person typed is
never read as a special token.
"""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mindgauge.raters.classifiers import form
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BATCHES = {"cpu": 8, "cuda": 128}
"""Dialogues that are classified at once, by device; what does not fit a processor's cache is slower."""
SHORTEST = 16
"""Tokens that a dialogue must be allowed, so that of a reply and of what it answers something is left."""
_PICKLES = {".bin", ".pt", ".pth", ".pkl", ".ckpt"}


class Encoder:
    """A pretrained encoder with a linear head: one logit per label."""

    kind: ClassVar[str] = "encoder"

    def __init__(self, model: Any, tokenizer: Any, max_length: int) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.tokenizer.truncation_side = "left"  # the newest words stay
        self.max_length = max_length

    @classmethod
    def start(cls, name: str, labels: Sequence[str], max_length: int, device: str = "auto") -> Encoder:
        """Open pretrained weights for training, with a new head from torch's seed.

        Args:
            name: a folder, or a name on the hub.
            labels: q names, in the order of the logits.
            max_length: tokens of a dialogue; at most what the encoder has positions for.
            device: `auto`, `cpu` or `cuda`.

        Raises:
            UsageError: there are no such weights, they are pickled, or the hub cannot be reached.
        """
        names = dict(enumerate(labels))
        head = {"id2label": names, "label2id": {v: k for k, v in names.items()}, "num_labels": len(labels)}
        tokenizer, model, absent = _open(name, {**head, "problem_type": "single_label_classification"})
        inside = f"{model.base_model_prefix}."
        _refuse_random(name, [key for key in absent if key.startswith(inside) and "pooler" not in key])
        longest = int(min(max_length, tokenizer.model_max_length, _positions(model)))
        return cls(model.to(place(device)), tokenizer, longest)

    @classmethod
    def load(cls, folder: Path, max_length: int, device: str = "auto") -> Encoder:
        """Open a classifier that `save` wrote.

        Raises:
            UsageError: a file is missing or broken, or the encoder has no positions for `max_length` tokens.
        """
        tokenizer, model, absent = _open(str(folder), {})
        _refuse_random(str(folder), absent)
        if len(tokenizer) > len(model.get_input_embeddings().weight):
            raise UsageError(f"{folder}: its tokenizer is not the one it was trained with; copy the whole folder again")
        if not SHORTEST <= max_length <= _positions(model):
            raise UsageError(f"{folder}: its encoder was not trained on dialogues of {max_length} tokens; train again")
        return cls(model.to(place(device)), tokenizer, max_length)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), configuration and tokenizer."""
        with quiet(), private.writing(folder):
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    @property
    def outputs(self) -> int:
        """How many labels its logits are of, q."""
        return int(self.model.config.num_labels)

    def tensors(self, dialogues: Sequence[form.Dialogue]) -> Any:
        """Return a padded batch as the model takes it: earlier turns with their tags, then the last turn as a segment.

        Where a dialogue is longer than `max_length`, the oldest words of the longer segment are left out.
        """
        first, second = ([form.earlier(turns) for turns in dialogues], [turns[-1].content for turns in dialogues])
        encoded = self.tokenizer(
            first, second, padding=True, truncation="longest_first", max_length=self.max_length,
            split_special_tokens=True, return_tensors="pt",
        )  # fmt: skip
        return encoded.to(self.model.device)

    def shortened(self, dialogues: Sequence[form.Dialogue]) -> int:
        """Count the dialogues that are too long and lose words."""
        texts = [f"{form.earlier(turns)}{turns[-1].content}" for turns in dialogues]
        ids = self.tokenizer(texts, split_special_tokens=True, verbose=False)["input_ids"] if texts else []
        return sum(len(tokens) >= self.max_length for tokens in ids)  # a pair of segments has one token more

    def logits(self, dialogues: Sequence[form.Dialogue], progress: Callable[[int], None] | None = None) -> Floats:
        """Return logits of shape (n, q), in the order of the dialogues; `progress` hears how many are done.

        Batches hold dialogues of like length, so that padding costs little; where memory runs out, fewer are tried.

        Raises:
            MindgaugeError: the memory does not suffice for a single dialogue.
        """
        import torch

        logits = np.empty((len(dialogues), self.outputs))
        order = np.argsort([-form.characters(turns) for turns in dialogues], kind="stable")
        size = BATCHES.get(self.model.device.type, BATCHES["cpu"])
        waiting = [order[start : start + size] for start in range(0, len(order), size)]
        self.model.eval()
        count = 0
        with torch.inference_mode(), self.precision(), enough():
            while waiting:
                rows = waiting.pop(0)
                try:
                    logits[rows] = self.model(**self.tensors([dialogues[i] for i in rows])).logits.float().cpu().numpy()
                except RuntimeError as error:
                    if len(rows) == 1 or not ran_out(error):
                        raise
                    waiting[:0] = np.array_split(rows, 2)
                    continue
                count += len(rows)
                if progress is not None:
                    progress(count)
        return logits

    def precision(self) -> contextlib.AbstractContextManager[object]:
        """Compute in bfloat16 on a GPU, in float32 elsewhere."""
        import torch

        on_gpu = self.model.device.type == "cuda"
        half: contextlib.AbstractContextManager[object] = torch.autocast(self.model.device.type, torch.bfloat16, on_gpu)
        return half


def place(device: str) -> str:
    """Return the device to compute on.

    Raises:
        UsageError: there is no such device, or no such GPU here.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, number = device.partition(":")
    if kind not in BATCHES or (number and not number.isdecimal()):
        raise UsageError(f"--device {device}: there is no such device; it is auto, cpu or cuda")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise UsageError(f"--device {device}: torch sees no GPU of that number here; use --device cpu or auto")
    return device


def check(name: str) -> str:
    """See that an encoder can be had before anything is begun.

    Returns:
        The revision of an encoder on the hub; empty for a folder.

    Raises:
        UsageError: there is no such folder, its weights are pickled, or the hub has none of this name or cannot be
            reached.
    """
    from transformers import AutoConfig

    folder = Path(name)
    if folder.is_dir():
        refuse_pickle(folder)
    elif name.startswith((".", "/", "~")) or folder.suffix or name.count("/") > 1:
        raise UsageError(f"{name}: no such folder; give the folder of an encoder, or its name on the hub")
    with quiet(), explained(name):
        config = AutoConfig.from_pretrained(name, local_files_only=folder.is_dir(), trust_remote_code=False)
    return str(getattr(config, "_commit_hash", None) or "")


def refuse_pickle(folder: Path) -> None:
    """See that a folder's weights are numbers only.

    Raises:
        UsageError: it holds no safetensors but pickled weights, which can run any program when they are opened.
    """
    pickled = next((path for path in sorted(folder.iterdir()) if path.suffix in _PICKLES), None)
    if pickled and not any(folder.glob("*.safetensors")):
        raise UsageError(
            f"{pickled}: pickled weights are refused, since opening them can run any program; "
            "convert them to model.safetensors where you trust their source"
        )


def _open(name: str, head: dict[str, Any]) -> tuple[Any, Any, list[str]]:
    """Open tokenizer and model, and name the weights that were not there or had another shape: they are random."""
    check(name)
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    safe = {"local_files_only": Path(name).is_dir(), "trust_remote_code": False}
    with quiet(), explained(name):
        tokenizer = AutoTokenizer.from_pretrained(name, **safe)
        model, loading = AutoModelForSequenceClassification.from_pretrained(
            name, use_safetensors=True, dtype="float32", ignore_mismatched_sizes=True, output_loading_info=True,
            **safe, **head,
        )  # fmt: skip
    faults = {
        "cannot say where segments begin; give an encoder with a tokenizer.json": not tokenizer.is_fast,
        "has no vocabulary (is tokenizer.json missing?); copy the whole folder": len(tokenizer)
        <= len(tokenizer.all_special_tokens),
        "has no padding token; give an encoder, such as BERT": tokenizer.pad_token_id is None,
    }
    fault = next((words for words, fault in faults.items() if fault), None)
    if fault is not None:
        raise UsageError(f"{name}: its tokenizer {fault}")
    return tokenizer, model, sorted({*loading["missing_keys"], *(key for key, *_ in loading["mismatched_keys"])})


def _refuse_random(name: str, absent: list[str]) -> None:
    if absent:
        rest = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise UsageError(
            f"{name}: its weights lack {absent[0]}{rest}, or have them in another shape than config.json says; "
            "copy the whole folder again"
        )


def _positions(model: Any) -> float:
    """Return how many tokens the encoder has positions for; RoBERTa's are counted from behind that of its padding."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            return int(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    stated = getattr(model.config, "max_position_embeddings", None) or 0  # XLNet's is -1: it has no limit
    return int(stated) if stated > 0 else math.inf


def ran_out(error: Exception) -> bool:
    """Whether there was too little memory: torch's own error on a GPU, its allocator's words on a CPU, or Python's."""
    import torch

    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


@contextlib.contextmanager
def enough() -> Iterator[None]:
    """Say in one line that memory ran out where smaller batches do not help."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not ran_out(error):
            raise
        raise MindgaugeError(
            "out of memory; raise --accumulate, lower --max-length, choose a smaller encoder, or --device cpu"
        ) from error


@contextlib.contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what transformers raises into one line that says what to do."""
    try:
        yield
    except Exception as error:  # a bad file raises anything: configurations and tokenizers have classes of their own
        if ran_out(error):
            raise
        message = next(iter(str(error).strip().splitlines()), type(error).__name__)
        if Path(name).is_dir():
            raise UsageError(f"{name}: not an encoder that transformers can open ({message})") from error
        reason = "it cannot be reached" if "couldn't connect" in message else message
        raise UsageError(
            f"{name}: not a folder here, and the hub did not give it ({reason}); where there is a network, check the name, or "
            "download it there and give its folder with --encoder; or train with --baseline, which needs no download"
        ) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from reporting what is known here: a new head, a hub out of reach."""
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
