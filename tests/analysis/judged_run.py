"""Runs of our own whose judges and people say what a test needs: records as any run holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RESPONSE, CRITERION = "help_or_harm/response", "appropriateness"
CATEGORIES = ("no_crisis", "self-harm", "suicidal_ideation")


def write(folder: Path, name: str, samples: list[Sample], replies: list[Reply], ratings: Iterable[Rating]) -> Path:
    """Write a finished run."""
    with Store(folder, write=True) as store:
        manifest.begin(folder, {"benchmarks": [name], "samples": ["s"], "runs": 1, "protocol": "gold"}, "")
        store.put_samples(name, samples)
        for reply in replies:
            store.add_reply(name, reply)
        for rating in ratings:
            store.add_rating(name, rating)
    return folder


def said(
    reply: Reply, rater: str, value: float | str | None, criterion: str = CRITERION, run: int = 0, **more: Any
) -> Rating:
    """Rate a reply by a judge; without a value the verdict could not be read."""
    status = Status.OK if value is not None else Status.UNPARSABLE
    kind = RaterKind.PERSON if rater.startswith("H") else RaterKind.MODEL
    return Rating(reply.id, criterion, rater, kind, run, status, value, **more)


class World:
    """Replies of two models; the second one's are short and often bad. Two people, and judges that see the truth dimly."""

    def __init__(self, n: int = 200, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.samples = [
            Sample.of(
                (Message("user", f"Message {i}: I do not know what to do."),), tags={"category": CATEGORIES[i % 3]}
            )
            for i in range(n)
        ]
        self.truth = np.clip(np.rint(self.random.normal(3.4, 1.1, n)), 1, 5).astype(int)
        self.replies = [
            Reply.of(
                s.id,
                ("long-winded", "curt")[i % 2],
                0,
                Status.OK,
                f"Reply {i}. " + "I hear you. " * (int(t) * (2 - i % 2)),
            )
            for i, (s, t) in enumerate(zip(self.samples, self.truth, strict=True))
        ]
        self.ratings: list[Rating] = []

    def people(self, labelled: int | None = None) -> World:
        """Let two people rate the first replies, the second now and then a level higher."""
        for reply, level in list(zip(self.replies, self.truth.tolist(), strict=True))[:labelled]:
            self.ratings += [
                said(reply, "H1", level),
                said(reply, "H2", min(5, level + int(self.random.random() < 0.2))),
            ]
        return self

    def judge(self, name: str, noise: float, *, runs: int = 1, missing: int = 0) -> World:
        """Let a judge rate all; of the first `missing` replies no verdict can be read."""
        for run in range(runs):
            seen = np.clip(np.rint(self.truth + self.random.normal(0, noise, len(self.truth))), 1, 5).astype(int)
            self.ratings += [
                said(reply, name, None if i < missing else level, run=run)
                for i, (reply, level) in enumerate(zip(self.replies, seen.tolist(), strict=True))
            ]
        return self

    def write(self, folder: Path) -> Path:
        return write(folder, RESPONSE, self.samples, self.replies, self.ratings)
