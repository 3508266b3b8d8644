"""All checks, and how they are run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.audit import coverage, dependence, ids, order, raters, replies, texts, values
from mindgauge.analysis.audit.finding import CheckResult, Severity, check, limited
from mindgauge.analysis.audit.view import View
from mindgauge.records.files.confined_reader import HIDDEN
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.audit.finding import AuditCheck, Finding
    from mindgauge.benchmarks.released import Material


@check(
    "hidden_content",
    Severity.WARNING,
    "what is hidden in a workbook is in no number; some who see the file do not know of it",
)
def hidden_content(view: View) -> Iterator[CheckResult]:
    """Workbooks with hidden sheets, rows or columns, which are left out."""
    lines = [note for note in view.material.notes if HIDDEN in note]
    if lines:
        yield CheckResult(len(lines), f"{plural(len(lines), 'workbook')} with hidden content", lines)


@check(
    "reader_notes",
    Severity.NOTE,
    "what could not be read, or was read with a guess, is not in the numbers as it stands",
)
def reader_notes(view: View) -> Iterator[CheckResult]:
    """What the reader of the files had to say."""
    notes = [note for note in view.material.notes if HIDDEN not in note]
    if notes:
        yield CheckResult(len(notes), f"{plural(len(notes), 'remark')} on reading the files", notes)


@check(
    "contradicts_itself",
    Severity.ERROR,
    "these are not the files that were released, or their means are not those of their values",
)
def contradicts_itself(view: View) -> Iterator[CheckResult]:
    """Files that are not what the release says of them: digests, numbers of rows, means compared with their own repeats."""
    lines = view.material.contradictions
    if lines:
        yield CheckResult(len(lines), f"{plural(len(lines), 'file')} not as the release says", limited(lines))


CHECKS: tuple[AuditCheck, ...] = (
    *ids.CHECKS, *texts.CHECKS, *texts.CHARACTER_CHECKS, *values.CHECKS, *coverage.LABEL_CHECKS, *replies.CHECKS, *raters.CHECKS,
    *dependence.CHECKS, *order.CHECKS, *coverage.CHECKS, contradicts_itself, hidden_content, reader_notes,
)  # fmt: skip
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def run(material: Material, subject: str = "") -> list[Finding]:
    """Return what is wrong with a material."""
    view = View(material)
    return ranked([finding for check in CHECKS for finding in check.findings(view, subject)])


def ranked(findings: list[Finding]) -> list[Finding]:
    """Sort findings, the most severe and then the most frequent first."""
    return sorted(findings, key=lambda finding: (_RANK[finding.severity], -finding.count, finding.id))
