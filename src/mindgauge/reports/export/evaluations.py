"""What raters said of replies, and the replies, as rows of the tables of the Hugging Face layout.

`TABLES` says which columns a table has; `_OF_REPLY`, `_OF_RATING` and `_OF_BOTH` say what a column is, whichever
table it is in.
A rubric with one criterion of whole numbers gives exactly the layout's columns; any other adds `criterion` and, to
single ratings, `level`, where `score` is then the level's place in the rubric, counted from 1.

Review sets are the replies that were chosen for people to rate, each beside what a judge said of all its rivals. A set that
was released says of each reply, in the reply's `provenance.review_sets`, where it was drawn from and how a judge scored it.
Those scores stand for a judge, or a panel of them, of whose ratings of that reply the run has none.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from mindgauge.benchmarks.hub_layout.tables import (
    EVALUATION,
    MERGED_ID,
    OUT_OF_RANGE,
    RAW_OUTPUT,
    STATED,
    TABLES,
    TableKind,
)
from mindgauge.records import HELD, RaterKind, Rating, Status
from mindgauge.records.drawn import DRAWN
from mindgauge.records.rubric import Scale
from mindgauge.reports.export.placed import DETAILS, canonical, file_only, ident, raw_rater

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
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

Row = dict[str, Any]
Columns = dict[str, pl.DataType]
_TYPES: Columns = {
    "text": pl.String(), "whole": pl.Int64(), "real": pl.Float64(), "flag": pl.Boolean(), "wholes": pl.List(pl.Int64()),
}  # fmt: skip
_FRAME = 1_000
"""How many rows are Python objects at a time."""
_TOLD = ("answer_changed", "answer_overwritten", "explanation_is_json", "inputs_changed", DRAWN, "selection")
"""What of a rating's provenance the layout has no column for: how it came to people, and what its file had otherwise."""
_TOLD_OF_SET = ("answer_changed", "criterion", "mean", "panel", "review_set", "runs")
"""What a released set says of a reply and has no column, or one that this run's own ratings fill."""
_Scores = dict[tuple[str, str], list[int | None]]
_Means = dict[tuple[str, str], float]


def schema(kind: TableKind, *, plain: bool = True) -> Columns:
    """Return the columns of a table as we write it; `plain` where the layout's own are enough."""
    table = TABLES[kind]
    columns = {name: _TYPES[type_name] for name, type_name in table.columns.items()}
    return columns if plain else columns | dict.fromkeys(table.extra, _TYPES["text"])


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

    def __init__(
        self,
        benchmark: Benchmark,
        words: WordingIndex,
        open_samples: frozenset[str] | None,
        labels: Mapping[str, str | None],
    ) -> None:
        """Take a run.

        Args:
            benchmark: whose replies were rated.
            words: what was said of them.
            open_samples: the samples whose replies and reasons may be passed on; None for all.
            labels: of the replies, by their ids in the layout.
        """
        self.benchmark, self.words, self._shown, self.labels = benchmark, words, open_samples, labels
        criteria = benchmark.rubric.criteria
        self.plain = len(criteria) == 1 and all(isinstance(value, int) for value in criteria[0].values)
        self._criteria = {criterion.name: criterion for criterion in criteria}

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

    def frame(self, kind: TableKind, rows: Iterable[Row]) -> pl.DataFrame:
        """Make rows a table of exactly its columns and types, empty ones included."""
        return frame(rows, schema(kind, plain=self.plain))

    def row(self, kind: TableKind, placed: Placed, rating: Rating, **own: Any) -> Row:
        """Write a row: what this table has of its own, and else what a column is in any."""
        cells: Row = {}
        for name in (*TABLES[kind].columns, *(() if self.plain else TABLES[kind].extra)):
            if name in own:
                cells[name] = own[name]
            elif name in _OF_REPLY:
                cells[name] = _OF_REPLY[name](placed)
            else:
                cells[name] = _OF_RATING[name](rating) if name in _OF_RATING else _OF_BOTH[name](self, placed, rating)
        return cells

    def response(self, placed: Placed, kind: TableKind = TableKind.RESPONSES) -> Row:
        """Write a reply; of a restricted message nothing that quotes it."""
        origin, status = placed.reply.provenance, placed.reply.status
        entries = {name: origin[name] for name in DETAILS if name in origin and (self.shows(placed) or name != HELD)}
        plain = status is Status.OK or status is Status.REFUSED
        details = canonical({**entries, **({} if plain else {"status": status.value})})
        reply_facts = Rating(placed.reply.id, "", "", RaterKind.MODEL, 0, Status.OK, provenance=origin)
        return self.row(kind, placed, reply_facts, details=details)


def raw_model(placed: Placed) -> str:
    """Return a model's name as its source, or its server, gave it."""
    origin = placed.reply.provenance
    return str(origin.get("model_raw") or origin.get("model") or placed.reply.model)


def rating_details(rating: Rating, **extra: Any) -> str:
    """Write what is known of a rating and has no column."""
    entries = {**{name: rating.provenance[name] for name in _TOLD if name in rating.provenance}, **extra}
    if rating.status is not Status.OK:
        entries["status"] = rating.status.value
    return canonical(entries) if entries else "{}"


def _tokens(placed: Placed) -> int | None:
    usage = placed.reply.usage
    tokens = placed.reply.provenance.get("tokens", usage.prompt_tokens + usage.completion_tokens or None)
    return tokens if isinstance(tokens, int) else None


def _source(placed: Placed) -> str | None:
    source = placed.reply.provenance.get("source_dataset_id") or placed.sample.tags.get("source")
    return None if source is None else str(source)


_OF_REPLY: dict[str, Callable[[Placed], Any]] = {
    "response_id": lambda p: p.response_id,
    "example_id": lambda p: p.example_id,
    "split": lambda p: p.split,
    "answer_model_raw": raw_model,
    "answer_model": lambda p: p.reply.model,
    "answer_run": lambda p: p.reply.run,
    "response_is_json": lambda p: bool(p.reply.provenance.get("is_json", False)),
    "refusal": lambda p: p.reply.status is Status.REFUSED,
    "tokens": _tokens,
    "source_dataset_id": _source,
}
"""What a column is of a reply, in every table that has it."""
_OF_RATING: dict[str, Callable[[Rating], Any]] = {
    "source_file": lambda r: file_only(r.provenance.get("source_file")),
    "source_row": lambda r: r.provenance.get("source_row"),
    "evaluator_model_raw": lambda r: str(raw_rater(r) or r.rater) or None,
    "evaluator_model": lambda r: r.rater or None,
    "evaluation_run": lambda r: r.run,
    "rater": lambda r: r.rater,
    "rater_kind": lambda r: r.rater_kind.value,
    "run": lambda r: r.run,
    "criterion": lambda r: r.criterion,
    "level": lambda r: None if r.value is None else str(r.value),
    "value": lambda r: None if r.value is None else str(r.value),
    "instrument": lambda r: r.instrument or None,
    "details": rating_details,
}
"""What a column is of a rating, in every table that has it; of a reply's table, the rating has the reply's provenance."""
_OF_BOTH: dict[str, Callable[[Book, Placed, Rating], Any]] = {
    "response_text": lambda book, p, _: book.reply(p),
    "label": lambda book, p, _: book.labels[p.response_id],
    "score": lambda book, _, r: book.score(r),
    "score_status": lambda book, _, r: book.status(r),
    "explanation": lambda book, p, r: (r.rationale or None) if book.shows(p) else None,
    "raw_output": lambda book, p, r: book.raw_output(r) if book.shows(p) else None,
}
"""What needs to know the run's words, levels, and what may be passed on."""


def frame(rows: Iterable[Row], columns: Columns) -> pl.DataFrame:
    """Make rows a table of exactly these columns and types, empty ones included."""
    gathered = Gathered(columns)
    for row in rows:
        gathered.add(row)
    return pl.concat(gathered.frames(), rechunk=True)


def judged(book: Book, rated: Iterable[Pair], runs: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a judge's single judgements, one row each, and their means.

    `score_runs[k]` of a mean is run k, and null where it has no score. A refused reply has none, though some authors'
    judges scored the refusal.

    Args:
        book: of the run.
        rated: by response, and then by criterion.
        runs: how often the judge was asked.
    """
    raw = [Gathered(schema(TableKind.RAW, plain=book.plain)) for _ in range(runs)]
    merged = Gathered(schema(TableKind.MERGED, plain=book.plain))
    for _, pairs in groupby(rated, key=lambda pair: (pair[0].response_id, pair[1].criterion)):
        repeats = list(pairs)
        scores: list[int | None] = [None] * runs
        for placed, rating in repeats:
            parts = book.parts(rating.criterion, rating.run)
            evaluation = rating.provenance.get(EVALUATION) or ident("ev", placed.response_id, rating.rater, *parts)
            raw[rating.run].add(book.row(TableKind.RAW, placed, rating, evaluation_id=evaluation))
            scores[rating.run] = book.score(rating)
        merged.add(mean_row(book, TableKind.MERGED, *repeats[0], scores))
    single = [frame for gathered in raw for frame in gathered.frames()]
    return pl.concat(single, rechunk=True), pl.concat(merged.frames(), rechunk=True)


def mean_row(
    book: Book,
    kind: TableKind,
    placed: Placed,
    rating: Rating,
    scores: list[int | None],
    tag: str = "merged",
    **own: Any,
) -> Row:
    """Write the mean of the judgements of one response, under the id that its release gave it, if any did."""
    ident_of_release = rating.provenance.get(MERGED_ID if tag == "merged" else EVALUATION)
    ordered = book.criterion(rating.criterion).scale is Scale.ORDINAL
    valid = tuple(score for score in scores if score is not None) if ordered else ()
    facts: Row = {
        "evaluation_id": ident_of_release
        or ident("ev", placed.response_id, rating.rater, *book.parts(rating.criterion, tag)),
        "score": _mean(valid) if valid else None,
        "score_runs": scores,
        "score_std": _deviation(valid) if valid else None,
        "n_valid": sum(score is not None for score in scores),
        "source_file": file_only(placed.reply.provenance.get("source_file")),
        "source_row": placed.reply.provenance.get("source_row"),
    }
    return book.row(kind, placed, rating, **{**facts, **own})


@lru_cache
def _mean(scores: tuple[int, ...]) -> float:
    return fmean(scores)


@lru_cache
def _deviation(scores: tuple[int, ...]) -> float:
    return pstdev(scores)


def _nameless(name: str, rating: Rating) -> Row:
    """Return that nothing says where a rating was read from, where its rater has another name outside."""
    return {} if name == rating.rater else {"source_file": None, "source_row": None}


def human_rows(book: Book, rated: Iterable[Pair], annotator: str) -> Iterator[Row]:
    """Write one person's scores under a name that is not theirs; where they were read from is theirs, too."""
    for placed, rating in rated:
        parts = book.parts(rating.criterion, f"human:{annotator}" + (f":{rating.run}" if rating.run else ""))
        known = {"run": rating.run, "instrument": rating.instrument}
        yield book.row(
            TableKind.PEOPLE, placed, rating, annotator=annotator, **_nameless(annotator, rating),
            evaluation_id=rating.provenance.get(EVALUATION) or ident("ev", placed.response_id, *parts),
            score=rating.value if isinstance(rating.value, int | float) else book.score(rating),
            details=rating_details(rating, **{name: value for name, value in known.items() if value}),
        )  # fmt: skip


def other_rows(book: Book, rated: Iterable[Pair], rater: str) -> Iterator[Row]:
    """Write what somebody said that has no table of the layout's own, under the name that they have outside."""
    for placed, rating in rated:
        parts = (placed.response_id, f"other:{rater}", rating.criterion, rating.run)
        typed = {} if rating.value is None or isinstance(rating.value, str) else {"value": rating.value}
        yield book.row(
            TableKind.OTHER, placed, rating, rater=rater, **_nameless(rater, rating),
            evaluation_id=rating.provenance.get(EVALUATION) or ident("ev", *parts), details=rating_details(rating, **typed),
        )  # fmt: skip


def is_released(rating: Rating) -> bool:
    """Whether a rating was read from a file: ours say by which instrument they were made, and have their words kept."""
    return not rating.instrument


class JudgeSummary(NamedTuple):
    """What is known of a judge: how often it was asked, its name as first given, and its scores by run.

    `scores` are by response and criterion, of the replies to those items of which the review sets have one.
    """

    runs: int
    raw: Any
    scores: _Scores


def scores(book: Book, pairs: Iterable[Pair], runs: int) -> _Scores:
    """Return the scores of every response on every criterion, run by run."""
    by_key: _Scores = {}
    for placed, rating in pairs:
        by_key.setdefault((placed.response_id, rating.criterion), [None] * runs)[rating.run] = book.score(rating)
    return by_key


def selections(placed: Iterable[Placed], drawn: Iterable[tuple[str, str]]) -> dict[str, list[Placed]]:
    """Return the replies of each selection, in the order of their items.

    Args:
        placed: the replies.
        drawn: for which selection a reply was rated: the reply's id, the selection.
    """
    by_id = {p.reply.id: p for p in placed}
    members: dict[str, dict[str, Placed]] = {}
    for p in by_id.values():
        for name in (*([p.selection] if p.selection else []), *_sets(p)):
            members.setdefault(name, {})[p.reply.id] = p
    for reply, name in drawn:
        if reply in by_id:
            members.setdefault(name, {})[reply] = by_id[reply]
    return {
        name: sorted(replies.values(), key=lambda p: (p.position, p.response_id))
        for name, replies in sorted(members.items())
    }


def raters(name: str, members: Sequence[Placed], judges: Iterable[str]) -> list[str]:
    """Return who scored a set: the run's judges and those whose scores were released with it, or nobody ("")."""
    return sorted({*judges, *(rater for p in members for rater in _sets(p).get(name, {}))}) or [""]


def title(name: str, members: Iterable[Placed], rater: str) -> str:
    """Return what a rater's review set is called: as it was released, if it was."""
    named = (_sets(p).get(name, {}).get(rater, {}).get("review_set") for p in members)
    return next(filter(None, named), f"{name}__{rater}" if rater else name)


def stated(placed: Placed, name: str, rater: str) -> Rating:
    """Return what a released set says of a reply, as the provenance of a rating without a value."""
    facts = _sets(placed).get(name, {}).get(rater, {})
    return Rating(placed.reply.id, "", rater, RaterKind.MODEL, 0, Status.NOT_APPLICABLE, provenance=facts)


def review_rows(
    book: Book,
    name: str,
    members: Sequence[Placed],
    rivals: Mapping[str, Sequence[Placed]],
    rater: str,
    judges: Mapping[str, JudgeSummary],
) -> Iterator[Row]:
    """Write the rows of one review set as one judge scored them; replies it did not judge have no score.

    `n_tied` counts the replies to the same item in this run, the chosen one included, to which the judge gave the same
    mean; `tie_rank` is the chosen one's place among them by model and repeat, counted from 1. Where a set tells no more
    than a mean, that is the score, its runs are null and their number is unknown.

    Args:
        book: of the run.
        name: the set's.
        members: its replies.
        rivals: the replies to each item.
        rater: the judge or panel.
        judges: the run's.
    """
    empty: _Scores = {}
    own = judges.get(rater) or JudgeSummary(max((judge.runs for judge in judges.values()), default=1), None, empty)
    panel = next((runs for p in members if (runs := stated(p, name, rater).provenance.get("panel"))), [rater])
    means = _panel_means([judges[judge].scores if judge in judges else empty for judge in panel])
    for placed in members:
        facts = stated(placed, name, rater).provenance
        for criterion in book.benchmark.rubric.criteria:
            key = placed.response_id, criterion.name
            runs, mean = own.scores.get(key), means.get(key)
            extra: dict[str, Any] = {}
            evaluation = (
                {EVALUATION: facts[EVALUATION]} if EVALUATION in facts and facts["criterion"] == criterion.name else {}
            )
            if facts and facts["criterion"] == criterion.name:
                extra = {"source_file": file_only(facts["source_file"]), "source_row": facts["source_row"]}
                if key not in own.scores and placed.reply.status is Status.OK:
                    runs, mean = facts.get("runs"), facts["mean"] if mean is None else mean
                    if runs is None and mean is not None:
                        extra |= {"score": mean, "n_valid": None}
            blank = msgspec.structs.replace(
                stated(placed, name, rater),
                criterion=criterion.name,
                provenance={"model_raw": facts.get("model_raw") or own.raw, **evaluation},
            )
            runs = [*(runs or ()), *[None] * own.runs][: max(own.runs, len(runs or ()))]
            others = {p.response_id: p for p in (*rivals.get(placed.example_id, ()), placed)}
            tied = _tied(others, {**means, key: mean}, key)
            extra |= {
                "review_set": title(name, members, rater),
                **_drawn(placed, name, facts),
                "n_tied": len(tied) or None,
                "tie_rank": tied.index(placed.response_id) + 1 if tied else None,
                "details": canonical({name: facts[name] for name in _TOLD_OF_SET if name in facts}),
            }
            yield mean_row(book, TableKind.REVIEW, placed, blank, runs, f"review:{name}", **extra)


def _sets(placed: Placed) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what the released sets say of a reply, by set and rater."""
    sets: dict[str, dict[str, dict[str, Any]]] = placed.reply.provenance.get("review_sets", {})
    return sets


def _drawn(placed: Placed, name: str, facts: dict[str, Any]) -> Row:
    """Say where a reply was drawn from and by which rule; another rater's set of the same replies knows it, too."""
    facts = facts or next(iter(_sets(placed).get(name, {}).values()), {})
    file = facts.get("sampled_from") or (None if placed.selection else placed.reply.provenance.get("source_file"))
    return {"sampled_from": file_only(file), "sampled_criteria": facts.get("sampled_criteria") or name}


def _panel_means(panel: Sequence[_Scores]) -> _Means:
    """Return the mean over judges of each one's mean, for what all of them scored."""
    by_judge: list[_Means] = []
    for scored in panel:
        valid_scores = {key: [s for s in scores if s is not None] for key, scores in scored.items()}
        by_judge.append({key: fmean(valid) for key, valid in valid_scores.items() if valid})
    return {
        key: fmean(means[key] for means in by_judge) for key in by_judge[0] if all(key in means for means in by_judge)
    }


def _tied(replies: dict[str, Placed], means: Mapping[tuple[str, str], float | None], key: tuple[str, str]) -> list[str]:
    """Return the replies with the same mean as this one, itself among them; none where it has no mean."""
    mean = means[key]
    ordered = sorted(replies, key=lambda i: (replies[i].reply.model, replies[i].reply.run))
    candidates = {i: means.get((i, key[1])) for i in ordered}
    return [i for i, other in candidates.items() if mean is not None and other is not None and abs(other - mean) < 1e-9]
