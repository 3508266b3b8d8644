"""What the reader loads first: of every line what can be seen and filtered, in columns; and the rubrics that verdicts go by."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.raters.window import Unit
from mindgauge.records.english import words
from mindgauge.records.rubric.criterion import shares
from mindgauge.reports import gravity, texts
from mindgauge.reports.draw import canvas
from mindgauge.reports.reader.signs import Sign
from mindgauge.reports.runs import GOLD, RULE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section


class ListedSystem(msgspec.Struct, frozen=True):
    """A model, with the number of its colour and the outline of its mark."""

    label: str
    model: str
    colour: int
    shape: str


class ListedRater(msgspec.Struct, frozen=True):
    """Who rated: a person, a model, a rule."""

    name: str
    kind: str


class ListedCriterion(msgspec.Struct, frozen=True):
    """A criterion in words. `places` says of each value how far it stands from the worst, 0; `texts` what it looks like.

    `texts` is by protocol (empty: any), then language, each in the values' order. `withheld` says why the scores of some
    raters (by their places) on it are not shown.
    """

    name: str
    words: str
    harm: bool
    values: list[str]
    places: list[float | None]
    unsafe: list[int]
    texts: dict[str, dict[str, list[str]]]
    withheld: dict[int, str]


class ListedSection(msgspec.Struct, frozen=True):
    """One benchmark in one run."""

    benchmark: str
    title: str
    run: str
    closed: bool
    about_reply: bool
    dialogues: bool
    first: int
    """Its first line."""
    lines: int
    criteria: list[ListedCriterion]
    rated: list[int]
    """The criteria, by their places, on which levels are listed."""


class ReaderIndex(msgspec.Struct, frozen=True):
    """All of it; lines are numbered in the order of the data."""

    title: str
    lines: int
    hidden: list[str]
    """What is said of restricted texts."""
    systems: list[ListedSystem]
    raters: list[ListedRater]
    sections: list[ListedSection]
    shards: list[int]
    """The first line of each."""
    signs: dict[str, int]
    section: PackedColumn
    system: PackedColumn
    group: PackedColumn
    sign: PackedColumn
    rank: PackedColumn
    turn: PackedColumn
    repeat: PackedColumn
    category: NamedColumn
    language: NamedColumn
    label: NamedColumn
    answer: NamedColumn
    persona: NamedColumn
    words: NamedColumn
    why: NamedColumn
    rater: SetColumn
    whole: PackedColumn
    """1 for a dialogue as a whole."""
    keys: str


class ListedLevels(msgspec.Struct, frozen=True):
    """Who gave which level on one criterion: of each rater (by place) the sets of levels, line by line of the section.

    One past the last level stands for a verdict that cannot be used.
    """

    raters: list[int]
    columns: list[SetColumn]


def raters(sections: Sequence[tuple[OpenRun, Section]]) -> list[ListedRater]:
    """Name everybody who rated anything, people first."""
    kinds = {rater: kind for _, section in sections for rater, kind in section.raters}
    return [ListedRater(name, kind) for name, kind in kinds.items()]


def index(
    title: str,
    rows: pl.DataFrame,
    sections: Sequence[tuple[OpenRun, Section]],
    systems: Sequence[System],
    shards: Sequence[int],
) -> ReaderIndex:
    """Put the index together; `rows` has the columns of `rows.rows` and `signs.seen`."""
    everybody = raters(sections)
    several_runs = len({id(run) for run, _ in sections}) > 1
    places = {rater.name: place for place, rater in enumerate(everybody)}
    return ReaderIndex(
        title=title,
        lines=len(rows),
        hidden=texts.hidden(list({id(run): run for run, _ in sections}.values())),
        systems=[ListedSystem(s.label, s.model, s.number % len(canvas.COLOURS), canvas.shape(s)) for s in systems],
        raters=everybody,
        sections=[_section(rows, place, run, section, places, with_run=several_runs) for place, (run, section) in enumerate(sections)],
        shards=list(shards),
        signs={sign.name.lower(): sign.value for sign in Sign if sign.name},
        section=packed(rows["section"]),
        system=packed(rows["system"]),
        group=packed(rows["group"]),
        sign=packed(rows["signs"]),
        rank=packed(rows["rank"]),
        turn=packed(rows["turn"]),
        repeat=packed(rows["repeat"]),
        category=named(rows["category"]),
        language=named(rows["language"]),
        label=named(_of_closed(rows, sections, "target")),
        answer=named(_of_closed(rows, sections, "answer")),
        persona=named(rows["persona"]),
        words=named(rows["words"]),
        why=named(rows["why"]),
        rater=_rated_by(rows, sections, places),
        whole=packed((rows["unit"] == Unit.DIALOGUE.value).cast(pl.Int64)),
        keys=keys(rows["key"].to_list()),
    )  # fmt: skip


def _of_closed(rows: pl.DataFrame, sections: Sequence[tuple[OpenRun, Section]], column: str) -> pl.Series:
    closed = [place for place, (_, section) in enumerate(sections) if section.benchmark.closed]
    return rows.select(pl.when(pl.col("section").is_in(closed)).then(column)).to_series()


def _section(
    rows: pl.DataFrame, place: int, run: OpenRun, section: Section, raters: dict[str, int], *, with_run: bool
) -> ListedSection:
    lines = rows.with_row_index("line").filter(pl.col("section") == place)["line"]
    benchmark = section.benchmark
    criteria = list(judged_on(section).values())
    return ListedSection(
        benchmark.name, benchmark.card.title, run.folder.resolve().name if with_run else "", benchmark.closed, benchmark.about_reply,
        section.holds_dialogues, int(lines[0]) if len(lines) else 0, len(lines),
        [_criterion(run, section, criterion, raters) for criterion in criteria],
        [number for number, criterion in enumerate(criteria) if not benchmark.closed and criterion in benchmark.rubric.criteria],
    )  # fmt: skip


def judged_on(section: Section) -> dict[str, Criterion]:
    """Return every criterion that raters were asked about, and what rules read from replies: not what follows from these."""
    return {c.name: c for c in (*section.benchmark.criteria, *section.benchmark.foreign_criteria)}


def _criterion(run: OpenRun, section: Section, criterion: Criterion, raters: dict[str, int]) -> ListedCriterion:
    values = [str(value) for value in criterion.values]
    shares_of = {str(value): place for value, place in shares(criterion).items()}
    withheld = gravity.withheld(run, section, criterion.name)
    return ListedCriterion(
        criterion.name, words(criterion.name), criterion.veto, values, [shares_of.get(value) for value in values],
        [place for place, value in enumerate(criterion.values) if value in criterion.unsafe], _meanings(criterion),
        {raters[judge]: reason for judge, reason in withheld.items() if judge in raters},
    )  # fmt: skip


def _meanings(criterion: Criterion) -> dict[str, dict[str, list[str]]]:
    """Return what each level looks like, by protocol and language; nothing where the rubric does not say."""
    wordings = criterion.protocols or {"": tuple(level.text for level in criterion.levels)}
    return {
        protocol: {
            language: [level.get(language, "") for level in levels]
            for language in dict.fromkeys(language for level in levels for language in level)
        }
        for protocol, levels in wordings.items()
        if any(levels)
    }


def _rated_by(rows: pl.DataFrame, sections: Sequence[tuple[OpenRun, Section]], places: dict[str, int]) -> SetColumn:
    parts = [pl.DataFrame(schema={"line": pl.Int64, "rater": pl.Int64})]
    lines = rows.select("section", "subject", line=pl.int_range(pl.len()))
    for place, (_, section) in enumerate(sections):
        if not section.benchmark.closed:
            rated = section.asked.filter(pl.col("status") != "not_applicable").select(
                "subject", rater=pl.col("rater").replace_strict(places, default=None, return_dtype=pl.Int64)
            ).unique().collect()  # fmt: skip
            parts.append(lines.filter(pl.col("section") == place).join(rated, on="subject").select("line", "rater"))
    together = pl.concat(parts)
    return sets(together["line"], together["rater"], len(rows))


def levels(
    rows: pl.DataFrame, place: int, section: Section, criterion: Criterion, raters: dict[str, int]
) -> ListedLevels:
    """Return who gave which level on one criterion of a section."""
    values = {str(value): number for number, value in enumerate(criterion.values)}
    lines = rows.filter(pl.col("section") == place).select("subject", line=pl.int_range(pl.len()))
    given = section.asked.filter(pl.col("criterion") == criterion.name, pl.col("status") != "not_applicable", ~pl.col("rater_kind").is_in([RULE, GOLD])).select(
        "subject", "rater",
        level=pl.when(pl.col("status") == "ok").then(pl.col("value").replace_strict(values, default=None, return_dtype=pl.Int64)).otherwise(len(values)),
    ).collect().filter(pl.col("level").is_not_null()).join(lines, on="subject")  # fmt: skip
    people_first = sorted(given["rater"].unique().to_list(), key=lambda name: raters[name])
    columns = []
    for rater in people_first:
        own = given.filter(pl.col("rater") == rater)
        columns.append(sets(own["line"], own["level"], len(lines)))
    return ListedLevels([raters[name] for name in people_first], columns)


_WIDTHS = ((1, pl.UInt8), (2, pl.UInt16), (4, pl.UInt32))


class PackedColumn(msgspec.Struct, frozen=True):
    """Whole numbers from 0, `bytes` wide each, the lowest byte first, in base 64."""

    bytes: int
    data: str


class NamedColumn(msgspec.Struct, frozen=True):
    """Names by their places in a list, from 1; 0 is none."""

    names: list[str]
    places: PackedColumn


class SetColumn(msgspec.Struct, frozen=True):
    """Sets of numbers by their places in a list of sets; the first of these is empty."""

    sets: list[list[int]]
    places: PackedColumn


def packed(numbers: pl.Series) -> PackedColumn:
    """Pack whole numbers from 0; nothing counts as 0."""
    highest = int(numbers.max() or 0)  # type: ignore[arg-type]
    width, kind = next((width, kind) for width, kind in _WIDTHS if highest < 2 ** (8 * width))
    values = numbers.fill_null(0).cast(kind).to_numpy()
    return PackedColumn(width, b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode())


def named(texts: pl.Series) -> NamedColumn:
    """Pack texts, each of which is kept once, in the order in which they first stand; nothing and an empty text are none."""
    names = texts.drop_nulls().unique(maintain_order=True)
    names = names.filter(names != "")
    places = {name: place for place, name in enumerate(names.to_list(), 1)}
    return NamedColumn(list(places), packed(texts.replace_strict(places, default=0, return_dtype=pl.Int64)))


def sets(lines: pl.Series, members: pl.Series, length: int) -> SetColumn:
    """Pack which numbers stand beside each line.

    Args:
        lines: the line of each number; a line may have several, or none.
        members: the numbers.
        length: how many lines there are.
    """
    own = pl.DataFrame({"line": lines, "member": members}).unique().sort("line", "member")
    joined = own.group_by("line", maintain_order=True).agg(pl.col("member").cast(pl.String).str.join(","))
    at_lines = pl.DataFrame({"line": pl.int_range(length, eager=True)}).join(
        joined.cast({"line": pl.Int64}), on="line", how="left", maintain_order="left"
    )
    column = named(at_lines["member"])
    return SetColumn([[], *([int(member) for member in name.split(",")] for name in column.names)], column.places)


def keys(values: Sequence[bytes]) -> str:
    """Pack keys of one length behind each other."""
    return b64encode(b"".join(values)).decode()
