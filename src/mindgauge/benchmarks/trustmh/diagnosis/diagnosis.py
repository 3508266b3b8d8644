"""Psychological diagnosis: which label do the holders of D4 and SWMH give to what a person writes?

Yao et al., D4, EMNLP 2022; Ji et al., SWMH, 2022; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the
paper: card.toml.
"""

from __future__ import annotations

from collections import Counter, defaultdict
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
from mindgauge.benchmarks.trustmh.released import diagnoses
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.benchmarks.variants.draws import generator, order
from mindgauge.records import Sample, Value
from mindgauge.records.errors import MissingDataError

LANGUAGES = {diagnoses.D4: "zh", diagnoses.SWMH: "en"}
TARGET_OF_CONDITION = "target.condition"
DRAWN = 200
"""How many samples of each part of a set `read_drawn` takes."""


def read(data: Path) -> list[Sample]:
    """Read whichever of the two sets is there, D4 first; a text that stands there several times is one sample.

    Raises:
        DataError: neither is there, or a file is broken.
    """
    files = TrustMHRelease.below(data)
    samples: dict[str, Sample] = {}
    for name in LANGUAGES:
        for case in diagnoses.cases(files, name):
            sample = _sample(case, name)
            samples.setdefault(sample.id, sample)
    if not samples:
        raise MissingDataError(
            f"{data}: no D4 or SWMH here, in a folder d4 or swmh; their owners provide them for research"
            " (D4: x-lance.github.io/D4, SWMH: AIMH/SWMH)"
        )
    return [*samples.values()]


def read_drawn(data: Path) -> list[Sample]:
    """Read 200 samples of each part of each set, drawn, with as many of each label as there are.

    Raises:
        DataError: neither set is there, or a file is broken.
    """
    samples = read(data)
    turns: Counter[tuple[str, ...]] = Counter()
    ranked: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for place in order(generator("diagnosis", "drawn"), len(samples)):
        tags = samples[place].tags
        part, label = (tags["set"], tags["split"]), str(samples[place].target or tags[TARGET_OF_CONDITION])
        turns[*part, label] += 1
        ranked[part].append((turns[*part, label], place))
    return [samples[place] for place in sorted(place for part in ranked.values() for _, place in sorted(part)[:DRAWN])]


def _sample(case: diagnoses.DiagnosisCase, name: str) -> Sample:
    tags = {"set": name, "language": LANGUAGES[name], "split": case.split}
    if name == diagnoses.D4:
        return Sample.of(case.messages, target=case.label, tags=tags)
    return Sample.of(case.messages, tags={**tags, TARGET_OF_CONDITION: case.label})


# Psychological diagnosis: which label do the holders of D4 and SWMH give to what a person writes?


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
