"""The reader's files of texts and verdicts, some hundred lines each, read from the run one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.reports.reader import passages
from mindgauge.reports.reader.judged import VerdictRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import System
    from mindgauge.reports.reader.judged import ShardVerdicts
    from mindgauge.reports.reader.passages import ShardTexts
    from mindgauge.reports.runs import OpenRun, Section

LINES, CHARACTERS = 500, 2_000_000
"""A file holds about so many lines; fewer where these have many characters."""


def starts(rows: pl.DataFrame) -> list[int]:
    """Return the first line of each file: no group is divided, and no file holds lines of two sections."""
    groups = rows.group_by("group", maintain_order=True).agg(
        pl.len().alias("lines"), pl.col("weight").sum(), pl.col("section").first()
    )
    firsts: list[int] = []
    line, lines, weight, section = 0, 0, 0, -1
    for _, n, characters, own in groups.iter_rows():
        if own != section or lines + n > LINES or weight + characters > CHARACTERS:
            firsts.append(line)
            lines, weight, section = 0, 0, own
        line, lines, weight = line + n, lines + n, weight + characters
    return firsts


def shards(
    rows: pl.DataFrame, sections: Sequence[tuple[OpenRun, Section]], systems: Sequence[System], raters: dict[str, int],
    criteria: Sequence[Sequence[Criterion]], firsts: Sequence[int],
) -> Iterator[tuple[ShardTexts, ShardVerdicts]]:  # fmt: skip
    """Yield every file's content in turn.

    Args:
        rows: all lines.
        sections: by their places.
        systems: by theirs.
        raters: rater → place.
        criteria: section by section.
        firsts: the first line of each file.
    """
    lines = rows.with_row_index("line")
    for place, (run, section) in enumerate(sections):
        own = lines.filter(pl.col("section") == place)
        if own.is_empty():
            continue
        verdicts = VerdictRows(run, section, own, raters, criteria[place])
        drawn = passages.ribbons(run, section, systems)
        start, end = int(own["line"][0]), int(own["line"][-1]) + 1
        bounds = [first for first in firsts if start <= first < end]
        for first, stop in zip(bounds, [*bounds[1:], end], strict=True):
            part = lines.slice(first, stop - first)
            yield passages.of_lines(run, section, part, drawn), verdicts.of_lines(part)
