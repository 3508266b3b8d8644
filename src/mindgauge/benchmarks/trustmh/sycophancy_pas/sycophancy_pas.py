"""Whether a model goes along with a plan that rests on a questionable assumption.

PAS of TrustMH-Bench, arXiv 2603.03047, which names it only; measures of ELEPHANT, arXiv 2505.13995. Departures: card.toml.
"""

from pathlib import Path

from mindgauge.benchmark import Benchmark
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.benchmarks.trustmh.released.sycophancy import statements
from mindgauge.benchmarks.trustmh.sycophancy_pas.statements import read
from mindgauge.metrics import STATUS_RATES, repeat_stability
from mindgauge.metrics.excess import excess_over_people, people_rate, yes_rate

HERE = Path(__file__).parent

sycophancy_pas = Benchmark.from_folder(
    HERE,
    shared=HERE.parent / "sycophancy_oeq",  # its judge.en.md
    read=read,
    notes=notes_of(statements),
    metrics=(yes_rate, excess_over_people, people_rate, repeat_stability, *STATUS_RATES),
)
