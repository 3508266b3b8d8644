"""The released files where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease


@pytest.fixture(scope="session")
def real() -> TrustMHRelease:
    """The released files as they lie; `MINDGAUGE_DATA` says where."""
    repository = Path(__file__).parents[3]
    folder = Path(os.environ.get("MINDGAUGE_DATA") or repository / "../shared/data") / "trustmh"
    if not folder.is_dir():
        pytest.skip(f"the authors' files are not at hand ({folder}); set MINDGAUGE_DATA")
    return TrustMHRelease.below(folder)
