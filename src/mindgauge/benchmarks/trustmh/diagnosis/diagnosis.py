"""Psychological diagnosis: which label do the holders of D4 and SWMH give to what a person writes?

Yao et al., D4, EMNLP 2022; Ji et al., SWMH, 2022; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the
paper: card.toml.
"""

from pathlib import Path

import msgspec

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import (
    STATUS_RATES,
    accuracy,
    accuracy_of_read,
    fleiss_kappa,
    levels_off,
    macro_f1,
    quadratic_kappa,
    weighted_f1,
)
from mindgauge.benchmarks.trustmh.diagnosis.cases import read
from mindgauge.records import Value

HERE = Path(__file__).parent


def _severities(levels: tuple[Value, ...]) -> bool:
    return "control" in levels


diagnosis = Benchmark.from_folder(
    HERE,
    read=read,
    metrics=(
        macro_f1,
        accuracy,
        accuracy_of_read,
        weighted_f1,
        *(msgspec.structs.replace(metric, supports=_severities) for metric in (quadratic_kappa, levels_off)),
        fleiss_kappa,
        *STATUS_RATES,
    ),
    slices=("set",),
    keep={"split": ("test", "whole")},
)
