"""What raters said of replies, as the evaluation tables of the Hugging Face layout.

A rubric with one criterion of whole numbers gives exactly the layout's columns; any other adds `criterion` and, to
single ratings, `level`, where `score` is then the level's place in the rubric, counted from 1.
"""

from __future__ import annotations

import statistics
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge.benchmarks.hub_layout.tables import EVALUATION, MERGED_ID, OUT_OF_RANGE, RAW_OUTPUT, STATED
from mindgauge.records import Status
from mindgauge.records.drawn import DRAWN
from mindgauge.records.rubric import Scale
from mindgauge.reports.export.placed import canonical, file_only, ident, raw_rater

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Rating
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.export.placed import Pair, Placed, WordingIndex


STATUSES = {
    Status.OK: "ok",
    Status.UNPARSABLE: "parse_error",
    Status.REFUSED: "not_evaluated",
    Status.FILTERED: "not_evaluated",
    Status.FAILED: "not_evaluated",
    Status.NOT_APPLICABLE: "not_evaluated",
}
NOT_APPLICABLE = "not_applicable"
"""A verdict that a criterion does not apply, where the rubric has that; the layout's own word is for what was not judged."""

_TEXT, _WHOLE, _REAL = pl.String(), pl.Int64(), pl.Float64()
_ID = {"evaluation_id": _TEXT, "response_id": _TEXT, "example_id": _TEXT}
_MODELS = dict.fromkeys(("answer_model_raw", "answer_model", "evaluator_model_raw", "evaluator_model"), _TEXT)
_SOURCE = {"source_file": _TEXT, "source_row": _WHOLE}
_DETAILS = {"details": _TEXT}
"""What is known of a record and has no column, as JSON; `{}` where all has one."""
Columns = dict[str, pl.DataType]
RAW: Columns = {
    **_ID, **_MODELS, "evaluation_run": _WHOLE, "score": _WHOLE, "score_status": _TEXT, "explanation": _TEXT,
    "raw_output": _TEXT, **_SOURCE, "instrument": _TEXT, **_DETAILS,
}  # fmt: skip
MERGED: Columns = {
    **_ID, **_MODELS, "score": _REAL, "score_runs": pl.List(_WHOLE), "score_std": _REAL, "n_valid": _WHOLE, **_SOURCE,
}  # fmt: skip
HUMAN: Columns = {
    **_ID, "annotator": _TEXT, "score": _REAL, "label": _TEXT, "response_text": _TEXT, **_SOURCE, **_DETAILS,
}  # fmt: skip
OTHER: Columns = {
    **_ID, "rater": _TEXT, "rater_kind": _TEXT, "run": _WHOLE, "criterion": _TEXT, "value": _TEXT, "explanation": _TEXT, **_SOURCE,
    "instrument": _TEXT, **_DETAILS,
}  # fmt: skip
REVIEW: Columns = {
    **MERGED, "review_set": _TEXT, "sampled_from": _TEXT, "sampled_criteria": _TEXT, "n_tied": _WHOLE, "tie_rank": _WHOLE,
    **_DETAILS,
}  # fmt: skip
Row = dict[str, Any]
_FRAME = 1_000
"""How many rows are Python objects at a time."""


class Gathered:
    """A table that grows row by row, of exactly these columns and types, also where it is empty."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._rows: list[Row] = []
        self._frames: list[pl.DataFrame] = []

    def add(self, row: Row) -> None:
        """Take a row; few of them are Python objects at a time."""
        self._rows.append(row)
        if len(self._rows) == _FRAME:
            self._settle()

    def frames(self) -> list[pl.DataFrame]:
        """Return all rows."""
        if self._rows or not self._frames:
            self._settle()
        return self._frames

    def _settle(self) -> None:
        self._frames.append(pl.DataFrame(self._rows, schema=self._columns, orient="row"))
        self._rows = []


class Book:
    """What the tables need to know of a run beside its ratings: the benchmark, and who said what in which words.

    `plain` says whether the layout's own columns are enough.
    """

    def __init__(self, benchmark: Benchmark, words: WordingIndex, open_samples: frozenset[str] | None = None) -> None:
        """Take a run.

        Args:
            benchmark: whose replies were rated.
            words: what was said of them.
            open_samples: the samples whose replies and reasons may be passed on; None for all.
        """
        self.benchmark, self.words, self._shown = benchmark, words, open_samples
        criteria = benchmark.rubric.criteria
        self.plain = len(criteria) == 1 and all(isinstance(value, int) for value in criteria[0].values)
        self._criteria = {criterion.name: criterion for criterion in criteria}

    def columns(self, columns: Columns, *, level: bool = False) -> Columns:
        """Return a table's columns for this rubric."""
        return columns if self.plain else {**columns, "criterion": _TEXT, **({"level": _TEXT} if level else {})}

    def criterion(self, name: str) -> Criterion:
        """Return a criterion of the rubric."""
        return self._criteria[name]

    def parts(self, criterion: str, *parts: Any) -> tuple[Any, ...]:
        """Return what makes an evaluation's id, its criterion included where there are several."""
        return parts if self.plain else (criterion, *parts)

    def score(self, rating: Rating) -> int | None:
        """Return a rating as a whole number: its value, or the place of its level."""
        if rating.status is not Status.OK or rating.value is None:
            return None
        if not isinstance(rating.value, str):
            return int(rating.value) if float(rating.value).is_integer() else None
        values = self.criterion(rating.criterion).values
        return values.index(rating.value) + 1 if rating.value in values else None

    def status(self, rating: Rating) -> str:
        """Return what became of a rating, in the layout's words."""
        if STATED in rating.provenance:
            return str(rating.provenance[STATED])
        raw = rating.provenance.get("raw")
        number = isinstance(raw, int | float) or (isinstance(raw, str) and raw.strip().lstrip("+-").isdigit())
        if (rating.status is Status.UNPARSABLE and number) or (
            rating.status is Status.OK and self.score(rating) is None
        ):
            return OUT_OF_RANGE
        criterion = self.criterion(rating.criterion)
        if rating.status is Status.NOT_APPLICABLE and (criterion.not_applicable or criterion.applies):
            return NOT_APPLICABLE
        return STATUSES[rating.status]

    def shows(self, placed: Placed) -> bool:
        """Say whether a reply, and what was said of it, may be passed on."""
        return self._shown is None or placed.sample.id in self._shown

    def reply(self, placed: Placed) -> str | None:
        """Return what a reply says; None where it is restricted."""
        return self.words.reply(placed) if self.shows(placed) else None

    def raw_output(self, rating: Rating) -> str | None:
        """Return what the rater wrote: a judge's text, or a released value as canonical JSON."""
        if rating.provenance.get("raw") is not None:
            return canonical(rating.provenance["raw"])
        if RAW_OUTPUT in rating.provenance:
            return str(rating.provenance[RAW_OUTPUT])
        if is_released(rating):
            return None if rating.value is None else canonical(rating.value)
        return self.words.call(rating.rater, rating.run, rating.provenance.get("at", 0.0))

    def models(self, placed: Placed, rater: str, raw: object = None) -> Row:
        """Return who answered and who evaluated, as first named and as we name them; `rater` is empty if nobody did."""
        return {
            "answer_model_raw": raw_model(placed),
            "answer_model": placed.reply.model,
            "evaluator_model_raw": str(raw or rater) or None,
            "evaluator_model": rater or None,
        }


def raw_model(placed: Placed) -> str:
    """Return a model's name as its source, or its server, gave it."""
    origin = placed.reply.provenance
    return str(origin.get("model_raw") or origin.get("model") or placed.reply.model)


def frame(rows: Iterable[Row], columns: Columns) -> pl.DataFrame:
    """Make rows a table of exactly these columns and types, empty ones included."""
    gathered = Gathered(columns)
    for row in rows:
        gathered.add(row)
    return pl.concat(gathered.frames(), rechunk=True)


def judged(book: Book, rated: Iterable[Pair], runs: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a judge's single judgements, one row each, and their means.

    Args:
        book: of the run.
        rated: by response, and then by criterion.
        runs: how often the judge was asked.
    """
    raw = [Gathered(book.columns(RAW, level=True)) for _ in range(runs)]
    merged = Gathered(book.columns(MERGED))
    for _, pairs in groupby(rated, key=lambda pair: (pair[0].response_id, pair[1].criterion)):
        repeats = list(pairs)
        for placed, rating in repeats:
            raw[rating.run].add(_raw_row(book, placed, rating))
        merged.add(_mean_row(book, repeats, runs))
    single = [frame for gathered in raw for frame in gathered.frames()]
    return pl.concat(single, rechunk=True), pl.concat(merged.frames(), rechunk=True)


def _raw_row(book: Book, placed: Placed, rating: Rating) -> Row:
    parts = book.parts(rating.criterion, rating.run)
    origin = rating.provenance
    row: Row = {
        "evaluation_id": origin.get(EVALUATION) or ident("ev", placed.response_id, rating.rater, *parts),
        "response_id": placed.response_id,
        "example_id": placed.example_id,
        **book.models(placed, rating.rater, raw_rater(rating)),
        "evaluation_run": rating.run,
        "score": book.score(rating),
        "score_status": book.status(rating),
        "explanation": (rating.rationale or None) if book.shows(placed) else None,
        "raw_output": book.raw_output(rating) if book.shows(placed) else None,
        "source_file": file_only(origin.get("source_file")),
        "source_row": origin.get("source_row"),
        "instrument": rating.instrument or None,
        "details": rating_details(rating),
    }
    if not book.plain:
        row |= {"criterion": rating.criterion, "level": None if rating.value is None else str(rating.value)}
    return row


def _mean_row(book: Book, repeats: list[Pair], runs: int) -> Row:
    """Write the mean of one response's judgements, `score_runs[k]` being run k and null where it has no score.

    A refused reply has none, though some authors' judges scored the refusal.
    """
    scores: list[int | None] = [None] * runs
    for _, rating in repeats:
        scores[rating.run] = book.score(rating)
    return merged_row(book, *repeats[0], scores)


def merged_row(book: Book, placed: Placed, rating: Rating, scores: list[int | None], tag: str = "merged") -> Row:
    """Write the mean of the judgements of one response, under the id that its release gave it, if any did."""
    ident_of_release = rating.provenance.get(MERGED_ID if tag == "merged" else EVALUATION)
    ordered = book.criterion(rating.criterion).scale is Scale.ORDINAL
    valid = tuple(score for score in scores if score is not None) if ordered else ()
    row: Row = {
        "evaluation_id": ident_of_release
        or ident("ev", placed.response_id, rating.rater, *book.parts(rating.criterion, tag)),
        "response_id": placed.response_id,
        "example_id": placed.example_id,
        **book.models(placed, rating.rater, raw_rater(rating)),
        "score": _mean(valid) if valid else None,
        "score_runs": scores,
        "score_std": _deviation(valid) if valid else None,
        "n_valid": sum(score is not None for score in scores),
        "source_file": file_only(placed.reply.provenance.get("source_file")),
        "source_row": placed.reply.provenance.get("source_row"),
    }
    return row if book.plain else {**row, "criterion": rating.criterion}


@lru_cache
def _mean(scores: tuple[int, ...]) -> float:
    return statistics.fmean(scores)


@lru_cache
def _deviation(scores: tuple[int, ...]) -> float:
    return statistics.pstdev(scores)


def human_rows(book: Book, rated: Iterable[Pair], annotator: str, labels: dict[str, str | None]) -> Iterator[Row]:
    """Write one person's scores under a name that is not theirs; where they were read from is theirs, too."""
    for placed, rating in rated:
        parts = book.parts(rating.criterion, f"human:{annotator}" + (f":{rating.run}" if rating.run else ""))
        own_name = annotator == rating.rater
        row: Row = {
            "evaluation_id": rating.provenance.get(EVALUATION) or ident("ev", placed.response_id, *parts),
            "response_id": placed.response_id,
            "example_id": placed.example_id,
            "annotator": annotator,
            "score": rating.value if isinstance(rating.value, int | float) else book.score(rating),
            "label": labels[placed.response_id],
            "response_text": book.reply(placed),
            "source_file": file_only(rating.provenance.get("source_file")) if own_name else None,
            "source_row": rating.provenance.get("source_row") if own_name else None,
            "details": rating_details(
                rating,
                **({"run": rating.run} if rating.run else {}),
                **({"instrument": rating.instrument} if rating.instrument else {}),
            ),
        }
        yield row if book.plain else {**row, "criterion": rating.criterion}


def other_rows(book: Book, rated: Iterable[Pair], rater: str) -> Iterator[Row]:
    """Write what somebody said that has no table of the layout's own, under the name that they have outside."""
    for placed, rating in rated:
        own_name, value = rater == rating.rater, rating.value
        yield {
            "evaluation_id": rating.provenance.get(EVALUATION)
            or ident("ev", placed.response_id, f"other:{rater}", rating.criterion, rating.run),
            "response_id": placed.response_id,
            "example_id": placed.example_id,
            "rater": rater,
            "rater_kind": rating.rater_kind.value,
            "run": rating.run,
            "criterion": rating.criterion,
            "value": None if value is None else str(value),
            "explanation": (rating.rationale or None) if book.shows(placed) else None,
            "source_file": file_only(rating.provenance.get("source_file")) if own_name else None,
            "source_row": rating.provenance.get("source_row") if own_name else None,
            "instrument": rating.instrument or None,
            "details": rating_details(rating, **({} if value is None or isinstance(value, str) else {"value": value})),
        }


_TOLD = ("answer_changed", "answer_overwritten", "explanation_is_json", "inputs_changed", DRAWN, "selection")
"""What of a rating's provenance the layout has no column for: how it came to people, and what its file had otherwise."""


def rating_details(rating: Rating, **extra: Any) -> str:
    """Write what is known of a rating and has no column."""
    entries = {**{name: rating.provenance[name] for name in _TOLD if name in rating.provenance}, **extra}
    if rating.status is not Status.OK:
        entries["status"] = rating.status.value
    return canonical(entries) if entries else "{}"


def is_released(rating: Rating) -> bool:
    """Whether a rating was read from a file: ours say by which instrument they were made, and have their words kept."""
    return not rating.instrument
