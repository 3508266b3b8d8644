"""The page of what an audit looks for, from the checks themselves."""

from __future__ import annotations

import inspect

from docs_build.tables import code, page, prose, table
from mindgauge.analysis.audit.checks import CHECKS
from mindgauge.analysis.audit.view import Severity

SEVERITIES = {
    Severity.ERROR: "numbers computed from this are wrong",
    Severity.WARNING: "they may mislead",
    Severity.NOTE: "a fact to report beside them",
}


def written() -> str:
    """Return the page."""
    meanings = "; ".join(f"*{severity.value}*: {meaning}" for severity, meaning in SEVERITIES.items())
    rows = [
        [code(check.id), check.severity.value, prose(_summary(check.find)), prose(check.effect)] for check in CHECKS
    ]
    return page(
        "Audit checks",
        "What `mindgauge audit` looks for, in the order of its checks. [Audit ratings](../tasks/audit_ratings.md) says what to do"
        " about a finding.",
        f"{meanings}. A check may call a case graver or lighter than stands here.",
        table(("id", "severity", "what it finds", "what it does to results"), rows),
    )


def _summary(find: object) -> str:
    return (inspect.getdoc(find) or "").partition("\n")[0]
