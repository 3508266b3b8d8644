"""The review list: a run's replies in the order in which people should read them, with empty cells for their ratings.

`review.csv` is for the reader. It does not say which model wrote a reply, nor which judge said what. `criteria.csv` says
what may be put into the empty cells. The key, which stays in the run and is readable for its owner only, says what stands
behind each `review_id`. Text is written as in the other CSV exports: nothing in it is a formula to a spreadsheet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from mindgauge.analysis.escalation.review import DrawPlan, draw, queue
from mindgauge.analysis.reliability import ratings
from mindgauge.annotation.blind import Blind
from mindgauge.annotation.items import text_key
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import private
from mindgauge.records.files.texts import neutralised
from mindgauge.records.prompt import transcript
from mindgauge.records.rubric import in_language
from mindgauge.reports.export.tabular import ExportTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.analysis.escalation.review import ReviewEntry
    from mindgauge.analysis.escalation.subjects import Subjects
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample
    from mindgauge.records.drawn import Drawn
    from mindgauge.reports.export.folder import ExportFolder
    from mindgauge.store import Store

REVIEW, CRITERIA = "review.csv", "criteria.csv"
_KEY: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("review_id", "benchmark", "subject", "sample", "cluster", "model"), pl.String),
    "run": pl.Int64,
    **dict.fromkeys(("vetoed", "unsure"), pl.String),
    **dict.fromkeys(("spread", "jury", "risk"), pl.Float64),
}
DRAWN_TYPES: dict[str, type[pl.DataType]] = {
    "probability": pl.Float64, "stratum": pl.String, "stratum_size": pl.Int64, "frame": pl.Int64,
    "conversations": pl.Float64, "draw": pl.String,
}  # fmt: skip
"""`records.drawn.COLUMNS`, with their types."""


class _Subject(NamedTuple):
    """What is rated: a reply, or a closed question's sample, which nobody wrote."""

    sample: Sample
    model: str | None
    run: int | None
    dialogue: str
    text: str
    """To be rated; a closed question may be about its last message."""


class Lot(NamedTuple):
    """How many are drawn of which part of the list, and the seed of the lot."""

    plan: DrawPlan
    seed: int

    @classmethod
    def read(cls, draw: int | str | None, random: int | None, seed: int) -> Lot | None:
        """Read how replies are drawn; None where they are not.

        Raises:
            UsageError: it says only how many come from the rest, or is no plan.
        """
        if draw is None and random is not None:
            raise UsageError("--random says how many of what --draw NUMBER draws come from the rest; give --draw, too")
        return None if draw is None else cls(DrawPlan.read(str(draw), random), seed)


def write(
    files: ExportFolder, store: Store, benchmark: Benchmark, subjects: Subjects | None = None, lot: Lot | None = None
) -> list[str]:
    """Write the review list of one benchmark, and its key into the run; return what is to be known about it.

    A list that was drawn stands in an order by lot, so that whoever stops early has read a part like the rest, and does
    not say what judges think; with which probability each reply was drawn stands in its last columns.

    Args:
        files: the folder.
        store: of the run.
        benchmark: whose replies.
        subjects: with people's labels, where the order shall be learned from them.
        lot: how many are drawn, if not all are listed.

    Raises:
        DataError: there is nothing to review.
        UsageError: the key cannot be written.
    """
    entries, notes = queue(store, benchmark, subjects)
    blind = Blind.of(store.folder)
    # Those that are needed alike stand by their names: by their subjects, which are hashes, their order would tell.
    entries.sort(key=lambda e: (*e.order[:-1], blind.review(e.subject)))
    readable = [e for e in entries if benchmark.closed or subject_of(store, benchmark.name, e.subject).text]
    if len(readable) < len(entries):
        notes.append(
            f"{len(entries) - len(readable)} replies have no text, so there is nothing to read; they are not listed"
        )
    if not readable:
        raise DataError(f"{store.folder}: no reply of {benchmark.name} has a text, so there is nothing to review")
    criteria = [criterion.name for criterion in benchmark.rubric.criteria]
    blank = [None] * (len(criteria) + 1)
    drawn: dict[str, Drawn] = {}
    if lot is not None:
        by_subject = {entry.subject: entry for entry in readable}
        order, drawn, remarks = by_lot(list(by_subject), store, benchmark.name, blind, lot)
        readable = [by_subject[subject] for subject in order]
        notes += remarks
    reason_columns, judge_columns = ((), ()) if drawn else (("reasons",), ("judges",))
    names = ("review_id", *reason_columns, "dialogue", "reply", *judge_columns, *criteria, "comment")
    columns: dict[str, type[pl.DataType]] = {"place": pl.Int64, **dict.fromkeys(names, pl.String)}
    columns |= DRAWN_TYPES if drawn else {}
    rows = (
        (
            place, blind.review(e.subject), *(["; ".join(e.reasons)] if reason_columns else []), about.dialogue, about.text,
            *([_values(e)] if judge_columns else []), *blank, *(drawn[e.subject].cells if drawn else ()),
        )
        for place, e in enumerate(readable, 1)
        for about in [subject_of(store, benchmark.name, e.subject)]
    )  # fmt: skip
    files.csv_stream(REVIEW, ExportTable(columns, rows).frames())
    files.csv(CRITERIA, _criteria(benchmark))
    with private.written(ratings.key_of(store.folder, benchmark.name)) as file:
        key = _key(readable, store, benchmark.name, blind, drawn)
        for number, frame in enumerate(ExportTable({**_KEY, **(DRAWN_TYPES if drawn else {})}, key).frames()):
            neutralised(frame).write_csv(file, include_bom=not number, include_header=not number)
    return notes


def subject_of(store: Store, benchmark: str, ident: str) -> _Subject:
    """Look up what is rated; dialogues and replies are long, so none is kept."""
    reply = store.reply(benchmark, ident)
    if reply is not None:
        sample = reply.answered(store.sample(benchmark, reply.sample))
        return _Subject(sample, reply.model, reply.run, transcript(sample.messages), reply.text)
    sample = store.sample(benchmark, ident)
    *before, last = sample.messages
    if last.role == "assistant":
        return _Subject(sample, None, None, transcript(before), last.content)
    return _Subject(sample, None, None, transcript(sample.messages), "")


def _values(entry: ReviewEntry) -> str:
    """Write what the judges say, without their names."""
    return "; ".join(
        f"{name}: {', '.join('none' if value is None else str(value) for value in values)}"
        for name, values in entry.judges.items()
    )


def _criteria(benchmark: Benchmark) -> pl.DataFrame:
    rows = [(c.name, in_language(c.text, "en"), ", ".join(map(str, c.choices))) for c in benchmark.rubric.criteria]
    return pl.DataFrame(rows, dict.fromkeys(("criterion", "question", "levels"), pl.String), orient="row")


def by_lot(
    subjects: Sequence[str], store: Store, benchmark: str, blind: Blind, lot: Lot
) -> tuple[list[str], dict[str, Drawn], list[str]]:
    """Draw from a list, in which the same words stand once, and return what was drawn in an order by lot, what is known of it, and notes."""
    first: dict[str, str] = {}
    conversations: dict[str, str] = {}
    for subject in subjects:
        about = subject_of(store, benchmark, subject)
        if first.setdefault(text_key(about.sample.messages, about.text), subject) == subject:
            conversations[subject] = about.sample.cluster
    drawn, notes = draw(list(conversations), conversations, lot.plan, lot.seed)
    if len(conversations) < len(subjects):
        notes.append(
            f"{len(subjects) - len(conversations)} replies have the same words as another; the frame has each once"
        )
    order = [subject for subject in conversations if subject in drawn]
    blind.chance("drawn", lot.seed).shuffle(order)
    return order, drawn, notes


def _key(
    entries: list[ReviewEntry], store: Store, benchmark: str, blind: Blind, drawn: Mapping[str, Drawn]
) -> Iterator[tuple[Any, ...]]:
    for e in entries:
        sample, model, run, _, _ = subject_of(store, benchmark, e.subject)
        yield (
            blind.review(e.subject), benchmark, e.subject, sample.id, sample.cluster, model, run, ", ".join(e.vetoed),
            ", ".join(e.unsure), e.spread, e.jury, e.risk, *(drawn[e.subject].cells if drawn else ()),
        )  # fmt: skip
