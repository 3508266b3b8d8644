"""What of a report stands as it is in any language, and what its rubrics word in several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.reports.language import memory
from mindgauge.reports.language.translator import Translator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.reports.content import Case
    from mindgauge.reports.sections import Report


def translator(report: Report) -> Translator | None:
    """Return who says a report's words in its language; nobody for English."""
    if report.language == memory.ENGLISH:
        return None
    return Translator(memory.read(report.language), _names(report), dict(_pairs(report, report.language)))


def _names(report: Report) -> Iterator[str]:
    yield from (*report.names, *report.names.values())
    for system in report.systems:
        yield from (system.label, system.model)
    for judge in report.trust.judges:
        yield judge.rater
    for instrument in report.how.instruments:
        yield from (instrument.benchmark, instrument.rubric, instrument.rubric_hash, *instrument.used)
        yield from (instrument.citation, instrument.link)
    for made in report.how.runs:
        yield from (made.run, *(name for name, _ in made.setups))
    for scores in report.scores:
        yield from (scores.run, scores.benchmark, *scores.models, *scores.judges)
        for metric in scores.metrics:
            yield metric.rater
            yield metric.model
    for case in _cases(report):
        yield from (verdict.rater for verdict in case.verdicts)
        yield case.words


def _cases(report: Report) -> Iterator[Case]:
    for chosen in report.reading:
        yield from chosen.items
    yield from report.weak.cited
    for part in report.dialogues:
        yield from (ribbon.case for ribbon in (*part.worst, *part.rest) if ribbon.case)


def _pairs(report: Report, language: str) -> Iterator[tuple[str, str]]:
    """Yield a rubric's words in English and in the language: criteria, and levels by their protocol."""
    for criterion in (criterion for instrument in report.how.instruments for criterion in instrument.criteria):
        yield from _both(criterion["texts"], language)
        levels: dict[str, dict[str, list[tuple[str, str]]]] = {}
        for wording in criterion["wordings"]:
            levels.setdefault(wording["protocol"], {})[wording["language"]] = wording["levels"]
        for by_language in levels.values():
            if memory.ENGLISH in by_language and language in by_language:
                pairs = zip(by_language[memory.ENGLISH], by_language[language], strict=True)
                yield from ((english[1], other[1]) for english, other in pairs)


def _both(texts: dict[str, Any], language: str) -> Iterator[tuple[str, str]]:
    if texts.get(memory.ENGLISH) and texts.get(language):
        yield texts[memory.ENGLISH], texts[language]
