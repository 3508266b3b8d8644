"""Which language a text is in, as far as prompts and pages care: what a tag says, else what its letters show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

LANGUAGE = "language"
"""The tag of a sample."""
HAN = regex("[\u3400-\u9fff\uf900-\ufaff]")
"""Chinese characters, written out so that other engines than Python's read the pattern, too."""


def named(tag: str) -> str:
    """Return the language that a tag names, without its region: `zh` of `zh-CN`."""
    return tag.strip().casefold().replace("_", "-").partition("-")[0]


def written(texts: Iterable[str]) -> str:
    """Return `zh` for texts of which a tenth or more is Chinese characters, else `en`."""
    text = "".join(texts)
    return "zh" if len(HAN.findall(text)) * 10 >= max(len(text), 1) else "en"
