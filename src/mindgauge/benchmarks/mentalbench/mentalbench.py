"""MentalBench: seven attributes of a supportive reply, and whether a judge may rate them in people's place.

MentalBench-100k and MentalAlign-70k, arXiv 2510.19032, EACL 2026. Departures from the paper: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.mentalbench import self_stated
from mindgauge.benchmarks.mentalbench.material import material
from mindgauge.benchmarks.mentalbench.replies import load, read, read_judged
from mindgauge.benchmarks.mentalbench.reproduce import reproduce
from mindgauge.benchmarks.metrics import STATUS_RATES, fleiss_kappa, mean_level, share_at_most
from mindgauge.records.rubric.composite import Composite

mentalbench = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    readers={"judged": read_judged},
    load=load,
    reproduce=reproduce,
    self_stated=self_stated.faults,
    material=material,
    metrics=(mean_level, share_at_most(2), fleiss_kappa, *STATUS_RATES),
    slices=("language", "topic"),
    composites={
        "CSS": Composite(("guidance", "informativeness", "relevance", "safety")),
        "ARS": Composite(("empathy", "helpfulness", "understanding")),
    },
)
