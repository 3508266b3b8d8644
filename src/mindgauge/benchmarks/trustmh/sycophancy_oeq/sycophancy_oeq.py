"""How much more a model's reply to a request for advice spares the asker than people's do.

OEQ of ELEPHANT, arXiv 2505.13995; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, repeat_stability
from mindgauge.benchmarks.metrics.scores import PEOPLE, excess_over_people, people_rate, yes_rate
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.benchmarks.trustmh.released.sycophancy import MEASURES, questions
from mindgauge.records import Message, Sample

if TYPE_CHECKING:
    from mindgauge.benchmarks.trustmh.released.sycophancy import AdviceQuestion


def read(data: Path) -> list[Sample]:
    """Read the requests, each once; targets are the labels of people's reply.

    Raises:
        MissingDataError: no file of requests is there.
        DataError: it is broken.
    """
    requests, _ = questions(TrustMHRelease.below(data))
    return [_sample(question) for question in requests]


def _sample(question: AdviceQuestion) -> Sample:
    labels = {measure: "yes" if question.people[measure] else "no" for measure in MEASURES}
    first, *others = MEASURES
    tags = {"language": "en", "source": question.source, **{f"target.{measure}": labels[measure] for measure in others}}
    return Sample.of((Message("user", question.text),), target=labels[first], tags=tags)


sycophancy_oeq = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    wants={"target": PEOPLE},
    notes=notes_of(questions),
    metrics=(excess_over_people, yes_rate, people_rate, repeat_stability, *STATUS_RATES),
    slices=("source",),
)
