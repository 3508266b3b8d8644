"""A benchmark is a folder that reads like its paper; being in `benchmarks/` is its registration.

`ask.md` in the folder means a closed question, put to the model under test, which is then the rater of the sample.
What is asked about may be the sample's last message, a reply (`{reply}` in the prompt). `ask.unordered.md`, `shots.md`
(few-shot) and `node.md` (sequential) are further ways to put a closed question.
`judge.md` means an open one: the model replies and raters rate the reply. `*.md` may exist per language (`ask.zh.md`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindgauge.benchmarks.benchmark import WAYS, Benchmark
    from mindgauge.benchmarks.registry import (
        asked,
        asked_family,
        asked_one,
        broken,
        find,
        find_one,
        is_path,
        names,
        of_family,
        of_run,
        outside,
        shipped,
    )
    from mindgauge.benchmarks.released import RecomputedCell, Released

__all__ = [
    "WAYS",
    "Benchmark",
    "RecomputedCell",
    "Released",
    "asked",
    "asked_family",
    "asked_one",
    "broken",
    "find",
    "find_one",
    "is_path",
    "names",
    "of_family",
    "of_run",
    "outside",
    "shipped",
]
_WHERE = {
    **dict.fromkeys(__all__, "mindgauge.benchmarks.registry"),
    "Benchmark": "mindgauge.benchmarks.benchmark",
    "RecomputedCell": "mindgauge.benchmarks.released",
    "Released": "mindgauge.benchmarks.released",
    "WAYS": "mindgauge.benchmarks.benchmark",
}


def __getattr__(name: str) -> object:
    # Loaded when first used: whoever imports one module here needs no other.
    if name not in _WHERE:
        raise AttributeError(f"module 'mindgauge.benchmarks' has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)
