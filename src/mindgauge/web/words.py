"""The words of the page in English and Chinese: `words/<language>/<section>.toml`, a name and a text a line.

A text may have named slots, `{place}`, which `in_words` fills; what fills them is never read as a slot itself.
"""

from __future__ import annotations

import functools
import tomllib
from importlib import resources

LANGUAGES = {"en": "English", "zh": "中文"}
"""The languages of the interface, each by its own name; the first is taken where nothing else is known."""


@functools.cache
def words(language: str) -> dict[str, dict[str, str]]:
    """Return section → name → text in a language; English where there is no such language."""
    folder = resources.files("mindgauge.web") / "words" / (language if language in LANGUAGES else next(iter(LANGUAGES)))
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8")) for file in files}


def in_words(text: str, **slots: object) -> str:
    """Fill the named slots of a text."""
    return text.format(**slots)
