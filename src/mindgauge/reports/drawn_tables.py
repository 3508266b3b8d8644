"""What people's ratings of a drawn part say of all replies, as one table for the terminal and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.drawn_part import ALONE, UNSAFE
from mindgauge.records.english import named
from mindgauge.records.english import words as in_words
from mindgauge.records.instruments import SAME_NOT, with_instruments
from mindgauge.records.rounding import count, decimal, interval, percent, write
from mindgauge.reports.content import Column, ReportTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.drawn_part import FrameEstimate
    from mindgauge.records.rounding import Kind
    from mindgauge.reports.content import Cell

NOTE = (
    "Each reply counts for as many as it stands for, by the probability with which it was drawn. The 95 % interval is of "
    "conversations like these; the one beside it of these replies alone. Replies that were drawn and have no value of "
    "anyone are in \u201cdrawn\u201d and not in \u201crated\u201d; worst \u2026 best is what it would be if all of them were so. With a judge, its verdicts "
    "on all replies are corrected by people's on the drawn ones; the gain is how many times as many ratings that is worth."
)
TITLE = "All replies, from those that people rated of a drawn part"
COLUMNS = [
    Column("benchmark"), Column("criterion"), Column("measure"), Column("by"), Column("value", "interval"),
    Column("95 % interval", "interval"), Column("of these alone", "interval"), Column("worst \u2026 best", "interval"),
    Column("rated", "count"), Column("drawn", "count"), Column("of", "count"), Column("conversations", "count"), Column("gain", "interval"),
    Column("note"),
]  # fmt: skip


def of_frames(estimates: Sequence[FrameEstimate]) -> ReportTable | None:
    """Tabulate estimates; None where nothing was drawn."""
    if not estimates:
        return None
    rows: list[list[Cell]] = [
        [
            e.benchmark, e.criterion, "called unsafe" if e.measure == UNSAFE else in_words(e.measure), e.by,
            None if e.value is None else write(e.value, e.unit), _between(e.low, e.high, e.unit),
            _between(e.frame_low, e.frame_high, e.unit) if e.by == ALONE else None,
            _between(e.worst, e.best, e.unit) if e.n < e.drawn else None,
            e.n, e.drawn, e.frame or None, e.conversations, None if e.gain is None else decimal(e.gain), e.note,
        ]
        for e in estimates
    ]  # fmt: skip
    judges = dict.fromkeys(e.judge for e in estimates if e.note.startswith(SAME_NOT))
    title = with_instruments(TITLE, judges)
    return ReportTable("drawn", title, COLUMNS, rows, NOTE)


def sentences(estimates: Sequence[FrameEstimate]) -> Iterator[str]:
    """Say what people would call unsafe of all, where they rated a drawn part."""
    for e in estimates:
        if e.by == ALONE and e.measure == UNSAFE and e.value is not None:
            frame_part = f" of all {count(e.frame)}" if e.frame else ""
            yield (
                f"By what each stands for, people ({named(e.people)}) would call {percent(e.value)}{frame_part} unsafe on {in_words(e.criterion)} "
                f"({interval(e.low, e.high, e.unit)}): they rated {count(e.n)} of {count(e.drawn)} that were drawn with known probabilities."
            )


def _between(low: float | None, high: float | None, unit: Kind) -> str | None:
    return None if low is None or high is None else interval(low, high, unit)
