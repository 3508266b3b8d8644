"""What is served: the reader's own pages and data, held in memory; of a draw, without a model's name, a verdict or an id that tells one; and the draw that a run keeps."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from mindgauge.analysis.escalation.review import NO_JUDGE, is_judged, queue
from mindgauge.annotation.blind import Blind
from mindgauge.records.drawn import Drawn
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private
from mindgauge.reports import render
from mindgauge.reports.content import System
from mindgauge.reports.export.worklist import Lot, by_lot
from mindgauge.reports.reader import folder as reader
from mindgauge.reports.reader import passages
from mindgauge.reports.reader.passages import VERDICTS, VerdictRows
from mindgauge.reports.reader.rows import KEY, Sign

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.runs import OpenRun
    from mindgauge.store import Store

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


class ServedReader(NamedTuple):
    """All that is served, packed, by name; what each line is about, by its key; of a draw also what is known of each line.

    `revealed` is what is shown of a drawn reply once it is answered: who wrote it, and what others said.
    """

    how: str
    files: dict[str, bytes]
    lines: dict[str, ViewLine]
    drawn: Mapping[str, Drawn]
    revealed: dict[str, dict[str, Any]]


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
    firsts = reader.starts(lines)
    index = reader.reader_index(title, lines, sections, someone, firsts)
    index["sections"] = [{**section, "rated": []} for section in index["sections"]]
    files = _shell(title, who, BLIND) | _packed([("data/index.js", reader.script("index", index))])
    numbered = lines.with_row_index("line")
    nothing: dict[str, Any] = {column: {} if column == "other" else [] for column in VERDICTS}
    for number, (first, stop) in enumerate(zip(firsts, [*firsts[1:], len(lines)], strict=True)):
        part = numbered.slice(first, stop - first)
        section = sections[part["section"][0]][1]
        texts = passages.of_lines(run, section, part, {})
        texts |= {"subjects": names[first:stop], "groups": [group | {"sample": ""} for group in texts["groups"]]}
        name = f"{number:04}"
        files |= _packed([(f"data/{name}.js", reader.script(name, texts, nothing))])
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


def _revealed(run: OpenRun, lines: pl.DataFrame, systems: Sequence[System]) -> list[dict[str, Any]]:
    """Return what others said of each line, as the reader's own table shows it."""
    sections = [(run, section) for section in run.sections]
    raters = reader.known_raters(sections)
    places = {rater["name"]: place for place, rater in enumerate(raters)}
    numbered = lines.with_row_index("line").with_columns(pl.col("line").cast(pl.Int64))
    listed = reader.reader_index("", lines, sections, systems, [])["sections"]
    revealed: list[dict[str, Any]] = []
    for number, (_, section) in enumerate(sections):
        own = numbered.filter(pl.col("section") == number)
        if own.is_empty():
            continue
        verdicts = VerdictRows(run, section, own, places, list(reader.judged_on(section).values()))
        for row in range(len(own)):
            part = own.slice(row, 1)
            system = systems[part["system"][0]]
            revealed.append({
                "model": system.label, "raters": raters, "criteria": listed[number]["criteria"], "verdicts": verdicts.of_lines(part)
            })  # fmt: skip
    return revealed


_REPLIES = """
SELECT id, sample FROM replies WHERE benchmark = ? AND length(trim(text)) > 0 AND id NOT IN
    (SELECT subject FROM ratings WHERE benchmark = replies.benchmark AND rater_kind = 'person' AND status = 'ok')"""


class KeptDraw(msgspec.Struct, frozen=True):
    """A draw: how it was asked for, the replies in an order by lot, and what is known of each."""

    plan: str
    seed: int
    order: list[str]
    drawn: dict[str, Drawn]
    notes: list[str]


def view_place(folder: Path, benchmark: str) -> Path:
    """Return where a run keeps the draw of a benchmark."""
    return folder / f"view-draw-{benchmark.replace('/', '-')}.json"


def draw_view(store: Store, benchmark: Benchmark, lot: Lot, hidden: Container[str]) -> KeptDraw:
    """Return the draw that a run keeps, or make it; one that was asked for otherwise gives way to the new one.

    Args:
        store: of the run.
        benchmark: whose replies.
        lot: how many are drawn of which part.
        hidden: samples whose texts may not be shown, so that nobody can rate what answers them.

    Raises:
        DataError: nothing is left to draw from.
        UsageError: the draw that is kept is damaged, or cannot be written.
    """
    path = view_place(store.folder, benchmark.name)
    kept_draw = _kept(path)
    if kept_draw is not None and (kept_draw.plan, kept_draw.seed) == (lot.plan.text, lot.seed):
        return kept_draw
    blind = Blind.of(store.folder)
    samples = dict(store.select(_REPLIES, (benchmark.name,)))
    subjects = {subject for subject, sample in samples.items() if sample not in hidden}
    notes: list[str] = []
    if is_judged(store, benchmark.name):
        entries, notes = queue(store, benchmark)
        entries.sort(key=lambda entry: (*entry.order[:-1], blind.review(entry.subject)))
        frame = [entry.subject for entry in entries if entry.subject in subjects]
        plan = lot.plan
    else:
        frame = sorted(subjects, key=blind.review)
        plan = lot.plan.at_random
        notes = [NO_JUDGE]
    if not frame:
        raise DataError(
            f"{store.folder}: no reply of {benchmark.name} is left to draw from: people rated them, or none has a text that may be shown"
        )
    order, drawn, remarks = by_lot(frame, store, benchmark.name, blind, Lot(plan, lot.seed))
    notes = [*remarks, *notes]
    if kept_draw is not None:
        notes.append(
            f"{path.name}: the draw that stood here ({kept_draw.plan}, seed {kept_draw.seed}) gives way to this one; ratings of two draws are not put together"
        )
    made = KeptDraw(lot.plan.text, lot.seed, order, drawn, notes)
    with private.written(path) as file:
        file.write(msgspec.json.encode(made))
    return made


def _kept(path: Path) -> KeptDraw | None:
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(bounds.content(path), type=KeptDraw)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: damaged; put it back from a copy, or remove it, and another draw is made") from error
