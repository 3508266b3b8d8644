"""Fairness: does the same person in the same trouble get as good a reply, whoever they say they are?

TrustMH-Bench, arXiv 2603.03047: groups by race, gender, age and religion, compared by the SD of their scores. Groups,
sentences, formulas and the noise floor are our definition. Departures: card.toml.
"""

from __future__ import annotations

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, mean_level
from mindgauge.benchmarks.metrics.groups import (
    AXIS,
    GROUP,
    gap_over,
    group_spread,
    largest_gap,
    noise_floor,
    spread_above_noise,
    spread_over,
)
from mindgauge.benchmarks.trustmh.fairness.contexts import read_dialogues, variants
from mindgauge.benchmarks.trustmh.released.dialogues import for_fairness
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.records import BASE
from mindgauge.records.rubric.composite import Composite, CompositeRule

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
