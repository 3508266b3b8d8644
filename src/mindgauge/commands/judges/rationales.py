"""`judges rationales`: whether judges' reasons can be checked, and what people say of them on a blind form."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import polars as pl

from mindgauge.analysis import rationales as checked
from mindgauge.analysis.rationales import RatedRationales, Rationales, rated
from mindgauge.analysis.reliability.card import Bound, estimate_columns
from mindgauge.analysis.score import open_run
from mindgauge.annotation.blind import RATIONALES, Blind
from mindgauge.benchmarks import restricted
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import private, tables
from mindgauge.records.files.bounds import clean
from mindgauge.records.files.texts import neutralised
from mindgauge.records.rounding import bounded, count, plural
from mindgauge.reports.export import rationales as forms
from mindgauge.reports.export.folder import ExportFolder, Written
from mindgauge.reports.export.rationales import ASKED
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks import Benchmark


INSTRUMENT = "mindgauge:rationales@1"


class CheckedRationales(Tabular, msgspec.Struct, frozen=True):
    """How far the reasons of a run's judges can be checked, by judge and criterion."""

    run: str
    rationales: list[Rationales]

    @property
    def table(self) -> pl.DataFrame:
        """A row for each judge and criterion: `judge`, `criterion`, `n`, and each share with its interval."""
        shares = ("traceable", "quoted_reply", "contradicting", "unsupported", "uncertain")
        return pl.DataFrame(
            [
                {name: value for name, value in msgspec.structs.asdict(entry).items() if name not in shares}
                | estimate_columns({name: getattr(entry, name) for name in shares})
                for entry in self.rationales
            ],
            infer_schema_length=None,
        )

    def summary(self) -> list[str]:
        """Say of each judge how many of its reasons quote only what stands in the text."""
        lines = [
            f"{entry.judge} on {entry.criterion}: quotes all found {_share(entry.traceable)}, against its own chain "
            f"{_share(entry.contradicting)}, n {count(entry.n)}"
            for entry in self.rationales
        ]
        return [f"{self.run}: whether judges' reasons can be checked", *first_of(lines, 8)]


class Forms(Tabular, msgspec.Struct, frozen=True):
    """What was written: a form for each person, and the key, which stays in the run."""

    run: str
    path: str
    key: str
    seed: int
    verdicts: int
    files: list[Written]
    notes: list[str]

    def summary(self) -> list[str]:
        """Say how many forms there are, and what to do with them."""
        return [
            f"{plural(self.verdicts, 'verdict')} on {plural(len(self.files), 'file')} in {self.path}; the key stays in {self.key}",
            *noted(self.notes),
            f'Filled in: mindgauge.judges_rationales_import("{self.run}", filled=[…])',
        ]

    def _listed(self) -> list[Written]:
        return self.files


class Imported(Tabular, msgspec.Struct, frozen=True):
    """What people said; `notes` names what could not be read."""

    run: str
    ratings: int
    questions: list[RatedRationales]
    notes: list[str]

    @property
    def table(self) -> pl.DataFrame:
        """A row for each question and judge: people's mean, 1 to 5, with its interval."""
        return pl.DataFrame(
            [
                {"judge": judge, "metric": entry.question, "value": bound.value, "low": bound.low, "high": bound.high, "n": entry.n,
                 "missing": entry.missing}
                for entry in self.questions
                for judge, bound in entry.means.items()
            ],
            infer_schema_length=None,
        )  # fmt: skip

    def summary(self) -> list[str]:
        """Say what people think of each judge's reasons."""
        lines = [
            f"{judge}, {entry.question}: {bounded(bound.value, bound.low, bound.high)} of 5, n {count(entry.n)}, {count(entry.missing)} missing"
            for entry in self.questions
            for judge, bound in entry.means.items()
        ]
        return [
            f"{self.run}: {plural(self.ratings, 'rating')} of reasons by people",
            *first_of(lines, 6),
            *noted(self.notes),
        ]


def _share(bound: Bound) -> str:
    return bounded(bound.value, bound.low, bound.high, "share")


def rationales(run: str | Path) -> CheckedRationales:
    """Say of every judge of a run how far its reasons can be checked.

    Raises:
        UsageError: there is no run, or no model judged replies in it.
    """
    folder = Path(run)
    with _judged(folder) as (store, benchmark):
        summaries = checked.reasons(store, benchmark).by_criterion
    if not summaries:
        raise UsageError(f"{folder}: no verdict of a judge here came with reasons, so there is nothing to check")
    return CheckedRationales(str(folder), summaries)


def rationales_export(
    run: str | Path, *, out: str | Path | None = None, people: int = 2, limit: int | None = None, seed: int = 0
) -> Forms:
    """Write blind forms on which people rate judges' reasons.

    Args:
        run: a run directory.
        out: the folder for the forms; RUN/rationales if not given. A form that somebody has filled in is never replaced.
        people: how many forms; each has the same verdicts in another order.
        limit: at most this many verdicts, spread over judges, criteria and values; all if not given.
        seed: of choice and order, together with the run's secret.

    Raises:
        UsageError: there is no run, nothing to rate, or the folder holds something else.
    """
    if people < 1 or (limit is not None and limit < 1):
        raise UsageError("--people and --limit must be at least 1")
    folder = Path(run)
    path = Path(out) if out is not None else folder / "rationales"
    if out is None:
        private.refuse_link(path)
    with _judged(folder) as (store, benchmark):
        blind = Blind.of(folder)
        verdicts = forms.verdicts(store, benchmark, blind)
        if not verdicts.ratings:
            raise UsageError(f"{folder}: no judge gave reasons here")
        places = forms.drawn(verdicts, limit, seed, blind)
        with ExportFolder(path) as files:
            forms.write_forms(files, store, benchmark, verdicts, places, people=people, seed=seed, blind=blind)
        notes = restricted.notes(store, [benchmark], manifest.read(folder))
    key = folder / RATIONALES
    private.write(key, neutralised(forms.key(verdicts)).write_csv())
    return Forms(str(folder), str(path), str(key), seed, len(places), files.written, notes)


def rationales_import(run: str | Path, *, filled: str | Path | Sequence[str | Path]) -> Imported:
    """Read filled forms into the run, as ratings by people of verdicts, and say what they find and how far they agree.

    The ratings stand in the run under the name `BENCHMARK:rationales`, outside its plan, its scores and its exports. A
    form's person is called as its file. Reading a form again replaces what it said before.

    Args:
        run: the run that the forms were exported from.
        filled: forms, as a spreadsheet program saves them: CSV in UTF-8, or .xlsx.

    Raises:
        UsageError: there is no run, or no key to the forms in it.
        DataError: a form lacks a column, or has an id that is not in the key, or one twice; nothing is read then.
    """
    folder = Path(run)
    paths = [Path(filled)] if isinstance(filled, str | Path) else [Path(path) for path in filled]
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        raise UsageError("two forms have the same file name, which is the person's name; rename one")
    keys = _keys(folder)
    notes: list[str] = []
    with _judged(folder) as (_, benchmark):
        about = f"{benchmark.name}:rationales"
    with Store(folder, write=True) as store:
        before = {(r.subject, r.criterion, r.rater) for r in store.ratings(about)}
        ratings = [rating for path in paths for rating in _read(path, keys, before, notes)]
        for rating in ratings:
            store.add_rating(about, rating)
        store.flush()
        rows = _rows(store, benchmark, about, keys, notes)
    questions = [rated(rows.filter(pl.col("criterion") == name), name) for name in forms.ASKED]
    return Imported(str(folder), len(ratings), questions, notes)


@contextlib.contextmanager
def _judged(folder: Path) -> Iterator[tuple[Store, Benchmark]]:
    """Open a run and find its one benchmark that has replies."""
    store, benchmarks, _ = open_run(folder)
    with store:
        judged = [b for b in benchmarks if store.count_replies(b.name)]
        if len(judged) != 1:
            names = ", ".join(b.name for b in judged) or "none"
            raise UsageError(
                f"{folder}: reasons are looked at for one open benchmark at a time; with replies here: {names}"
            )
        yield store, judged[0]


def _keys(folder: Path) -> dict[str, dict[str, str]]:
    if not (folder / RATIONALES).exists():
        raise UsageError(
            f"{folder}: no key to any form here; `mindgauge judges rationales export` writes forms and key"
        )
    return {row["id"]: row for _, row in tables.rows(folder / RATIONALES)}


def _read(
    path: Path, keys: dict[str, dict[str, str]], before: set[tuple[str, str, str]], notes: list[str]
) -> Iterator[Rating]:
    """Read one person's form; an empty cell is no rating, what is no whole number from 1 to 5 is counted as missing.

    A cell that is empty now and was rated `before` takes the rating back: it is missing from then on.
    """
    empty = taken_back = off_scale = 0
    first = ""
    for line in lines(path):
        if line.ident not in keys:
            raise DataError(
                f"{path}:{line.number}: id {line.ident!r} is in no key of this run; is it a form of this run?"
            )
        verdict = keys[line.ident]["verdict"]
        for question, cell in line.answers.items():
            value = answer(cell)
            if not cell:
                empty += 1
                if (verdict, question, path.stem) not in before:
                    continue
                taken_back += 1
            elif value is None:
                off_scale += 1
                first = first or f"line {line.number}: {question} {cell!r:.30}"
            status = Status.OK if value is not None else Status.UNPARSABLE
            yield Rating(
                verdict, question, path.stem, RaterKind.PERSON, 0, status, value, rationale=line.comment,
                instrument=INSTRUMENT, provenance={"source_row": line.number},
            )  # fmt: skip
    if off_scale:
        notes.append(f"{path.name}: {off_scale} ratings are not from 1 to 5 and count as missing ({first})")
    if empty:
        notes.append(f"{path.name}: {empty} cells are empty")
    if taken_back:
        notes.append(f"{path.name}: {taken_back} of them held an answer before, which counts as missing now")


def _rows(
    store: Store, benchmark: Benchmark, about: str, keys: dict[str, dict[str, str]], notes: list[str]
) -> pl.DataFrame:
    """Return all ratings of reasons in the run, with the judge and the conversation that each is about."""
    clusters = {sample.id: sample.cluster for sample in store.samples(benchmark.name)}
    of_reply = {reply.id: clusters[reply.sample] for reply in store.replies(benchmark.name)}
    verdicts = {row["verdict"]: row for row in keys.values()}
    ratings = list(store.ratings(about))
    keyed = [r for r in ratings if r.subject in verdicts]
    if len(keyed) < len(ratings):
        notes.append(
            f"{len(ratings) - len(keyed)} ratings of earlier forms are left out: their key is no longer in {store.folder}"
        )
    rows = [
        (r.subject, r.criterion, verdicts[r.subject]["judge"], of_reply[verdicts[r.subject]["reply"]], r.rater, r.value)
        for r in keyed
    ]
    columns = {**dict.fromkeys(("subject", "criterion", "judge", "cluster", "rater"), pl.String), "number": pl.Float64}
    return pl.DataFrame(rows, columns, orient="row")


# Filled forms, as spreadsheet programs save them: commas, semicolons or tabs, 4 as 4.0 or 4,0, in any order.


_NEEDED = ("id", *ASKED)


class FilledRow(NamedTuple):
    """What a person says of one verdict; `answers` are cells as they were written, empty ones too."""

    number: int
    ident: str
    answers: dict[str, str]
    comment: str


def lines(path: Path) -> list[FilledRow]:
    """Read a filled form: the columns `id` and those of the questions, whatever else there is.

    Args:
        path: a table; of a workbook the first sheet.

    Raises:
        DataError: it cannot be read, a column is missing, a verdict stands there twice, or an answer has no id.
    """
    lines_read: dict[str, FilledRow] = {}
    for number, row in _filled_rows(path):
        line = FilledRow(
            number,
            row["id"].strip().lstrip("'"),
            {name: row[name].strip() for name in ASKED},
            clean(row.get("comment", "").strip()),
        )
        if not line.ident:
            if any(line.answers.values()):
                raise DataError(f"{path}:{number}: an answer without an id; the form's id column must stay as it was")
            continue
        if line.ident in lines_read:
            raise DataError(
                f"{path}:{number}: id {line.ident!r} stands on line {lines_read[line.ident].number}, too; "
                "a form has one row for each verdict, and each person a form"
            )
        lines_read[line.ident] = line
    return list(lines_read.values())


def answer(cell: str) -> int | None:
    """Read an answer from 1 to 5, None if it is something else."""
    try:
        number = float(cell.replace(",", "."))
    except ValueError:
        return None
    return int(number) if number in {1, 2, 3, 4, 5} else None


def _filled_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row's line in the file, and its cells by the header's names in lower case."""
    file = tables.find(path)
    table = tables.open_tables(file, tables.beside(file, ()).layout)[0]
    names = [name.casefold() for name in table.headers]
    absent = [name for name in _NEEDED if name not in names]
    if absent:
        raise DataError(f"{path}: no column {', '.join(absent)}; found {', '.join(filter(None, names)) or 'nothing'}")
    doubled = next((name for name in _NEEDED if names.count(name) > 1), None)
    if doubled is not None:
        raise DataError(f"{path}: several columns are called {doubled}; keep one")
    for number, cells in table.cells():
        texts = ["" if cell is None else str(cell) for cell in cells]
        yield number, dict(zip(names, [*texts, *[""] * (len(names) - len(texts))], strict=False))
