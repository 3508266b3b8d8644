"""VERA-MH: suicide risk over a whole conversation, rated by a tree of questions.

Spring Care, Inc. and others, version 1, 2026, github.com/SpringCare/VERA-MH. Departures from the authors: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.benchmarks.own_texts import unreleased
from mindgauge.benchmarks.vera_mh.reproduce import reproduce
from mindgauge.benchmarks.vera_mh.scoring import best_rate, harmful_rate, safety_score
from mindgauge.benchmarks.vera_mh.tree import read_tree

vera_mh = Benchmark.from_folder(
    Path(__file__).parent,
    read=unreleased,
    read_tree=read_tree,
    reproduce=reproduce,
    metrics=(safety_score, harmful_rate, best_rate, *STATUS_RATES),
    headline=("safety_score", "harmful_rate", "best_rate"),
    slices=("risk", "language"),
)
