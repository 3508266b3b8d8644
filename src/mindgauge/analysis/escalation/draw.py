"""Which replies people rate where a part must speak for all: so many of those that need them most, and a lot of the rest.

Replies stand in the order in which people should read them (`review.queue`). It is cut into blocks, and of each block so
many are drawn by lot; every reply of the frame can be drawn, and how probable that was is known.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.records import digest
from mindgauge.records.drawn import Drawn
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import count, plural
from mindgauge.stats import sampling
from mindgauge.stats.jackknife import effective

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.store import Store

RANDOM = 50
"""Replies that are drawn from the rest: with none unsafe among them, at most 7 % of the rest are (exact 95 % bound)."""
REST = "rest"
NO_JUDGE = "no judge has rated these replies, so that none comes first and each is as probable as any other"
_JUDGED = "SELECT EXISTS (SELECT 1 FROM ratings WHERE benchmark = ? AND rater_kind IN ('model', 'classifier'))"
_BLOCK = re.compile(r"(?P<size>\d+|rest)=(?P<number>\d+)")
_HOW = "write --draw 80, of which --random 50 come from the rest by lot, or blocks of the list: --draw 100=60,400=40,rest=50"


class DrawPlan(NamedTuple):
    """How many are drawn of each block of the list; a size of None is what is left."""

    blocks: tuple[tuple[int | None, int], ...]

    @property
    def at_random(self) -> DrawPlan:
        """As many, each as probable as any other."""
        return DrawPlan(((None, sum(number for _, number in self.blocks)),))

    @classmethod
    def read(cls, text: str, random: int | None = None) -> DrawPlan:
        """Read `80`, of which `random` come from what is not at the front, or `100=60,400=40,rest=50`.

        Raises:
            UsageError: it is neither, or a part of the list can never be drawn.
        """
        if text.isdecimal():
            total, lot = int(text), RANDOM if random is None else random
            if total < 1 or lot < 1:
                raise UsageError(f"--draw {text} --random {lot}: both are at least 1; {_HOW}")
            surest = max(total - lot, 0)
            first = ((surest, surest),) if surest else ()
            return cls((*first, (None, min(lot, total))))
        parts = [_BLOCK.fullmatch(part.strip()) for part in text.split(",")]
        if random is not None:
            raise UsageError(
                f"--random goes with --draw NUMBER; blocks say themselves how many are drawn of the rest; {_HOW}"
            )
        blocks = tuple(
            (None if p["size"] == REST else int(p["size"]), int(p["number"])) for p in parts if p is not None
        )
        if None in parts or not blocks:
            raise UsageError(f"--draw {text!r}: {_HOW}")
        if blocks[-1][0] is not None or any(size is None for size, _ in blocks[:-1]):
            raise UsageError(f"--draw {text!r}: the last block is the rest, and only that: rest=50; {_HOW}")
        if any(number < 1 or size == 0 for size, number in blocks):
            raise UsageError(f"--draw {text!r}: of each block at least one is drawn, or nothing would be known of it")
        return cls(blocks)

    @property
    def text(self) -> str:
        """The plan as blocks."""
        return ",".join(f"{REST if size is None else size}={number}" for size, number in self.blocks)


def is_judged(store: Store, benchmark: str) -> bool:
    """Whether a judge rated any reply of a benchmark, so that some come before others."""
    return bool(store.select(_JUDGED, (benchmark,)).fetchone()[0])


class DrawResult(NamedTuple):
    """What was drawn, by its id, and what is to be known of it."""

    drawn: dict[str, Drawn]
    notes: list[str]


def draw(ordered: Sequence[str], conversations: Mapping[str, str], plan: DrawPlan, seed: int) -> DrawResult:
    """Draw from a frame; the same frame in the same order, plan and seed draw the same.

    Args:
        ordered: the frame, in the order in which people should read it.
        conversations: of each of them.
        plan: how many of which part.
        seed: of the lot.
    """
    bounds, start = [], 0
    for size, number in plan.blocks:
        end = len(ordered) if size is None else min(start + size, len(ordered))
        if end > start:
            bounds.append((start, end, number))
        start = end
    lots = sampling.draw([end - start for start, end, _ in bounds], [number for *_, number in bounds], seed)
    of_frame = effective(np.array(list(Counter(conversations[name] for name in ordered).values()), dtype=float))
    name = digest("draw", sorted(ordered), plan.text, seed)[:8]
    drawn = {
        ordered[start + int(place)]: Drawn(
            len(lot) / (end - start),
            _named(start, end, len(ordered)),
            end - start,
            len(ordered),
            round(of_frame, 3),
            name,
        )
        for (start, end, _), lot in zip(bounds, lots, strict=True)
        for place in lot
    }
    parts = [
        f"{count(len(lot))} of {count(end - start)} ({_named(start, end, len(ordered))})"
        for (start, end, _), lot in zip(bounds, lots, strict=True)
    ]
    note = (
        f"draw {name}: {plural(len(drawn), 'reply', 'replies')} of {count(len(ordered))} are drawn with known probabilities, {', '.join(parts)} "
        f"(seed {seed}); estimates for all {count(len(ordered))} follow from them"
    )
    return DrawResult(drawn, [note])


def _named(start: int, end: int, frame: int) -> str:
    if start == 0 and end == frame:
        return "all"
    if start == 0:
        return f"first {count(end)}"
    return REST if end == frame else f"places {count(start + 1)} to {count(end)}"
