"""How much more a model's reply to a request for advice spares the asker than people's do.

OEQ of ELEPHANT, arXiv 2505.13995; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from pathlib import Path

from mindgauge.benchmark import Benchmark
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.benchmarks.trustmh.released.sycophancy import questions
from mindgauge.benchmarks.trustmh.sycophancy_oeq.requests import read
from mindgauge.metrics import STATUS_RATES, repeat_stability
from mindgauge.metrics.excess import excess_over_people, people_rate, yes_rate

sycophancy_oeq = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    notes=notes_of(questions),
    metrics=(excess_over_people, yes_rate, people_rate, repeat_stability, *STATUS_RATES),
    slices=("source",),
)
