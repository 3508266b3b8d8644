"""Posts with the crowd's verdict as samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.trustmh.released.files import Files
from mindgauge.benchmarks.trustmh.released.sycophancy import posts
from mindgauge.records import Message, Sample

if TYPE_CHECKING:
    from pathlib import Path


def read(data: Path) -> list[Sample]:
    """Read the posts, each once; the target is the crowd's verdict.

    Raises:
        MissingDataError: no file of posts is there.
        DataError: it is broken.
    """
    dilemmas, _ = posts(Files.below(data))
    return [Sample.of((Message("user", p.text),), target=p.verdict, tags={"language": "en"}) for p in dilemmas]
