"""The glossary, from the report's own glossary."""

from __future__ import annotations

import tomllib
from pathlib import Path

from docs_build.tables import page, prose
from mindgauge import reports
from mindgauge.records.text import text


def written() -> str:
    """Return the page."""
    content = (Path(reports.__file__).parent / "language" / "glossary.toml").read_text(encoding="utf-8")
    terms = sorted(tomllib.loads(content)["terms"], key=lambda entry: entry["term"].lower())
    return page(
        "Glossary",
        "The words of a report, a sentence each; the report explains each where it first stands.",
        *(f"**{text(entry['term'])}**: {prose(entry['text'])}" for entry in terms),
    )
