"""What is labelled of a run where a part is drawn that must speak for all: the frame, in the order of need, and the lot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.escalation.review import NO_JUDGE, DrawPlan, draw, is_judged, queue
from mindgauge.records.errors import DataError
from mindgauge.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.commands.annotate.source import LabelSource
    from mindgauge.records.drawn import Drawn

_DONE = "SELECT DISTINCT subject FROM ratings WHERE benchmark = ? AND rater_kind = 'person' AND status = 'ok'"


def of_run(
    folder: Path, benchmark: Benchmark, source: LabelSource, plan: DrawPlan, seed: int
) -> tuple[dict[str, Drawn], list[str]]:
    """Draw from what can be labelled and no person has rated; where no judge rated anything, each is as probable as any other.

    Raises:
        DataError: nothing is left to draw from.
    """
    items = {item.subject: item for item in source.items}
    with Store(folder) as store:
        judged = is_judged(store, benchmark.name)
        rated = {subject for (subject,) in store.select(_DONE, (benchmark.name,))}
        order = [entry.subject for entry in queue(store, benchmark)[0]] if judged else []
    notes = []
    if not judged:
        plan = plan.at_random
        notes.append(NO_JUDGE)
    places = {subject: place for place, subject in enumerate(order)}
    frame = sorted((s for s in items if s not in rated), key=lambda s: (places.get(s, len(places)), s))
    if not frame:
        raise DataError(f"{folder}: people have rated every reply of {benchmark.name}; nothing is left to draw from")
    drawn, remarks = draw(frame, {subject: items[subject].cluster for subject in frame}, plan, seed)
    if rated:
        notes.append(f"{len(rated)} replies that people have rated are not in the frame; estimates are for the others")
    return drawn, [*remarks, *notes]
