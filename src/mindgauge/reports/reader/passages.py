"""Messages and replies of some lines of the reader, in full, as they may be shown."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree

import msgspec
import polars as pl

from mindgauge.analysis import frame
from mindgauge.raters.window import Unit
from mindgauge.records import HELD, REASONING, Evidence, Message
from mindgauge.reports import texts
from mindgauge.reports.dialogues import read_dialogues as dialogues
from mindgauge.reports.draw.drawing import draw_ribbon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section

Ribbons: TypeAlias = "dict[tuple[str, int, int], tuple[list[Any], str]]"
"""Dialogue, system's place and repeat → its drawing as nested lists, and what that says in words."""
_TEXTS = "SELECT id, text, provenance FROM replies WHERE benchmark = ? AND id IN (SELECT value FROM json_each(?))"
_BODIES = "SELECT id, body FROM samples WHERE benchmark = ? AND id IN (SELECT value FROM json_each(?))"
_HELD, _REASONING = f'"{HELD}"', f'"{REASONING}"'


class _Body(msgspec.Struct):
    """What a sample's messages are read from."""

    messages: tuple[Message, ...] = ()


class _Provenance(msgspec.Struct, rename={"history": HELD}):
    """What of a reply's provenance says which dialogue it answers, and what the model thought before it."""

    history: tuple[Message, ...] | None = None
    reasoning: str = ""


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_provenance = msgspec.json.Decoder(_Provenance).decode


ShownText: TypeAlias = tuple[str, str, str]
"""A text that may be shown: who speaks, what, in which language."""
_LINE = (
    "line", "group", "subject", "sample", "system", "repeat", "unit", "dialogue", "protocol", "language", "status", "hidden",
)  # fmt: skip
"""Columns of a line, as far as its texts go."""


class _ShardSources:
    """What a run holds for some lines: samples' messages, replies, dialogues that were held, places of hidden samples."""

    def __init__(self, run: OpenRun, section: Section, lines: Sequence[dict[str, Any]]) -> None:
        benchmark = section.benchmark.name
        wanted = list(dict.fromkeys(line["sample"] for line in lines if not line["hidden"]))
        hidden = list(dict.fromkeys(line["sample"] for line in lines if line["hidden"]))
        self.places = texts.places(run, section, hidden)
        self.messages = {
            ident: _decode_body(body).messages for ident, body in run.store.select(_BODIES, (benchmark, _json(wanted)))
        }
        self.replies: dict[str, str] = {}
        self.histories: dict[str, tuple[Message, ...]] = {}
        self.reasoning: dict[str, str] = {}
        turns: dict[Message, Message] = {}  # the turns of a dialogue share what is before them
        subjects = [] if section.benchmark.closed else [line["subject"] for line in lines if not line["hidden"]]
        for ident, text, provenance in run.store.select(_TEXTS, (benchmark, _json(subjects))):
            self.replies[ident] = text
            origin = provenance.decode() if isinstance(provenance, bytes) else provenance
            facts = _decode_provenance(origin) if _HELD in origin or _REASONING in origin else _Provenance()
            if facts.history is not None:
                self.histories[ident] = tuple(turns.setdefault(message, message) for message in facts.history)
            if facts.reasoning:
                self.reasoning[ident] = texts.clean(facts.reasoning)

    def dialogue(self, lines: Sequence[dict[str, Any]]) -> tuple[Message, ...]:
        """Return the dialogue of a group: its sample's, or, of one that was held, all of it up to the last reply."""
        messages = self.messages.get(lines[0]["sample"], ())
        if lines[0]["dialogue"] is None:
            return messages
        last = max((line["subject"] for line in lines), key=lambda subject: len(self.histories.get(subject, ())))
        reply = self.replies.get(last, "")
        return (*_system(messages), *self.histories.get(last, ()), *([Message("assistant", reply)] if reply else []))

    def ends(self, lines: Sequence[dict[str, Any]], messages: Sequence[Message]) -> list[int]:
        """Return at which message of a dialogue each line's reply stands; past the last for the dialogue as a whole."""
        if lines[0]["dialogue"] is None or lines[0]["hidden"]:
            return []
        before = len(_system(messages))
        return [
            len(messages) if line["unit"] == Unit.DIALOGUE else before + len(self.histories.get(line["subject"], ()))
            for line in lines
        ]


def of_lines(run: OpenRun, section: Section, part: pl.DataFrame, ribbons: Ribbons) -> dict[str, Any]:
    """Return the texts of some lines of a section, whole groups of them (columns as in `rows.rows`, with `line`).

    A group is what is read together: its first line, counted in the file; `place`, where it stands if its texts may not be
    shown; `ends` of a dialogue; the ribbon, and what this shows in words. `histories` are dialogues of single lines that
    answer another one than their group's; `reasoning` what the model thought before a reply, where that was kept.
    """
    lines = list(part.select(_LINE).iter_rows(named=True))
    sources = _ShardSources(run, section, lines)
    first = lines[0]["line"]
    groups: list[dict[str, Any]] = []
    histories: dict[int, list[ShownText]] = {}
    for _, own in groupby(lines, key=lambda line: line["group"]):
        together = list(own)
        head, messages = together[0], () if together[0]["hidden"] else sources.dialogue(together)
        drawing, caption = ribbons.get((head["dialogue"] or "", head["system"], head["repeat"]), (None, ""))
        groups.append({
            "first": head["line"] - first, "sample": head["sample"], "messages": _shown(messages, head["language"]),
            "place": f"{head['sample']}, {sources.places[head['sample']]}" if head["hidden"] else "", "protocol": head["protocol"] or "",
            "dialogue": head["dialogue"] is not None, "ends": sources.ends(together, messages), "ribbon": drawing, "caption": caption,
        })  # fmt: skip
        if head["dialogue"] is None and not head["hidden"]:
            for line in together:
                answered = (*_system(messages), *sources.histories.get(line["subject"], messages))
                if line["subject"] in sources.histories and answered != messages:
                    histories[line["line"] - first] = _shown(answered, line["language"])
    replies = [
        None if line["hidden"] or section.benchmark.closed else texts.clean(sources.replies.get(line["subject"], ""))
        for line in lines
    ]
    return {
        "groups": groups,
        "subjects": [line["subject"] for line in lines],
        "replies": replies,
        "languages": [
            texts.language_of(reply, line["language"] or "en") if reply else ""
            for reply, line in zip(replies, lines, strict=True)
        ],
        "statuses": [line["status"] for line in lines],
        "histories": histories,
        "reasoning": {
            line["line"] - first: sources.reasoning[line["subject"]]
            for line in lines
            if line["subject"] in sources.reasoning
        },
    }


def _system(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(message for message in messages if message.role == "system")


def _shown(messages: Sequence[Message], language: str | None) -> list[ShownText]:
    cleaned = [(message.role, texts.clean(message.content)) for message in messages]
    return [(role, text, texts.language_of(text, language or "en")) for role, text in cleaned]


def _json(values: Sequence[object]) -> str:
    return msgspec.json.encode(values).decode()


def ribbons(run: OpenRun, section: Section, systems: Sequence[System]) -> Ribbons:
    """Draw every dialogue of a section as nested lists, with what each drawing says."""
    if not section.holds_dialogues:
        return {}
    places = {system.number: place for place, system in enumerate(systems)}
    own = [system for system in systems if system.run == section.run]
    drawn, _ = dialogues(run, section, own, section.benchmark.situation)
    return {
        (dialogue, places[ribbon.system.number], int(repeat)): (_nested(ElementTree.fromstring(draw_ribbon(ribbon))), ribbon.said)  # noqa: S314 - drawn by us
        for ribbon in drawn
        for dialogue, _, repeat in [ribbon.key.rpartition("/")]
    }  # fmt: skip


def _nested(node: ElementTree.Element) -> list[Any]:
    """Write a picture as lists: a name, attributes, and what is in it."""
    inside = [part for child in node for part in (_nested(child), child.tail) if part]
    return [node.tag, dict(node.attrib), *([node.text] if node.text else []), *inside]


LONGEST_REASON = 20_000
_SERIES = "SELECT id, rater, criterion FROM series WHERE benchmark = ? ORDER BY id"
_RATED = """
SELECT subject, run, status, CAST(value AS TEXT), origin, reason, quotes FROM rated
WHERE series = ? AND status != 'not_applicable'"""
_COLUMNS = {"subject": str, "run": int, "status": str, "value": str, "origin": int, "reason": int, "quotes": int}
_ORIGINS = "SELECT id, rater_kind, coalesce(protocol, '') FROM origins"
_PIECES = "SELECT id, said FROM pieces WHERE id IN (SELECT value FROM json_each(?))"
_KINDS = {"person": 0, "model": 1, "classifier": 2, "panel": 3, "rule": 4}
_FEW = pl.Schema({"status": pl.Categorical(), "value": pl.Categorical()})
"""Columns of few different texts."""
_decode_evidence = msgspec.json.Decoder(tuple[Evidence, ...]).decode


VERDICTS = (
    "line", "rater", "kind", "criterion", "run", "status", "level", "other", "protocol", "reason", "quotes", "reasons", "quoted",
)  # fmt: skip
"""Columns of verdicts. `line` is counted in the file, of closed questions it is the group's first.

`level` is a place among the criterion's values, -1 for none of them; then `other` has the value itself, by the verdict's
place. `reason` and `quotes` are places in their lists, -1 for none.
"""


class VerdictRows:
    """The verdicts of one benchmark in one run, as numbers, in the order of the lines; texts are read as they are needed."""

    def __init__(
        self, run: OpenRun, section: Section, lines: pl.DataFrame, raters: dict[str, int], criteria: Sequence[Criterion]
    ) -> None:
        """Read them.

        Args:
            run: where they stand.
            section: whose verdicts.
            lines: the section's, with `line`.
            raters: rater → place.
            criteria: the section's, in their order.
        """
        self._run, self._criteria = run, criteria
        key = "sample" if section.benchmark.closed else "subject"
        first = lines.group_by(key, maintain_order=True).agg(pl.col("line").min()).rename({key: "subject"})
        columns = pl.DataFrame(schema={**_COLUMNS, **first.schema, "rater": int, "criterion": int}).drop("subject")
        parts = [columns.cast(_FEW)]
        places = {criterion.name: place for place, criterion in enumerate(criteria)}
        for ident, rater, criterion in run.store.select(_SERIES, (section.benchmark.name,)).fetchall():
            if rater in raters and criterion in places:
                series = frame.columns(run.store, _RATED, (ident,), **_COLUMNS).cast(_FEW)
                series = series.join(first, on="subject", maintain_order="left").drop("subject")
                place = {"rater": pl.lit(raters[rater], pl.Int64), "criterion": pl.lit(places[criterion], pl.Int64)}
                parts.append(series.with_columns(**place))
        origins = frame.columns(run.store, _ORIGINS, (), origin=int, kind=str, protocol=str).with_columns(
            pl.col("protocol").cast(pl.Categorical), place=pl.col("kind").replace_strict(_KINDS, default=None, return_dtype=pl.Int64)
        )  # fmt: skip
        self.rows = (
            pl.concat(parts).join(origins.drop_nulls("place"), on="origin", maintain_order="left")
            .sort("line", "criterion", "place", "rater", "run", maintain_order=True).drop("origin", "place")
        )  # fmt: skip

    def of_lines(self, part: pl.DataFrame) -> dict[str, Any]:
        """Return those of some lines that stand side by side, in columns (`VERDICTS`), less what may not be shown."""
        first, end = int(part["line"][0]), int(part["line"][-1]) + 1
        start, stop = (int(self.rows["line"].search_sorted(line, "left")) for line in (first, end))
        hidden = part.filter("hidden")["line"]
        rows = self.rows.slice(start, stop - start).with_columns(
            pl.when(~pl.col("line").is_in(hidden.implode())).then(pl.col("reason", "quotes"))
        )
        language = {line: name or "en" for line, name in part.select("line", "language").iter_rows()}
        reasons = {ident: language[line] for ident, line in rows.select("reason", "line").drop_nulls().iter_rows()}
        quotes = list(dict.fromkeys(rows["quotes"].drop_nulls().to_list()))
        pieces: dict[int, str] = dict(
            self._run.store.select(_PIECES, (msgspec.json.encode(list(dict.fromkeys([*reasons, *quotes]))).decode(),))
        )
        levels, other = self._levels(rows)
        columns = (
            (rows["line"].cast(pl.Int64) - first).to_list(), rows["rater"].to_list(), rows["kind"].to_list(), rows["criterion"].to_list(),
            rows["run"].to_list(), rows["status"].to_list(), levels, other, rows["protocol"].to_list(),
            _placed(rows["reason"], list(reasons)), _placed(rows["quotes"], quotes),
            [_said(pieces.get(ident, ""), of) for ident, of in reasons.items()],
            [[(texts.clean(q.quote), q.found) for q in _decode_evidence(pieces[ident])] for ident in quotes],
        )  # fmt: skip
        return dict(zip(VERDICTS, columns, strict=True))

    def _levels(self, rows: pl.DataFrame) -> tuple[list[int], dict[int, str]]:
        """Return each value's place among its criterion's, and, by their places, the values that are on no level."""
        places = [{str(value): place for place, value in enumerate(c.values)} for c in self._criteria]
        values = list(zip(rows["criterion"].to_list(), rows["value"].to_list(), strict=True))
        levels = [places[criterion].get(value, -1) for criterion, value in values]
        other = {
            place: texts.clean(value)
            for place, (_, value) in enumerate(values)
            if levels[place] < 0 and value is not None
        }
        return levels, other


def _placed(idents: pl.Series, known: Sequence[int]) -> list[int]:
    places = {ident: place for place, ident in enumerate(known)}
    return [places.get(ident, -1) for ident in idents.to_list()]


def _said(reason: str, language: str) -> ShownText:
    text = texts.clean(texts.cut(reason, LONGEST_REASON)[0])
    return "", text, texts.language_of(text, language)
