"""The review list: a run's replies in the order in which people should read them, with empty cells for their ratings.

`review.csv` is for the reader. It does not say which model wrote a reply, nor which judge said what. `criteria.csv` says
what may be put into the empty cells. `key.csv` says what stands behind each `review_id` and is not for the reader. Text
is written as in the other CSV exports: nothing in it is a formula to a spreadsheet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.escalation.review import queue
from mindgauge.annotation.order import review_id
from mindgauge.errors import DataError
from mindgauge.prompt import transcript
from mindgauge.rubric import in_language
from mindgauge.tables import neutralised

if TYPE_CHECKING:
    from mindgauge.analysis.escalation.review import Entry
    from mindgauge.analysis.escalation.subjects import Subjects
    from mindgauge.benchmark import Benchmark
    from mindgauge.exports.folder import Folder
    from mindgauge.records import Reply, Sample
    from mindgauge.store import Store

REVIEW, CRITERIA, KEY = "review.csv", "criteria.csv", "key.csv"


def write(files: Folder, store: Store, benchmark: Benchmark, subjects: Subjects | None = None) -> list[str]:
    """Write the review list of one benchmark and return what is to be known about it.

    Args:
        files: the folder.
        store: of the run.
        benchmark: whose replies.
        subjects: with people's labels, where the order shall be learned from them.

    Raises:
        DataError: there is nothing to review.
    """
    entries, notes = queue(store, benchmark, subjects)
    samples = {sample.id: sample for sample in store.samples(benchmark.name)}
    replies = {reply.id: reply for reply in store.replies(benchmark.name)}
    texts = {entry.subject: _texts(entry.subject, samples, replies) for entry in entries}
    readable = [entry for entry in entries if texts[entry.subject][1] or benchmark.closed]
    if len(readable) < len(entries):
        notes.append(
            f"{len(entries) - len(readable)} replies have no text, so there is nothing to read; they are not listed"
        )
    if not readable:
        raise DataError(f"{store.folder}: no reply of {benchmark.name} has a text, so there is nothing to review")
    criteria = [criterion.name for criterion in benchmark.rubric.criteria]
    rows = [
        (
            place,
            review_id(e.subject),
            "; ".join(e.reasons),
            *texts[e.subject],
            _values(e),
            *[None] * (len(criteria) + 1),
        )
        for place, e in enumerate(readable, 1)
    ]
    text = dict.fromkeys(("review_id", "reasons", "dialogue", "reply", "judges", *criteria, "comment"), pl.String)
    files.csv(REVIEW, neutralised(pl.DataFrame(rows, {"place": pl.Int64, **text}, orient="row")))
    files.csv(CRITERIA, neutralised(_criteria(benchmark)))
    files.csv(KEY, neutralised(_key(readable, benchmark, samples, replies)))
    return notes


def _texts(subject: str, samples: dict[str, Sample], replies: dict[str, Reply]) -> tuple[str, str]:
    """Return the dialogue and the reply to be rated: a closed question may be about a sample's last message."""
    if subject in replies:
        reply = replies[subject]
        return transcript(samples[reply.sample].messages), reply.text
    messages = samples[subject].messages
    if messages[-1].role == "assistant":
        return transcript(messages[:-1]), messages[-1].content
    return transcript(messages), ""


def _values(entry: Entry) -> str:
    """Write what the judges say, without their names."""
    return "; ".join(
        f"{name}: {', '.join('none' if value is None else str(value) for value in values)}"
        for name, values in entry.judges.items()
    )


def _criteria(benchmark: Benchmark) -> pl.DataFrame:
    rows = [(c.name, in_language(c.text, "en"), ", ".join(map(str, c.choices))) for c in benchmark.rubric.criteria]
    return pl.DataFrame(rows, dict.fromkeys(("criterion", "question", "levels"), pl.String), orient="row")


def _key(
    entries: list[Entry], benchmark: Benchmark, samples: dict[str, Sample], replies: dict[str, Reply]
) -> pl.DataFrame:
    rows = []
    for e in entries:
        reply = replies.get(e.subject)
        sample = samples[reply.sample if reply else e.subject]
        rows.append(
            (
                review_id(e.subject), benchmark.name, e.subject, sample.id, sample.cluster,
                reply.model if reply else None, reply.run if reply else None, ", ".join(e.vetoed), ", ".join(e.unsure),
                e.spread, e.jury, e.risk,
            )
        )  # fmt: skip
    return pl.DataFrame(
        rows,
        {
            **dict.fromkeys(("review_id", "benchmark", "subject", "sample", "cluster", "model"), pl.String),
            "run": pl.Int64, "vetoed": pl.String, "unsure": pl.String,
            **dict.fromkeys(("spread", "jury", "risk"), pl.Float64),
        },
        orient="row",
    )  # fmt: skip
