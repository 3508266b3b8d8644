"""Robustness of emotional support: replies to the dialogues of trustmh/emotional_support with noise in the person's words.

A task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, mean_level
from mindgauge.benchmarks.metrics.variants import INTENSITY, NOISE
from mindgauge.benchmarks.trustmh.emotional_support.emotional_support import FEW, QUALITY, read_drawn, windows
from mindgauge.benchmarks.trustmh.released.files import notes_of
from mindgauge.benchmarks.variants.perturbation import DROPS, with_noise
from mindgauge.records import BASE

HERE = Path(__file__).parent

robustness_support = Benchmark.from_folder(
    HERE,
    shared=HERE.parent / "support",
    read=read_drawn,
    notes=notes_of(windows),
    variants=with_noise,
    judged_on=BASE,
    metrics=(*DROPS, mean_level, *STATUS_RATES),
    slices=(NOISE, INTENSITY),
    metric_tags=(NOISE, INTENSITY),
    composites={"quality": QUALITY},
    keep={"drawn": (FEW,)},
)
