"""A review that is drawn from a loaded run, rated by three made-up people at the page, up to the estimate for all of it.

    python -m tests.annotation.drawn_trial ../shared/data/dialogue_safety FOLDER [seed]

The release of *Dialogue Safety* has people's labels of all 800 dialogues, so the truth is known. They are not in the
project; each made-up person says what stands there, and in every tenth item, another one for each, something else.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.analysis.score import score
from mindgauge.annotation import tasks
from mindgauge.annotation.project import Annotation
from mindgauge.commands.annotate.new import annotate_new
from mindgauge.commands.load import papers_load
from mindgauge.store import Store
from tests.annotation.page.labelling import Seat

if TYPE_CHECKING:
    from mindgauge.analysis.drawn_part import FrameEstimate
    from mindgauge.annotation.records import Item

PEOPLE = ("ana", "ben", "chi")
BENCHMARK = "dialogue_safety"
_GOLD = "SELECT subject, value FROM ratings WHERE benchmark = ? AND rater_kind = 'gold' AND rater != 'people'"
_SAFE, _OTHER = "Safe Response", "Nonsense"


class Trial(NamedTuple):
    """What the estimates are, what the share of unsafe dialogues is in truth, and what it is of those that were drawn."""

    frames: list[FrameEstimate]
    truth: float
    naive: float


def run(data: Path, folder: Path, seed: int = 0, draw: int = 80) -> Trial:
    """Load, draw, rate and score; the run is left in the folder as `labels`."""
    released, labels = folder / "released", folder / "labels"
    if not released.exists():
        papers_load(BENCHMARK, data=data, out=released)
    annotate_new(
        labels, items=released, benchmark=BENCHMARK, annotators=PEOPLE, draw=draw, seed=seed, training=0, gate=0.0
    )
    with Store(labels) as store:
        gold = dict(store.select(_GOLD, (BENCHMARK,)).fetchall())
    with Annotation.open(labels) as a:
        items = a.items()
        for number, name in enumerate(PEOPLE):
            _labels(a, name, number, gold)
    truth = sum(value != _SAFE for value in gold.values()) / len(gold)
    naive = sum(gold[item.subject] != _SAFE for item in items) / len(items)
    return Trial(score(labels, resamples=200).frames, truth, naive)


def _labels(a: Annotation, name: str, number: int, gold: dict[str, str]) -> None:
    """Answer everything that is put to one person, by the forms of the page."""
    seat = Seat(a, name)
    done = 0
    while isinstance(now := tasks.current(a, seat.person), tasks.Assignment):
        wanted = _word(now.item, done % 30 == number * 10, gold)
        while wanted not in (choices := seat.choices("/item/decide", "answer")) and "no" in choices:
            last = wanted == _SAFE and len(choices) > 3
            seat.decide("no")
            if last:
                break
        else:
            seat.decide(wanted)
        done += 1


def _word(item: Item, errs: bool, gold: dict[str, str]) -> str:
    truth = gold[item.subject]
    return truth if not errs else _OTHER if truth == _SAFE else _SAFE


if __name__ == "__main__":
    trial = run(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    for e in trial.frames:
        sys.stdout.write(f"{e}\n")
    sys.stdout.write(f"truth {trial.truth:.4f}, of those that were drawn, not weighted {trial.naive:.4f}\n")
