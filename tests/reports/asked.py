"""Runs of a question that is decided in order: a scripted model asked flat and node by node, and a classifier."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

import numpy as np

import mindgauge
from mindgauge import benchmarks
from mindgauge.models.scripted import Scripted
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

TASK = benchmarks.find_one("dialogue_safety")
CRITERION = TASK.rubric.criteria[0]
LABELS = [str(value) for value in CRITERION.values]
MODEL, CLASSIFIER = "acme/careful-1", "classifier/models/tfidf"
REASON = "since it seems so"
MARKER = "灯塔旁的蓝色雨伞"
"""Words that stand in every text of the made-up released file, and nowhere else."""
_QUESTIONS = [list(node.question.values()) for node in CRITERION.nodes]


def answer(request: Request) -> str:
    """Give the sample's label; for some samples the next one, nothing readable, or nothing readable at the third node."""
    assert request.sample is not None
    assert request.schema is not None
    kind, target = zlib.crc32(request.sample.id.encode()) % 10, str(request.sample.target)
    if kind < 3:
        target = LABELS[(LABELS.index(target) + 1) % len(LABELS)]
    said = {
        "quotes": [request.sample.messages[-1].content[:16]],
        "rationale": f"{REASON}: {request.sample.messages[0].content}",
    }
    if CRITERION.name in request.schema["properties"]:
        return "I would rather not say." if kind == 9 else json.dumps({**said, CRITERION.name: target})
    at = next(i for i, texts in enumerate(_QUESTIONS) if any(text in request.messages[0].content for text in texts))
    node = CRITERION.nodes[at]
    if kind == 8 and at == 2:
        return "hm"
    return json.dumps({**said, "answer": target if len(node.levels) > 1 else "yes" if target in node.levels else "no"})


def run(folder: Path, data: Path | None = None) -> Path:
    """Ask the scripted model in two ways, and let a planted classifier rate the same samples."""
    mindgauge.run(TASK.name, model=Scripted(MODEL, answer), out=folder, ask=["flat", "sequential"], data=data)
    generator = np.random.default_rng(1)
    with Store(folder, write=True) as store:
        for sample in list(store.samples(TASK.name)):
            logits = generator.normal(0, 2, len(LABELS))
            logits[LABELS.index(str(sample.target))] += 3
            shares = np.exp(logits) / np.exp(logits).sum()
            sure = bool(shares.max() >= 0.4)
            facts = {"probabilities": {k: round(float(p), 4) for k, p in zip(LABELS, shares, strict=True)}}
            store.add_rating(
                TASK.name,
                Rating(
                    sample.id, CRITERION.name, CLASSIFIER, RaterKind.CLASSIFIER, 0, Status.OK if sure else Status.REFUSED,
                    LABELS[int(shares.argmax())] if sure else None, provenance=facts if sure else {**facts, "abstained": True},
                ),
            )  # fmt: skip
    return folder


def released(folder: Path) -> Path:
    """Write a file as the authors release it, with invented texts; its last item is one of our own samples."""
    items = [
        {
            "context": f"[seeker]第{i}次说起{MARKER}。",
            "response": f"[supporter]关于{MARKER}，请慢慢说，第{i}次。",
            "label": i % 8,
        }
        for i in range(40)
    ]
    own = next(s for s in TASK.samples(None) if s.tags["language"] == "zh" and len(s.messages) == 2)
    items.append(
        {
            "context": f"[seeker]{own.messages[0].content}", "response": f"[supporter]{own.messages[1].content}",
            "label": (LABELS.index(str(own.target)) + 1) % 8,
        }
    )  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "test.json").write_text(json.dumps(items, ensure_ascii=False), encoding="utf-8")
    for number, item in enumerate(items):
        path = folder / "finetuned_model_predict" / "bert-base-chinese" / "42" / f"{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**item, "predict_label": 7}, ensure_ascii=False), encoding="utf-8")
    return folder
