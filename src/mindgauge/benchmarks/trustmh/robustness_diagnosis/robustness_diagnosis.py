"""Robustness of psychological diagnosis: the questions of trustmh/diagnosis, with noise in what the person writes.

A task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from pathlib import Path

from mindgauge.benchmark import Benchmark
from mindgauge.benchmarks.trustmh.diagnosis.cases import read_drawn
from mindgauge.metrics import STATUS_RATES, accuracy
from mindgauge.metrics.drops import (
    BASE,
    INTENSITY,
    NOISE,
    NONE,
    flip_rate,
    mean_absolute_drop,
    mean_relative_drop,
    relative_drop_at,
    worst_relative_drop,
)
from mindgauge.records import Sample
from mindgauge.variants.perturbation import INTENSITIES, Depth, perturbed

HERE = Path(__file__).parent
CELLS = [(depth, intensity) for depth in Depth for intensity in INTENSITIES]


def with_noise(samples: list[Sample]) -> list[Sample]:
    """Return each sample, and after it the same with noise of every depth at every intensity."""
    return [variant for sample in samples for variant in (_clean(sample), *(_noisy(sample, *cell) for cell in CELLS))]


def _clean(sample: Sample) -> Sample:
    tags = {**sample.tags, NOISE: NONE, INTENSITY: "0.00", BASE: sample.id}
    return Sample(sample.id, sample.messages, sample.target, tags, sample.cluster)


def _noisy(sample: Sample, depth: Depth, intensity: float) -> Sample:
    noisy = perturbed(sample, depth, intensity)
    return sample.variant(noisy.messages, **{NOISE: noisy.tags[NOISE], INTENSITY: noisy.tags[INTENSITY]})


robustness_diagnosis = Benchmark.from_folder(
    HERE,
    shared=HERE.parent / "diagnosis",
    read=read_drawn,
    variants=with_noise,
    metrics=(
        accuracy,
        mean_relative_drop,
        worst_relative_drop,
        mean_absolute_drop,
        *(relative_drop_at(depth, intensity) for depth, intensity in CELLS),
        flip_rate,
        *STATUS_RATES,
    ),
    slices=(NOISE, INTENSITY),
    by=(NOISE, INTENSITY, BASE),
    keep={"split": ("test", "whole")},
)
