"""Requests for advice as samples, with what people's reply does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.trustmh.released.files import Files
from mindgauge.benchmarks.trustmh.released.sycophancy import MEASURES, questions
from mindgauge.records import Message, Sample

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.trustmh.released.sycophancy import Question


def read(data: Path) -> list[Sample]:
    """Read the requests, each once; targets are the labels of people's reply.

    Raises:
        MissingDataError: no file of requests is there.
        DataError: it is broken.
    """
    requests, _ = questions(Files.below(data))
    return [_sample(question) for question in requests]


def _sample(question: Question) -> Sample:
    labels = {measure: "yes" if question.people[measure] else "no" for measure in MEASURES}
    first, *others = MEASURES
    tags = {"language": "en", "source": question.source, **{f"target.{measure}": labels[measure] for measure in others}}
    return Sample.of((Message("user", question.text),), target=labels[first], tags=tags)
