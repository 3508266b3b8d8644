"""What raters said of one subject, with the wording of the levels they chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.records import Evidence, Sample, Value
from mindgauge.records.rubric import in_language
from mindgauge.records.rubric.order import rising
from mindgauge.reports.content import Quote, RaterVerdicts, VerdictMark
from mindgauge.reports.passages import clean, cut, language_of
from mindgauge.reports.runs import GOLD, PERSON, RULE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.runs import OpenRun, Section

LONGEST_REASON = 1000
_QUERY = """
SELECT subject, criterion, rater, rater_kind, run, status, value, rationale, evidence, provenance
FROM ratings WHERE benchmark = ? AND subject IN (SELECT value FROM json_each(?))
ORDER BY rater_kind = 'rule', rater_kind != 'person', rater, criterion, run"""
_evidence = msgspec.json.Decoder(tuple[Evidence, ...]).decode
_json = msgspec.json.Decoder().decode


def verdicts(
    run: OpenRun, section: Section, subject: str, sample: Sample, *, people: bool = True
) -> list[RaterVerdicts]:
    """Gather every rating of a subject but the gold label, repeats of one rater together: people, models, rules."""
    return verdicts_on(run, section, {subject: sample}, people=people)[subject]


def verdicts_on(
    run: OpenRun, section: Section, samples: Mapping[str, Sample], *, people: bool = True
) -> dict[str, list[RaterVerdicts]]:
    """Gather the same of several subjects, given with their samples; of hidden samples, no reasons and no quotes."""
    criteria = {criterion.name: criterion for criterion in section.benchmark.rubric.criteria}
    found: dict[str, dict[tuple[str, str], RaterVerdicts]] = {subject: {} for subject in samples}
    wanted = msgspec.json.encode(list(samples)).decode()
    rows = run.store.select(_QUERY, (section.benchmark.name, wanted)).fetchall()
    for subject, criterion, rater, kind, number, status, value, rationale, evidence, provenance in rows:
        sample = samples[subject]
        language = sample.tags.get("language", "en")
        if kind == GOLD or (kind == PERSON and not people) or status == "not_applicable":
            continue
        known = criteria.get(criterion)
        protocol = _json(provenance).get("protocol") or sample.tags.get(section.benchmark.protocol, "")
        scale = _scale(known, judged=not section.benchmark.closed)
        verdict = found[subject].setdefault((rater, criterion), RaterVerdicts(rater, kind, criterion, scale, []))
        hidden = section.hides(sample.id)
        reason = "" if hidden else clean(cut(rationale or "", LONGEST_REASON)[0])
        quotes = _evidence(evidence) if evidence and not hidden else ()
        verdict.marks.append(
            VerdictMark(
                number, status, value, _level(known, protocol, value, language) if kind != RULE else "", reason,
                [Quote(clean(cut(q.quote, LONGEST_REASON)[0]), q.found) for q in quotes],
                language_of(reason, language),
            )
        )  # fmt: skip
    return {subject: list(by_rater.values()) for subject, by_rater in found.items()}


def _scale(criterion: Criterion | None, *, judged: bool) -> str:
    """Write a scale of numbers as `1 to 5`, and say which end is the worst where that is the higher; empty for labels."""
    if criterion is None or not isinstance(criterion.values[0], int):
        return ""
    if not judged or rising(criterion):
        return f"{criterion.values[0]} to {criterion.values[-1]}"
    return f"{criterion.worst_first[0]} (worst) to {criterion.worst_first[-1]} (best)"


def _level(criterion: Criterion | None, protocol: str, value: Value | None, language: str) -> str:
    """Return how the rubric words the level that was given, for this subject's protocol."""
    if criterion is None or value is None or value not in criterion.values:
        return ""
    place = criterion.values.index(value)
    if criterion.protocols:
        texts = criterion.protocols.get(str(protocol))
        return in_language(texts[place], language) if texts else ""
    return in_language(criterion.levels[place].text, language)
