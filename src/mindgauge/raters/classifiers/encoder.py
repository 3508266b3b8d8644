"""Any encoder of `transformers` as a classifier: opened safely, dialogues as pairs of segments, trained by its `Trainer`.

Opened are safetensors only, with no foreign code and nothing random where weights should be. What a person typed is
never read as a special token.
"""

from __future__ import annotations

import contextlib
import logging
import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mindgauge.raters.classifiers import dialogues as form
from mindgauge.raters.classifiers.calibration import standing
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mindgauge.raters.classifiers.dialogues import DataSplit

    Floats = NDArray[np.float64]

BATCH = 32
"""Dialogues that are classified at once."""
SHORTEST = 16
"""Tokens that a dialogue must be allowed, so that of a reply and of what it answers something is left."""
PATIENCE = 2
"""Training stops when so many epochs have not done better on the development part."""
_PICKLES = {".bin", ".pt", ".pth", ".pkl", ".ckpt"}


class Encoder:
    """A pretrained encoder with a linear head: one logit for each of `outputs` labels.

    It runs on a GPU where torch sees one.
    """

    def __init__(self, model: Any, tokenizer: Any, max_length: int) -> None:
        import torch

        self.model = model.to("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer = tokenizer
        self.tokenizer.truncation_side = "left"  # the newest words stay
        self.max_length = max_length
        self.outputs = int(model.config.num_labels)

    @classmethod
    def start(cls, name: str, labels: Sequence[str], max_length: int, seed: int) -> Encoder:
        """Open pretrained weights for training, with a new head.

        Args:
            name: a folder, or a name on the hub.
            labels: q names, in the order of the logits.
            max_length: tokens of a dialogue; at most what the encoder has positions for.
            seed: of the head.

        Raises:
            UsageError: there are no such weights, they are pickled, or the hub cannot be reached.
        """
        import torch

        torch.manual_seed(seed)
        names = dict(enumerate(labels))
        head = {"id2label": names, "label2id": {v: k for k, v in names.items()}, "num_labels": len(labels)}
        tokenizer, model = _open(name, head)
        return cls(model, tokenizer, int(min(max_length, _longest(model, tokenizer))))

    @classmethod
    def load(cls, folder: Path, max_length: int) -> Encoder:
        """Open a classifier that `save` wrote.

        Raises:
            UsageError: a file is missing or broken, or the encoder has no positions for `max_length` tokens.
        """
        tokenizer, model = _open(str(folder), {})
        if len(tokenizer) > len(model.get_input_embeddings().weight):
            raise UsageError(f"{folder}: its tokenizer is not the one it was trained with; copy the whole folder again")
        if not SHORTEST <= max_length <= _longest(model, tokenizer):
            raise UsageError(f"{folder}: its encoder was not trained on dialogues of {max_length} tokens; train again")
        return cls(model, tokenizer, max_length)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), configuration and tokenizer."""
        with private.writing(folder):
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    def tokens(self, dialogues: Sequence[form.Dialogue]) -> list[dict[str, list[int]]]:
        """Return what the model takes of each dialogue: earlier turns with their tags, then the last turn as a segment.

        Where a dialogue is longer than `max_length`, the oldest words of the longer segment are left out.
        """
        pairs = [(form.earlier(turns), turns[-1].content) for turns in dialogues]
        options = {"truncation": "longest_first", "max_length": self.max_length, "split_special_tokens": True}
        encoded = self.tokenizer(pairs, **options) if pairs else {}
        return [dict(zip(encoded, row, strict=True)) for row in zip(*encoded.values(), strict=True)]

    def logits(self, dialogues: Sequence[form.Dialogue]) -> Floats:
        """Return logits of shape (n, q), in the order of the dialogues; batches hold dialogues of like length."""
        import torch

        rows, logits = self.tokens(dialogues), np.empty((len(dialogues), self.outputs))
        order = np.argsort([-len(row["input_ids"]) for row in rows], kind="stable")
        device = self.model.device
        self.model.eval()
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, device.type == "cuda"):
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                padded = self.tokenizer.pad([rows[i] for i in batch], return_tensors="pt").to(device)
                logits[batch] = self.model(**padded).logits.float().cpu().numpy()
        return logits


def fit(
    encoder: Encoder, train: DataSplit, dev: DataSplit, *, epochs: int, batch: int, lr: float, seed: int, folder: Path,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, float]]:  # fmt: skip
    """Fine-tune an encoder by transformers' `Trainer`; it then has the weights of its best epoch.

    Cross-entropy, each label weighing as much as the others; AdamW without decay on biases and normalisations, a linear
    schedule with warm-up, gradients clipped at 1, batches of like length, bfloat16 on a GPU.

    Args:
        encoder: as `Encoder.start` returns it; trained in place.
        train: what is learned from.
        dev: the development part, which chooses the epoch.
        epochs: passes over the training part, at most.
        batch: dialogues per step.
        lr: the highest learning rate.
        seed: of dropout and of the order of examples.
        folder: of checkpoints; gone afterwards.
        progress: hears how many steps are done, of how many.

    Returns:
        What each epoch came to.

    Raises:
        MindgaugeError: the memory of a GPU does not suffice, or the weights are no numbers.
    """
    import torch
    from transformers import EarlyStoppingCallback, PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    class Steps(TrainerCallback):  # type: ignore[misc]  # transformers has no types
        def on_step_end(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
            if progress is not None:
                progress(state.global_step, state.max_steps)

    counts = train.counts(encoder.outputs)
    weights = np.where(counts > 0, len(train) / (np.maximum(counts, 1) * (counts > 0).sum()), 1.0)
    label_weights = torch.tensor(weights, dtype=torch.float32, device=encoder.model.device)

    def loss(outputs: Any, labels: Any, **_: Any) -> Any:
        return torch.nn.functional.cross_entropy(outputs["logits"].float(), labels, label_weights)

    def figures(predictions: Any) -> dict[str, float]:
        if not np.isfinite(predictions.predictions).all():
            raise MindgaugeError("the weights give no numbers any more; lower --lr")
        return standing(predictions.predictions, predictions.label_ids)

    learned, chosen = (
        [{**row, "labels": code} for row, code in zip(encoder.tokens(part.dialogues), part.codes.tolist(), strict=True)]
        for part in (train, dev)
    )
    on_gpu = encoder.model.device.type == "cuda"
    arguments = TrainingArguments(
        str(folder), num_train_epochs=epochs, per_device_train_batch_size=batch, per_device_eval_batch_size=BATCH,
        learning_rate=lr, weight_decay=0.01, warmup_steps=0.1, max_grad_norm=1.0, bf16=on_gpu, use_cpu=not on_gpu,
        dataloader_pin_memory=on_gpu, seed=seed, train_sampling_strategy="group_by_length", eval_strategy="epoch",
        save_strategy="epoch", logging_strategy="epoch", save_total_limit=1, save_only_model=True,
        load_best_model_at_end=True, metric_for_best_model="merit", report_to="none", disable_tqdm=True,
    )  # fmt: skip
    trainer = Trainer(
        encoder.model, arguments, train_dataset=learned, eval_dataset=chosen, processing_class=encoder.tokenizer,
        compute_loss_func=loss, compute_metrics=figures, callbacks=[Steps(), EarlyStoppingCallback(PATIENCE)],
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    shutil.rmtree(folder, ignore_errors=True)  # of a training that was killed
    logging.disable(logging.WARNING)  # it warns of what is known here
    try:
        trainer.train()
    except torch.OutOfMemoryError as error:
        raise MindgaugeError("out of memory; lower --batch or --max-length, or choose a smaller encoder") from error
    finally:
        logging.disable(logging.NOTSET)
        shutil.rmtree(folder, ignore_errors=True)
    logs = [log for log in trainer.state.log_history if "eval_merit" in log]
    return [{name: log[f"eval_{name}"] for name in ("macro_f1", "log_likelihood", "merit")} for log in logs]


def check(name: str) -> str:
    """See that an encoder can be had before anything is begun.

    Returns:
        The revision of an encoder on the hub; empty for a folder.

    Raises:
        UsageError: its weights are pickled, or transformers cannot open a folder or a name on the hub.
    """
    from transformers import AutoConfig

    if Path(name).is_dir():
        refuse_pickle(Path(name))
    with explained(name):
        config = AutoConfig.from_pretrained(name, local_files_only=Path(name).is_dir(), trust_remote_code=False)
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


def _open(name: str, head: dict[str, Any]) -> tuple[Any, Any]:
    """Open tokenizer and model; no weight may be random but those of a new `head`, where it is to have one."""
    check(name)
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    safe = {"local_files_only": Path(name).is_dir(), "trust_remote_code": False}
    with explained(name):
        tokenizer = AutoTokenizer.from_pretrained(name, **safe)
        model, loading = AutoModelForSequenceClassification.from_pretrained(
            name, use_safetensors=True, dtype="float32", ignore_mismatched_sizes=True, output_loading_info=True,
            **safe, **head,
        )  # fmt: skip
    absent = sorted({*loading["missing_keys"], *(key for key, *_ in loading["mismatched_keys"])})
    if head:
        absent = [key for key in absent if key.startswith(f"{model.base_model_prefix}.") and "pooler" not in key]
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        fault = "its tokenizer has no vocabulary"
    elif tokenizer.pad_token_id is None:
        fault = "its tokenizer has no padding token, so it is no encoder"
    elif absent:
        rest = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        fault = f"its weights lack {absent[0]}{rest}, or have them in another shape than config.json says"
    else:
        return tokenizer, model
    raise UsageError(f"{name}: {fault}; copy the whole folder again, or give an encoder such as BERT")


def _longest(model: Any, tokenizer: Any) -> float:
    """Return how many tokens an encoder can read; two of RoBERTa's positions are no tokens."""
    positions = getattr(model.config, "max_position_embeddings", None) or 0  # XLNet's is -1: it has no limit
    return float(min(tokenizer.model_max_length, positions - 2 if positions > 0 else math.inf))


@contextlib.contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what transformers raises into one line that says what to do, and keep its own warnings back."""
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    logging.disable(logging.WARNING)
    try:
        yield
    except Exception as error:  # a bad file raises anything: configurations and tokenizers have classes of their own
        message = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise UsageError(
            f"{name}: not an encoder that transformers can open ({message}); give its folder, or its name where the hub "
            "can be reached, or train with --baseline, which needs no download"
        ) from error
    finally:
        logging.disable(logging.NOTSET)
