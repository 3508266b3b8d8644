"""The replies that are drawn for people to answer blind: kept in the run, so that whoever goes on, or joins, has the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.escalation.draw import NO_JUDGE, is_judged
from mindgauge.analysis.escalation.review import queue
from mindgauge.annotation.blind import Blind
from mindgauge.records.drawn import Drawn
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private
from mindgauge.reports.export.worklist import Lot, by_lot

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store

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


def place(folder: Path, benchmark: str) -> Path:
    """Return where a run keeps the draw of a benchmark."""
    return folder / f"view-draw-{benchmark.replace('/', '-')}.json"


def draw(store: Store, benchmark: Benchmark, lot: Lot, hidden: Container[str]) -> KeptDraw:
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
    path = place(store.folder, benchmark.name)
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
    order, result = by_lot(frame, store, benchmark.name, blind, Lot(plan, lot.seed))
    notes = [*result.notes, *notes]
    if kept_draw is not None:
        notes.append(
            f"{path.name}: the draw that stood here ({kept_draw.plan}, seed {kept_draw.seed}) gives way to this one; ratings of two draws are not put together"
        )
    made = KeptDraw(lot.plan.text, lot.seed, order, result.drawn, notes)
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
