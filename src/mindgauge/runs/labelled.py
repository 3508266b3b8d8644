"""Replies with what people said of them: from a run, or from a file with columns of labels."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks import benchmark as selection
from mindgauge.records import RaterKind, Rating, Status, digest
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import mapping, tables
from mindgauge.records.files.mapping import LABEL
from mindgauge.records.instruments import RELEASED
from mindgauge.runs.reply_tables import read_replies
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Reply, Sample
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.rubric import Criterion

PEOPLE = "people"


class LabelledReplies(NamedTuple):
    """What is judged, and what is known of it."""

    samples: list[Sample]
    replies: list[Reply]
    ratings: list[Rating]
    notes: list[str]

    def of(self, replies: list[Reply]) -> LabelledReplies:
        """Return some of the replies, and what belongs to them: their samples, and what these are variants of."""
        idents, about = {reply.id for reply in replies}, {reply.sample for reply in replies}
        about |= {selection.base(sample) for sample in self.samples if sample.id in about}
        samples = [sample for sample in self.samples if sample.id in about]
        return LabelledReplies(samples, replies, [r for r in self.ratings if r.subject in idents], self.notes)

    def limited(self, limit: int) -> LabelledReplies:
        """Keep whole dialogues with their replies, in an order that no file decides, up to `limit` replies."""
        by_sample: dict[str, list[Reply]] = {}
        for reply in self.replies:
            by_sample.setdefault(reply.sample, []).append(reply)
        selected: list[Reply] = []
        for ident in sorted(by_sample, key=digest):
            if selected and len(selected) + len(by_sample[ident]) > limit:
                break
            selected += by_sample[ident][:limit]
        return self.of(selected)


def read(
    source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str], named: Sequence[str]
) -> LabelledReplies:
    """Read replies and their labels.

    Args:
        source: a run directory, or a file or table with labels in columns `label.CRITERION` or `label.PERSON.CRITERION`.
        benchmark: an open one.
        columns: our name → the file's name of a column.
        named: the raters of a run whose ratings are the labels; people if empty.

    Raises:
        UsageError: a column or a rater is named that does not go with the source.
        DataError: the replies or their labels cannot be read.
    """
    if tables.is_run(source):
        assert isinstance(source, str | Path)
        if columns:
            raise UsageError("--map goes with a file of replies; a run has columns of its own")
        return _of_run(Path(source), benchmark, named)
    if named:
        raise UsageError(
            "--reference names raters of a run; in a file, people's labels stand in columns label.CRITERION"
        )
    return _of_file(source, benchmark, columns)


def _of_run(folder: Path, benchmark: Benchmark, named: Sequence[str]) -> LabelledReplies:
    """Take the replies that people, or those named, have rated; all of them where nobody has."""
    criteria = {criterion.name for criterion in benchmark.rubric.criteria}
    loaded = bool(manifest.read(folder).get("plan", {}).get("loaded"))
    with Store(folder) as store:
        replies = list(store.replies(benchmark.name))
        ratings = [_with_instrument(r, loaded=loaded) for r in store.ratings(benchmark.name) if r.criterion in criteria]
        samples = list(store.samples(benchmark.name))
    if not replies:
        raise DataError(f"{folder}: no replies to {benchmark.name} in this run")
    raters = {rating.rater for rating in ratings}
    unknown = next((name for name in named if name not in raters), None)
    if unknown is not None:
        raise UsageError(f"--reference {unknown!r}: no such rater in {folder}; raters are {', '.join(sorted(raters))}")
    labelled = {
        rating.subject
        for rating in ratings
        if (rating.rater in named if named else rating.rater_kind is RaterKind.PERSON) and rating.status is Status.OK
    }
    selected = [reply for reply in replies if reply.id in labelled] or replies
    notes = (
        [f"{len(selected)} of {len(replies)} replies are judged: those with labels"]
        if len(selected) < len(replies)
        else []
    )
    return LabelledReplies(samples, replies, ratings, notes).of(selected)


def _with_instrument(rating: Rating, *, loaded: bool) -> Rating:
    """Return a rating as another run keeps it: that a paper released it, by its own instrument, goes with it."""
    return msgspec.structs.replace(rating, instrument=RELEASED) if loaded and not rating.instrument else rating


def _of_file(source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str]) -> LabelledReplies:
    criteria = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
    labels = {field: header for field, header in columns.items() if field.startswith(LABEL)}
    reply_columns = {field: header for field, header in columns.items() if not field.startswith(LABEL)}
    samples, replies = read_replies(source, benchmark, reply_columns)
    lines = {reply.provenance["source_row"]: reply for reply in replies}
    ratings: list[Rating] = []
    off_scale: dict[str, list[str]] = {}
    repeated = 0
    source_name = tables.name_of(source)
    for line, row in tables.open_table(source, mapping.layout(columns)).rows(labels):
        named = {name.removeprefix(LABEL): name for name in row if name.startswith(LABEL)}
        unknown = next((name for name in named if _criterion(name) not in criteria), None)
        if unknown is not None:
            raise DataError(
                f"{source_name}: {LABEL}{unknown} is no criterion of {benchmark.name}; they are {', '.join(criteria)}"
            )
        if line not in lines:
            repeated += 1
            continue
        for name, column in named.items():
            if column in row:
                ratings.append(_label(row[column], name, criteria[_criterion(name)], lines[line], line))
                if ratings[-1].status is not Status.OK:
                    off_scale.setdefault(name, []).append(f"row {line}: {row[column]!r:.30}")
    notes = [
        f"{name}: {len(rows)} labels are off the scale and count as missing ({rows[0]})"
        for name, rows in off_scale.items()
    ]
    if repeated:
        notes.append(f"{repeated} rows repeat a reply by the same model; the labels of its first row count")
    return LabelledReplies(samples, replies, ratings, notes)


def _criterion(name: str) -> str:
    """Return the criterion that `CRITERION` or `PERSON.CRITERION` names."""
    return name.rpartition(".")[2]


def _label(cell: Any, name: str, criterion: Criterion, reply: Reply, line: int) -> Rating:
    """Read a person's label; one that is off the scale is no value, and stays counted."""
    person = name.rpartition(".")[0] or PEOPLE
    value = criterion.read(cell)
    if value is None and isinstance(cell, str):
        with contextlib.suppress(ValueError):
            value = criterion.read(float(cell))
    inapplicable = criterion.not_applicable and str(cell).strip().casefold() == Status.NOT_APPLICABLE
    status = Status.NOT_APPLICABLE if inapplicable else Status.UNPARSABLE if value is None else Status.OK
    provenance = {"source_row": line, **({"said": f"{cell!r:.60}"} if status is Status.UNPARSABLE else {})}
    return Rating(reply.id, criterion.name, person, RaterKind.PERSON, 0, status, value, provenance=provenance)
