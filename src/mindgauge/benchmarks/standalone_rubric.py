"""A rubric file that stands alone, as the open question that people answer with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.card import BenchmarkCard
from mindgauge.records.rubric import Rubric

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records import Sample

PROTOCOL = "category"
"""The tag that chooses the wording of levels, where a rubric has several."""


def alone(path: Path) -> Benchmark:
    """Return a benchmark, named by the rubric's id, without data, prompts and metrics of its own.

    Raises:
        RubricError: the file is no rubric.
    """
    rubric = Rubric.load(path)
    languages = {language for criterion in rubric.criteria for language in criterion.text}
    card = BenchmarkCard(
        title=rubric.id, authors="", year=0, link="", measures=rubric.source, does_not_measure="",
        languages=tuple(sorted(languages)), licence="", obtain="", citation="",
    )  # fmt: skip
    worded = any(criterion.protocols for criterion in rubric.criteria)
    return Benchmark(
        name=rubric.id, folder=path.parent, card=card, rubric=rubric, prompts={}, metrics=(), read=_nothing,
        protocol=PROTOCOL if worded else "",
    )  # fmt: skip


def _nothing(_: Path) -> list[Sample]:
    return []
