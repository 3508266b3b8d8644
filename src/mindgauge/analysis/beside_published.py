"""A run's rows for a paper's tables: of its models, and of its judges beside people.

The run holds people's ratings of the paper's replies, and judges rated the same replies (`rate --replies`). A value of several
criteria is their sum, yes counting 1; one of which any criterion is missing is missing.

The run holds the paper's replies with people's ratings (`load`), and judges rated the same replies (`rate --replies`). Cells
come of the code that recomputes the published ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis.reproduce import load_published
from mindgauge.analysis.score import score
from mindgauge.benchmarks import Released, replica
from mindgauge.benchmarks import replica as protocols
from mindgauge.benchmarks.mentalbench import released, reproduce
from mindgauge.benchmarks.mentalbench.cells import ATTRIBUTES, CRITERIA
from mindgauge.benchmarks.mentalbench.reproduce import as_published, system_means
from mindgauge.benchmarks.replica import comparability
from mindgauge.models.family import same_maker
from mindgauge.raters.judge import Mode
from mindgauge.records import RaterKind, Status, instruments
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import count, plural
from mindgauge.records.short_names import short_names
from mindgauge.stats.errors import RaterErrors, rater_errors
from mindgauge.store import Store, manifest, opening

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark, RecomputedCell
    from mindgauge.benchmarks.mentalbench.reproduce import RunValues
    from mindgauge.benchmarks.released import RankPlace
    from mindgauge.benchmarks.replica import JudgesTable, PublishedColumn, Replica
    from mindgauge.records import Rating

    Means = dict[tuple[str, str], tuple[list[str], NDArray[np.float64]]]


class NewRow(msgspec.Struct, frozen=True):
    """One model, or judge, of a run in a published table: column by column, None where the run does not have the figure."""

    table: str
    title: str
    """What the paper calls the table."""
    row: str
    values: Mapping[str, float | str | None]
    published: dict[str, dict[str, float | str]]
    """The printed rows, each by column."""
    comparable: bool
    """Whether the user brought all that the paper's protocol takes; `but_for` says what differs nevertheless."""
    reasons: list[str]
    """Why it is not comparable: what the user did or did not bring."""
    n: dict[str, int] = {}
    """Of a judge beside people: how many replies both have a value of, by person."""
    but_for: list[str] = []
    """In what it differs from the paper by design."""
    notes: dict[str, str] = {}
    """What is to be known of a figure, or why there is none, by column."""

    @property
    def told(self) -> str:
        """Say whether it is comparable with the published rows, and why not or but for what; then what is to be known of figures."""
        beside = "".join(f", n = {count(n)} beside {person}" for person, n in self.n.items())
        notes = "".join(f". {column}: {note}" for column, note in self.notes.items())
        return f"{self.row}: {comparability(f'{self.title}{beside}', self.reasons, self.but_for)}{notes}"


def new_row(
    benchmark: Benchmark,
    table: tuple[str, str],
    row: str,
    values: Mapping[str, float | str | None],
    standing: tuple[list[str], list[str]],
    *,
    n: Mapping[str, int] | None = None,
    notes: Mapping[str, str] | None = None,
) -> NewRow:
    """Return a row with all columns of its table, the published ones first.

    Args:
        benchmark: whose paper's table it is.
        table: its name in `published.toml`, and what the paper calls it.
        row: who it is of.
        values: by column.
        standing: see `replica.standing`.
        n: see `NewRow`, as `notes`.
        notes: by column.
    """
    printed: dict[str, dict[str, float | str]] = {}
    for number in load_published(benchmark.published) if benchmark.published is not None else ():
        if number.table == table[0]:
            printed.setdefault(number.row, {})[number.column] = number.value
    columns = dict.fromkeys([*(column for cells in printed.values() for column in cells), *values])
    reasons, but_for = standing
    if not reasons and all(value is None for value in values.values()):
        reasons = ["no figure of this table is defined for it"]
    return NewRow(
        *table, row, {column: values.get(column) for column in columns}, printed, not reasons, reasons, {**(n or {})},
        but_for, {**(notes or {})},
    )  # fmt: skip


def new_rows(folder: Path, members: Sequence[Benchmark]) -> list[NewRow]:
    """Return the rows of a run.

    Args:
        folder: of the run.
        members: the benchmarks of the paper whose tables are reproduced.

    Raises:
        UsageError: the run is of none of them, or none of their protocols has a table.
    """
    if not (folder / "run.sqlite").is_file():
        raise UsageError(f"--beside {opening.absent(folder)}")
    content = manifest.read(folder)
    names = content.get("plan", {}).get("benchmarks", [])
    matching = [benchmark for benchmark in members if benchmark.name in names]
    if not matching:
        wanted = named([benchmark.name for benchmark in members], "or")
        raise UsageError(f"--beside {folder}: a run of {', '.join(names) or 'nothing'}, and not of {wanted}")
    scores = score(folder)
    of_models = [] if content["plan"].get("loaded") else matching  # what authors released is no run of a protocol
    rows = [
        row for benchmark in of_models for row in model_rows(benchmark, folder, scores, content.get(protocols.RECORD))
    ]
    rows += [row for benchmark in matching for row in judge_rows(folder, benchmark)]
    rows += [row for benchmark in matching for row in aligned_rows(folder, benchmark)]
    if not rows and not any(benchmark.rank_places for benchmark in members):
        reasons = dict.fromkeys(r.no_table for b in matching for r in protocols.replicas(b.folder) if r.no_table)
        raise UsageError(
            f"--beside {folder}: no protocol of {matching[0].name} has a table in which this run has a row"
            + "".join(f": {reason}" for reason in reasons)
        )
    return rows


def rank_places(folder: Path, members: Sequence[Benchmark], data: Path) -> list[RankPlace]:
    """Say where a run's models come in the paper's table of ranks; nothing where the paper has none."""
    placing = next((benchmark.rank_places for benchmark in members if benchmark.rank_places is not None), None)
    if placing is None:
        return []
    content, places = manifest.read(folder), []
    with Store(folder) as store:
        for benchmark in (b for b in members if b.name in content.get("plan", {}).get("benchmarks", [])):
            rated = frame.ratings(store, benchmark).select("model", "sample", "rater", "criterion", "value")
            places += [*placing(benchmark, data, rated.rows())]
    titles = short_names(place.model for place in places)
    record = content.get(protocols.RECORD, {})
    alike = content.get("plan", {}).get("loaded") or (record.get("comparable") and not record.get("but_for"))
    otherwise = "" if alike else ". Its row says how this run differs from theirs"
    return [
        msgspec.structs.replace(p, model=titles.get(p.model, p.model), note=p.note + (otherwise if p.place else ""))
        for p in places
    ]


def model_rows(
    benchmark: Benchmark, folder: Path, scores: Scores, record: Mapping[str, Any] | None
) -> Iterator[NewRow]:
    """Return the rows of a run's models in a paper's tables: each by its own answers, and as each judge rates them.

    Args:
        benchmark: whose paper it is.
        folder: of the run.
        scores: of the run.
        record: what its manifest says of the paper's protocol; None where it was not run as published.
    """
    candidates = [replica for replica in protocols.replicas(benchmark.folder) if replica.table]
    name = None if record is None else record["protocol"]
    replica = next((r for r in candidates if r.name == name), candidates[0] if candidates and record is None else None)
    if replica is None or benchmark.published is None:
        return
    shown = short_names([*scores.models, *scores.judges])
    wanted = [
        s for s in scores.metrics if s.benchmark == benchmark.name and any(_is(c, s) for c in replica.columns.values())
    ]
    with Store(folder) as store:
        rated = frame.ratings(store, benchmark)
    by_rule = {r.rater for r in (*benchmark.readings, *benchmark.replica_readings)}
    for model in dict.fromkeys(s.model for s in wanted if s.model in scores.models):
        of_model = [s for s in wanted if s.model == model]
        own = [s for s in of_model if s.rater in {model, *by_rule}]
        answers = rated.filter(pl.col("model") == model, pl.col("rater").is_in({s.rater for s in own}))
        judges = [*dict.fromkeys(s.rater for s in of_model if s.rater in scores.judges)]
        for judge in judges or [""] * bool(own):
            figures = [*own, *(s for s in of_model if s.rater == judge)]
            values = _values(replica, figures, answers)
            void = [*dict.fromkeys(s.void for s in figures if s.void)]
            reasons, but_for = protocols.standing(record, [*void, *_missing(figures, judge)])
            standing = reasons, [*but_for, *_unread(answers)]
            title = shown.get(model, model) + (f", judged by {shown.get(judge, judge)}" if judge else "")
            gaps = {
                c: _why(replica.columns[c], benchmark, judge, figures) for c, value in values.items() if value is None
            }
            cells = [] if void else _cells(benchmark, folder, model, judge or model)
            for table, caption in {replica.table: replica.compares_with, **replica.further}.items():
                in_table = {c.column: c.value for c in cells if c.table == table and isinstance(c.value, float)}
                first = table == replica.table
                yield new_row(
                    benchmark, (table, caption), title, {**(values if first else {}), **in_table}, standing,
                    notes=replica.not_computed | (gaps if first else {}),
                )  # fmt: skip


def _cells(benchmark: Benchmark, folder: Path, model: str, rater: str) -> list[RecomputedCell]:
    """Return what a benchmark itself computes of one model's replies as one rater rates them."""
    if benchmark.cells_of_run is None:
        return []
    with Store(folder) as store:
        replies = {reply.id: reply for reply in store.replies(benchmark.name) if reply.model == model}
        ratings = [r for r in store.ratings(benchmark.name) if r.rater == rater and r.subject in replies]
        samples = [*store.samples(benchmark.name)]
    return [*benchmark.cells_of_run(Released(samples, [*replies.values()], ratings, []))]


def _is(column: PublishedColumn, figure: Score) -> bool:
    return (column.metric, column.slice) == (figure.name, figure.slice) and (
        column.criterion in ("", figure.criterion) and column.rater in ("", figure.rater)
    )


def _unread(answers: pl.DataFrame) -> Iterator[str]:
    """Say how many of a model's answers could not be read, as some of the paper's models' could not."""
    unread = answers.filter(~pl.col("status").is_in([Status.OK, Status.NOT_APPLICABLE]))["subject"].n_unique()
    if unread:
        yield f"{plural(unread, 'answer')} could not be read"


def _missing(figures: Sequence[Score], judge: str) -> Iterator[str]:
    """Say how many of a judge's verdicts are missing."""
    missing = sum({(s.criterion, s.slice): s.missing for s in figures if s.rater == judge}.values())
    if missing:
        yield f"{plural(missing, 'verdict is', 'verdicts are')} missing"


def _values(replica: Replica, figures: Sequence[Score], answers: pl.DataFrame) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for name, column in replica.columns.items():
        if column.mean_of:
            parts = [values[part] for part in column.mean_of]
            values[name] = None if None in parts else fmean(value for value in parts if value is not None)
        elif column.count_of:
            counted = (pl.col("criterion") == column.criterion) & (pl.col("value") == column.count_of)
            values[name] = float(answers.filter(counted).height)
        else:
            values[name] = _value(column, figures)
    return values


def _why(column: PublishedColumn, benchmark: Benchmark, judge: str, figures: Sequence[Score]) -> str:
    """Say why a column has no figure."""
    if column.mean_of:
        return f"one of {named(column.mean_of)} has no figure"
    read = {r.criterion.name for r in benchmark.readings}
    if not judge and not benchmark.closed and column.criterion not in read:
        return "no judge rated it"
    if column.rater not in {"", *(figure.rater for figure in figures)}:
        return "only a run --as-published reads replies as the authors do"
    return "it is not defined on these answers, or too few of them can be used"


def _value(column: PublishedColumn, figures: Sequence[Score]) -> float | None:
    """Return a figure as the paper has it: the mean, or the standard deviation, of its repeats' own."""
    of_metric = [s for s in figures if _is(column, s)]
    if not of_metric:
        return None
    (figure, *_) = of_metric
    if column.over_runs == "sd":
        value = figure.sd
    elif column.over_runs == "n":
        value = float(figure.n - figure.missing)
    else:
        value = figure.value if figure.mean_of_runs is None else figure.mean_of_runs
    unusable = figure.void and column.over_runs != "n"
    return None if value is None or unusable else value * column.times


class _Verdicts(NamedTuple):
    """A judge's verdicts on the replies that people valued: by reply, None for one without a value."""

    by_reply: dict[str, list[float | None]]
    instruments: set[str]
    temperatures: set[float | None]
    in_several_calls: bool


def judge_rows(folder: Path, benchmark: Benchmark) -> Iterator[NewRow]:
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
        if (value := _judge_value(parts, table)) is not None:
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
        reasons = [*_lacking(benchmark, table, verdicts), *_missing_verdicts(table, verdicts, people, errors)]
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


def _judge_value(parts: Sequence[Rating], table: JudgesTable) -> float | None:
    values = [float(part.value == "yes" if isinstance(part.value, str) else part.value) for part in parts if part.value is not None]  # fmt: skip
    return sum(values) if len(values) == len(table.criteria) else None


def _judges(ratings: Sequence[Rating], table: JudgesTable, *, loaded: bool) -> dict[str, _Verdicts]:
    judges: dict[str, _Verdicts] = {}
    for (judge, reply, _), parts in _by_verdict(ratings).items():
        verdicts = judges.get(judge) or _Verdicts({}, set(), set(), in_several_calls=False)
        answers = [part for part in parts if part.status is not Status.NOT_APPLICABLE]
        if answers:  # without a label nobody was asked; the reply stands without a verdict
            verdicts.by_reply.setdefault(reply, []).append(_judge_value(parts, table))
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


def _missing_verdicts(
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


def aligned_rows(folder: Path, benchmark: Benchmark) -> Iterator[NewRow]:
    """Return a row for each attribute and each judge of a run that is none of the paper's own."""
    table = replica.read(benchmark.folder).judges
    if table is None or table.figures != "systems" or (values := _run_values(folder, benchmark.name)) is None:
        return
    judges = [rater for rater in values.by_rater if rater not in {released.PEOPLE, *released.OWN_SYSTEM}]
    titles = short_names(judges)
    temperature = replica.replicas(benchmark.folder)[0].options["judge_temperature"]
    for judge in judges:
        systems = _counted(judge, values)
        pairs = values.beside_people(judge, systems)
        differences = [*_by_design(table, values, judge, systems)]
        reasons = [*_asked_otherwise(table, temperature, values, judge), *_missing_means(table, values, judge, systems)]
        cells = [*as_published(ATTRIBUTES, pairs)] if len(systems) > 1 else []
        for k, attribute in enumerate(ATTRIBUTES):
            figures = {c.column: c.value for c in cells if c.row == attribute and c.value == c.value}  # NaN is none
            n = {released.PEOPLE: int(np.isfinite(pairs.human[..., k]).sum())}
            name = f"{titles.get(judge, judge)} / {attribute}"
            yield new_row(
                benchmark, (table.table, table.compares_with), name, figures, (reasons, differences), n=n,
                notes=table.not_computed,
            )  # fmt: skip


def judge_means(folder: Path) -> Means:
    """Return of a run of the released replies each judge's systems and their two means, by judge and criterion; nothing of other runs."""
    by_judge: Means = {}
    if (values := _run_values(folder, MENTALBENCH)) is None:
        return by_judge
    for judge in {*values.by_rater} - {released.PEOPLE}:
        systems = _counted(judge, values)
        of_systems = system_means(values.beside_people(judge, systems))
        by_judge |= {(judge, name): (systems, of_systems[k]) for k, name in enumerate(CRITERIA)}
    return by_judge


def _run_values(folder: Path, benchmark: str) -> RunValues | None:
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


def _missing_means(table: JudgesTable, values: RunValues, judge: str, systems: Sequence[str]) -> Iterator[str]:
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
