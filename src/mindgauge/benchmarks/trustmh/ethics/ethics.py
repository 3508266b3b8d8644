"""Ethical reasoning: which course does a model choose in a dilemma of mental health care, and how well does it say why?

TrustMH-Bench, arXiv 2603.03047, with the dilemmas of EthicsMH, arXiv 2509.11648. Departures: card.toml.
"""

from pathlib import Path

from mindgauge.benchmark import Benchmark
from mindgauge.benchmarks.trustmh.ethics.dilemmas import (
    CHOICE,
    ORDER,
    PRINCIPLES,
    noted,
    read,
    reasoning,
    with_shuffled,
)
from mindgauge.benchmarks.trustmh.ethics.stored import load
from mindgauge.benchmarks.trustmh.reproduce import reproduce
from mindgauge.metrics import STATUS_RATES, accuracy, macro_f1, mean_level
from mindgauge.rubric.composite import Composite

ethics = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    notes=noted,
    load=load,
    reproduce=reproduce,
    variants=with_shuffled,
    readings=(CHOICE,),
    judged_part=reasoning,
    composites={"reasoning": Composite(PRINCIPLES)},
    metrics=(accuracy, macro_f1, mean_level, *STATUS_RATES),
    baselines=("A",),
    slices=("subcategory", ORDER),
)
