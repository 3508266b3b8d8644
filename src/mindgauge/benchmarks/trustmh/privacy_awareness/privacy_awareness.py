"""Privacy awareness: do a model's estimates go together with what people expect?

TrustMH-Bench, arXiv 2603.03047, with the items of confAIde, arXiv 2310.17884. Departures: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.benchmarks.metrics.correlation import (
    EXPECTED,
    HUMAN,
    correlation_with_people,
    rank_correlation_with_people,
)
from mindgauge.benchmarks.trustmh.privacy_awareness.items import load, read
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.benchmarks.trustmh.released.privacy import expectations

privacy_awareness = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    notes=notes_of(expectations),
    load=load,
    metrics=(correlation_with_people, rank_correlation_with_people, *STATUS_RATES),
    metric_tags=(HUMAN, EXPECTED),
    wants={HUMAN: "the mean of what people answered; without it nothing is compared with people"},
    slices=("tier", "source"),
)
