"""What people decided in `view`: by whom, when, with judges' verdicts beside it; and what they read.

`decisions.csv` is for people: nothing in it is a formula to a spreadsheet. `decisions.jsonl` is for programs, and holds
everything as it is in the run. Both have a row for each person, subject and criterion, also of what was taken back.
`review.csv` is the list of `export --to review`, filled in: what stands now, a row for each person and subject, with the texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge.annotation.blind import Blind
from mindgauge.records import RaterKind, Status, encode
from mindgauge.records.drawn import COLUMNS, DRAWN, IN_SIGHT
from mindgauge.records.errors import DataError
from mindgauge.records.shell import command_line
from mindgauge.reports.export.tabular import ExportTable
from mindgauge.reports.export.worklist import DRAWN_TYPES, REVIEW, subject_of
from mindgauge.store import reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Rating
    from mindgauge.reports.export.folder import ExportFolder
    from mindgauge.store import Store

DECISIONS, LINES, READ = "decisions.csv", "decisions.jsonl", "read.csv"
SOURCE = "view"
"""In a rating's provenance: where it was given."""
TAKEN_BACK = "taken back"
_JUDGES = {RaterKind.MODEL, RaterKind.CLASSIFIER, RaterKind.PANEL}
_TEXT = (
    "benchmark", "subject", "sample", "model", "criterion", "who", "at", "decided", "note", "beside", "verdicts", "selection", "earlier",
    "revised",
)  # fmt: skip
_TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(_TEXT, pl.String), "blind": pl.Boolean, "seconds": pl.Float64, **DRAWN_TYPES,
}  # fmt: skip
_READ: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "subject", "who"), pl.String), "seconds": pl.Float64, "read": pl.Boolean,
}  # fmt: skip


def write(files: ExportFolder, store: Store, benchmarks: Sequence[Benchmark]) -> list[str]:
    """Write the files, and return what is to be known of them.

    Raises:
        DataError: nobody decided or read anything.
    """
    standing = {benchmark.name: list(_decisions(store, benchmark.name)) for benchmark in benchmarks}
    rows = [row for own in standing.values() for row in own] + list(_taken_back(store))
    looks = reading.seconds_by_reader(store.folder)
    if not rows and not looks:
        raise DataError(
            f"{store.folder}: no decision and no reading is recorded here; make both with `{command_line('view', store.folder)}`"
        )
    table = ExportTable(_TYPES, (tuple(_cell(row.get(name)) for name in _TYPES) for row in rows))
    files.csv_stream(DECISIONS, table.frames())
    decided = [benchmark for benchmark in benchmarks if standing[benchmark.name]]
    for benchmark in decided:
        name = REVIEW if len(decided) == 1 else f"{benchmark.name.replace('/', '-')}-{REVIEW}"
        files.csv_stream(name, _filled_in(store, benchmark, standing[benchmark.name]).frames())
    files.text(LINES, "".join(f"{encode(row).decode()}\n" for row in rows))
    lines = [
        (*about, who, round(seconds, 1), seconds >= reading.ENOUGH)
        for about, readers in looks.items()
        for who, seconds in readers.items()
    ]
    files.csv(READ, pl.DataFrame(lines, _READ, orient="row"))
    chosen = sum(row.get("selection") == IN_SIGHT for row in rows)
    return (
        [f"{chosen} of {len(rows)} decisions are on replies that were {IN_SIGHT}: they stand for no others"]
        if chosen
        else []
    )


def _filled_in(store: Store, benchmark: Benchmark, rows: Sequence[dict[str, Any]]) -> ExportTable:
    """Return a row for each person and subject, in the review list's columns, behind which stand who decided, and when."""
    blind = Blind.of(store.folder)
    criteria = [criterion.name for criterion in benchmark.rubric.criteria]
    by_answer: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        by_answer.setdefault((row["who"], row["subject"]), []).append(row)
    names = ("review_id", "dialogue", "reply", *criteria, "comment", "who", "at")
    filled = (
        (
            place, blind.review(subject), about.dialogue, about.text, *(decided.get(name) for name in criteria),
            last["note"], who, last["at"], *(last[name] for name in DRAWN_TYPES),
        )
        for place, ((who, subject), answers) in enumerate(by_answer.items(), 1)
        for about in [subject_of(store, benchmark.name, subject)]
        for decided, last in [({row["criterion"]: row["decided"] for row in answers}, max(answers, key=_moment))]
    )  # fmt: skip
    return ExportTable({"place": pl.Int64, **dict.fromkeys(names, pl.String), **DRAWN_TYPES}, filled)


def _decisions(store: Store, benchmark: str) -> Iterator[dict[str, Any]]:
    """Yield what stands in the run, person by person, in the order of the criteria's names."""
    own = [rating for rating in store.ratings(benchmark) if rating.provenance.get("source") == SOURCE]
    subjects = list(dict.fromkeys(rating.subject for rating in own))
    ratings = store.ratings_of(benchmark, subjects)
    for rating in own:
        origin = rating.provenance
        reply = store.reply(benchmark, rating.subject)
        verdicts = [r for r in ratings[rating.subject] if r.criterion == rating.criterion and r.rater_kind in _JUDGES]
        yield {
            "benchmark": benchmark, "subject": rating.subject, "sample": reply.sample if reply else rating.subject,
            "model": reply.model if reply else None, "criterion": rating.criterion, "who": rating.rater, "at": origin.get("at"),
            "decided": _decided(rating), "note": rating.rationale, "beside": origin.get("beside"),
            "verdicts": {r.rater: _said(r) for r in verdicts}, "selection": origin.get("selection"), "blind": origin.get("blind", False),
            "seconds": origin.get("seconds"), "earlier": origin.get("earlier", []), "revised": origin.get("revised", []),
            **{name: origin.get(DRAWN, {}).get(name) for name in COLUMNS},
        }  # fmt: skip


def _taken_back(store: Store) -> Iterator[dict[str, Any]]:
    """Yield what was deleted, and is told beside the run alone."""
    for entry in reading.entries(store.folder):
        for criterion, said in entry.withdrawn.items():
            reply = store.reply(entry.benchmark, entry.subject)
            yield {
                "benchmark": entry.benchmark, "subject": entry.subject, "sample": reply.sample if reply else entry.subject,
                "model": reply.model if reply else None, "criterion": criterion, "who": entry.who, "at": entry.at,
                "decided": TAKEN_BACK, "note": "", "selection": IN_SIGHT, "blind": False, "earlier": [said], "revised": [],
            }  # fmt: skip


def _moment(row: dict[str, Any]) -> str:
    return str(row["at"])


def _decided(rating: Rating) -> str:
    if rating.status is Status.OK:
        return str(rating.value)
    status = str(rating.provenance.get("said", rating.status)).replace("_", " ")
    return TAKEN_BACK if status == "withdrawn" else status


def _said(rating: Rating) -> str:
    return str(rating.value if rating.status is Status.OK else rating.status)


def _cell(value: Any) -> Any:
    """Write an object or a list as JSON; an empty one as nothing."""
    return (encode(value).decode() if value else None) if isinstance(value, dict | list) else value
