"""A run's judges among the cells of a paper that holds each judge's means of systems against people's (MentalBench).

The run holds the paper's replies with people's ratings (`papers load`), and judges rated the same replies (`rate --replies`). Cells
come of the code that recomputes the published ones.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from mindgauge.analysis.published_row import new_row
from mindgauge.benchmarks import replica
from mindgauge.benchmarks.mentalbench import released, reproduce
from mindgauge.benchmarks.mentalbench.cells import ATTRIBUTES, CRITERIA
from mindgauge.benchmarks.mentalbench.reproduce import as_published, system_means
from mindgauge.models.family import same_maker
from mindgauge.records import Status, instruments
from mindgauge.records.english import named
from mindgauge.records.rounding import count, plural
from mindgauge.records.short_names import short_names
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.analysis.published_row import NewRow
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.mentalbench.reproduce import RunValues
    from mindgauge.benchmarks.replica import JudgesTable

    Means = dict[tuple[str, str], tuple[list[str], NDArray[np.float64]]]

MENTALBENCH = "mentalbench"
_BUILD = re.compile(r"-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)$")


def own_systems(judge: str, systems: Iterable[str]) -> set[str]:
    """Return the systems that do not count for a judge, as its own.

    Of the paper's judges it is the one that the paper names, and near relations count. Of another judge it is the judge
    itself, or else all of its family.
    """
    name = _BUILD.sub("", re.sub(r" \([^()]*\)$", "", judge).rpartition("#")[2].rpartition("/")[2].casefold())
    if (own := released.OWN_SYSTEM.get(released.judge(name))) is not None:
        return {own}
    systems = [*systems]
    return {name} if name in systems else {system for system in systems if same_maker(judge, system)}


def rows(folder: Path, benchmark: Benchmark) -> Iterator[NewRow]:
    """Return a row for each attribute and each judge of a run that is none of the paper's own."""
    table = replica.read(benchmark.folder).judges
    if table is None or table.figures != "systems" or (values := _values(folder, benchmark.name)) is None:
        return
    judges = [rater for rater in values.by_rater if rater not in {released.PEOPLE, *released.OWN_SYSTEM}]
    titles = short_names(judges)
    temperature = replica.replicas(benchmark.folder)[0].options["judge_temperature"]
    for judge in judges:
        systems = _counted(judge, values)
        pairs = values.beside_people(judge, systems)
        differences = [*_by_design(table, values, judge, systems)]
        reasons = [
            *_asked_otherwise(table, temperature, values, judge),
            *_missing(table, values, judge, systems),
        ]
        cells = [*as_published(ATTRIBUTES, pairs)] if len(systems) > 1 else []
        for k, attribute in enumerate(ATTRIBUTES):
            figures = {c.column: c.value for c in cells if c.row == attribute and c.value == c.value}  # NaN is none
            n = {released.PEOPLE: int(np.isfinite(pairs.human[..., k]).sum())}
            name = f"{titles.get(judge, judge)} / {attribute}"
            yield new_row(
                benchmark, (table.table, table.compares_with), name, figures, (reasons, differences), n=n,
                notes=table.not_computed,
            )  # fmt: skip


def means(folder: Path) -> Means:
    """Return of a run of the released replies each judge's systems and their two means, by judge and criterion; nothing of other runs."""
    by_judge: Means = {}
    if (values := _values(folder, MENTALBENCH)) is None:
        return by_judge
    for judge in {*values.by_rater} - {released.PEOPLE}:
        systems = _counted(judge, values)
        of_systems = system_means(values.beside_people(judge, systems))
        by_judge |= {(judge, name): (systems, of_systems[k]) for k, name in enumerate(CRITERIA)}
    return by_judge


def _values(folder: Path, benchmark: str) -> RunValues | None:
    with Store(folder) as store:

        def answer(call: str) -> str | None:
            exchange = store.exchange(bytes.fromhex(call))
            return None if exchange is None else exchange.text

        return reproduce.of_run(store.replies(benchmark), store.ratings(benchmark), answer)


def _counted(judge: str, values: RunValues) -> list[str]:
    """Return the systems that count for a judge and that it rated, in the authors' order."""
    of_judge = values.beside_people(judge, values.systems).judge
    places = reproduce.counted(own_systems(judge, values.systems), values.systems)
    return [values.systems[place] for place in places if np.isfinite(of_judge[:, place]).any()]


def _asked_otherwise(table: JudgesTable, temperature: float, values: RunValues, judge: str) -> Iterator[str]:
    """Say in what a judge was asked otherwise than the paper's were; of a released file nothing is known."""
    verdicts = values.verdicts.get(judge, [])
    if any("+" not in instruments.of_ratings(verdict.instrument, loaded=False) for verdict in verdicts):
        yield f"the words of {named(table.words, limit=len(table.words))} with --instrument DIR, so these are ours"
    temperatures = {v.provenance["parameters"].get("temperature") for v in verdicts if "parameters" in v.provenance}
    if values_sent := sorted("none" if value is None else f"{value:g}" for value in temperatures - {temperature}):
        yield f"asked at temperature {named(values_sent)}, and in the paper at {temperature:g}"


def _by_design(table: JudgesTable, values: RunValues, judge: str, systems: Sequence[str]) -> Iterator[str]:
    """Say what is other than in the paper however a judge is asked: its own systems, and empty replies."""
    own, expected = own_systems(judge, values.systems), len(values.systems) - table.own_left_out
    if len(values.systems) - len(own) != expected:
        family = (
            f"without {named(sorted(own), limit=len(own))}, of its own family" if own else "none is of its own family"
        )
        yield f"{plural(len(systems), 'system')} here ({family}), and {expected} for each judge of the paper"
    yield from table.not_rebuilt
    empty = len({v.subject for v in values.verdicts.get(judge, ())} & values.empty)
    if empty:
        yield f"{plural(empty, 'reply is', 'replies are')} empty and not sent; the paper's judges were sent the word nan, and their verdicts count"


def _missing(table: JudgesTable, values: RunValues, judge: str, systems: Sequence[str]) -> Iterator[str]:
    """Say which replies and verdicts are fewer than the paper's."""
    unrated = sorted({*values.systems} - own_systems(judge, values.systems) - {*systems})
    if unrated:
        yield f"no verdict on replies by {named(unrated, limit=len(unrated))}"
    conversations, wanted = len(values.by_rater[released.PEOPLE]), table.replies // len(values.systems)
    if conversations != wanted:
        yield f"people rated replies to {count(conversations)} concerns here, and to {count(wanted)} in the paper"
    verdicts = values.verdicts.get(judge)
    if verdicts is None:
        return
    without_value = Counter(v.status for v in verdicts if v.value is None and v.subject not in values.empty)
    if without_value:
        kinds = named([f"{count(n)} {status}" for status, n in sorted(without_value.items())], limit=len(Status))
        yield (
            f"{count(without_value.total())} of {plural(len(verdicts), 'verdict')} have no value ({kinds}); of such an answer only what the "
            "authors' script reads counts"
        )
    places = [values.systems.index(name) for name in systems]
    people = np.isfinite(values.by_rater[released.PEOPLE][:, places]).any(axis=2)
    missing = int((people & ~np.isfinite(values.by_rater[judge][:, places]).any(axis=2)).sum())
    if missing:
        yield (
            f"{count(missing)} of the {count(int(people.sum()))} replies of these systems that people rated have no verdict that "
            "the authors' script would read"
        )
