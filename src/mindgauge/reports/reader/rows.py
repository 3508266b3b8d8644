"""Which lines the reader lists: a reply, an answer to a message, a turn or a whole dialogue, in the order of the data."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import frame
from mindgauge.raters.window import Unit
from mindgauge.reports import texts
from mindgauge.reports.runs import PERSON, RULE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section

TEXT, INTEGER = pl.String, pl.Int64
ROWS = {
    "subject": TEXT, "sample": TEXT, "model": TEXT, "repeat": INTEGER, "status": TEXT, "size": INTEGER, "unit": TEXT, "dialogue": TEXT,
    "turn": INTEGER, "answer": TEXT, "system": INTEGER, "section": INTEGER, "category": TEXT, "language": TEXT, "target": TEXT, "protocol": TEXT,
    "persona": TEXT, "words": TEXT, "weight": INTEGER, "hidden": pl.Boolean, "group": INTEGER, "key": pl.Binary,
}  # fmt: skip
"""Of each line: whose words (`subject`: a reply's id, of a closed question the sample's), which of a model's repeats, what
became of it, how many characters it has; in dialogues the unit, dialogue and turn; to a closed question the answer and the
target; the places of its system and section; tags of its sample; `words`, how the message begins; `weight`, about how many
characters are kept of it; whether its texts are `hidden`; `group`, what is read together; `key`, its address."""
_REPLIES = """
SELECT id, sample, model, run, status, length(trim(text)), coalesce(json_extract(provenance, '$.unit'), ''),
    json_extract(provenance, '$.dialogue'), json_extract(provenance, '$.turn'),
    substr(json_extract(provenance, iif(json_extract(provenance, '$.unit') = 'dialogue', '$.held[0].content', '$.held[#-1].content')), 1, ?),
    length(json_extract(provenance, '$.held'))
FROM replies WHERE benchmark = ? AND status != 'not_applicable' ORDER BY rowid"""
_SAMPLE = {
    "sample": TEXT, "position": INTEGER, "category": TEXT, "language": TEXT, "target": TEXT, "protocol": TEXT, "persona": TEXT,
    "asked": TEXT, "message_size": INTEGER,
}  # fmt: skip
_GLANCE = 4 * texts.WORDS
KEY = 6
"""Bytes of a line's key: enough that two of 100,000 lines hardly share one."""


def key(benchmark: str, subject: str, model: str, repeat: int) -> str:
    """Return the address of a line within the reader: the same whatever else is in it."""
    return _digest(benchmark, subject, model, repeat).hex()


def _digest(benchmark: str, subject: str, model: str, repeat: int) -> bytes:
    return blake2b("\0".join((benchmark, subject, model, str(repeat))).encode(), digest_size=KEY).digest()


def rows(runs: Sequence[OpenRun], systems: Sequence[System]) -> pl.DataFrame:
    """Return every line of some runs (columns `ROWS`), those of a section side by side, those of a group within it, too."""
    parts = [pl.DataFrame(schema=ROWS)]
    sections = [(number, run, section) for number, run in enumerate(runs) for section in run.sections]
    for place, (number, run, section) in enumerate(sections):
        own = {system.model: index for index, system in enumerate(systems) if system.run == number}
        part = _answers(section) if section.benchmark.closed else _replies(run, section)
        part = part.with_columns(
            system=pl.col("model").replace_strict(own, default=None, return_dtype=INTEGER), section=pl.lit(place, INTEGER)
        ).filter(pl.col("system").is_not_null())  # fmt: skip
        part = _beside_samples(part, run, section)
        parts.append(_grouped(part, section.benchmark.name))
    listed = pl.concat([part.select(*ROWS) for part in parts])
    group = pl.struct("section", "group").rle_id().cast(INTEGER)
    return listed.with_columns(group=group)


def _replies(run: OpenRun, section: Section) -> pl.DataFrame:
    """Return the replies that were asked for, of a run of dialogues also these as a whole; none of clients."""
    replies = frame.columns(
        run.store, _REPLIES, (_GLANCE, section.benchmark.name),
        subject=str, sample=str, model=str, repeat=int, status=str, size=int, unit=str, dialogue=str, turn=int, addressed=str, held_size=int,
    )  # fmt: skip
    replies = frame.of_targets(replies, section.benchmark).filter(pl.col("unit") != Unit.CLIENT.value)
    return replies.with_columns(answer=pl.lit(None, TEXT))


def _answers(section: Section) -> pl.DataFrame:
    """Return the answers to a closed question, each with its value on the first criterion."""
    first = section.benchmark.rubric.criteria[0].name
    answers = section.asked.filter(~pl.col("rater_kind").is_in([PERSON, RULE]))
    return answers.group_by("subject", "rater", "run", maintain_order=True).agg(
        sample=pl.col("sample").first(), size=pl.lit(None, INTEGER),
        status=pl.col("status").filter(pl.col("criterion") == first).first(),
        answer=pl.col("value").filter(pl.col("criterion") == first).first(),
        unit=pl.lit(""), dialogue=pl.lit(None, TEXT), turn=pl.lit(None, INTEGER), addressed=pl.lit(None, TEXT), held_size=pl.lit(None, INTEGER),
    ).rename({"rater": "model", "run": "repeat"}).collect()  # fmt: skip


def _beside_samples(part: pl.DataFrame, run: OpenRun, section: Section) -> pl.DataFrame:
    """Put what is known of each line's sample beside it, and how the message that it answers begins."""
    benchmark = section.benchmark
    asked = -2 if benchmark.about_reply else -1
    samples = pl.DataFrame(
        [
            (
                s.id, position, s.tags.get("category"), s.tags.get("language"), None if s.target is None else str(s.target),
                s.tags.get(benchmark.protocol), s.tags.get("persona"),
                s.messages[asked:][0].content[:_GLANCE] if s.messages else "", sum(len(m.content) for m in s.messages),
            )
            for position, s in enumerate(run.store.samples(benchmark.name))
        ],
        _SAMPLE, orient="row",
    )  # fmt: skip
    part = part.join(samples, on="sample", how="left", maintain_order="left")
    ids = part["sample"].unique().to_list()
    hidden = [ident for ident in ids if section.hides(ident)]
    glance = pl.coalesce("addressed", "asked").fill_null("")
    part = part.with_columns(
        hidden=pl.col("sample").is_in(hidden),
        weight=pl.sum_horizontal(pl.col("size").fill_null(0), pl.coalesce("held_size", "message_size").fill_null(0)),
    ).with_columns(words=pl.when(~pl.col("hidden")).then(glance).otherwise(pl.lit("")))  # fmt: skip
    begins = {text: texts.beginning(text) for text in part["words"].unique().to_list()}
    return part.with_columns(pl.col("words").replace_strict(begins, return_dtype=TEXT) if begins else pl.col("words"))


def _grouped(part: pl.DataFrame, benchmark: str) -> pl.DataFrame:
    """Put what is read together side by side: replies to a message, turns of a dialogue; and give each line its key."""
    held = pl.col("dialogue").is_not_null()
    dialogue = pl.concat_str("dialogue", "model", "repeat", separator="\0", ignore_nulls=True)
    group = pl.when(held).then(dialogue).otherwise("sample")
    first = pl.col("position").min().over("together")
    ordered = part.with_columns(together=group, first=pl.lit(0)).with_columns(first=first).sort(
        "first", "together", pl.col("unit") == Unit.DIALOGUE.value, "turn", "system", "repeat", maintain_order=True, nulls_last=True
    )  # fmt: skip
    keys = [_digest(benchmark, *row) for row in ordered.select("subject", "model", "repeat").iter_rows()]
    return ordered.with_columns(
        group=pl.col("together").rle_id().cast(INTEGER), key=pl.Series(keys, dtype=pl.Binary)
    ).drop("together", "first", "position")  # fmt: skip
