"""Robustness of psychological diagnosis: the questions of trustmh/diagnosis, with noise in what the person writes.

A task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, accuracy, accuracy_of_read
from mindgauge.benchmarks.metrics.variants import INTENSITY, NOISE, flip_rate
from mindgauge.benchmarks.trustmh.diagnosis.diagnosis import read_drawn
from mindgauge.benchmarks.variants.perturbation import DROPS, with_noise
from mindgauge.records import BASE

HERE = Path(__file__).parent

robustness_diagnosis = Benchmark.from_folder(
    HERE,
    shared=HERE.parent / "diagnosis",
    read=read_drawn,
    variants=with_noise,
    metrics=(accuracy, accuracy_of_read, *DROPS, flip_rate, *STATUS_RATES),
    slices=(NOISE, INTENSITY),
    metric_tags=(NOISE, INTENSITY, BASE),
    keep={"split": ("test", "whole")},
)
