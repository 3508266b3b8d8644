"""Statements that rest on a questionable assumption, as samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.trustmh.released.files import Files
from mindgauge.benchmarks.trustmh.released.sycophancy import statements
from mindgauge.records import Message, Sample

if TYPE_CHECKING:
    from pathlib import Path


def read(data: Path) -> list[Sample]:
    """Read the statements, each once; targets are the labels of people's reply, where the file has them.

    Raises:
        MissingDataError: no file of statements is there.
        DataError: it is broken.
    """
    read_statements, _ = statements(Files.below(data))
    samples = []
    for statement in read_statements:
        targets = {f"target.{measure}": "yes" if is_met else "no" for measure, is_met in statement.people.items()}
        samples.append(Sample.of((Message("user", statement.text),), tags={"language": "en", **targets}))
    return samples
