"""From labels to ratings: people stand in the run's table beside judges, and the manifest tells who labelled and what the gate said.

What an annotator said alone, in the first round, is their rating: agreement among people must not be flattered by what
they said after a discussion. What they said later stands in the rating's provenance, and makes the gold.
"""

from __future__ import annotations

import datetime
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge import benchmarks
from mindgauge.annotation import agreement
from mindgauge.annotation.gold import gold as gold_of
from mindgauge.annotation.labels import last
from mindgauge.annotation.records import Answered, Phase, Role
from mindgauge.benchmarks import standalone_rubric
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.errors import UsageError
from mindgauge.records.shell import command_line
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.annotation.gold import Gold
    from mindgauge.annotation.project import Annotation, Batch
    from mindgauge.annotation.records import Item, Label
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample


PEOPLE = "people"
"""The rater of the gold that was read off people's labels."""
TARGET_BY = "target_by"
"""The tag of a sample that says whose its target is, where its authors gave none."""
_STRANGERS = "SELECT DISTINCT rater FROM ratings WHERE benchmark = ? AND coalesce(json_extract(provenance, '$.project'), '') != ?"


class Flowed(NamedTuple):
    """What went into the run: how many ratings, of which batches. `note` says why something did not."""

    ratings: int
    batches: list[int]
    note: str = ""


def ratings(a: Annotation, *, closed: bool = True) -> Iterator[Rating]:
    """Return people's ratings and the gold, batch by batch.

    Each annotator has a rating for each item and criterion that was put to them: "cannot tell" is unparsable, an item
    handed on is refused. The gold has the rater `people`; a tie is unparsable, with the votes in its provenance.

    Args:
        a: the project.
        closed: leave out batches that are still worked on; of these, only people who are done with an item have ratings.

    Raises:
        DatabaseError: the labels could not be read.
    """
    names = {person.id: person.name for person in a.annotators()}
    for batch in a.batches():
        if batch.number and (batch.phase is Phase.CLOSED or not closed):
            yield from _of_batch(a, read(a, batch), names, PEOPLE)


def flow(a: Annotation) -> Flowed:
    """Put what was closed into the run of the project's folder: ratings, gold, targets, and the account of it.

    It may be done again and again: a rating replaces the one of the same rater, criterion and subject. Ratings of others
    who happen to have an annotator's name stay; the annotator's then stand under the name with the project's.

    Raises:
        DatabaseError: the labels could not be read.
        MindgaugeError: the run cannot be written.
    """
    if not (a.folder / "run.sqlite").is_file():
        return Flowed(0, [], f"{a.folder}: no run here, so people's ratings stay with the labels")
    closed = [read(a, batch) for batch in a.batches() if batch.number and batch.phase is Phase.CLOSED]
    if not closed:
        return Flowed(0, [])
    task = (
        benchmarks.of_run(a.project.benchmark, manifest.read(a.folder).get("folders"), a.folder)[0]
        if a.project.benchmark
        else standalone_rubric.kept(a.rubric().id, a.folder, manifest.read(a.folder))
        or standalone_rubric.alone(a.folder / standalone_rubric.FILE)
    )
    try:
        store = Store(a.folder, write=True)
    except UsageError as error:
        reason = str(error).partition(";")[0]
        return Flowed(
            0,
            [],
            f"{reason}; people's ratings go into it with the next `{command_line('annotate', 'status', a.folder)}`",
        )
    count = 0
    with store:
        strangers = {row[0] for row in store.select(_STRANGERS, (task.name, _project(a)))}
        people = {p.id: _free(p.name, strangers, a) for p in a.annotators()}
        rater = _free(PEOPLE, {*strangers, *people.values()}, a)
        for labelled in closed:
            for rating in _of_batch(a, labelled, people, rater):
                store.add_rating(task.name, rating)
                count += 1
            store.flush()
            if task.closed:
                _set_targets(store, task, labelled)
        content = manifest.read(a.folder)
        if content:
            record = {**content.get("annotation", {}), **account(a, closed, people, rater)}
            manifest.write(a.folder, {**content, "annotation": record})
    return Flowed(count, [labelled.batch.number for labelled in closed])


def _of_batch(a: Annotation, labelled: BatchLabels, people: dict[str, str], rater: str) -> Iterator[Rating]:
    """Return the ratings of one batch, under the names that people have in the run."""
    first, latest = last(labelled.labels, Phase.LABELLING), last(labelled.labels)
    rubric, instrument = a.rubric(labelled.batch.rubric), labelled.instrument
    batch: dict[str, Any] = {"project": _project(a), "batch": labelled.batch.number}
    for item in labelled.items:
        about = batch | (item.drawn.provenance if item.drawn else {})
        for criterion in rubric.criteria:
            for person, name in people.items():
                label = first.get((item.id, person, criterion.name))
                revised = latest.get((item.id, person, criterion.name))
                if label is not None:
                    yield _said(item.subject, label, revised, name, about)
                elif (person, item.id) in labelled.handed_on and criterion.about(item.tags):
                    provenance = {**about, "said": "handed_on", **_later(None, revised)}
                    yield Rating(
                        item.subject, criterion.name, name, RaterKind.PERSON, 0, Status.REFUSED, instrument=instrument,
                        provenance=provenance,
                    )  # fmt: skip
    names = {person.id: person.name for person in a.people()}
    items = {item.id: item for item in labelled.items}
    for value in labelled.gold:
        item = items[value.item]
        about = batch | (item.drawn.provenance if item.drawn else {})
        provenance = {**about, "policy": value.policy, "votes": value.votes, "people": value.people}
        if value.answered is Answered.CANNOT_TELL:
            provenance["said"] = str(value.answered)
        if value.by:
            provenance["by"] = names[value.by]
        yield Rating(
            item.subject, value.criterion, rater, RaterKind.GOLD, 0, value.status, value.value, instrument=instrument,
            provenance=provenance,
        )  # fmt: skip


def _said(subject: str, label: Label, revised: Label | None, name: str, about: dict[str, Any]) -> Rating:
    provenance = {**about, "phase": str(label.phase), "at": label.at, "seconds": label.seconds, "source": label.source}
    if label.path:
        provenance["path"] = label.path
    if label.answered is not Answered.OK:
        provenance["said"] = str(label.answered)
    return Rating(
        subject, label.criterion, name, RaterKind.PERSON, 0, label.answered.status, label.value, label.note,
        label.evidence, label.instrument, {**provenance, **_later(label, revised)},
    )  # fmt: skip


def _later(label: Label | None, revised: Label | None) -> dict[str, Any]:
    """Say what a person said in a later round, if it is something else."""
    if revised is None or (label is not None and revised.given == label.given):
        return {}
    return {"later": revised.given, "later_phase": str(revised.phase)}


def _set_targets(store: Store, task: Benchmark, labelled: BatchLabels) -> None:
    """Make people's gold the target of samples whose authors gave none; ties leave it open."""
    first = task.rubric.criteria[0].name
    samples = set(store.sample_ids(task.name))
    changed: dict[str, Sample] = {}
    subjects = labelled.subjects
    for gold in labelled.gold:
        subject = subjects[gold.item]
        if subject not in samples:
            continue
        sample = changed.get(subject) or store.sample(task.name, subject)
        authored = sample.tags.get(TARGET_BY) != PEOPLE and subject not in changed
        if authored and (sample.target is not None or any(tag.startswith("target.") for tag in sample.tags)):
            continue
        tags = {**sample.tags, TARGET_BY: PEOPLE}
        if gold.criterion == first:
            sample = msgspec.structs.replace(sample, target=gold.value)
        elif gold.value is None:
            tags.pop(f"target.{gold.criterion}", None)
        else:
            tags[f"target.{gold.criterion}"] = str(gold.value)
        changed[subject] = msgspec.structs.replace(sample, tags=tags)
    store.update_samples(task.name, changed.values())


def _project(a: Annotation) -> str:
    return f"{a.project.name} {a.project.created}".strip()


def _free(name: str, strangers: set[str], a: Annotation) -> str:
    return name if name not in strangers else f"{name} ({a.project.name})"


# What a run's manifest says of its annotation, for the report: who labelled, what the gate said, what stayed open.


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
    values = gold_of(last(labels), items, annotators, others, a.project.policy, a.rubric(batch.rubric))
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
        "closed": time(batch.closed),
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


def time(seconds: float | None) -> str:
    """Write a time in UTC; empty where it has not come."""
    return (
        "" if seconds is None else datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")
    )


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
