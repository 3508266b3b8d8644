"""The evaluation card of some runs, put together from their report."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records.short_names import shortened
from mindgauge.reports import texts
from mindgauge.reports.evaluation_card import failures, raters, scope
from mindgauge.reports.evaluation_card.records import CardEntry, EvaluationCard
from mindgauge.reports.evaluation_card.validity import validity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.content import System
    from mindgauge.reports.evaluation_card.facts import OwnerFacts
    from mindgauge.reports.evaluation_card.records import Validity
    from mindgauge.reports.evaluation_card.validity import AnswerDates
    from mindgauge.reports.runs import OpenRun
    from mindgauge.reports.sections import Report

_POINTER = re.compile(r"\b(cases?|replies|weak) below\b")
"""What of the report's sentences says where something stands, and not how much it is."""


def card(
    runs: Sequence[OpenRun], systems: Sequence[System], report: Report, page: str, facts: OwnerFacts
) -> EvaluationCard:
    """Put the card of some runs together.

    Args:
        runs: open ones.
        systems: that they measured.
        report: what is said of them.
        page: the address of the report beside the card.
        facts: what the owner states.
    """
    evaluated, dates = scope.systems(runs, systems)
    identity, changed = scope.identity(runs, report)
    today = datetime.datetime.fromisoformat(report.made).date()
    holds = validity(dates, changed, facts.expires, today)
    harms = failures.unsafe(runs, systems, report)
    bounds = failures.limits(report, facts)
    bounds.computed = [_elsewhere(text) for text in bounds.computed]
    entries = [
        scope.intended(runs, facts),
        scope.not_intended(runs, facts),
        evaluated,
        scope.populations(runs, report, facts),
        raters.raters(runs, facts),
        raters.agreement(runs, report.trust.trials),
        bounds,
        failures.failures(report, page, counted=bool(harms)),
        failures.incidents(runs, harms, report, facts),
        scope.licences(runs, facts),
        identity,
        _dates(report, dates, holds),
    ]
    content = EvaluationCard(
        title=report.title,
        subtitle=report.subtitle,
        made=report.made,
        software=report.software,
        report=page,
        owner=" ".join(facts.owner.split()),
        validity=holds,
        findings=[_elsewhere(text) for text in report.first.statements],
        entries=entries,
    )
    return msgspec.convert(_shown(msgspec.to_builtins(content), report.names), EvaluationCard)


def _elsewhere(text: str) -> str:
    """Let a sentence of the report point to it from the card."""
    return _POINTER.sub(r"\1 in the report", text)


def _dates(report: Report, dates: Sequence[AnswerDates], holds: Validity) -> CardEntry:
    """Say when was evaluated, and until when that holds."""
    entry = CardEntry("validity", "Date and expiry")
    days = sorted(day for system in dates for day in (system.first, system.last) if day is not None)
    if days:
        entry.computed.append(
            f"The answers were made from {days[0]} to {days[-1]}."
            if days[0] < days[-1]
            else f"The answers were made on {days[0]}."
        )
    entry.computed += [
        f"This card was written on {report.made[:10]}; writing it anew does not make it hold longer.",
        holds.because,
    ]
    return entry


def _shown(content: Any, names: dict[str, str]) -> Any:
    """Return what a card shows: short names for addresses, and signs that cannot be seen as their code points."""
    if isinstance(content, str):
        return texts.clean(shortened(content, names))
    if isinstance(content, dict):
        return {key: _shown(value, names) for key, value in content.items()}
    return [_shown(value, names) for value in content] if isinstance(content, list) else content
