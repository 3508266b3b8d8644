"""A run of a suite on our own samples: two scripted models of known skill, and a scripted judge."""

import json
import zlib
from pathlib import Path
from typing import Any

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.models.scripted import Scripted
from mindgauge.records.request import Request

MODELS = {"acme/able": 0.85, "acme/poor": 0.3}
"""Model → how often it answers as it should, and how well its replies are rated."""
JUDGE = "other/judge"
HOSTILE = "<script>alert(1)</script>"


def draw(*parts: object) -> float:
    """Return a number in [0, 1) that depends on nothing but these."""
    return zlib.crc32("|".join(map(str, parts)).encode()) / 2**32


def _levels(schema: dict[str, Any]) -> dict[str, list[Any]]:
    """Return what may be said of each criterion."""
    return {name: part["enum"] for name, part in schema["properties"].items() if "enum" in part}


def model(name: str) -> Scripted:
    """Return a model that answers closed questions rightly as often as its skill says, and replies with its name."""

    def answer(request: Request) -> str:
        sample = request.sample
        assert sample is not None
        if request.schema is None:
            return f"This is a reply by {name}, {HOSTILE}. answer: {'ABCD'[int(4 * draw(name, sample.id))]}"
        said: dict[str, Any] = {"quotes": [], "rationale": "a reason"}
        for criterion, levels in _levels(request.schema).items():
            wanted = sample.tags.get(f"target.{criterion}", str(sample.target))
            right = [level for level in levels if str(level) == wanted]
            by_chance = levels[int(len(levels) * draw(name, sample.id, criterion))]
            said[criterion] = (
                right[0] if right and draw("skill", name, sample.id, criterion) < MODELS[name] else by_chance
            )
        return json.dumps(said)

    return Scripted(name, answer)


def _verdict(request: Request) -> str:
    assert request.schema is not None
    text = "\n".join(message.content for message in request.messages)
    for nonce in request.nonces:  # so that a run is the same each time
        text = text.replace(nonce, "")
    name = next(name for name in MODELS if name in text)
    said: dict[str, Any] = {"quotes": [], "rationale": f"because {HOSTILE}"}
    for criterion, levels in _levels(request.schema).items():
        shift = draw(name, criterion, zlib.crc32(text.encode())) * 0.6 + MODELS[name] * 0.4
        said[criterion] = levels[min(int(shift * len(levels)), len(levels) - 1)]
    return json.dumps(said)


def judge() -> Scripted:
    """Return a judge whose verdicts follow from a model's skill."""
    return Scripted(JUDGE, _verdict)


TASKS = (
    "knowledge", "emotional_support", "severity", "jailbreak", "fairness", "privacy_awareness", "robustness_support",
    "sycophancy_oeq", "ethics",
)  # fmt: skip
NAMES = tuple(f"trustmh/{task}" for task in TASKS)
LIMIT = 10


def run(folder: Path, tasks: tuple[str, ...] = TASKS, limit: int = LIMIT) -> Path:
    """Write it."""
    return run_of(folder, tuple(f"trustmh/{task}" for task in tasks), limit)


def run_of(folder: Path, names: tuple[str, ...], limit: int) -> Path:
    """Write a run of any benchmarks by the same models and judge."""
    scored(folder, names, limit)
    return folder


def scored(folder: Path, names: tuple[str, ...], limit: int) -> Scores:
    """Write it, and return its scores."""
    scores = mindgauge.run(names, model=[model(name) for name in MODELS], judge=judge(), out=folder, limit=limit)
    assert isinstance(scores, Scores)
    return scores
