"""A sample's words as the page may show them: as a chat, or, where they are restricted, by id and row alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.rounding import plural
from mindgauge.reports.passages import language_of, passage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindgauge.records import Sample
    from mindgauge.reports.content import Passage, RaterVerdicts
    from mindgauge.reports.runs import OpenRun, Section

_ROWS = """
SELECT subject, min(json_extract(provenance, '$.source_row')) FROM ratings
WHERE benchmark = ? AND subject IN (SELECT value FROM json_each(?)) GROUP BY subject"""
_POSITIONS = "SELECT id, position FROM samples WHERE benchmark = ? AND id IN (SELECT value FROM json_each(?))"


def anchor(kind: str, ident: str) -> str:
    """Return the anchor of a reply or a message."""
    return f"{kind}-{ident[:8]}"


def quoted(given: Iterable[RaterVerdicts]) -> list[str]:
    """Return the words that raters quote and that really stand in the text."""
    return [q.text for v in given for m in v.marks for q in m.quotes if q.found]


def chat(section: Section, sample: Sample, quotes: Sequence[str]) -> tuple[list[Passage], Passage | None]:
    """Return a sample's dialogue and, where the question is about a reply that is part of it, that reply."""
    if section.hides(sample.id):
        return [], None
    language = sample.tags.get("language", "en")
    said = [passage(m.role, m.content, quotes, language) for m in sample.messages]
    return (said[:-1], said[-1]) if section.benchmark.about_reply else (said, None)


def reply(section: Section, sample: Sample, text: str, quotes: Sequence[str]) -> Passage | None:
    """Return a reply to a sample; None where it may not be shown, since it repeats what it answers."""
    if section.hides(sample.id):
        return None
    return passage("reply", text, quotes, language_of(text, sample.tags.get("language", "en")))


def withheld(run: OpenRun, section: Section, sample: str) -> str:
    """Say where a text stands that may not be shown; empty where it may."""
    if not section.hides(sample):
        return ""
    return f"{sample}, {places(run, section, [sample])[sample]}"


def places(run: OpenRun, section: Section, samples: Iterable[str]) -> dict[str, str]:
    """Say where samples stand: in which row of the released files where that is known, else at which place in the run."""
    asked = (section.benchmark.name, msgspec.json.encode(list(samples)).decode())
    found = {ident: f"number {position + 1} in the run" for ident, position in run.store.select(_POSITIONS, asked)}
    found |= {ident: f"row {row}" for ident, row in run.store.select(_ROWS, asked) if row is not None}
    return found


def hidden(runs: Sequence[OpenRun]) -> list[str]:
    """Say, of each benchmark, whose texts are not shown; nothing where all are."""
    counted: dict[str, int] = {}
    for run in runs:
        for section in run.sections:
            n = sum(section.hides(ident) for ident in run.store.sample_ids(section.benchmark.name))
            counted[section.benchmark.name] = max(n, counted.get(section.benchmark.name, 0))
    return [
        f"The texts that the authors of {name} released are restricted, so {plural(n, 'message stands', 'messages stand')} here by id, row and numbers "
        "alone. “mindgauge report --show-texts” shows them; such a report is not for passing on."
        for name, n in counted.items()
        if n
    ]
