"""A benchmark is a folder that reads like its paper; being in `benchmarks/` is its registration.

`ask.md` in the folder means a closed question, put to the model under test, which is then the rater of the sample.
What is asked about may be the sample's last message, a reply (`{reply}` in the prompt). `ask.unordered.md`, `shots.md`
(few-shot) and `node.md` (sequential) are further ways to put a closed question.
`judge.md` means an open one: the model replies and raters rate the reply. `*.md` may exist per language (`ask.zh.md`).
"""

from mindgauge.benchmark.benchmark import WAYS, Benchmark
from mindgauge.benchmark.registry import asked, asked_one, broken, find, find_one, names, of_family, of_run, outside
from mindgauge.benchmark.released import Cell, Released

__all__ = [
    "WAYS",
    "Benchmark",
    "Cell",
    "Released",
    "asked",
    "asked_one",
    "broken",
    "find",
    "find_one",
    "names",
    "of_family",
    "of_run",
    "outside",
]
