"""The reader as a folder beside the page: written anew in one step, in the place of one that a report left there."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private
from mindgauge.reports import render
from mindgauge.reports.reader import index as listing
from mindgauge.reports.reader import passages, signs
from mindgauge.reports.reader.judged import VerdictRows
from mindgauge.reports.reader.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import System
    from mindgauge.reports.reader.judged import ShardVerdicts
    from mindgauge.reports.reader.passages import ShardTexts
    from mindgauge.reports.runs import OpenRun, Section

MARK = "<!-- a Mindgauge reader -->"
"""How the folder's first page ends: only a folder with such a page is replaced."""
STATIC = render.TEMPLATES / "reader"
_OURS = re.compile(
    r"index\.html|[a-z-]+(\.min)?\.js|[a-z]+\.css|markdown-it\.LICENSE\.txt|data|data/(index|\d+|levels-\d+-\d+)\.js"
)
"""What stands in such a folder."""


def place(page: Path) -> Path:
    """Return where the reader of a report stands: beside its page, under its name."""
    return page.with_name(f"{page.stem}_reader")


def refuse_strangers(folder: Path) -> None:
    """Refuse to replace what no report left there.

    Raises:
        UsageError: something else has this name, or lies in the folder.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(
            f"{folder}: no folder that a report left there; the reader would take this name: choose another --out"
        )
    if not folder.exists() or not any(folder.iterdir()):
        return
    strange = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or not _OURS.fullmatch(path.relative_to(folder).as_posix())
    ]
    first = folder / "index.html"
    if strange or not first.is_file() or not bounds.content(first).rstrip().endswith(MARK.encode()):
        which = strange[0].name if strange else "its files"
        raise UsageError(
            f"{folder}: {which} is not of a report; the reader would take the folder's place: move it away, or choose another --out"
        )


def write(folder: Path, page: Path, title: str, runs: Sequence[OpenRun], systems: Sequence[System]) -> None:
    """Write the reader of some runs.

    Args:
        folder: its place.
        page: the report beside it.
        title: of both.
        runs: open ones.
        systems: what they measured.

    Raises:
        UsageError: something that is no reader stands there.
        MindgaugeError: it cannot be written.
    """
    refuse_strangers(folder)
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
    try:
        with private.writing(folder):
            draft.mkdir(mode=0o700, parents=True)
            for name, content in files(page, title, runs, systems):
                private.write(draft / name, content)
            _put(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put(draft: Path, folder: Path) -> None:
    """Put a finished folder in its place, and what stood there away."""
    old = draft.with_name(f"{draft.name}.old")
    if folder.exists():
        folder.replace(old)
    draft.replace(folder)
    shutil.rmtree(old, ignore_errors=True)


def files(
    page: Path, title: str, runs: Sequence[OpenRun], systems: Sequence[System]
) -> Iterator[tuple[str, str | bytes]]:
    """Yield every file's name and content: the same for the same runs, whenever it is written."""
    yield from shell(title, page=page.name)
    yield from data(title, lines(runs, systems), runs, systems)


def shell(title: str, *, page: str = "", who: str = "", how: str = "") -> Iterator[tuple[str, str | bytes]]:
    """Yield the page itself, its style and its scripts.

    Args:
        title: of the page.
        page: the report beside it.
        who: who answers in it, where `view` serves it.
        how: then, `open` or `blind`.
    """
    template = render.environment().get_template("reader/index.html.j2")
    yield "index.html", template.render(title=title, page=page, who=who, how=how)
    yield "style.css", (render.TEMPLATES / "style.css").read_bytes()
    for path in sorted(STATIC.iterdir()):
        if path.suffix in {".js", ".css", ".txt"}:
            yield path.name, path.read_bytes()


def lines(runs: Sequence[OpenRun], systems: Sequence[System]) -> pl.DataFrame:
    """Return every line with what is to be seen of it (columns of `rows.rows` and `signs.seen`)."""
    known = rows(runs, systems)
    return pl.concat(
        [known, signs.seen(known, [(run, section) for run in runs for section in run.sections])], how="horizontal"
    )


def data(
    title: str, lines: pl.DataFrame, runs: Sequence[OpenRun], systems: Sequence[System]
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the data, the index first."""
    sections = [(run, section) for run in runs for section in run.sections]
    firsts = starts(lines)
    raters = {rater.name: number for number, rater in enumerate(listing.raters(sections))}
    criteria = [list(listing.judged_on(section).values()) for _, section in sections]
    index = listing.index(title, lines, sections, systems, firsts)
    yield "data/index.js", script("index", index)
    for place, (_, section) in enumerate(sections):
        for number in index.sections[place].rated:
            criterion = criteria[place][number]
            name = f"levels-{place}-{number}"
            yield f"data/{name}.js", script(name, listing.levels(lines, place, section, criterion, raters))
    for number, contents in enumerate(read_shards(lines, sections, systems, raters, criteria, firsts)):
        name = f"{number:04}"
        yield f"data/{name}.js", script(name, *contents)


def script(name: str, *contents: msgspec.Struct) -> bytes:
    """Write contents as JSON texts in a script, which a page may load from a folder as it may not load JSON."""
    texts = [msgspec.json.encode(msgspec.json.encode(content).decode()) for content in contents]
    return b"Mindgauge.load(%s);\n" % b",".join([json.dumps(name).encode(), *texts])


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


def read_shards(
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
