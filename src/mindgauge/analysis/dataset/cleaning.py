"""Steps that look at one text at a time: whose words, how long, in which language, junk, links, personal data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge.analysis.audit import texts as audited
from mindgauge.analysis.dataset.items import COLUMNS, StepResult, nothing_dropped, parted
from mindgauge.analysis.dataset.sources import written_out
from mindgauge.records import Message, languages
from mindgauge.records.redaction.patterns import MAY_HOLD
from mindgauge.records.redaction.personal import Scrubber
from mindgauge.records.transcripts import Transcript

if TYPE_CHECKING:
    from collections import Counter

    from mindgauge.analysis.dataset.recipe import Junk, LanguageFilter, Lengths, LinkLimit, Scrub

_PLACEHOLDERS = r"(?i)^\W*(?:deleted|removed|deleted by user|removed by moderator|nan|none|null|n/?a)\W*$"
_LINK = r"(?i)https?://|\bwww\."
_LONG_ENOUGH = 20
"""Words of a text that may repeat itself."""
_OWN_SCRIPT = 0.5
"""Share of a text's letters that are Latin, from which it is in a language written so."""
OTHER = "other"


def person_side(items: pl.DataFrame) -> StepResult:
    """Keep the person's words alone; a dialogue becomes one text."""
    words = pl.col("messages").list.eval(
        pl.when(pl.element().struct.field("role") == "user").then(pl.element().struct.field("content")).drop_nulls()
    )
    spoken = pl.when(pl.col("messages").is_not_null()).then(words.list.join("\n\n")).otherwise(pl.col("text"))
    rows = items.with_columns(text=spoken, messages=pl.lit(None, COLUMNS["messages"]))
    silent = items["messages"].is_not_null() & (rows["text"].fill_null("").str.strip_chars() == "")
    return parted(rows, pl.when(silent).then(pl.lit("the person says nothing")))


def last_turn(items: pl.DataFrame) -> StepResult:
    """Cut dialogues behind the person's last message."""
    dialogues = items.filter(pl.col("messages").is_not_null()).select("row", "messages")
    if not dialogues.height:
        return nothing_dropped(items)
    texts: dict[int, str | None] = {}
    spoken_of: dict[int, list[dict[str, Any]]] = {}
    for row, messages in dialogues.iter_rows():
        last = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
        spoken_of[row] = messages[: last + 1]
        texts[row] = written_out(Message(m["role"], m["content"]) for m in spoken_of[row]) or None
    return parted(
        _rewritten(items, texts, spoken_of),
        pl.when(pl.col("messages").list.len() == 0).then(pl.lit("the person says nothing")),
    )


def _rewritten(
    items: pl.DataFrame, texts: dict[int, str | None], messages: dict[int, list[dict[str, Any]]]
) -> pl.DataFrame:
    """Put other texts, and other messages, in the place of those of some rows."""
    rows = [*texts]
    changed = pl.DataFrame(
        {"row": rows, "new_text": [texts[row] for row in rows], "new_messages": [messages.get(row) for row in rows]},
        {"row": COLUMNS["row"], "new_text": pl.String, "new_messages": COLUMNS["messages"]},
    )
    return (
        items.join(changed, on="row", how="left", maintain_order="left")
        .with_columns(text=pl.coalesce("new_text", "text"), messages=pl.coalesce("new_messages", "messages"))
        .drop("new_text", "new_messages")
    )


def lengths(items: pl.DataFrame, step: Lengths) -> StepResult:
    """Drop what is shorter or longer."""
    text = pl.col("text").str.strip_chars()
    size = text.str.len_chars() if step.unit == "characters" else text.str.count_matches(r"\S+")
    long = size > step.most if step.most is not None else pl.lit(value=False)
    return parted(
        items,
        pl.when(size < step.least)
        .then(pl.lit(f"fewer than {step.least} {step.unit}"))
        .when(long)
        .then(pl.lit(f"more than {step.most} {step.unit}")),
    )


def language() -> pl.Expr:
    """Say in which language a text is: as a column or its source says, else as its letters show."""
    characters = pl.col("text").str.len_chars()
    letters = pl.col("text").str.count_matches(r"\p{L}")
    latin = pl.col("text").str.count_matches(r"\p{Latin}")
    by_letters = (
        pl.when(pl.col("text").str.count_matches(languages.HAN.pattern) * 10 >= characters.clip(1))
        .then(pl.lit("zh"))
        .when(latin >= letters * _OWN_SCRIPT)
        .then(pl.lit("en"))
        .otherwise(pl.lit(OTHER))
    )
    return pl.coalesce(pl.col("language"), by_letters)


def in_languages(items: pl.DataFrame, step: LanguageFilter) -> StepResult:
    """Drop what is in none of the languages, and note of the rest in which it is."""
    rows = items.with_columns(language=language())
    keep = [languages.named(tag) for tag in step.keep]
    return parted(
        rows,
        pl.when(~pl.col("language").is_in(keep)).then(pl.concat_str(pl.lit("language "), pl.col("language"))),
    )


def junk(items: pl.DataFrame, step: Junk) -> StepResult:
    """Drop what is no text."""
    text = pl.col("text").str.strip_chars()
    solid = text.str.count_matches(r"\S")
    words = text.str.to_lowercase().str.extract_all(r"\S+")
    repeated = (words.list.len() >= _LONG_ENOUGH) & (words.list.n_unique() < step.distinct * words.list.len())
    suspects = items.filter(pl.col("text").str.contains(audited.SUSPECT)).select("row", "text")
    garbled = [row for row, words in suspects.iter_rows() if audited.garbled(words)]
    return parted(
        items,
        pl.when(text == "").then(pl.lit("empty"))
        .when(pl.col("row").is_in(garbled)).then(pl.lit("characters of another encoding"))
        .when(text.str.contains(_PLACEHOLDERS)).then(pl.lit("a placeholder such as [deleted]"))
        .when(text.str.count_matches(r"\p{L}") < step.letters * solid).then(pl.lit("hardly any letters"))
        .when(repeated).then(pl.lit("the same few words again and again")),
    )  # fmt: skip


def links(items: pl.DataFrame, step: LinkLimit) -> StepResult:
    """Drop what holds more links."""
    number = pl.col("text").str.count_matches(_LINK)
    return parted(
        items, pl.when(number > step.most).then(pl.lit(f"more than {step.most} links" if step.most else "links"))
    )


def scrubbed(items: pl.DataFrame, step: Scrub, counts: Counter[str]) -> StepResult:
    """Replace personal data, and count by kind what was replaced."""
    scrubber = Scrubber(step.names)
    suspect = pl.lit(value=True) if scrubber.introduced else pl.col("text").str.contains(MAY_HOLD)
    texts: dict[int, str | None] = {}
    spoken_of: dict[int, list[dict[str, Any]]] = {}
    for row, text, messages in items.filter(suspect | pl.col("messages").is_not_null()).select("row", "text", "messages").iter_rows():  # fmt: skip
        spoken = [Message(m["role"], m["content"]) for m in messages] if messages else [Message("user", text)]
        clean = scrubber.scrub(Transcript(str(row), tuple(spoken), "")).messages
        if messages:
            texts[row] = written_out(clean)
            spoken_of[row] = [{"role": message.role, "content": message.content} for message in clean]
        elif clean[0].content != text:
            texts[row] = clean[0].content
    counts.update(scrubber.counts)
    return nothing_dropped(_rewritten(items, texts, spoken_of) if texts else items)
