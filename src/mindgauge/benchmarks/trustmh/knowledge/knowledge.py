"""Knowledge: examination questions about mental disorders, each asked with its options in two orders.

USMLE-mental of PsyEval; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, accuracy, accuracy_of_read, fleiss_kappa
from mindgauge.benchmarks.metrics.options import PLACES, chance, option_consistency
from mindgauge.benchmarks.trustmh.knowledge.questions import both_orders, questions, read, written
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.records import BASE

HERE = Path(__file__).parent

knowledge = Benchmark.from_folder(
    HERE,
    read=read,
    notes=notes_of(questions),
    variants=both_orders,
    completed=written,
    metrics=(accuracy, accuracy_of_read, option_consistency, chance("options"), fleiss_kappa, *STATUS_RATES),
    slices=("order", "step", "condition"),
    keep={"source": ("usmle",)},
    metric_tags=(BASE, PLACES, "options"),
)
