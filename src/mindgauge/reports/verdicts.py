"""What raters said of one subject, with the wording of the levels they chose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records import Evidence, Sample, Value
from mindgauge.reports.content import Mark, Quote, Verdict
from mindgauge.reports.passages import clean, cut, language_of
from mindgauge.reports.runs import GOLD, PERSON, RULE
from mindgauge.rubric import in_language

if TYPE_CHECKING:
    from mindgauge.reports.runs import Run, Section
    from mindgauge.rubric import Criterion

LONGEST_REASON = 1000
_QUERY = """
SELECT criterion, rater, rater_kind, run, status, value, rationale, evidence, provenance
FROM ratings WHERE benchmark = ? AND subject = ? ORDER BY rater_kind = 'rule', rater_kind != 'person', rater, criterion, run"""
_evidence = msgspec.json.Decoder(tuple[Evidence, ...]).decode
_json = msgspec.json.Decoder().decode


def verdicts(run: Run, section: Section, subject: str, sample: Sample, *, people: bool = True) -> list[Verdict]:
    """Gather every rating of a subject but the gold label, repeats of one rater together: people, models, rules."""
    criteria = {criterion.name: criterion for criterion in section.benchmark.rubric.criteria}
    language = sample.tags.get("language", "en")
    found: dict[tuple[str, str], Verdict] = {}
    rows = run.store.select(_QUERY, (section.benchmark.name, subject)).fetchall()
    for criterion, rater, kind, number, status, value, rationale, evidence, provenance in rows:
        if kind == GOLD or (kind == PERSON and not people) or status == "not_applicable":
            continue
        known = criteria.get(criterion)
        protocol = _json(provenance).get("protocol") or sample.tags.get(section.benchmark.protocol, "")
        verdict = found.setdefault((rater, criterion), Verdict(rater, kind, criterion, _scale(known), []))
        reason = clean(cut(rationale or "", LONGEST_REASON)[0])
        verdict.marks.append(
            Mark(
                number, status, value, _level(known, protocol, value, language) if kind != RULE else "", reason,
                [Quote(clean(cut(q.quote, LONGEST_REASON)[0]), q.found) for q in (_evidence(evidence) if evidence else ())],
                language_of(reason, language),
            )
        )  # fmt: skip
    return list(found.values())


def _scale(criterion: Criterion | None) -> str:
    """Write an ordinal scale as `1 to 5`; empty for labels."""
    values: Any = criterion.values if criterion else ()
    return f"{values[0]} to {values[-1]}" if values and isinstance(values[0], int) else ""


def _level(criterion: Criterion | None, protocol: str, value: Value | None, language: str) -> str:
    """Return how the rubric words the level that was given, for this subject's protocol."""
    if criterion is None or value is None or value not in criterion.values:
        return ""
    place = criterion.values.index(value)
    if criterion.protocols:
        texts = criterion.protocols.get(str(protocol))
        return in_language(texts[place], language) if texts else ""
    return in_language(criterion.levels[place].text, language)
