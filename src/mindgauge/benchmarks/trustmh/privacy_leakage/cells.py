"""What the stored replies about the stories give, beside the means that are stated."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mindgauge.benchmarks import RecomputedCell
from mindgauge.benchmarks.trustmh import intervals
from mindgauge.benchmarks.trustmh.privacy_leakage.readings import YES, first_word
from mindgauge.benchmarks.trustmh.released import outputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

SAME = 1e-6
NO_PROXY = "the proxy's predictions are not stored"


def cells(files: TrustMHRelease) -> Iterator[RecomputedCell]:
    """Recompute the authors' means from the replies, by their tests of substrings; the control question also by ours."""
    replies, faults = outputs.replies(files)
    stated, unreadable = outputs.stated_leakage(files)
    for source, fault in (faults | unreadable).items():
        yield RecomputedCell("files", source, "content", None, fault, stated="readable")
    names, _ = outputs.spellings([*(reply.model for reply in replies), *stated])
    hits: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    controls: dict[str, list[str | None]] = defaultdict(list)
    for reply in replies:
        for metric, hit in outputs.their_measures(reply).items():
            hits[names[reply.model], reply.kind, metric].append(hit)
        if reply.kind == "control":
            controls[names[reply.model]].append(first_word(reply.text))
    for model, means in sorted(stated.items()):
        for (kind, metric), mean in means.items():
            key = (names[model], kind, metric)
            lacking = NO_PROXY if metric == "proxy-model" else "no stored replies that can be read"
            figure = intervals.mean(hits[key]) if key in hits else (None, lacking)
            yield RecomputedCell(
                "privacy_leakage", names[model], f"{kind} {metric}", *figure, stated=mean, tolerance=SAME
            )
        if "control" in {kind for kind, _ in means} and controls[names[model]]:
            yield _control(names[model], controls[names[model]])


def _control(model: str, first_words: list[str | None]) -> RecomputedCell:
    readable = [word == YES for word in first_words if word is not None]
    value, note = intervals.mean(readable)
    note = f"read from the first word, {len(first_words) - len(readable)} unreadable and apart; {note}"
    return RecomputedCell("privacy_leakage", model, "control error", value, note, repaired=True)
