"""MentalBench: seven attributes of a supportive reply, and whether a judge may rate them in people's place.

MentalBench-100k and MentalAlign-70k, arXiv 2510.19032, EACL 2026. Departures from the paper: card.toml.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from mindgauge.benchmarks import Benchmark, Released
from mindgauge.benchmarks.mentalbench import cells, released
from mindgauge.benchmarks.mentalbench.cells import CRITERIA, CellFault
from mindgauge.benchmarks.mentalbench.released import Conversations, concern, empty_replies, find, notes, written
from mindgauge.benchmarks.mentalbench.reproduce import reproduce
from mindgauge.benchmarks.metrics import STATUS_RATES, fleiss_kappa, mean_level, share_at_most
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material
from mindgauge.records import RaterKind, Rating, Reply, Status
from mindgauge.records.files.bounds import clean
from mindgauge.records.rubric.composite import Composite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.mentalbench.cells import CellScores
    from mindgauge.benchmarks.mentalbench.released import (
        ConversationRow,
        MentalBenchRelease,
        ParsedSheet,
        RaterSheet,
        Texts,
    )
    from mindgauge.records import Sample


def read(data: Path) -> list[Sample]:
    """Read the conversations, each with the person's one message; blanks in it are single, as every file can agree on.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    return list(Conversations(released.find(data)).samples().values())


def read_judged(data: Path) -> list[Sample]:
    """Read the conversations whose replies the paper's judges rated: its first 1,000; all where no judge's file is there.

    The people's file has one concern more, in the place of another that it lacks.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    samples = Conversations(files).samples()
    judged = (concern(text) for sheet in files.sheets if sheet.kind is RaterKind.MODEL for text in sheet.context)
    return [samples[text] for text in dict.fromkeys(filter(None, judged))] or list(samples.values())


def load(data: Path) -> Released:
    """Load the released replies and everybody's ratings of them.

    Replies are not in the files with ratings: without the 100k file a reply has no text, and says so in its provenance.
    A reply that is empty (there, or by the judges' word) is `unparsable`, and so is every rating of it, because a
    judge was shown the word `nan` in its place. Whatever is not a level from 1 to 5 is `unparsable` too; it stays in
    the provenance (`fault`, `released`).

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    conversations = Conversations(files)
    samples, rated = conversations.samples(), conversations.rated(files)
    located, empty = _seen(files, conversations, rated), empty_replies(files, conversations, rated)
    replies = {
        key: _reply(samples[key[0].concern], key, place_found, conversations, empty=key in empty)
        for key, place_found in located.items()
    }
    ratings = [rating for sheet_rated in rated for rating in _rated(sheet_rated, replies)]
    return Released(
        list(samples.values()), list(replies.values()), ratings, findings(files, conversations, rated, empty)
    )


def _seen(
    files: MentalBenchRelease, conversations: Conversations, rated: list[ParsedSheet]
) -> dict[tuple[ConversationRow, str], tuple[str, int, str | None]]:
    """Return where every reply was seen first, with its text: in the file with the texts, or else in the first that rates it."""
    located: dict[tuple[ConversationRow, str], tuple[str, int, str | None]] = {}
    if (texts := files.texts) is not None:
        for index, place in enumerate(conversations.places(texts)):
            if place is not None:
                for system, column in texts.replies.items():
                    located[place, system] = texts.source, texts.row[index], column[index] or ""
    for sheet_rated in rated:
        for index, place in enumerate(sheet_rated.places):
            if place is not None:
                for system in sheet_rated.scores:
                    located.setdefault((place, system), (sheet_rated.sheet.source, sheet_rated.sheet.row[index], None))
    return located


def _reply(
    sample: Sample,
    key: tuple[ConversationRow, str],
    first_seen: tuple[str, int, str | None],
    conversations: Conversations,
    *,
    empty: bool,
) -> Reply:
    (place, system), (source, row, text) = key, first_seen
    provenance: dict[str, Any] = {"source_file": source, "source_row": row}
    if place.concern in conversations.ids:
        provenance["conv_id"] = conversations.ids[place.concern]
    if text is None:
        provenance["text"] = "not released"
    status = Status.UNPARSABLE if empty else Status.OK
    return Reply.of(sample.id, system, place.occurrence, status, written(text), provenance=provenance)


def _rated(sheet_rated: ParsedSheet, replies: dict[tuple[ConversationRow, str], Reply]) -> Iterator[Rating]:
    for system, column in sheet_rated.scores.items():
        for index, (place, scores) in enumerate(zip(sheet_rated.places, column, strict=True)):
            if place is None:
                continue
            provenance: dict[str, Any] = {
                "source_file": sheet_rated.sheet.source,
                "source_row": sheet_rated.sheet.row[index],
                "conv_id": sheet_rated.sheet.conversation[index],
            }
            if scores.overall is not None:
                provenance["overall"] = cells.plain(scores.overall)
            if scores.repairs:
                provenance["repair"] = ", ".join(scores.repairs)
            cell = sheet_rated.sheet.cells[system][index]
            yield from _of_cell(sheet_rated, scores, replies[place, system], provenance, cell)


def _of_cell(
    sheet_rated: ParsedSheet, scores: CellScores, reply: Reply, provenance: dict[str, Any], cell: str | None
) -> Iterator[Rating]:
    rater, kind = sheet_rated.sheet.rater, sheet_rated.sheet.kind
    for criterion, raw in zip(CRITERIA, scores.raw, strict=True):
        value = cells.level(raw)
        fault = scores.fault or (cells.fault(raw) if value is None else None)
        if fault is None and reply.status is not Status.OK:
            fault = CellFault.EMPTY_REPLY
        if fault is None:
            yield Rating(
                reply.id, criterion, rater, kind, 0, Status.OK, value, scores.explanation, provenance=provenance
            )
            continue
        released_value = clean(cell or "") if scores.fault else cells.plain(raw)
        details = {**provenance, "fault": str(fault), "released": released_value}
        status = Status.REFUSED if fault is CellFault.REFUSAL else Status.UNPARSABLE
        yield Rating(reply.id, criterion, rater, kind, 0, status, None, scores.explanation, provenance=details)


# What is missing, doubled or damaged in the released files, one line each; no word of their texts.


def findings(
    files: MentalBenchRelease,
    conversations: Conversations,
    rated: list[ParsedSheet],
    empty: set[tuple[ConversationRow, str]],
) -> list[str]:
    """Return every finding."""
    lines = [*files.notes, *released.in_part(files)]
    for sheet in files.sheets[1:]:
        lines += _misaligned(files.sheets[0], sheet)
    for sheet_rated in rated:
        lines += (
            f"{sheet_rated.sheet.source}: {line}"
            for line in (*_rows(sheet_rated, conversations), *_values(sheet_rated))
        )
    if empty:
        systems = ", ".join(f"{n} × {name}" for name, n in sorted(Counter(system for _, system in empty).items()))
        lines.append(
            f"empty replies, by their text or else by what the judges say: {len(empty)} ({systems}); ratings of them have no value"
        )
    concerns_held = {concern(context) for context in files.texts.context} if files.texts else set()
    absent = [text for text in conversations.ids if text not in concerns_held]
    if absent and files.texts:
        lines.append(f"{len(absent)} of {len(conversations.ids)} rated conversations are not in {files.texts.source}")
    elif absent:
        lines.append("replies have no text: the files with ratings do not hold it, and the 100k file is not here")
    return lines


def misaligned(first: RaterSheet, second: RaterSheet) -> list[str]:
    """Return the ConvIDs under which two files hold different concerns, blanks aside."""
    by_ident = dict(zip(second.conversation, map(concern, second.context), strict=True))
    pairs = zip(first.conversation, map(concern, first.context), strict=True)
    return [ident for ident, text in pairs if ident in by_ident and by_ident[ident] != text]


def _misaligned(first: RaterSheet, second: RaterSheet) -> Iterator[str]:
    differing = misaligned(first, second)
    if differing:
        yield f"{second.source}: {_many(differing, 'ConvID')} of another concern than in {first.source}; joined by concern"
    first_concerns = {concern(context) for context in first.context}
    alone = [
        i
        for i, text in zip(second.conversation, map(concern, second.context), strict=True)
        if text not in first_concerns
    ]
    if alone:
        yield f"{second.source}: {_many(alone, 'ConvID')} of a concern that is not in {first.source}"


def _rows(sheet_rated: ParsedSheet, conversations: Conversations) -> Iterator[str]:
    ids = sheet_rated.sheet.conversation
    repeated = [i for i, place in zip(ids, sheet_rated.places, strict=True) if place and place.occurrence]
    if repeated:
        yield f"{_many(repeated, 'ConvID')} of a concern that another row has too; kept as replies of their own (run 1 and up)"
    twice = [ident for ident, count in Counter(ids).items() if count > 1]
    if twice:
        yield f"{_many(twice, 'ConvID')} of several rows"
    lost = [str(row) for row, place in zip(sheet_rated.sheet.row, sheet_rated.places, strict=True) if place is None]
    if lost:
        yield f"{_many(lost, 'row')} without a concern; what is rated there cannot be known, so it is not loaded"
    concerns = {place.concern for place in sheet_rated.places if place}
    if len(concerns) < len(conversations.ids):
        yield f"{len(concerns)} of the {len(conversations.ids)} different concerns"


def _values(sheet_rated: ParsedSheet) -> Iterator[str]:
    all_scores = [(system, scores) for system, column in sheet_rated.scores.items() for scores in column]
    blank = Counter(system for system, scores in all_scores if scores.fault is CellFault.EMPTY_CELL)
    unread = Counter(str(scores.fault) for _, scores in all_scores if scores.fault not in {None, CellFault.EMPTY_CELL})
    repairs = Counter(str(repair) for _, scores in all_scores for repair in scores.repairs)
    wrong = [raw for _, scores in all_scores if not scores.fault for raw in scores.raw if cells.level(raw) is None]
    faults = Counter(_shown(raw) for raw in wrong)
    zeros = sum(
        set(scores.raw) == {0} for _, scores in all_scores if not any(isinstance(r, list | dict) for r in scores.raw)
    )
    for counts, label in (
        (blank, "empty cells"),
        (unread, "cells without a verdict"),
        (repairs, "repaired cells"),
        (faults, "values that are no level from 1 to 5"),
    ):
        if counts:
            yield f"{label}: {counts.total()} ({', '.join(f'{n} × {key}' for key, n in counts.most_common())})"
    if zeros:
        yield f"cells that hold nothing but zeros: {zeros}"


def _shown(raw: object) -> str:
    return str(CellFault.NOT_GIVEN) if raw is msgspec.UNSET else "null" if raw is None else f"{cells.plain(raw)!r:.20}"


def _many(names: list[str], noun: str) -> str:
    """Name some rows, the first twenty of them."""
    listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"{len(names)} {noun}{'s' * (len(names) > 1)} ({listed})"


def material(data: Path) -> Material:
    """Read the released files as they are.

    A text's id is its row's ConvID, so that the files' versions of one conversation can be compared; an explanation's
    is ConvID/system, which is also the subject of a rating, and its `source` is the judge. A value is the JSON that
    stands in the cell, on the scale or not; an empty one, and each of a cell that cannot be read, is `unparsable`.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    texts, ratings, notes = [], [], list(files.notes)
    for sheet in files.sheets:
        scores = sheet.scores()
        texts += [_concerns(sheet), _explanations(sheet, scores)]
        ratings.append(_ratings(sheet, scores))
        unread = Counter(str(score.fault) for column in scores.values() for score in column if score.fault)
        notes += [f"{sheet.source}: cells without a verdict: {n} ({fault})" for fault, n in unread.most_common()]
    if files.texts is not None:
        texts += [_concerns(files.texts), _replies(files.texts)]
    return Material(
        pl.concat([_frame(TEXTS), *texts]),
        pl.concat([_frame(RATINGS), *ratings]),
        scales=dict.fromkeys(CRITERIA, (1.0, 5.0)),
        options={},
        notes=tuple(notes),
    )


def _frame(columns: dict[str, str], **columns_given: Any) -> pl.DataFrame:
    """Build `texts` or `ratings` from columns or single values; those not given are null."""
    length = max((len(values) for values in columns_given.values() if not isinstance(values, str)), default=0)
    return pl.DataFrame(
        {
            name: pl.Series(name, values, dtype)
            if not isinstance(values := columns_given.get(name), str | None)
            else pl.Series(name, [values] * length, dtype)
            for name, kind in columns.items()
            for dtype in [getattr(pl, kind)]
        }
    )


def _concerns(part: RaterSheet | Texts) -> pl.DataFrame:
    return _frame(TEXTS, file=part.source, row=part.row, kind="input", id=part.conversation, text=part.context)


def _explanations(sheet: RaterSheet, scores: dict[str, list[CellScores]]) -> pl.DataFrame:
    explained = [
        (row, f"{ident}/{system}", score.explanation, system)
        for row, ident, *column in zip(sheet.row, sheet.conversation, *scores.values(), strict=True)
        for system, score in zip(scores, column, strict=True)
        if score.explanation
    ]
    rows, ids, texts, systems = (
        (list(values) for values in zip(*explained, strict=True)) if explained else ([], [], [], [])
    )
    return _frame(
        TEXTS, file=sheet.source, row=rows, kind="verdict", id=ids, text=texts, system=systems, source=sheet.rater
    )


def _replies(texts: Texts) -> pl.DataFrame:
    return pl.concat([
        _frame(TEXTS, file=texts.source, row=texts.row, kind="reply", id=[f"{ident}/{system}" for ident in texts.conversation], text=[text or "" for text in column], system=system)
        for system, column in texts.replies.items()
    ])  # fmt: skip


def _ratings(sheet: RaterSheet, scores: dict[str, list[CellScores]]) -> pl.DataFrame:
    rows, systems, criteria_count = len(sheet.row), len(scores), len(CRITERIA)
    values = [_value(raw) for row in zip(*scores.values(), strict=True) for score in row for raw in score.raw]
    row = np.repeat(np.arange(rows), systems * criteria_count)
    conversation = pl.Series(sheet.conversation, dtype=pl.String).gather(row)
    system = pl.Series([*scores] * rows, dtype=pl.String).gather(np.repeat(np.arange(rows * systems), criteria_count))
    return _frame(
        RATINGS,
        subject=conversation + "/" + system,
        criterion=[*CRITERIA] * (rows * systems),
        rater=sheet.rater,
        rater_kind=sheet.kind.value,
        run=np.zeros(len(values), dtype=np.int64),
        status=["unparsable" if value is None else "ok" for value in values],
        value=values,
        system=system,
        cluster=conversation,
        file=sheet.source,
        row=pl.Series(sheet.row, dtype=pl.Int64).gather(row),
    )


def _value(raw: object) -> str | None:
    if type(raw) is int:
        return str(raw)
    return None if cells.fault(raw) in {CellFault.NOT_GIVEN, CellFault.NULL} else json.dumps(raw, ensure_ascii=False)


def _short_sheets(data: Path, checked: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield the sheets that have fewer rows than another; `Overall` is a value of its own, and no mean of the seven."""
    sheets = find(data).sheets
    checked["numbers of rows"] += len(sheets)
    by_length = sorted(sheets, key=lambda sheet: -len(sheet.row))
    for sheet in by_length[1:]:
        if len(sheet.row) < (longest := len(by_length[0].row)):
            yield sheet.source, f"{len(sheet.row):,} rows, and {by_length[0].source} has {longest:,}"


mentalbench = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    readers={"judged": read_judged},
    load=load,
    reproduce=reproduce,
    files_read=notes,
    self_stated=_short_sheets,
    material=material,
    metrics=(mean_level, share_at_most(2), fleiss_kappa, *STATUS_RATES),
    slices=("language", "topic"),
    composites={
        "CSS": Composite(("guidance", "informativeness", "relevance", "safety")),
        "ARS": Composite(("empathy", "helpfulness", "understanding")),
    },
)
