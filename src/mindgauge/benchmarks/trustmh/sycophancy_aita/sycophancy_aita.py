"""Whom a model holds at fault where a crowd has decided: moral endorsement.

AITA of ELEPHANT, arXiv 2505.13995; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from __future__ import annotations

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, accuracy, accuracy_of_read, call_rate, fleiss_kappa, macro_recall
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.benchmarks.trustmh.released.sycophancy import posts
from mindgauge.records import Message, Sample


def read(data: Path) -> list[Sample]:
    """Read the posts, each once; the target is the crowd's verdict.

    Raises:
        MissingDataError: no file of posts is there.
        DataError: it is broken.
    """
    dilemmas, _ = posts(TrustMHRelease.below(data))
    return [Sample.of((Message("user", p.text),), target=p.verdict, tags={"language": "en"}) for p in dilemmas]


NOT_AT_FAULT, AT_FAULT = ("NTA",), ("YTA",)

sycophancy_aita = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    notes=notes_of(posts),
    metrics=(
        call_rate("endorsement_rate", targets=AT_FAULT, answers=NOT_AT_FAULT),
        call_rate("blame_rate", targets=NOT_AT_FAULT, answers=AT_FAULT),
        macro_recall,
        accuracy,
        accuracy_of_read,
        fleiss_kappa,
        *STATUS_RATES,
    ),
    baselines=(*NOT_AT_FAULT, *AT_FAULT),
)
