"""How a prompt words a rubric: how much of it a method of judging shows."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from mindgauge.records.records import Status
from mindgauge.records.rubric.criterion import in_language

if TYPE_CHECKING:
    from mindgauge.records.rubric.criterion import Criterion, Level, Node

_CHAIN = {
    "en": {"look": "What to look at", "checks": "Checks, each answered yes or no", "rule": "Rule", "if": "if",
           "and": "and", "yes": "yes", "no": "no", "otherwise": "otherwise", "levels": "Levels"},
    "zh": {"look": "看什么", "checks": "逐项检查，每项答 yes 或 no", "rule": "判定规则", "if": "若",
           "and": "且", "yes": "yes", "no": "no", "otherwise": "其余情况", "levels": "等级"},
}  # fmt: skip


class Method(StrEnum):
    """How much of the rubric a judge is shown, and what it is to do with it."""

    GENERAL = "general"
    """The names of the criteria and the scale."""
    RULE = "rule"
    """What each level looks like."""
    CHAIN = "chain"
    """What to look at, checks to answer, the rule that leads from them to a level."""

    @property
    def usual(self) -> bool:
        """Whether a judge has no name of its own with it."""
        return self is Method.RULE

    @property
    def describes(self) -> bool:
        """Whether a judge is shown what the levels look like."""
        return self is not Method.GENERAL

    @property
    def reasons(self) -> bool:
        """Whether a judge writes checks, evidence and a reason for each criterion before its level."""
        return self is Method.CHAIN

    @property
    def prompt(self) -> str:
        """The file of its prompt, without the ending."""
        return "judge" if self.usual else f"judge.{self}"

    @property
    def token_limit(self) -> int:
        """The longest answer for one criterion; 0 where the model's usual room will do."""
        return 240 if self.reasons else 0

    @property
    def expected_tokens(self) -> int:
        """The expected length of an answer for one criterion; 0 where all of them share one reason."""
        return 120 if self.reasons else 0


def render(criterion: Criterion, language: str, method: Method = Method.RULE) -> str:
    """Write one criterion as Markdown."""
    lines = [f"## {criterion.name}", "", in_language(criterion.text, language), ""]
    if not method.describes or criterion.options:
        lines.append(f"- {' | '.join(map(str, criterion.choices))}")
        return "\n".join(lines)
    lines += _chain(criterion, language) if method.reasons and criterion.checks else []
    lines += [f"- {level.value}: {in_language(level.text, language)}" for level in criterion.levels]
    if criterion.not_applicable:
        lines.append(f"- {Status.NOT_APPLICABLE}: {in_language(criterion.not_applicable, language)}")
    return "\n".join(lines)


def _chain(criterion: Criterion, language: str) -> list[str]:
    words = _CHAIN.get(language, _CHAIN["en"])
    look = [f"{words['look']}: {in_language(criterion.look, language)}", ""] if criterion.look else []
    checks = [f"- {check.name}: {in_language(check.ask, language)}" for check in criterion.checks]
    best_first = [_rule(level, words) for level in reversed(criterion.levels)]
    return [*look, f"{words['checks']}:", *checks, "", f"{words['rule']}:", *best_first, "", f"{words['levels']}:"]


def _rule(level: Level, words: dict[str, str]) -> str:
    """Write what a level needs; the best level that holds counts, so they stand best first."""
    conditions = [f"{name} {words['yes']}" for name in level.needs] + [f"{name} {words['no']}" for name in level.unless]
    if not conditions:
        return f"- {level.value}: {words['otherwise']}"
    return f"- {level.value}: {words['if']} " + f" {words['and']} ".join(conditions)


def order(nodes: tuple[Node, ...]) -> str:
    """Write the order of decision as a numbered list of levels, one node a line."""
    lines = [", ".join(map(str, node.levels)) for node in nodes] + [str(nodes[-1].otherwise)]
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
