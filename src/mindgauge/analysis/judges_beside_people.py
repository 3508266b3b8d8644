"""A run's judges in a paper's table of judges beside people: the mean of a judge's verdicts against each person's value.

The run holds people's ratings of the paper's replies (`load`), and judges rated the same replies (`rate --replies`).
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.published_row import NewRow, printed
from mindgauge.benchmarks.replica import judges_table
from mindgauge.records import RaterKind, Status, instruments
from mindgauge.records.english import named
from mindgauge.records.rounding import count, plural
from mindgauge.records.short_names import short_names
from mindgauge.stats.errors import RaterErrors, rater_errors
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.replica import JudgesTable
    from mindgauge.records import Rating


class _Verdicts(NamedTuple):
    """A judge's verdicts on the replies that people valued: by reply, None for one without a value."""

    by_reply: dict[str, list[float | None]]
    instruments: set[str]
    temperatures: set[float | None]


def rows(folder: Path, benchmark: Benchmark) -> Iterator[NewRow]:
    """Return a row for each judge of a run that rated replies which people of the paper's table rated, too."""
    table = judges_table(benchmark.folder)
    if table is None or not table.criterion:
        return
    with Store(folder) as store:
        ratings = [r for r in store.ratings(benchmark.name) if r.criterion == table.criterion]
    people = {
        person: {r.subject: float(r.value) for r in ratings if r.rater == person and isinstance(r.value, int | float)}
        for person in table.people
    }
    replies = sorted({reply for values in people.values() for reply in values})
    if not all(people.values()):
        return
    loaded = bool(manifest.read(folder).get("plan", {}).get("loaded"))
    judges = _judges(ratings, replies, loaded=loaded)
    titles = short_names(judges)
    for judge, verdicts in judges.items():
        yield _row(benchmark, table, titles.get(judge, judge), verdicts, people)


def _judges(ratings: Sequence[Rating], replies: Sequence[str], *, loaded: bool) -> dict[str, _Verdicts]:
    wanted = {*replies}
    judges: dict[str, _Verdicts] = {}
    for rating in ratings:
        if rating.rater_kind is not RaterKind.MODEL or rating.subject not in wanted:
            continue
        verdicts = judges.setdefault(rating.rater, _Verdicts({}, set(), set()))
        if (
            rating.status is Status.NOT_APPLICABLE
        ):  # without a label nobody was asked; the reply stands without a verdict
            continue
        value = float(rating.value) if isinstance(rating.value, int | float) else None
        verdicts.by_reply.setdefault(rating.subject, []).append(value)
        verdicts.instruments.add(instruments.of_ratings(rating.instrument, loaded=loaded))
        if rating.instrument:  # a released verdict does not say how it was asked for
            verdicts.temperatures.add(rating.provenance.get("parameters", {}).get("temperature"))
    return judges


def _row(
    benchmark: Benchmark,
    table: JudgesTable,
    judge: str,
    verdicts: _Verdicts,
    people: Mapping[str, Mapping[str, float]],
) -> NewRow:
    errors = {person: rater_errors(*_paired(verdicts, values)) for person, values in people.items()}
    figures = {f"mae_{person.lower()}": error.mae for person, error in errors.items()}
    figures |= {
        "mae": fmean(error.mae for error in errors.values()),
        "rmse": fmean(error.rmse for error in errors.values()),
        "within_1": 100 * fmean(error.within_1 for error in errors.values()),
    }
    reasons = [*_lacking(table, verdicts), *_missing(table, verdicts, people, errors)]
    return NewRow(
        table.table, table.compares_with, judge, {name: None if np.isnan(v) else v for name, v in figures.items()},
        printed(benchmark, table.table), not reasons, reasons, {person: error.n for person, error in errors.items()},
    )  # fmt: skip


def _paired(verdicts: _Verdicts, person: Mapping[str, float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of the verdicts that have a value, and the person's, reply by reply."""
    means = [_mean(verdicts.by_reply.get(reply, [])) for reply in person]
    return np.array(means), np.array([*person.values()])


def _mean(values: Sequence[float | None]) -> float:
    levels = [value for value in values if value is not None]
    return fmean(levels) if levels else np.nan


def _lacking(table: JudgesTable, verdicts: _Verdicts) -> Iterator[str]:
    """Say in what a judge was asked otherwise than the paper's were."""
    if any(name != instruments.RELEASED and "+" not in name for name in verdicts.instruments):
        yield f"the words of {named(table.words, limit=len(table.words))} with --instrument DIR, so these are ours"
    sent = sorted(value for value in verdicts.temperatures if value is not None)
    if sent:
        yield f"asked at temperature {named([f'{value:g}' for value in sent])}, and the paper sent none"
    repeats = {len(values) for values in verdicts.by_reply.values()} - {table.runs}
    if repeats:
        yield f"{plural(table.runs, 'verdict')} on each reply in the paper, and here {named(sorted(map(str, repeats)))} on some"


def _missing(
    table: JudgesTable,
    verdicts: _Verdicts,
    people: Mapping[str, Mapping[str, float]],
    errors: Mapping[str, RaterErrors],
) -> Iterator[str]:
    """Say which replies of people's stand without a verdict, and where these are fewer than the paper's."""
    for person, values in people.items():
        if len(values) != table.replies:
            yield f"{person} has values of {count(len(values))} replies here, and of {count(table.replies)} in the paper"
        if errors[person].n < len(values):
            yield f"{plural(len(values) - errors[person].n, 'reply', 'replies')} of {person}'s {count(len(values))} without a verdict of this judge"
    unread = sum(value is None for values in verdicts.by_reply.values() for value in values)
    total = sum(map(len, verdicts.by_reply.values()))
    if unread:
        yield f"{count(unread)} of {plural(total, 'verdict')} without a value, left out of the means"
