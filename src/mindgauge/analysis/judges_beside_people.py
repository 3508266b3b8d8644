"""A run's judges in a paper's table of judges beside people: the mean of a judge's verdicts against people's values.

The run holds people's ratings of the paper's replies, and judges rated the same replies (`rate --replies`). A value of several
criteria is their sum, yes counting 1; one of which any criterion is missing is missing.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.published_row import new_row
from mindgauge.benchmarks import Released, replica
from mindgauge.raters.judge import Mode
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

    from mindgauge.analysis.published_row import NewRow
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.replica import JudgesTable
    from mindgauge.records import Rating


class _Verdicts(NamedTuple):
    """A judge's verdicts on the replies that people valued: by reply, None for one without a value."""

    by_reply: dict[str, list[float | None]]
    instruments: set[str]
    temperatures: set[float | None]
    in_several_calls: bool


def rows(folder: Path, benchmark: Benchmark) -> Iterator[NewRow]:
    """Return a row for each judge of a run that rated replies which people of the paper's table rated, too."""
    table = replica.read(benchmark.folder).judges
    if table is None or table.figures == "systems":
        return
    with Store(folder) as store:
        ratings = [r for r in store.ratings(benchmark.name) if r.criterion in table.criteria]
        replies = [*store.replies(benchmark.name)] if table.figures == "cells" else []
    of_people = [r for r in ratings if r.rater_kind is RaterKind.PERSON and r.rater in (table.people or (r.rater,))]
    people: dict[str, dict[str, float]] = {person: {} for person in table.people}
    for (person, reply, _), parts in _by_verdict(of_people).items():
        if (value := _value(parts, table)) is not None:
            people.setdefault(person, {})[reply] = value
    if not people or not all(people.values()):
        return
    loaded = bool(manifest.read(folder).get("plan", {}).get("loaded"))
    subjects = {reply for values in people.values() for reply in values}
    of_judges = [r for r in ratings if r.rater_kind is RaterKind.MODEL and r.subject in subjects]
    judges = _judges(of_judges, table, loaded=loaded)
    titles = short_names(judges)
    for judge, verdicts in judges.items():
        errors = {person: rater_errors(*_paired(verdicts, values)) for person, values in people.items()}
        values, notes = _errors(errors) if table.figures == "errors" else {}, table.not_computed
        if table.figures == "cells" and benchmark.cells_of_run is not None:
            of_judge = [rating for rating in of_judges if rating.rater == judge]
            cells = [*benchmark.cells_of_run(Released([], replies, [*of_people, *of_judge], []))]
            values = {cell.column: cell.value if isinstance(cell.value, float) else None for cell in cells}
            notes = {**notes, **{cell.column: cell.note for cell in cells if cell.value is None}}
        released = ", by its released verdicts" if verdicts.instruments == {instruments.RELEASED} else ""
        reasons = [*_lacking(benchmark, table, verdicts), *_missing(table, verdicts, people, errors)]
        yield new_row(
            benchmark, (table.table, table.compares_with), titles.get(judge, judge) + released, values, (reasons, table.not_rebuilt),
            n={person: error.n for person, error in errors.items()}, notes=notes,
        )  # fmt: skip


def _by_verdict(ratings: Sequence[Rating]) -> dict[tuple[str, str, int], list[Rating]]:
    """Return what each rater said of each reply each time."""
    verdicts: dict[tuple[str, str, int], list[Rating]] = {}
    for rating in ratings:
        verdicts.setdefault((rating.rater, rating.subject, rating.run), []).append(rating)
    return verdicts


def _value(parts: Sequence[Rating], table: JudgesTable) -> float | None:
    values = [float(part.value == "yes" if isinstance(part.value, str) else part.value) for part in parts if part.value is not None]  # fmt: skip
    return sum(values) if len(values) == len(table.criteria) else None


def _judges(ratings: Sequence[Rating], table: JudgesTable, *, loaded: bool) -> dict[str, _Verdicts]:
    judges: dict[str, _Verdicts] = {}
    for (judge, reply, _), parts in _by_verdict(ratings).items():
        verdicts = judges.get(judge) or _Verdicts({}, set(), set(), in_several_calls=False)
        answers = [part for part in parts if part.status is not Status.NOT_APPLICABLE]
        if answers:  # without a label nobody was asked; the reply stands without a verdict
            verdicts.by_reply.setdefault(reply, []).append(_value(parts, table))
        for rating in answers:
            verdicts.instruments.add(instruments.of_ratings(rating.instrument, loaded=loaded))
            if rating.instrument:  # a released verdict does not say how it was asked for
                verdicts.temperatures.add(rating.provenance.get("parameters", {}).get("temperature"))
        calls = {tuple(part.provenance.get("calls", ())) for part in answers}
        judges[judge] = verdicts._replace(in_several_calls=verdicts.in_several_calls or len(calls) > 1)
    return judges


def _errors(errors: Mapping[str, RaterErrors]) -> dict[str, float | None]:
    figures = {f"mae_{person.lower()}": error.mae for person, error in errors.items()}
    figures |= {
        "mae": fmean(error.mae for error in errors.values()),
        "rmse": fmean(error.rmse for error in errors.values()),
        "within_1": 100 * fmean(error.within_1 for error in errors.values()),
    }
    return {name: None if np.isnan(figure) else figure for name, figure in figures.items()}


def _paired(verdicts: _Verdicts, person: Mapping[str, float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of the verdicts that have a value, and the person's, reply by reply."""
    means = [_mean(verdicts.by_reply.get(reply, [])) for reply in person]
    return np.array(means), np.array([*person.values()])


def _mean(values: Sequence[float | None]) -> float:
    levels = [value for value in values if value is not None]
    return fmean(levels) if levels else np.nan


def _lacking(benchmark: Benchmark, table: JudgesTable, verdicts: _Verdicts) -> Iterator[str]:
    """Say in what a judge was asked otherwise than the paper's were."""
    options = replica.replicas(benchmark.folder)[0].options
    if any(name != instruments.RELEASED and "+" not in name for name in verdicts.instruments):
        yield f"the words of {named(table.words, limit=len(table.words))} with --instrument DIR, so these are ours"
    sent = sorted(value for value in verdicts.temperatures if value is not None)
    temperature = options["judge_temperature"]
    if sent and sent != [temperature]:
        paper = "the paper sent none" if isinstance(temperature, str) else f"the paper's judges at {temperature:g}"
        yield f"asked at temperature {named([f'{value:g}' for value in sent])}, and {paper}"
    if verdicts.in_several_calls and options["mode"] == Mode.JOINT:
        yield "asked about each criterion in a call of its own, and the paper's judges about all in one"
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
        if table.replies and len(values) != table.replies:
            yield f"{person} has values of {count(len(values))} replies here, and of {count(table.replies)} in the paper"
        if errors[person].n < len(values):
            yield f"{plural(len(values) - errors[person].n, 'reply', 'replies')} of {person}'s {count(len(values))} without a verdict of this judge"
    unread = sum(value is None for values in verdicts.by_reply.values() for value in values)
    total = sum(map(len, verdicts.by_reply.values()))
    if unread:
        yield f"{count(unread)} of {plural(total, 'verdict')} without a value, left out of the means"
