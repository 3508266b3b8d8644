"""MentalBench: seven attributes of a supportive reply, and whether a judge may rate them in people's place.

MentalBench-100k and MentalAlign-70k, arXiv 2510.19032, EACL 2026. Departures from the paper: card.toml.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.mentalbench.material import material
from mindgauge.benchmarks.mentalbench.released import find, notes
from mindgauge.benchmarks.mentalbench.replies import load, read, read_judged
from mindgauge.benchmarks.mentalbench.reproduce import reproduce
from mindgauge.benchmarks.metrics import STATUS_RATES, fleiss_kappa, mean_level, share_at_most
from mindgauge.records.rubric.composite import Composite


def _short_sheets(data: Path, checked: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield the sheets that have fewer rows than another; `Overall` is a value of its own, and no mean of the seven."""
    sheets = find(data).sheets
    checked["numbers of rows"] += len(sheets)
    by_length = sorted(sheets, key=lambda sheet: -len(sheet.row))
    for sheet in by_length[1:]:
        if len(sheet.row) < (longest := len(by_length[0].row)):
            yield sheet.source, f"{len(sheet.row):,} rows, and {by_length[0].source} has {longest:,}"


mentalbench = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    readers={"judged": read_judged},
    load=load,
    reproduce=reproduce,
    files_read=notes,
    self_stated=_short_sheets,
    material=material,
    metrics=(mean_level, share_at_most(2), fleiss_kappa, *STATUS_RATES),
    slices=("language", "topic"),
    composites={
        "CSS": Composite(("guidance", "informativeness", "relevance", "safety")),
        "ARS": Composite(("empathy", "helpfulness", "understanding")),
    },
)
