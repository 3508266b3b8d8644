"""Emotional support: the model writes the supporter's next reply, which judges rate on five criteria.

A task of TrustMH-Bench, arXiv 2603.03047, on ESConv, Liu et al. 2021, arXiv 2106.01144. Departures: card.toml.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.benchmarks import Benchmark, Released
from mindgauge.benchmarks.metrics import STATUS_RATES, mean_level, sd_level
from mindgauge.benchmarks.trustmh.released import dialogues
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.benchmarks.variants.options import generator, order
from mindgauge.records import Message, Reply, Sample, Status
from mindgauge.records.rubric.composite import Composite, CompositeRule

if TYPE_CHECKING:
    from mindgauge.benchmarks.trustmh.released.dialogues import DialogueExcerpt


WINDOW = 5
"""Utterances, the reference among them."""
FEW, MANY, ALL = "60", "300", "all"
"""Values of the tag `drawn`: the smallest draw that a window is in."""
REFERENCE, ANOTHER = "people (reference)", "people (reply to another dialogue)"
"""Whose the replies are that a judge can be tried on: it has to place the first above the second."""


def read(data: Path) -> list[Sample]:
    """Read all windows in a drawn order; the tag `drawn` says which are among the first 60, the first 300, or neither.

    Where the whole of ESConv is there, windows are cut from it; else they are those of its test part.

    Raises:
        MissingDataError: neither is there.
        DataError: the file is broken.
    """
    return [sample for sample, _ in windows(TrustMHRelease.below(data))[0]]


def read_drawn(data: Path) -> list[Sample]:
    """Read the first 300 windows in the drawn order.

    Raises:
        MissingDataError: there is no ESConv.
        DataError: the file is broken.
    """
    return read(data)[: int(MANY)]


def load(data: Path) -> Released:
    """Load two people's replies to each of the 300 windows: the reference, and one to a window of another dialogue.

    Raises:
        MissingDataError: there is no ESConv.
        DataError: the file is broken.
    """
    items, notes = windows(TrustMHRelease.below(data))
    drawn = items[: int(MANY)]
    replies = [
        Reply.of(sample.id, model, 0, Status.OK, text)
        for (sample, reference), other in zip(drawn, _others(drawn), strict=True)
        for model, text in ((REFERENCE, reference), (ANOTHER, other))
        if text
    ]
    return Released([sample for sample, _ in drawn], replies, [], notes)


def windows(files: TrustMHRelease) -> tuple[list[tuple[Sample, str]], list[str]]:
    """Return the windows in which the supporter answers, each with the answer that a person gave, and what is odd about the file.

    Who goes on speaking answers nothing. Of windows with the same words before the answer, it is the first.

    Raises:
        MissingDataError: there is no ESConv.
        DataError: the file is broken.
    """
    if files.find(dialogues.WHOLE) is not None:
        full, notes = dialogues.whole(files)
        cut = dialogues.cut(full, WINDOW)
    else:
        cut, notes = dialogues.windows(files)
    answering = (window for window in cut if len(window.messages) == WINDOW and window.messages[-2].role == "user")
    distinct = {window.messages[:-1]: window for window in reversed([*answering])}
    return [_item(window, place) for place, window in enumerate(_in_drawn_order([*distinct.values()][::-1]))], notes


def _item(window: DialogueExcerpt, place: int) -> tuple[Sample, str]:
    drawn = next((count for count in (FEW, MANY) if place < int(count)), ALL)
    tags = {"language": "en", "row": str(window.row), "drawn": drawn}
    if window.strategy:
        tags["strategy"] = window.strategy
    *context, reference = window.messages
    return Sample.of(_joined(context), tags=tags, cluster=f"esconv-{window.dialogue}"), reference.content


def _joined(messages: list[Message]) -> tuple[Message, ...]:
    """Return what one person wrote in a row as one message: many models take turns only."""
    turns = groupby(messages, key=lambda message: message.role)
    return tuple(Message(role, "\n".join(message.content for message in group)) for role, group in turns)


def _in_drawn_order(windows: list[DialogueExcerpt]) -> list[DialogueExcerpt]:
    """Draw windows, first one of every dialogue, then a second of every one, and so on."""
    counts = dict.fromkeys((window.dialogue for window in windows), 0)
    ranked = []
    for rank, place in enumerate(order(generator("ESConv", "windows"), len(windows))):
        dialogue = windows[place].dialogue
        ranked.append((counts[dialogue], rank, place))
        counts[dialogue] += 1
    return [windows[place] for _, _, place in sorted(ranked)]


def _others(items: list[tuple[Sample, str]]) -> list[str]:
    """Return for each window the reference of another dialogue's: that of the next of another in the drawn order."""
    references = []
    for place, (sample, _) in enumerate(items):
        following = (*items[place + 1 :], *items[:place])
        references.append(next((reference for other, reference in following if other.cluster != sample.cluster), ""))
    return references


HERE = Path(__file__).parent
QUALITY = Composite(("understanding", "empathy", "helpfulness", "coherence", "safety"), CompositeRule.SHARE)

emotional_support = Benchmark.from_folder(
    HERE,
    shared=HERE.parent / "support",
    read=read,
    notes=notes_of(windows),
    load=load,
    metrics=(mean_level, sd_level, *STATUS_RATES),
    slices=("language",),
    composites={"quality": QUALITY},
    keep={"drawn": (FEW, MANY)},
)
