"""What is served: the reader's own pages and data, held in memory; of a draw, without a model's name, a verdict or an id that tells one."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from mindgauge.annotation.blind import Blind
from mindgauge.reports import render
from mindgauge.reports.content import System
from mindgauge.reports.reader import folder as reader
from mindgauge.reports.reader import index as listing
from mindgauge.reports.reader import passages, shards
from mindgauge.reports.reader.index import ListedCriterion, ListedRater
from mindgauge.reports.reader.judged import ShardVerdicts, VerdictRows
from mindgauge.reports.reader.rows import KEY
from mindgauge.reports.reader.signs import Sign

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mindgauge.records.drawn import Drawn
    from mindgauge.reports.runs import OpenRun
    from mindgauge.reports.view.drawing import KeptDraw

OPEN, BLIND = "open", "blind"
STATIC = render.TEMPLATES / "view"
_FAST = 1
"""How hard texts are packed: they are read on this machine."""


class ViewLine(NamedTuple):
    """What a line of the reader is about: a reply, of a closed question its sample."""

    benchmark: str
    subject: str
    sample: str
    hidden: bool


class RevealedVerdicts(msgspec.Struct, frozen=True):
    """What is shown of a drawn reply once it is answered: who wrote it, and what others said."""

    model: str
    raters: list[ListedRater]
    criteria: list[ListedCriterion]
    verdicts: ShardVerdicts


class ServedReader(NamedTuple):
    """All that is served, packed, by name; what each line is about, by its key; of a draw also what is known of each line."""

    how: str
    files: dict[str, bytes]
    lines: dict[str, ViewLine]
    drawn: Mapping[str, Drawn]
    revealed: dict[str, RevealedVerdicts]


def _packed(files: Iterable[tuple[str, str | bytes]]) -> dict[str, bytes]:
    return {
        name: gzip.compress(content.encode() if isinstance(content, str) else content, _FAST, mtime=0)
        for name, content in files
    }


def _shell(title: str, who: str, how: str) -> dict[str, bytes]:
    own = [(path.name, path.read_bytes()) for path in sorted(STATIC.iterdir())]
    return _packed([*reader.shell(title, who=who, how=how), *own])


def open_reader(title: str, run: OpenRun, systems: Sequence[System], who: str) -> ServedReader:
    """Return the reader of a run as a report has it."""
    lines = reader.lines([run], systems)
    names = [section.benchmark.name for section in run.sections]
    about = {
        key.hex(): ViewLine(names[section], subject, sample, hidden)
        for key, section, subject, sample, hidden in lines.select(
            "key", "section", "subject", "sample", "hidden"
        ).iter_rows()
    }
    files = _shell(title, who, OPEN) | _packed(reader.data(title, lines, [run], systems))
    return ServedReader(OPEN, files, about, {}, {})


def blind_reader(
    title: str, run: OpenRun, systems: Sequence[System], who: str, draws: Mapping[str, KeptDraw]
) -> ServedReader:
    """Return the reader of what was drawn, in its order by lot.

    Args:
        title: of the page.
        run: an open one.
        systems: what it measured.
        who: answers.
        draws: benchmark → its draw.
    """
    drawn = {subject: known for draw in draws.values() for subject, known in draw.drawn.items()}
    known = _in_order(reader.lines([run], systems), run, draws)
    blind = Blind.of(run.folder)
    names = [blind.review(subject) for subject in known["subject"]]
    lines = _without_names(known, names)
    someone = [System("a model", "a model", 0, 0)]
    sections = [(run, msgspec.structs.replace(s, ratings=s.ratings.clear())) for s in run.sections]
    firsts = shards.starts(lines)
    index = listing.index(title, lines, sections, someone, firsts)
    index = msgspec.structs.replace(
        index, sections=[msgspec.structs.replace(section, rated=[]) for section in index.sections]
    )
    files = _shell(title, who, BLIND) | _packed([("data/index.js", reader.script("index", index))])
    numbered = lines.with_row_index("line")
    for number, (first, stop) in enumerate(zip(firsts, [*firsts[1:], len(lines)], strict=True)):
        part = numbered.slice(first, stop - first)
        section = sections[part["section"][0]][1]
        texts = passages.of_lines(run, section, part, {})
        texts = msgspec.structs.replace(
            texts,
            subjects=names[first:stop],
            groups=[msgspec.structs.replace(group, sample="") for group in texts.groups],
        )
        name = f"{number:04}"
        files |= _packed([(f"data/{name}.js", reader.script(name, texts, _nothing()))])
    keys = [key.hex() for key in lines["key"]]
    about = {
        key: ViewLine(run.sections[section].benchmark.name, subject, sample, hidden)
        for key, (section, subject, sample, hidden) in zip(
            keys, known.select("section", "subject", "sample", "hidden").iter_rows(), strict=True
        )
    }
    return ServedReader(BLIND, files, about, drawn, dict(zip(keys, _revealed(run, known, systems), strict=True)))


def _in_order(lines: pl.DataFrame, run: OpenRun, draws: Mapping[str, KeptDraw]) -> pl.DataFrame:
    """Return the lines of what was drawn, section by section, in their orders by lot."""
    numbers = {section.benchmark.name: number for number, section in enumerate(run.sections)}
    order = pl.DataFrame(
        [(numbers[name], subject) for name, draw in draws.items() for subject in draw.order],
        {"section": pl.Int64, "subject": pl.String},
        orient="row",
    )
    own = lines.unique(["section", "subject"], keep="first", maintain_order=True)
    return order.join(own, on=["section", "subject"], maintain_order="left").sort("section", maintain_order=True)


def _without_names(lines: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return lines of which nothing tells who wrote them, or what anybody said of them."""
    nothing = pl.lit(None, pl.String)
    keys = [bytes.fromhex(name[1 : 1 + 2 * KEY]) for name in names]
    return lines.with_columns(
        system=pl.lit(0, pl.Int64), repeat=pl.lit(0, pl.Int64), category=nothing, target=nothing, answer=nothing, persona=nothing,
        turn=pl.lit(None, pl.Int64), signs=pl.col("signs") & Sign.RESTRICTED.value, why=pl.lit("to be answered"),
        rank=pl.int_range(pl.len()), group=pl.int_range(pl.len()), key=pl.Series(keys, dtype=pl.Binary),
    )  # fmt: skip


def _nothing() -> ShardVerdicts:
    none: dict[str, Any] = {field: {} if field == "other" else [] for field in ShardVerdicts.__struct_fields__}
    return ShardVerdicts(**none)


def _revealed(run: OpenRun, lines: pl.DataFrame, systems: Sequence[System]) -> list[RevealedVerdicts]:
    """Return what others said of each line, as the reader's own table shows it."""
    sections = [(run, section) for section in run.sections]
    raters = listing.raters(sections)
    places = {rater.name: place for place, rater in enumerate(raters)}
    numbered = lines.with_row_index("line").with_columns(pl.col("line").cast(pl.Int64))
    listed = listing.index("", lines, sections, systems, []).sections
    revealed: list[RevealedVerdicts] = []
    for number, (_, section) in enumerate(sections):
        own = numbered.filter(pl.col("section") == number)
        if own.is_empty():
            continue
        verdicts = VerdictRows(run, section, own, places, list(listing.judged_on(section).values()))
        for row in range(len(own)):
            part = own.slice(row, 1)
            system = systems[part["system"][0]]
            revealed.append(RevealedVerdicts(system.label, raters, listed[number].criteria, verdicts.of_lines(part)))
    return revealed
