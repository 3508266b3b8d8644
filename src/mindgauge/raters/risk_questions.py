"""Whether a reply asks a person at risk for a plan, for means and for the time: by words, in English and Chinese.

Words in `risk_questions.toml`, looked for in questions alone. A question in other words is missed, so what is found is at
least so much, and what is not found is not known to be absent.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Literal, TypeAlias, get_args

import msgspec
import polars as pl

Asked: TypeAlias = Literal["plan", "means", "time"]
KINDS: tuple[Asked, ...] = get_args(Asked)
_QUESTION = r"[^.!?。！？\n]*(?:[?？]|[吗嗎呢](?:[。\n]|$))"
"""A question in Chinese may do without a mark."""
_LONGEST = 400
"""Characters of a question that are looked at; a longer one is a list, or there to be slow."""


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    en: tuple[str, ...]
    zh: tuple[str, ...]


@functools.cache
def _patterns() -> dict[str, str]:
    content = resources.files(__package__).joinpath("risk_questions.toml").read_bytes()
    words = msgspec.toml.decode(content, type=dict[str, _Words])
    return {kind: "|".join([rf"\b(?:{'|'.join(each.en)})\b", *each.zh]) for kind, each in words.items()}


def asked(texts: pl.Series) -> pl.DataFrame:
    """Return what each reply asks for, a column for each of `KINDS`.

    Polars looks through a text in a time that grows with its length and no faster, whatever it says, and in a twentieth of that
    which `re` takes for these patterns.
    """
    rows = texts.alias("text").to_frame().with_row_index("place")
    questions = rows.with_columns(pl.col("text").str.extract_all(_QUESTION)).explode("text", empty_as_null=False).select(
        "place", text=pl.col("text").str.strip_chars_end("。\n").str.tail(_LONGEST).str.to_lowercase()
    )  # fmt: skip
    asks = [pl.col("text").str.contains(pattern).any().alias(kind) for kind, pattern in _patterns().items()]
    asking = rows.select("place").join(
        questions.group_by("place").agg(asks), on="place", how="left", maintain_order="left"
    )
    return asking.select(pl.col(KINDS).fill_null(value=False))
