"""Ratings of a user's own, of any shape, joined to the replies of a release, or to its samples where these are rated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.english import named
from mindgauge.records.errors import DataError
from mindgauge.records.ratings import read
from mindgauge.records.ratings.columns import key
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from mindgauge.benchmarks import Benchmark, Released
    from mindgauge.records.ratings import RatingLayout
    from mindgauge.records.rubric import Criterion

_SHOWN = 3


def joined(
    members: Sequence[tuple[Benchmark, Released]], files: Sequence[Path], layout: RatingLayout
) -> tuple[list[tuple[Benchmark, Released]], list[str]]:
    """Add ratings to what was released.

    A subject is a reply's id, the id of its dialogue in the files with its model (`system`), or, where a dialogue has one
    reply or is itself rated, that id alone. Raters of whom nothing says otherwise are people.

    Args:
        members: benchmarks with what was released of each.
        files: with ratings.
        layout: what is said of their shape.

    Returns:
        The same with the ratings; and what was read and left out, one line each.

    Raises:
        UsageError: the layout names what is not there.
        DataError: a file cannot be read, or nothing in it is about these replies and criteria.
    """
    frame, account = read(list(files), layout)
    notes = account.lines()
    extended = []
    placed: set[tuple[str, str]] = set()
    for benchmark, released in members:
        criteria = _criteria(benchmark.rubric.criteria)
        subjects = _subjects(benchmark, released)
        ratings = [
            _rating(row, subjects[row["subject"]], criteria[key(row["criterion"])])
            for row in frame.iter_rows(named=True)
            if row["subject"] in subjects and key(row["criterion"]) in criteria
        ]
        placed |= {
            (row["subject"], row["criterion"])
            for row in frame.select("subject", "criterion").unique().iter_rows(named=True)
            if row["subject"] in subjects and key(row["criterion"]) in criteria
        }
        extended.append((benchmark, msgspec.structs.replace(released, ratings=[*released.ratings, *ratings])))
    strays = _strays(frame, placed)
    if not placed:
        known = named([c.name for benchmark, _ in members for c in benchmark.rubric.criteria], limit=8)
        raise DataError(
            f"{named([str(file) for file in files])}: no rating in it is about these replies on their criteria ({known}); {strays}"
        )
    return extended, [*notes, *([f"left out: {strays}"] if strays else [])]


def _criteria(criteria: Sequence[Criterion]) -> dict[str, Criterion]:
    return {key(name): criterion for criterion in criteria for name in (criterion.name, *criterion.aliases)}


def _subjects(benchmark: Benchmark, released: Released) -> dict[str, str]:
    """Return what a file may call a subject → its id; what may be several is none."""
    names = {sample.id: {sample.id, *filter(None, [sample.tags.get("id")])} for sample in released.samples}
    subjects: dict[str, set[str]] = {}
    if benchmark.closed:
        for ident, called in names.items():
            for name in called:
                subjects.setdefault(name, set()).add(ident)
    for reply in released.replies:
        called = {*names.get(reply.sample, {reply.sample}), *filter(None, [reply.provenance.get("source_id")])}
        for name in {reply.id, *map(str, called), *(f"{name} / {reply.model}" for name in called)}:
            subjects.setdefault(name, set()).add(reply.id)
    return {name: next(iter(idents)) for name, idents in subjects.items() if len(idents) == 1}


def _rating(row: dict[str, str], subject: str, criterion: Criterion) -> Rating:
    value = None if row["value"] is None else criterion.read(row["value"])
    status = Status(row["status"]) if row["status"] in {status.value for status in Status} else Status.UNPARSABLE
    if status is Status.OK and value is None:
        status = Status.UNPARSABLE
    kind = RaterKind(row["rater_kind"] or RaterKind.PERSON.value)
    provenance = {
        "source_file": row["file"],
        "source_row": row["row"],
        **({"said": row["value"]} if value is None and row["value"] else {}),
    }
    return Rating(
        subject, criterion.name, row["rater"], kind, int(float(row["run"] or 0)), status, value, provenance=provenance
    )


def _strays(frame: pl.DataFrame, placed: set[tuple[str, str]]) -> str:
    """Say what was not placed; nothing where all was."""
    stray = [
        pair
        for pair in frame.select("subject", "criterion").unique(maintain_order=True).iter_rows()
        if pair not in placed
    ]
    if not stray:
        return ""
    subjects = {subject for subject, _ in placed}
    lost = list(dict.fromkeys(subject for subject, _ in stray if subject not in subjects))
    criteria = list(dict.fromkeys(criterion for subject, criterion in stray if subject in subjects))
    parts = [
        *(
            [f"{plural(len(lost), 'subject')} that no reply is called ({named([repr(s) for s in lost], limit=_SHOWN)})"]
            if lost
            else []
        ),
        *([f"criteria that the rubric does not have ({named(criteria, limit=_SHOWN)})"] if criteria else []),
    ]
    return named(parts)
