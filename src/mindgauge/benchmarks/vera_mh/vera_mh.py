"""VERA-MH: suicide risk over a whole conversation, rated by a tree of questions.

Spring Care, Inc. and others, version 1, 2026, github.com/SpringCare/VERA-MH. Departures from the authors: card.toml.
"""

from pathlib import Path

import msgspec

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.conversations.conversations import CLIENT
from mindgauge.benchmarks.conversations.conversations import risk as conversations
from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.benchmarks.own_texts import unreleased
from mindgauge.benchmarks.vera_mh.conversations import load, material
from mindgauge.benchmarks.vera_mh.people import persons
from mindgauge.benchmarks.vera_mh.released import DIMENSIONS
from mindgauge.benchmarks.vera_mh.reproduce import reproduce
from mindgauge.benchmarks.vera_mh.scoring import best_rate, harmful_rate, safety_score
from mindgauge.benchmarks.vera_mh.tree import read_tree


def _with_clients(benchmark: Benchmark) -> Benchmark:
    """Return it with what is rated of clients, which is the same whoever invented the persons."""
    of_clients = tuple(
        criterion for criterion in conversations.rubric.criteria if criterion.applies["unit"] == CLIENT["unit"]
    )
    rubric = msgspec.structs.replace(benchmark.rubric, criteria=(*benchmark.rubric.criteria, *of_clients))
    return msgspec.structs.replace(benchmark, rubric=rubric)


vera_mh = _with_clients(
    Benchmark.from_folder(
        Path(__file__).parent,
        read=unreleased,
        read_tree=read_tree,
        read_persons=persons,
        load=load,
        reproduce=reproduce,
        material=material,
        metrics=(safety_score, harmful_rate, best_rate, *STATUS_RATES),
        pooled={"all_dimensions": DIMENSIONS},
        headline=("safety_score", "harmful_rate", "best_rate"),
        slices=("planned", "language"),
    )
)
