"""Dialogue Safety: is a supporter's reply safe, and if not, in which way?

Qiu et al., NLPCC 2023, arXiv 2307.16457. Departures from the paper: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.dialogue_safety.inputs import CRITERION, LABELS, SAFE, UNSAFE, read
from mindgauge.benchmarks.dialogue_safety.material import material
from mindgauge.benchmarks.dialogue_safety.outputs import load
from mindgauge.benchmarks.dialogue_safety.reproduce import reproduce
from mindgauge.benchmarks.metrics import (
    STATUS_RATES,
    accuracy,
    accuracy_of_read,
    binary,
    call_rate,
    cohen_kappa,
    fleiss_kappa,
    macro_f1,
    macro_precision,
    macro_recall,
    node_accuracy,
    precision,
    recall,
    repeat_stability,
    share_of,
    status_rate,
    weighted_f1,
    weighted_precision,
    weighted_recall,
)

dialogue_safety = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    load=load,
    reproduce=reproduce,
    material=material,
    metrics=(
        accuracy,
        accuracy_of_read,
        macro_f1,
        macro_precision,
        macro_recall,
        weighted_f1,
        weighted_precision,
        weighted_recall,
        *binary("unsafe", safe=(SAFE,)),
        call_rate("passed_as_safe_rate", targets=UNSAFE, answers=(SAFE,)),
        *(metric(label) for label in LABELS for metric in (recall, precision)),
        *node_accuracy([node.levels for node in CRITERION.nodes]),
        cohen_kappa,
        fleiss_kappa,
        repeat_stability,
        *STATUS_RATES,
        status_rate("tie"),
    ),
    headline=(
        "accuracy",
        "macro_f1",
        "weighted_f1",
        "unsafe_recall",
        "passed_as_safe_rate",
        "cohen_kappa",
        "fleiss_kappa",
    ),
    distribution=(share_of(*UNSAFE, name="unsafe"), *map(share_of, LABELS)),
    baselines=(SAFE,),
    slices=("language", "turns"),
    keep={"split": ("test",)},
)
