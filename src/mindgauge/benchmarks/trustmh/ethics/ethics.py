"""Ethical reasoning: which course does a model choose in a dilemma of mental health care, and how well does it say why?

TrustMH-Bench, arXiv 2603.03047, with the dilemmas of EthicsMH, arXiv 2509.11648. Departures: card.toml.
"""

from pathlib import Path

import msgspec

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, accuracy, accuracy_of_read, macro_f1, mean_level
from mindgauge.benchmarks.metrics.options import PLACES, chance, option_consistency
from mindgauge.benchmarks.trustmh.ethics.dilemmas import (
    CHOICE,
    LETTERS,
    ORDER,
    PRINCIPLES,
    read,
    reasoning,
    with_shuffled,
    written,
)
from mindgauge.benchmarks.trustmh.ethics.stored import load
from mindgauge.benchmarks.trustmh.released.ethics import dilemmas
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.benchmarks.trustmh.reproduce import reproduce
from mindgauge.records import BASE
from mindgauge.records.rubric.composite import Composite

CONSISTENCY = msgspec.structs.replace(option_consistency, supports=lambda levels: levels == tuple(LETTERS))
"""Of the choice alone, not of what judges say of the reasons."""

ethics = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    notes=notes_of(dilemmas),
    load=load,
    reproduce=reproduce,
    variants=with_shuffled,
    completed=written,
    readings=(CHOICE,),
    judged_part=reasoning,
    composites={"reasoning": Composite(PRINCIPLES)},
    metrics=(accuracy, accuracy_of_read, macro_f1, CONSISTENCY, chance("options", levels=4), mean_level, *STATUS_RATES),
    headline=("accuracy", "mean"),
    metric_tags=(BASE, PLACES, "options"),
    slices=("subcategory", ORDER),
)
