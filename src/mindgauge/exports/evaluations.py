"""What raters said of replies, as the evaluation tables of the Hugging Face layout.

A rubric with one criterion of whole numbers gives exactly the layout's columns; any other adds `criterion` and, to
single ratings, `level`, where `score` is then the level's place in the rubric, counted from 1.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.benchmark import Benchmark
from mindgauge.exports.names import file_only
from mindgauge.exports.placed import canonical, ident
from mindgauge.records import RaterKind, Status
from mindgauge.rubric import Scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.exports.placed import Placed
    from mindgauge.records import Rating
    from mindgauge.rubric import Criterion


STATUSES = {
    Status.OK: "ok",
    Status.UNPARSABLE: "parse_error",
    Status.REFUSED: "not_evaluated",
    Status.FILTERED: "not_evaluated",
    Status.FAILED: "not_evaluated",
    Status.NOT_APPLICABLE: "not_evaluated",
}
OUT_OF_RANGE = "out_of_range"
"""An unparsable rating whose raw value is a number: it was read, but is no level of the rubric."""

_TEXT, _WHOLE, _REAL = pl.String(), pl.Int64(), pl.Float64()
_ID = {"evaluation_id": _TEXT, "response_id": _TEXT, "example_id": _TEXT}
_MODELS = dict.fromkeys(("answer_model_raw", "answer_model", "evaluator_model_raw", "evaluator_model"), _TEXT)
_SOURCE = {"source_file": _TEXT, "source_row": _WHOLE}
Columns = dict[str, pl.DataType]
RAW: Columns = {
    **_ID, **_MODELS, "evaluation_run": _WHOLE, "score": _WHOLE, "score_status": _TEXT, "explanation": _TEXT,
    "raw_output": _TEXT, **_SOURCE,
}  # fmt: skip
MERGED: Columns = {
    **_ID, **_MODELS, "score": _REAL, "score_runs": pl.List(_WHOLE), "score_std": _REAL, "n_valid": _WHOLE, **_SOURCE,
}  # fmt: skip
HUMAN: Columns = {**_ID, "annotator": _TEXT, "score": _REAL, "label": _TEXT, "response_text": _TEXT, **_SOURCE}
REVIEW: Columns = {
    **MERGED, "review_set": _TEXT, "sampled_from": _TEXT, "sampled_criteria": _TEXT, "n_tied": _WHOLE, "tie_rank": _WHOLE,
}  # fmt: skip
Row = dict[str, Any]


class Book(msgspec.Struct, frozen=True):
    """What the tables need to know of a run beside its ratings: the benchmark, and judges' words by run and time."""

    benchmark: Benchmark
    raw_text: dict[tuple[str, int, float], str]

    @property
    def plain(self) -> bool:
        """Whether the layout's own columns are enough."""
        criteria = self.benchmark.rubric.criteria
        return len(criteria) == 1 and all(isinstance(value, int) for value in criteria[0].values)

    def columns(self, columns: Columns, *, level: bool = False) -> Columns:
        """Return a table's columns for this rubric."""
        return columns if self.plain else {**columns, "criterion": _TEXT, **({"level": _TEXT} if level else {})}

    def criterion(self, name: str) -> Criterion:
        """Return a criterion of the rubric."""
        return next(criterion for criterion in self.benchmark.rubric.criteria if criterion.name == name)

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
        raw = rating.provenance.get("raw")
        number = isinstance(raw, int | float) or (isinstance(raw, str) and raw.strip().lstrip("+-").isdigit())
        if (rating.status is Status.UNPARSABLE and number) or (
            rating.status is Status.OK and self.score(rating) is None
        ):
            return OUT_OF_RANGE
        return STATUSES[rating.status]

    def raw_output(self, rating: Rating) -> str | None:
        """Return what the rater wrote: a judge's text, or a released value as canonical JSON."""
        if rating.provenance.get("raw") is not None:
            return canonical(rating.provenance["raw"])
        if is_released(rating):
            return None if rating.value is None else canonical(rating.value)
        return self.raw_text.get((rating.rater, rating.run, rating.provenance.get("at", 0.0)))

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


def raw_rater(rating: Rating) -> Any:
    """Return a rater's name as its file, or its server, gave it, if either did."""
    return rating.provenance.get("model_raw") or rating.provenance.get("model")


def frame(rows: Iterable[Row], columns: Columns) -> pl.DataFrame:
    """Make rows a table of exactly these columns and types, empty ones included."""
    return pl.DataFrame(list(rows), schema=columns, orient="row")


def raw_rows(book: Book, rated: Iterable[tuple[Placed, Rating]]) -> Iterator[Row]:
    """Write single judgements, one row each."""
    for placed, rating in sorted(rated, key=lambda pair: (pair[1].run, *pair[0].order, pair[1].criterion)):
        parts = book.parts(rating.criterion, rating.run)
        origin = rating.provenance
        row: Row = {
            "evaluation_id": ident("ev", placed.response_id, rating.rater, *parts),
            "response_id": placed.response_id,
            "example_id": placed.example_id,
            **book.models(placed, rating.rater, raw_rater(rating)),
            "evaluation_run": rating.run,
            "score": book.score(rating),
            "score_status": book.status(rating),
            "explanation": rating.rationale or None,
            "raw_output": book.raw_output(rating),
            "source_file": file_only(origin.get("source_file")),
            "source_row": origin.get("source_row"),
        }
        if not book.plain:
            row |= {"criterion": rating.criterion, "level": None if rating.value is None else str(rating.value)}
        yield row


def merged_rows(book: Book, rated: Iterable[tuple[Placed, Rating]], runs: int) -> Iterator[Row]:
    """Write the mean of each response's judgements, `score_runs[k]` being run k and null where it has no score.

    A refused reply has none, though some authors' judges scored the refusal.
    """
    groups: dict[tuple[str, str], tuple[Placed, Rating, list[int | None]]] = {}
    for placed, rating in rated:
        key = placed.response_id, rating.criterion
        groups.setdefault(key, (placed, rating, [None] * runs))[2][rating.run] = book.score(rating)
    for placed, rating, scores in sorted(groups.values(), key=lambda group: (*group[0].order, group[1].criterion)):
        yield merged_row(book, placed, rating, scores)


def merged_row(book: Book, placed: Placed, rating: Rating, scores: list[int | None], tag: str = "merged") -> Row:
    """Write the mean of the judgements of one response."""
    ordered = book.criterion(rating.criterion).scale is Scale.ORDINAL
    valid = [score for score in scores if score is not None] if ordered else []
    row: Row = {
        "evaluation_id": ident("ev", placed.response_id, rating.rater, *book.parts(rating.criterion, tag)),
        "response_id": placed.response_id,
        "example_id": placed.example_id,
        **book.models(placed, rating.rater, raw_rater(rating)),
        "score": statistics.fmean(valid) if valid else None,
        "score_runs": scores,
        "score_std": statistics.pstdev(valid) if valid else None,
        "n_valid": sum(score is not None for score in scores),
        "source_file": file_only(placed.reply.provenance.get("source_file")),
        "source_row": placed.reply.provenance.get("source_row"),
    }
    return row if book.plain else {**row, "criterion": rating.criterion}


def human_rows(
    book: Book, rated: Iterable[tuple[Placed, Rating]], annotator: str, labels: dict[str, str | None]
) -> Iterator[Row]:
    """Write one person's scores under a name that is not theirs; where they were read from is theirs, too."""
    for placed, rating in sorted(
        rated, key=lambda pair: (pair[0].position, pair[0].response_id, pair[1].criterion, pair[1].run)
    ):
        parts = book.parts(rating.criterion, f"human:{annotator}" + (f":{rating.run}" if rating.run else ""))
        own_name = annotator == rating.rater
        row: Row = {
            "evaluation_id": ident("ev", placed.response_id, *parts),
            "response_id": placed.response_id,
            "example_id": placed.example_id,
            "annotator": annotator,
            "score": rating.value if isinstance(rating.value, int | float) else book.score(rating),
            "label": labels[placed.response_id],
            "response_text": placed.reply.text,
            "source_file": file_only(rating.provenance.get("source_file")) if own_name else None,
            "source_row": rating.provenance.get("source_row") if own_name else None,
        }
        yield row if book.plain else {**row, "criterion": rating.criterion}


def is_score(rating: Rating) -> bool:
    """Whether a rating has a table here: models and people do, rules, classifiers and panels do not."""
    return rating.rater_kind in {RaterKind.MODEL, RaterKind.PERSON}


def is_released(rating: Rating) -> bool:
    """Whether a rating was read from a file: ours say by which instrument they were made, and have their words kept."""
    return not rating.instrument
