"""MentalBench: seven attributes of a supportive reply, and whether a judge may rate them in people's place.

MentalBench-100k and MentalAlign-70k, arXiv 2510.19032, EACL 2026. Departures from the paper: card.toml.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.mentalbench import cells, released
from mindgauge.benchmarks.mentalbench.cells import CRITERIA, CellFault
from mindgauge.benchmarks.mentalbench.released import find, notes
from mindgauge.benchmarks.mentalbench.replies import load, read, read_judged
from mindgauge.benchmarks.mentalbench.reproduce import reproduce
from mindgauge.benchmarks.metrics import STATUS_RATES, fleiss_kappa, mean_level, share_at_most
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material
from mindgauge.records.rubric.composite import Composite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.mentalbench.cells import CellScores
    from mindgauge.benchmarks.mentalbench.released import RaterSheet, Texts


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
