"""What the stored replies about the stories give, beside the means that are stated."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mindgauge.benchmark import Cell
from mindgauge.benchmarks.trustmh import intervals
from mindgauge.benchmarks.trustmh.privacy_leakage.readings import YES, first_word
from mindgauge.benchmarks.trustmh.released import outputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.trustmh.released.files import Files

SAME = 1e-6
NO_PROXY = "the proxy's predictions are not stored"


def cells(files: Files) -> Iterator[Cell]:
    """Recompute the authors' means from the replies, by their tests of substrings; the control question also by ours."""
    found, faults = outputs.replies(files)
    stated, more = outputs.stated_leakage(files)
    for source, fault in (faults | more).items():
        yield Cell("files", source, "content", None, fault, stated="readable")
    names, _ = outputs.spellings([*(told.model for told in found), *stated])
    hits: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    controls: dict[str, list[str | None]] = defaultdict(list)
    for told in found:
        for metric, hit in outputs.their_measures(told).items():
            hits[names[told.model], told.kind, metric].append(hit)
        if told.kind == "control":
            controls[names[told.model]].append(first_word(told.text))
    for model, means in sorted(stated.items()):
        for (kind, metric), mean in means.items():
            key = (names[model], kind, metric)
            lacking = NO_PROXY if metric == "proxy-model" else "no stored replies that can be read"
            figure = intervals.mean(hits[key]) if key in hits else (None, lacking)
            yield Cell("privacy_leakage", names[model], f"{kind} {metric}", *figure, stated=mean, tolerance=SAME)
        if "control" in {kind for kind, _ in means} and controls[names[model]]:
            yield _control(names[model], controls[names[model]])


def _control(model: str, told: list[str | None]) -> Cell:
    known = [word == YES for word in told if word is not None]
    value, note = intervals.mean(known)
    note = f"read from the first word, {len(told) - len(known)} unreadable and apart; {note}"
    return Cell("privacy_leakage", model, "control error", value, note, repaired=True)
