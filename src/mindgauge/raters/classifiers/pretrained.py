"""Weights of `transformers` opened safely: safetensors only, no foreign code; what they need, and when memory runs out."""

from __future__ import annotations

import contextlib
import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge.raters.classifiers import form
from mindgauge.records.errors import MindgaugeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


BASELINE = ("sklearn", "safetensors")
ENCODER = ("torch", "transformers", "safetensors")


def need(libraries: tuple[str, ...]) -> None:
    """See that libraries are installed, without importing them.

    Raises:
        UsageError: one is not.
    """
    missing = next((name for name in libraries if find_spec(name) is None), None)
    if missing is not None:
        raise UsageError(f"{missing} is not installed; `pip install 'mindgauge[classifier]'` brings it")


# When memory runs out: how torch says so, and one line where smaller batches do not help.


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
        raise MindgaugeError("out of memory for the encoder itself; choose a smaller one, or --device cpu") from error


# Weights of `transformers` opened safely: safetensors only, no foreign code, nothing random where weights should be.


_PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")


def check(name: str) -> str:
    """See that an encoder can be had before anything is begun.

    Returns:
        The revision of an encoder on the hub; empty for a folder.

    Raises:
        UsageError: there is no such folder, its weights are pickled, or the hub has none of this name or cannot be
            reached.
    """
    need(ENCODER)
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
    pickled = next((path.name for pattern in _PICKLES for path in sorted(folder.glob(pattern))), None)
    if pickled and not any(folder.glob("*.safetensors")):
        raise UsageError(
            f"{folder / pickled}: pickled weights are refused, since opening them can run any program; "
            "convert them to model.safetensors where you trust their source"
        )


def fresh(name: str, labels: Sequence[str]) -> tuple[Any, Any]:
    """Return tokenizer and model of an encoder, with a new head for the labels; tags are not yet among its tokens.

    Raises:
        UsageError: there is no such encoder, or it is not one that can be trained.
    """
    names = dict(enumerate(labels))
    head = {"id2label": names, "label2id": {v: k for k, v in names.items()}, "num_labels": len(labels)}
    tokenizer, model, absent = _open(name, {**head, "problem_type": "single_label_classification"})
    if tokenizer.pad_token_id is None:
        raise UsageError(f"{name}: its tokenizer has no padding token; give an encoder, such as BERT")
    inside = f"{model.base_model_prefix}."
    _refuse_random(name, [key for key in absent if key.startswith(inside) and "pooler" not in key])
    return tokenizer, model


def saved(folder: Path) -> tuple[Any, Any]:
    """Return tokenizer and model of a classifier that was saved, head and tags included.

    Raises:
        UsageError: a file is missing or broken, or some of its weights are not there.
    """
    tokenizer, model, absent = _open(str(folder), {})
    _refuse_random(str(folder), absent)
    vocabulary = tokenizer.get_vocab()
    if any(tag not in vocabulary for tag in form.TAGS.values()) or len(tokenizer) > len(
        model.get_input_embeddings().weight
    ):
        raise UsageError(f"{folder}: its tokenizer is not the one it was trained with; copy the whole folder again")
    return tokenizer, model


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
    if not tokenizer.is_fast:
        raise UsageError(
            f"{name}: its tokenizer cannot say where segments begin; give an encoder with a tokenizer.json"
        )
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise UsageError(f"{name}: its tokenizer has no vocabulary (is tokenizer.json missing?); copy the whole folder")
    return tokenizer, model, sorted({*loading["missing_keys"], *(key for key, *_ in loading["mismatched_keys"])})


def _refuse_random(name: str, absent: list[str]) -> None:
    if absent:
        rest = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise UsageError(
            f"{name}: its weights lack {absent[0]}{rest}, or have them in another shape than config.json says; "
            "copy the whole folder again"
        )


def positions(model: Any) -> float:
    """Return how many tokens the encoder has positions for; RoBERTa's are counted from behind that of its padding."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            return int(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    stated = getattr(model.config, "max_position_embeddings", None) or 0  # XLNet's is -1: it has no limit
    return int(stated) if stated > 0 else math.inf


@contextlib.contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what transformers raises into one line that says what to do."""
    try:
        yield
    except MindgaugeError:
        raise
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
