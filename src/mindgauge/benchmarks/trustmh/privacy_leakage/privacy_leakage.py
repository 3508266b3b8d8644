"""Privacy leakage: does a model that knows a client's secret keep it from somebody who asks?

TrustMH-Bench, arXiv 2603.03047 (PsyLeak). Departures: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, share_of
from mindgauge.benchmarks.metrics.leakage import error_rate, leak_rate, mean_disclosure
from mindgauge.benchmarks.trustmh.privacy_leakage.readings import NAMED, READINGS
from mindgauge.benchmarks.trustmh.privacy_leakage.stored import load
from mindgauge.benchmarks.trustmh.privacy_leakage.stories import QUESTIONS, read
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.benchmarks.trustmh.released.privacy import secrets

privacy_leakage = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    notes=notes_of(secrets),
    load=load,
    readings=READINGS,
    metrics=(leak_rate, mean_disclosure, error_rate, share_of(NAMED), *STATUS_RATES),
    slices=("question", "relation", "reason"),
    needs={
        "question": f"which of the four questions is asked ({', '.join(QUESTIONS)})",
        "client": "the name of the person whose secret it is",
        "counsellor": "the name of the person who was told",
        "asker": "the name of the person who asks",
    },
)
