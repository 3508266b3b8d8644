"""The reader as a folder beside the page: written anew in one step, in the place of one that a report left there."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from base64 import b64encode
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import polars as pl

from mindgauge.raters.window import Unit
from mindgauge.records.english import words
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.rubric.criterion import shares
from mindgauge.reports import render, texts
from mindgauge.reports.draw import canvas
from mindgauge.reports.reader import passages
from mindgauge.reports.reader.passages import VerdictRows
from mindgauge.reports.reader.rows import Sign, rows, seen
from mindgauge.reports.runs import GOLD, RULE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section


Record: TypeAlias = "dict[str, Any]"
"""A part of the reader's data, by the names that its script reads."""


def known_raters(sections: Sequence[tuple[OpenRun, Section]]) -> list[Record]:
    """Name everybody who rated anything, people first: `name`, and `kind` (a person, a model, a rule)."""
    kinds = {rater: kind for _, section in sections for rater, kind in section.raters}
    return [{"name": name, "kind": kind} for name, kind in kinds.items()]


def reader_index(
    title: str,
    rows: pl.DataFrame,
    sections: Sequence[tuple[OpenRun, Section]],
    systems: Sequence[System],
    shards: Sequence[int],
) -> Record:
    """Put the index together: of every line what can be seen and filtered, in columns, in the order of the data.

    Args:
        title: of the page.
        rows: every line (columns of `rows.rows` and `rows.seen`).
        sections: by their places.
        systems: by theirs.
        shards: the first line of each file.

    Returns:
        `hidden` says what is said of restricted texts; a system has the number of its colour and the outline of its mark;
        `whole` is 1 for a dialogue as a whole.
    """
    everybody = known_raters(sections)
    several_runs = len({id(run) for run, _ in sections}) > 1
    places = {rater["name"]: place for place, rater in enumerate(everybody)}
    numbers = ("section", "system", "group", "signs", "rank", "turn", "repeat")
    closed = [place for place, (_, section) in enumerate(sections) if section.benchmark.closed]
    of_closed = rows.select(pl.when(pl.col("section").is_in(closed)).then(pl.col("target", "answer")))
    return {
        "title": title,
        "lines": len(rows),
        "hidden": texts.hidden(list({id(run): run for run, _ in sections}.values())),
        "systems": [
            {"label": s.label, "model": s.model, "colour": s.number % len(canvas.COLOURS), "shape": canvas.shape(s)}
            for s in systems
        ],
        "raters": everybody,
        "sections": [
            _section(rows, place, run, section, places, with_run=several_runs)
            for place, (run, section) in enumerate(sections)
        ],
        "shards": list(shards),
        "signs": {sign.name.lower(): sign.value for sign in Sign if sign.name},
        **{"sign" if name == "signs" else name: packed(rows[name]) for name in numbers},
        "category": named(rows["category"]),
        "language": named(rows["language"]),
        "label": named(of_closed["target"]),
        "answer": named(of_closed["answer"]),
        "persona": named(rows["persona"]),
        "words": named(rows["words"]),
        "why": named(rows["why"]),
        "rater": _rated_by(rows, sections, places),
        "whole": packed((rows["unit"] == Unit.DIALOGUE.value).cast(pl.Int64)),
        "keys": b64encode(b"".join(rows["key"].to_list())).decode(),
    }


def _section(
    rows: pl.DataFrame, place: int, run: OpenRun, section: Section, raters: dict[str, int], *, with_run: bool
) -> Record:
    """Describe one benchmark in one run: its first line, how many it has, the criteria, and (`rated`) on which of these levels are listed."""
    lines = rows.with_row_index("line").filter(pl.col("section") == place)["line"]
    benchmark = section.benchmark
    criteria = list(judged_on(section).values())
    return {
        "benchmark": benchmark.name,
        "title": benchmark.card.title,
        "run": run.folder.resolve().name if with_run else "",
        "closed": benchmark.closed,
        "about_reply": benchmark.about_reply,
        "dialogues": section.holds_dialogues,
        "first": int(lines[0]) if len(lines) else 0,
        "lines": len(lines),
        "criteria": [_criterion(run, section, criterion, raters) for criterion in criteria],
        "rated": [
            number
            for number, criterion in enumerate(criteria)
            if not benchmark.closed and criterion in benchmark.rubric.criteria
        ],
    }


def judged_on(section: Section) -> dict[str, Criterion]:
    """Return every criterion that raters were asked about, and what rules read from replies: not what follows from these."""
    return {c.name: c for c in (*section.benchmark.criteria, *section.benchmark.foreign_criteria)}


def _criterion(run: OpenRun, section: Section, criterion: Criterion, raters: dict[str, int]) -> Record:
    """Describe a criterion: how far each value stands from the worst, 0; its levels' words; whose scores are withheld, and why."""
    values = [str(value) for value in criterion.values]
    shares_of = {str(value): place for value, place in shares(criterion).items()}
    withheld = texts.withheld_judges(run, section, criterion.name)
    return {
        "name": criterion.name,
        "words": words(criterion.name),
        "harm": criterion.veto,
        "values": values,
        "places": [shares_of.get(value) for value in values],
        "unsafe": [place for place, value in enumerate(criterion.values) if value in criterion.unsafe],
        "texts": _meanings(criterion),
        "withheld": {raters[judge]: reason for judge, reason in withheld.items() if judge in raters},
    }


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


def _rated_by(rows: pl.DataFrame, sections: Sequence[tuple[OpenRun, Section]], places: dict[str, int]) -> Record:
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


def levels(rows: pl.DataFrame, place: int, section: Section, criterion: Criterion, raters: dict[str, int]) -> Record:
    """Return who gave which level on one criterion of a section: of each rater (by place) the sets of levels, line by line.

    One past the last level stands for a verdict that cannot be used.
    """
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
    return {"raters": [raters[name] for name in people_first], "columns": columns}


_WIDTHS = ((1, pl.UInt8), (2, pl.UInt16), (4, pl.UInt32))


def packed(numbers: pl.Series) -> Record:
    """Pack whole numbers from 0, `bytes` wide each, the lowest byte first, in base 64; nothing counts as 0."""
    highest = int(numbers.max() or 0)  # type: ignore[arg-type]
    width, kind = next((width, kind) for width, kind in _WIDTHS if highest < 2 ** (8 * width))
    values = numbers.fill_null(0).cast(kind).to_numpy()
    return {"bytes": width, "data": b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode()}


def named(texts: pl.Series) -> Record:
    """Pack texts as places, from 1, in a list of those that differ, as they first stand; nothing and an empty text are 0."""
    names = texts.drop_nulls().unique(maintain_order=True)
    names = names.filter(names != "")
    places = {name: place for place, name in enumerate(names.to_list(), 1)}
    return {"names": list(places), "places": packed(texts.replace_strict(places, default=0, return_dtype=pl.Int64))}


def sets(lines: pl.Series, members: pl.Series, length: int) -> Record:
    """Pack which numbers stand beside each line, as places in a list of sets; the first of these is empty.

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
    sets_of = [[], *([int(member) for member in name.split(",")] for name in column["names"])]
    return {"sets": sets_of, "places": column["places"]}


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
    """Return every line with what is to be seen of it (columns of `rows.rows` and `rows.seen`)."""
    known = rows(runs, systems)
    return pl.concat(
        [known, seen(known, [(run, section) for run in runs for section in run.sections])], how="horizontal"
    )


def data(
    title: str, lines: pl.DataFrame, runs: Sequence[OpenRun], systems: Sequence[System]
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the data, the index first."""
    sections = [(run, section) for run in runs for section in run.sections]
    firsts = starts(lines)
    raters = {rater["name"]: number for number, rater in enumerate(known_raters(sections))}
    criteria = [list(judged_on(section).values()) for _, section in sections]
    index = reader_index(title, lines, sections, systems, firsts)
    yield "data/index.js", script("index", index)
    for place, (_, section) in enumerate(sections):
        for number in index["sections"][place]["rated"]:
            criterion = criteria[place][number]
            name = f"levels-{place}-{number}"
            yield f"data/{name}.js", script(name, levels(lines, place, section, criterion, raters))
    for number, contents in enumerate(read_shards(lines, sections, systems, raters, criteria, firsts)):
        name = f"{number:04}"
        yield f"data/{name}.js", script(name, *contents)


def script(name: str, *contents: Record) -> bytes:
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
) -> Iterator[tuple[Record, Record]]:  # fmt: skip
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
