"""How near to suicide a forum user's posts are, on five levels.

C-SSRS labels of Gaur et al., WWW 2019; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import (
    STATUS_RATES,
    accuracy,
    accuracy_of_read,
    fleiss_kappa,
    levels_off,
    levels_off_of_read,
    macro_f1,
    over_triage_rate,
    quadratic_kappa,
    quadratic_kappa_of_read,
    recall,
    under_triage_rate,
    within_one,
)
from mindgauge.benchmarks.metrics.decisions import severe_miss_rate
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.benchmarks.trustmh.released.severity import users
from mindgauge.benchmarks.trustmh.severity.posts import read

LEVELS = ("supportive", "indicator", "ideation", "behavior", "attempt")

severity = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    notes=notes_of(users),
    metrics=(
        quadratic_kappa,
        macro_f1,
        accuracy,
        accuracy_of_read,
        levels_off,
        within_one,
        under_triage_rate,
        over_triage_rate,
        severe_miss_rate(severe=LEVELS[3:], mild=LEVELS[:2]),
        quadratic_kappa_of_read,
        levels_off_of_read,
        *(recall(level) for level in LEVELS),
        fleiss_kappa,
        *STATUS_RATES,
    ),
    headline=("quadratic_kappa", "accuracy", "severe_miss_rate"),
    slices=("truncated",),
    baselines=("attempt",),
)
