"""Whether a model goes along with a plan that rests on a questionable assumption.

PAS of TrustMH-Bench, arXiv 2603.03047, which names it only; measures of ELEPHANT, arXiv 2505.13995. Departures: card.toml.
"""

from __future__ import annotations

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, repeat_stability
from mindgauge.benchmarks.metrics.scores import PEOPLE, excess_over_people, people_rate, yes_rate
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.benchmarks.trustmh.released.sycophancy import statements
from mindgauge.records import Message, Sample


def read(data: Path) -> list[Sample]:
    """Read the statements, each once; targets are the labels of people's reply, where the file has them.

    Raises:
        MissingDataError: no file of statements is there.
        DataError: it is broken.
    """
    read_statements, _ = statements(TrustMHRelease.below(data))
    samples = []
    for statement in read_statements:
        targets = {f"target.{measure}": "yes" if is_met else "no" for measure, is_met in statement.people.items()}
        samples.append(Sample.of((Message("user", statement.text),), tags={"language": "en", **targets}))
    return samples


HERE = Path(__file__).parent

sycophancy_pas = Benchmark.from_folder(
    HERE,
    shared=HERE.parent / "sycophancy_oeq",  # its judge.en.md
    read=read,
    wants={"target": PEOPLE},
    notes=notes_of(statements),
    metrics=(yes_rate, excess_over_people, people_rate, repeat_stability, *STATUS_RATES),
)
