"""The reader's texts and verdicts, some hundred lines a file: read from the run file by file, so that a large one takes little memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree

import msgspec
import polars as pl

from mindgauge.analysis import frame
from mindgauge.raters.window import Unit
from mindgauge.records import HELD, Evidence, Message
from mindgauge.reports import texts
from mindgauge.reports.draw.dialogues import draw_ribbon
from mindgauge.reports.ribbons import dialogues
from mindgauge.reports.runs import GOLD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section

Ribbons: TypeAlias = "dict[tuple[str, int, int], tuple[list[Any], str]]"
"""Dialogue, system's place and repeat → its drawing as nested lists, and what that says in words."""
LINES, CHARACTERS = 500, 2_000_000
"""A file holds about so many lines; fewer where these have many characters."""
LONGEST_REASON = 20_000
_RATED = """
SELECT rated.series, subject, run, status, CAST(value AS TEXT), rated.origin, rated.reason, rated.quotes
FROM series JOIN rated ON rated.series = series.id WHERE benchmark = ? ORDER BY series.id"""
_ORIGINS = """
SELECT id, rater_kind, coalesce(protocol, '') FROM origins
WHERE id IN (SELECT origin FROM rated JOIN series ON series.id = rated.series WHERE benchmark = ?)"""
_TEXTS = "SELECT id, text, provenance FROM replies WHERE benchmark = ? AND id IN (SELECT value FROM json_each(?))"
_BODIES = "SELECT id, body FROM samples WHERE benchmark = ? AND id IN (SELECT value FROM json_each(?))"
_PIECES = "SELECT id, said FROM pieces WHERE id IN (SELECT value FROM json_each(?))"
_KINDS = ("person", "model", "classifier", "panel", "rule")


class _Body(msgspec.Struct):
    """What a sample's messages are read from."""

    messages: tuple[Message, ...] = ()


class _Provenance(msgspec.Struct):
    """What of a reply's provenance says which dialogue it answers."""

    held: tuple[Message, ...] | None = None


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_provenance = msgspec.json.Decoder(_Provenance).decode
_decode_evidence = msgspec.json.Decoder(tuple[Evidence, ...]).decode


class Turn(msgspec.Struct, frozen=True, array_like=True):
    """One message of a dialogue: who speaks, what, in which language."""

    role: str
    text: str
    language: str


class GroupTexts(msgspec.Struct, frozen=True):
    """What is read together. `place` says where it stands if its texts may not be shown."""

    first: int
    """Its first line, counted in the file."""
    sample: str
    messages: list[Turn]
    place: str
    protocol: str
    dialogue: bool = False
    ends: list[int] = []
    """In a dialogue: at which message each line's reply stands; past the last for the dialogue as a whole."""
    ribbon: list[Any] | None = None
    said: str = ""
    """What the ribbon shows, in words."""


class ShardTexts(msgspec.Struct, frozen=True):
    """Messages and replies. `held` are dialogues of single lines, which answer another one than their group's."""

    groups: list[GroupTexts]
    subjects: list[str]
    replies: list[str | None]
    languages: list[str]
    statuses: list[str]
    held: dict[int, list[Turn]]


class ShardVerdicts(msgspec.Struct, frozen=True):
    """Verdicts in columns; `line` is counted in the file, of closed questions it is the group's first.

    `level` is a place among the criterion's values, -1 for none of them; then `other` has the value itself, by the
    verdict's place. `reason` and `quotes` are places in their lists, -1 for none.
    """

    line: list[int]
    rater: list[int]
    kind: list[str]
    criterion: list[int]
    run: list[int]
    status: list[str]
    level: list[int]
    other: dict[int, str]
    protocol: list[str]
    reason: list[int]
    quotes: list[int]
    reasons: list[Turn]
    quoted: list[list[tuple[str, bool]]]


def starts(rows: pl.DataFrame) -> list[int]:
    """Return the first line of each file: no group is divided, and no file holds lines of two sections."""
    groups = rows.group_by("group", maintain_order=True).agg(
        pl.len().alias("lines"), pl.col("weight").sum(), pl.col("section").first()
    )
    firsts: list[int] = []
    line, lines, weight, section = 0, 0, 0, -1
    for _, n, characters, own in groups.iter_rows():
        if not firsts or own != section or lines + n > LINES or weight + characters > CHARACTERS:
            firsts.append(line)
            lines = weight = 0
            section = own
        line, lines, weight = line + n, lines + n, weight + (characters or 0)
    return firsts


class VerdictRows:
    """The verdicts of one benchmark in one run, as numbers, in the order of the lines."""

    def __init__(
        self, run: OpenRun, section: Section, part: pl.DataFrame, raters: dict[str, int], criteria: Sequence[str]
    ) -> None:
        """Read them.

        Args:
            run: where they stand.
            section: whose verdicts.
            part: the section's lines, with `line`.
            raters: rater → place.
            criteria: the section's, in their order.
        """
        name = (section.benchmark.name,)
        text, integer = pl.String, pl.Int64
        rated = frame.columns(
            run.store, _RATED, name, series=integer, subject=text, run=integer, status=pl.Categorical, value=pl.Categorical, origin=integer,
            reason=integer, quotes=integer,
        )  # fmt: skip
        series = frame.columns(
            run.store, "SELECT id, rater, criterion FROM series WHERE benchmark = ?", name, series=integer, rater=text, criterion=text
        ).with_columns(
            rater=pl.col("rater").replace_strict(raters, default=None, return_dtype=integer),
            criterion=pl.col("criterion").replace_strict({c: i for i, c in enumerate(criteria)}, default=None, return_dtype=integer),
        ).filter(pl.col("rater").is_not_null(), pl.col("criterion").is_not_null())  # fmt: skip
        origins = frame.columns(run.store, _ORIGINS, name, origin=integer, kind=pl.Categorical, protocol=pl.Categorical)
        key = "sample" if section.benchmark.closed else "subject"
        lines = part.group_by(key, maintain_order=True).agg(pl.col("line").min()).rename({key: "subject"})
        self.rows = (
            rated.filter(pl.col("status") != "not_applicable")
            .join(lines, on="subject", maintain_order="left")
            .drop("subject")
            .join(series, on="series", maintain_order="left")
            .join(origins, on="origin", maintain_order="left")
            .filter(pl.col("kind") != GOLD)
            .drop("series", "origin")
            .sort("line", "criterion", pl.col("kind").cast(text).replace_strict({k: i for i, k in enumerate(_KINDS)}, default=9), "rater", "run", maintain_order=True)
        )  # fmt: skip

    def between(self, first: int, end: int) -> pl.DataFrame:
        """Return those of some lines."""
        lines = self.rows["line"]
        start, stop = (int(lines.search_sorted(line, "left")) for line in (first, end))
        return self.rows.slice(start, stop - start)


def shards(
    rows: pl.DataFrame, sections: Sequence[tuple[OpenRun, Section]], systems: Sequence[System], raters: dict[str, int],
    criteria: Sequence[Sequence[str]], firsts: Sequence[int],
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
    current, verdicts = -1, None
    drawn: Ribbons = {}
    for first, end in zip(firsts, [*firsts[1:], len(rows)], strict=True):
        part = lines.slice(first, end - first)
        place = int(part["section"][0])
        run, section = sections[place]
        if place != current or verdicts is None:
            own = lines.filter(pl.col("section") == place)
            current, verdicts = place, VerdictRows(run, section, own, raters, criteria[place])
            drawn = ribbons(run, section, systems)
        yield (
            _texts(run, section, part, drawn),
            _verdicts(run, section, part, verdicts.between(first, end), criteria[place]),
        )


def _texts(run: OpenRun, section: Section, part: pl.DataFrame, ribbons: Ribbons) -> ShardTexts:
    benchmark = section.benchmark.name
    first = int(part["line"][0])
    language = {ident: name or "en" for ident, name in part.select("sample", "language").iter_rows()}
    wanted = [ident for ident in part["sample"].unique(maintain_order=True) if not section.hides(ident)]
    bodies = {
        ident: _decode_body(body).messages for ident, body in run.store.select(_BODIES, (benchmark, _json(wanted)))
    }
    replies: dict[str, str] = {}
    held: dict[str, tuple[Message, ...]] = {}
    if not section.benchmark.closed:
        for ident, text, provenance in run.store.select(_TEXTS, (benchmark, _json(part["subject"].to_list()))):
            replies[ident] = text
            if f'"{HELD}"'.encode() in (provenance if isinstance(provenance, bytes) else provenance.encode()):
                before = _decode_provenance(provenance).held
                if before is not None:
                    held[ident] = before
    places = texts.places(run, section, part.filter("hidden")["sample"].unique(maintain_order=True).to_list())
    groups: list[GroupTexts] = []
    answered: dict[int, list[Turn]] = {}
    for (_,), lines in part.group_by("group", maintain_order=True):
        sample, subjects = str(lines["sample"][0]), lines["subject"].to_list()
        hidden = section.hides(sample)
        messages = () if hidden else _longest(bodies.get(sample, ()), held, replies, lines)
        drawing, said = ribbons.get((lines["dialogue"][0], lines["system"][0], lines["repeat"][0]), (None, ""))
        groups.append(GroupTexts(
            int(lines["line"][0]) - first, sample, _turns(messages, language[sample]),
            f"{sample}, {places[sample]}" if hidden else "", str(lines["protocol"][0] or ""), lines["dialogue"][0] is not None,
            [] if hidden or lines["dialogue"][0] is None else _ends(lines, held, messages), drawing, said,
        ))  # fmt: skip
        if not hidden and lines["dialogue"][0] is None:
            system = [message for message in messages if message.role == "system"]
            answered |= {
                line - first: _turns([*system, *held[subject]], language[sample])
                for line, subject in zip(lines["line"].to_list(), subjects, strict=True)
                if subject in held and (*system, *held[subject]) != tuple(messages)
            }
    hides = part["hidden"].to_list()
    shown = [
        None if hidden or section.benchmark.closed else texts.clean(replies.get(subject, ""))
        for subject, hidden in zip(part["subject"], hides, strict=True)
    ]
    return ShardTexts(
        groups, part["subject"].to_list(), shown,
        [texts.language_of(text, language[sample]) if text else "" for text, sample in zip(shown, part["sample"], strict=True)],
        part["status"].to_list(), answered,
    )  # fmt: skip


def ribbons(run: OpenRun, section: Section, systems: Sequence[System]) -> Ribbons:
    """Draw every dialogue of a section as nested lists, with what each drawing says."""
    if not section.holds_dialogues:
        return {}
    places = {system.number: place for place, system in enumerate(systems)}
    own = [system for system in systems if system.run == section.run]
    rated = dialogues(run, section, own, section.benchmark.situation)
    return {
        (dialogue, places[ribbon.system.number], int(repeat)): (_nested(ElementTree.fromstring(draw_ribbon(ribbon))), ribbon.said)  # noqa: S314 - drawn by us
        for ribbon in rated.ribbons
        for dialogue, _, repeat in [ribbon.key.rpartition("/")]
    }  # fmt: skip


def _nested(node: ElementTree.Element) -> list[Any]:
    """Write a picture as lists: a name, attributes, and what is in it."""
    inside = [part for child in node for part in (_nested(child), child.tail) if part]
    return [node.tag, dict(node.attrib), *([node.text] if node.text else []), *inside]


def _longest(
    messages: tuple[Message, ...], held: dict[str, tuple[Message, ...]], replies: dict[str, str], lines: pl.DataFrame
) -> tuple[Message, ...]:
    """Return the dialogue of a group: its sample's, or, of one that was held, all of it up to the last reply."""
    if lines["dialogue"][0] is None:
        return messages
    system = tuple(message for message in messages if message.role == "system")
    last = max(lines["subject"].to_list(), key=lambda subject: len(held.get(subject, ())))
    reply = replies.get(last, "")
    return (*system, *held.get(last, ()), *([Message("assistant", reply)] if reply else []))


def _ends(lines: pl.DataFrame, held: dict[str, tuple[Message, ...]], messages: Sequence[Message]) -> list[int]:
    systems = sum(message.role == "system" for message in messages)
    return [
        len(messages) if unit == Unit.DIALOGUE else systems + len(held.get(subject, ()))
        for subject, unit in lines.select("subject", "unit").iter_rows()
    ]


def _turns(messages: Sequence[Message], language: str) -> list[Turn]:
    return [
        Turn(m.role, text, texts.language_of(text, language)) for m in messages for text in [texts.clean(m.content)]
    ]


def _verdicts(
    run: OpenRun, section: Section, part: pl.DataFrame, rows: pl.DataFrame, criteria: Sequence[str]
) -> ShardVerdicts:
    first = int(part["line"][0])
    language = {line: name or "en" for line, name in part.select("line", "language").iter_rows()}
    hidden = part.filter("hidden")["line"]
    rows = rows.with_columns(pl.when(~pl.col("line").is_in(hidden.implode())).then(pl.col("reason", "quotes")))
    of_reason = dict(zip(rows["reason"].to_list(), rows["line"].to_list(), strict=True))
    of_reason.pop(None, None)
    ids = list(dict.fromkeys([*of_reason, *rows["quotes"].drop_nulls().to_list()]))
    pieces: dict[int, str] = dict(run.store.select(_PIECES, (_json(ids),)))
    reasons = {ident: place for place, ident in enumerate(of_reason)}
    quotes = {
        ident: place for place, ident in enumerate(rows["quotes"].drop_nulls().unique(maintain_order=True).to_list())
    }
    values = [[str(value) for value in known.values] for known in _known(section, criteria)]
    levels, other = [], {}
    for place, (criterion, value) in enumerate(zip(rows["criterion"].to_list(), rows["value"].to_list(), strict=True)):
        known_level = values[criterion].index(value) if value in values[criterion] else -1
        levels.append(known_level)
        if known_level < 0 and value is not None:
            other[place] = texts.clean(value)
    said = [texts.clean(texts.cut(pieces.get(ident, ""), LONGEST_REASON)[0]) for ident in reasons]
    return ShardVerdicts(
        (rows["line"].cast(pl.Int64) - first).to_list(), rows["rater"].to_list(), rows["kind"].to_list(), rows["criterion"].to_list(), rows["run"].to_list(),
        rows["status"].to_list(), levels, other, rows["protocol"].to_list(),
        [reasons.get(ident, -1) for ident in rows["reason"].to_list()], [quotes.get(ident, -1) for ident in rows["quotes"].to_list()],
        [Turn("", text, texts.language_of(text, language[of_reason[ident]])) for ident, text in zip(reasons, said, strict=True)],
        [[(texts.clean(quote.quote), quote.found) for quote in _decode_evidence(pieces[ident])] for ident in quotes],
    )  # fmt: skip


def _known(section: Section, criteria: Sequence[str]) -> list[Any]:
    by_name = {c.name: c for c in (*section.benchmark.criteria, *section.benchmark.foreign_criteria)}
    return [by_name[name] for name in criteria]


def _json(values: Sequence[object]) -> str:
    return msgspec.json.encode(values).decode()
