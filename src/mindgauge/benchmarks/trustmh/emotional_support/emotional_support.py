"""Emotional support: the model writes the supporter's next reply, which judges rate on five criteria.

A task of TrustMH-Bench, arXiv 2603.03047, on ESConv, Liu et al. 2021, arXiv 2106.01144. Departures: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, mean_level, sd_level
from mindgauge.benchmarks.trustmh.emotional_support.windows import FEW, MANY, load, read, windows
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.records.rubric.composite import Composite, CompositeRule

HERE = Path(__file__).parent
QUALITY = Composite(("understanding", "empathy", "helpfulness", "coherence", "safety"), CompositeRule.SHARE)

emotional_support = Benchmark.from_folder(
    HERE,
    shared=HERE.parent / "support",
    read=read,
    notes=notes_of(windows),
    load=load,
    metrics=(mean_level, sd_level, *STATUS_RATES),
    slices=("language",),
    composites={"quality": QUALITY},
    keep={"drawn": (FEW, MANY)},
)
