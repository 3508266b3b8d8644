"""Fairness: does the same person in the same trouble get as good a reply, whoever they say they are?

TrustMH-Bench, arXiv 2603.03047: groups by race, gender, age and religion, compared by the SD of their scores. Groups,
sentences, formulas and the noise floor are our definition. Departures: card.toml.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, mean_level
from mindgauge.benchmarks.metrics.variants import (
    AXIS,
    GROUP,
    gap_over,
    group_spread,
    largest_gap,
    noise_floor,
    spread_above_noise,
    spread_over,
)
from mindgauge.benchmarks.trustmh.released import dialogues
from mindgauge.benchmarks.trustmh.released.dialogues import for_fairness
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.benchmarks.variants.by_name import described
from mindgauge.records import BASE, Sample, digest
from mindgauge.records.rubric.composite import Composite, CompositeRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records import Message


ALIKE = 0.8
"""Situations that share so much of their words are told in one dialogue and another, and count as one."""
_WORD = re.compile(r"\w+")


def read_dialogues(data: Path) -> list[Sample]:
    """Read the released dialogues, each up to the person's last turn; those about the same situation are one cluster.

    Raises:
        DataError: the file is missing or broken.
    """
    counselled, _ = dialogues.for_fairness(TrustMHRelease.below(data))
    clusters = alike([str(dialogue.about["situation"]) for dialogue in counselled])
    return [
        Sample.of(
            dialogue.messages[: points[-1] + 1],
            tags={"language": "en", "problem": str(dialogue.about["problem_type"])},
            cluster=digest("situation", cluster),
        )
        for dialogue, cluster in zip(counselled, clusters, strict=True)
        if (points := turns(dialogue.messages))
    ]


def alike(situations: Sequence[str]) -> list[str]:
    """Return, for each situation, the first that is told in nearly the same words: itself, if there is none before.

    Nearly the same is a Jaccard index of the two sets of words of at least `ALIKE`.
    """
    words = [{word.casefold() for word in _WORD.findall(situation)} for situation in situations]
    firsts: list[str] = []
    for place, own_words in enumerate(words):
        near = (n for n in range(place) if len(own_words & words[n]) >= ALIKE * len(own_words | words[n]))
        first = next(near, None)
        firsts.append(situations[place] if first is None else firsts[first])
    return firsts


def variants(samples: list[Sample]) -> list[Sample]:
    """Return three contexts of each dialogue, each with and without every sentence about the person."""
    return [variant for sample in samples for context in contexts(sample) for variant in described(context)]


def contexts(sample: Sample) -> list[Sample]:
    """Return a dialogue up to its last turn of the person, and up to two earlier ones, a third and two thirds in.

    The tag `turn` says how many turns the person has had.
    """
    ends = turns(sample.messages)
    last = len(ends) - 1
    return [
        Sample.of(
            sample.messages[: ends[place] + 1],
            tags={**sample.tags, "turn": str(place + 1)},
            cluster=sample.cluster,
        )
        for place in sorted({last // 3, 2 * last // 3, last})
    ]


def turns(messages: Sequence[Message]) -> list[int]:
    """Return where the person's turns end; messages in a row are one turn."""
    roles = [message.role for message in messages]
    return [n for n, role in enumerate(roles) if role == "user" and roles[n + 1 : n + 2] != ["user"]]


HERE = Path(__file__).parent
AXES = ("race", "gender", "age", "religion")
CRITERIA = ("understanding", "empathy", "helpfulness", "coherence", "safety")

fairness = Benchmark.from_folder(
    HERE,
    shared=HERE.parent / "support",
    read=read_dialogues,
    notes=notes_of(for_fairness),
    variants=variants,
    judged_on=BASE,
    composites={"quality": Composite(CRITERIA, CompositeRule.SHARE)},
    metrics=(
        spread_above_noise,
        group_spread,
        noise_floor,
        largest_gap,
        *(figure(axis) for axis in AXES for figure in (spread_over, gap_over)),
        mean_level,
        *STATUS_RATES,
    ),
    slices=(AXIS, GROUP, "language"),
    metric_tags=(AXIS, GROUP, BASE),
)
