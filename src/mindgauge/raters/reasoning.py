"""What a judge says beside its values: checks and what follows from them, a total, doubts, another language."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from mindgauge.raters import verdict
from mindgauge.raters.quotes import chinese
from mindgauge.rubric.order import numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mindgauge.rubric import Criterion

_YES_OR_NO = {verdict.YES: True, "是": True, "true": True, verdict.NO: False, "否": False, "false": False}

in_chinese = cache(chinese)
"""Of prompts, which are few."""


def reasoning(judged: verdict.Verdict, criterion: Criterion, *, asked_in_chinese: bool | None) -> dict[str, Any]:
    """Return what a verdict says beside its value, what follows from its checks, and whether it changed the language."""
    details: dict[str, Any] = {"problem": judged.problem, "said": judged.said, "checks": judged.checks}
    if criterion.checks and judged.checks:
        read = {name: _YES_OR_NO.get(answer.strip().casefold()) for name, answer in judged.checks.items()}
        details["implied"] = criterion.implied({name: answer for name, answer in read.items() if answer is not None})
    answered = chinese(judged.rationale)
    if None not in (answered, asked_in_chinese) and answered != asked_in_chinese:
        details["answered_in"] = "Chinese" if answered else "another language"
    if judged.uncertain:
        details["uncertain"] = True
    return {name: value for name, value in details.items() if value not in ("", {}, None)}


def miscounted(
    text: str, criteria: Sequence[Criterion], summed: Collection[str], verdicts: Mapping[str, verdict.Verdict]
) -> dict[str, int]:
    """Return the total that an answer states, where it is not that of its own values.

    Args:
        text: of the answer.
        criteria: that were asked about.
        summed: names of those that a total is of; where one of them was not asked about, no total is looked at.
        verdicts: what was read, by criterion. What has no value counts nothing.
    """
    parts = [criterion for criterion in criteria if criterion.name in summed]
    stated = verdict.stated_total(text) if parts and len(parts) == len(summed) else None
    values = [(numbers(criterion), verdicts[criterion.name].value) for criterion in parts]
    counted = sum(levels[value] for levels, value in values if value is not None)
    return {} if stated is None or stated == counted else {"stated_total": stated}
