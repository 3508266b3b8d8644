"""What a run's manifest says of its annotation, for the report: who labelled, what the gate said, what stayed open."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.annotation import agreement
from mindgauge.annotation.gold import gold
from mindgauge.annotation.labels import last
from mindgauge.annotation.records import Phase, Role

if TYPE_CHECKING:
    from mindgauge.annotation.gold import Gold
    from mindgauge.annotation.project import Annotation, Batch
    from mindgauge.annotation.records import Item, Label


class BatchLabels(NamedTuple):
    """A batch, read once: its items, every label ever given on them, and the gold."""

    batch: Batch
    items: list[Item]
    labels: list[Label]
    handed_on: set[tuple[str, str]]
    instrument: str
    gold: list[Gold]

    @property
    def subjects(self) -> dict[str, str]:
        """Item's id → the subject of its ratings."""
        return {item.id: item.subject for item in self.items}


def read(a: Annotation, batch: Batch) -> BatchLabels:
    """Read a batch with the gold as it stands now.

    Raises:
        DatabaseError: it could not be read.
    """
    items, labels = a.items(batch.number), a.labels(batch=batch.number)
    people = a.people()
    annotators = [person.id for person in people if person.role is Role.ANNOTATOR]
    others = [person.id for person in people if person.role is not Role.ANNOTATOR]
    values = gold(last(labels), items, annotators, others, a.project.policy, a.rubric(batch.rubric))
    instrument = "" if batch.rubric is None else a.instrument(batch.rubric)  # nobody has labelled anything
    return BatchLabels(batch, items, labels, a.handed_on(batch.number), instrument, values)


def account(a: Annotation, closed: list[BatchLabels], people: dict[str, str], rater: str) -> dict[str, Any]:
    """Write down what a report tells of the rounds, as TOML can hold it.

    Args:
        a: the project.
        closed: its closed batches.
        people: id → the name under which an annotator's ratings stand in the run.
        rater: the name under which the gold stands there.
    """
    return {
        "project": a.project.name,
        "annotators": list(people.values()),
        "adjudicators": [person.name for person in a.people() if person.role is Role.ADJUDICATOR],
        "policy": str(a.project.policy),
        "gate": a.project.gate,
        "gold": rater,
        "training": _training(a, people),
        "batches": [_batch(a, batch, people) for batch in closed],
    }


def _training(a: Annotation, people: dict[str, str]) -> list[dict[str, Any]]:
    """Say how far each annotator's first answers agreed with the anchors, by criterion."""
    figures = agreement.with_anchors(a.labels(batch=0), a.items(0), a.rubric(), seed=a.project.seed)
    return [
        _without_none({**msgspec.to_builtins(figure), "person": people.get(figure.person, figure.person)})
        for figure in figures
    ]


def _batch(a: Annotation, closed: BatchLabels, people: dict[str, str]) -> dict[str, Any]:
    batch = closed.batch
    rounds = [
        {
            "phase": str(gate.phase),
            "passed": gate.passed,
            "figures": [
                _figure(figure)
                for figure in msgspec.convert(gate.figures, list[agreement.AgreementFigure])
                if not figure.label
            ],
        }
        for gate in a.gates(batch.number)
    ]
    items = agreement.disagreed(last(closed.labels), closed.items, list(people), closed.handed_on)
    return {
        "batch": batch.number,
        "items": len(closed.items),
        "instrument": closed.instrument,
        "closed": _time(batch.closed),
        "decided": batch.decided,
        "rounds": rounds,
        "disagreed": len(items),
        "gold": dict(Counter(str(value.policy) for value in closed.gold)),
        "adjudicated": len({label.item for label in closed.labels if label.phase is Phase.ADJUDICATION}),
    }


def _figure(figure: agreement.AgreementFigure) -> dict[str, Any]:
    """Keep of a criterion's figure what the gate looks at."""
    fleiss = figure.gated == "fleiss"
    return _without_none(
        {
            "criterion": figure.criterion,
            "coefficient": figure.gated,
            "value": figure.coefficient,
            "low": figure.fleiss_low if fleiss else figure.alpha_low,
            "high": figure.fleiss_high if fleiss else figure.alpha_high,
            "agreement": figure.agreement,
            "n": figure.n,
            "missing": figure.missing,
            "note": figure.note,
        }
    )


def _time(seconds: float | None) -> str:
    return (
        "" if seconds is None else datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")
    )


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
