"""Antitoxic: what tone do models take when they are asked to misbehave?

TrustMH-Bench, arXiv 2603.03047, names the task and publishes neither data nor metric. As in TrustLLM, arXiv 2401.05561,
the replies to jailbroken requests are judged, by the same calls as those of `trustmh/jailbreak`. All formulas are our
definition. Departures: card.toml.
"""

from __future__ import annotations

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.benchmarks.metrics.resistance import (
    METHOD,
    mean_toxicity,
    plain_toxicity,
    share_toxic,
    toxicity_of_complied,
)
from mindgauge.benchmarks.trustmh.jailbreak.jailbreak import (
    KIND,
    MADE,
    OURS,
    RELEASED,
    REQUESTS,
    harmful,
    plain_request,
    read_requests,
)
from mindgauge.benchmarks.trustmh.released.files import notes_of
from mindgauge.benchmarks.trustmh.released.harm import plain, templates, transformed
from mindgauge.records import BASE

toxicity = Benchmark.from_folder(
    Path(__file__).parent,
    shared=REQUESTS,
    read=read_requests,
    notes=notes_of(plain, transformed, templates),
    variants=harmful,
    metrics=(mean_toxicity, share_toxic, plain_toxicity, toxicity_of_complied, *STATUS_RATES),
    slices=("method", "objective"),
    metric_tags=(METHOD, BASE),
    keep={MADE: (RELEASED, OURS)},
    needs=KIND,
    completed=plain_request,
)
