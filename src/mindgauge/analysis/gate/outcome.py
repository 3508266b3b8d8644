"""What a gate says: of each rule, and of the build."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from mindgauge.records import Value
from mindgauge.records.command_result import Tabular, first_of
from mindgauge.records.rounding import Kind, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class GateOutcome(StrEnum):
    """What became of a rule, or of a gate."""

    PASSED = "passed"
    FAILED = "failed"
    CANNOT_TELL = "cannot tell"


EXIT_CODES = {GateOutcome.PASSED: 0, GateOutcome.FAILED: 1, GateOutcome.CANNOT_TELL: 3}
"""2 is wrong use."""
_GRAVEST_FIRST = (GateOutcome.FAILED, GateOutcome.CANNOT_TELL, GateOutcome.PASSED)


def gravest(outcomes: Iterable[GateOutcome]) -> GateOutcome:
    """Return the gravest of some outcomes; passed, where there is none."""
    present = set(outcomes)
    return next((outcome for outcome in _GRAVEST_FIRST if outcome in present), GateOutcome.PASSED)


class RatedReply(msgspec.Struct, frozen=True):
    """A reply that a rule speaks of, without its words: its message's id, its own, and how it was rated."""

    sample: str
    reply: str
    model: str
    criterion: str
    rater: str
    level: Value | None
    run: int = 0

    @property
    def name(self) -> str:
        """What it is called wherever a gate speaks of it, and in the report's addresses."""
        return f"reply-{self.reply[:8]}"


class FindingFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule comes to for one system, by one rater, on one slice, in figures."""

    outcome: GateOutcome
    sentence: str
    """Why, in a sentence."""
    benchmark: str = ""
    criterion: str = ""
    slice: str = ""
    rater: str = ""
    model: str = ""
    title: str = ""
    unit: Kind = "level"
    before: float | None = None
    """The baseline's value."""
    value: float | None = None
    """The build's."""
    difference: float | None = None
    """The build's minus the baseline's, on the conversations that both have."""
    low: float | None = None
    high: float | None = None
    """The interval of the difference, or of the value where nothing is compared."""
    p: float | None = None
    """One-sided, that the rule is not broken, adjusted for all rules together."""
    n: int = 0
    """Replies, or dialogues rated as a whole."""
    conversations: int = 0
    missing: int = 0
    needed: int | None = None
    """With how many conversations it could be told, if the values stay; None where it is told, or with no number that is known."""


class RuleFinding(FindingFigures, frozen=True, kw_only=True):
    """What a rule comes to for one system, by one rater, on one slice."""

    replies: list[RatedReply] = []
    """The replies behind it, of a rule that is not met."""


class RuleOutcome(msgspec.Struct, frozen=True):
    """What a rule comes to: the gravest of its findings."""

    kind: str
    """`needs`, `must`, `compare` or `items`."""
    title: str
    findings: list[RuleFinding]

    @property
    def outcome(self) -> GateOutcome:
        """The gravest of its findings."""
        return gravest(finding.outcome for finding in self.findings)

    @property
    def reasons(self) -> list[str]:
        """Why it is not met, a sentence each; what holds, where it is."""
        outcome = self.outcome
        return list(dict.fromkeys(finding.sentence for finding in self.findings if finding.outcome is outcome))

    @property
    def replies(self) -> list[RatedReply]:
        """The replies behind it."""
        return list(dict.fromkeys(reply for finding in self.findings for reply in finding.replies))


class GateDecision(Tabular, msgspec.Struct, frozen=True):
    """Whether a build passes its gate: true where it does, so that a test may say `assert result, str(result)`.

    `outcome` is what the rules come to, `decision` what the policy makes of it where nobody can tell.
    """

    run: str
    policy: str
    baseline: str
    outcome: GateOutcome
    decision: GateOutcome
    rules: list[RuleOutcome]
    notes: list[str]
    night: int = 0

    def __bool__(self) -> bool:
        return self.decision is GateOutcome.PASSED

    @property
    def exit_code(self) -> int:
        """0 passed, 1 failed, 3 cannot tell."""
        return EXIT_CODES[self.decision]

    @property
    def by_gravity(self) -> list[RuleOutcome]:
        """The rules, those that fail first."""
        return sorted(self.rules, key=lambda rule: _GRAVEST_FIRST.index(rule.outcome))

    def behind(self) -> list[tuple[list[RatedReply], list[str]]]:
        """Return each reply behind what is not met, once: how it was rated, and the rules that it stands behind."""
        ratings: dict[str, dict[RatedReply, None]] = {}
        rules: dict[str, dict[str, None]] = {}
        for rule in self.by_gravity:
            for reply in rule.replies:
                ratings.setdefault(reply.reply, {})[reply] = None
                rules.setdefault(reply.reply, {})[rule.title] = None
        return [(list(own), list(rules[ident])) for ident, own in ratings.items()]

    def headline(self) -> str:
        """Say what the gate says, and of how many rules."""
        counts = {outcome: sum(rule.outcome is outcome for rule in self.rules) for outcome in _GRAVEST_FIRST}
        counted = ", ".join(f"{n} {outcome.value}" for outcome, n in counts.items() if n)
        decided = f", which the policy lets {'pass' if self else 'fail'}" if self.decision is not self.outcome else ""
        return f"Gate {self.outcome.value}{decided}: {counted} of {plural(len(self.rules), 'rule')}"

    def summary(self) -> Iterator[str]:
        """Say what the gate says, and why."""
        yield self.headline()
        reasons = [
            f"{rule.outcome.value}: {rule.title}: {reason}"
            for rule in self.by_gravity
            if rule.outcome is not GateOutcome.PASSED
            for reason in rule.reasons
        ]
        yield from first_of(reasons, 7)
        yield f"{self.run}, by {self.policy or 'its policy'}{f', beside {self.baseline}' * bool(self.baseline)}"

    def _listed(self) -> Iterable[dict[str, object]]:
        return [
            {"rule": rule.title, "kind": rule.kind, **msgspec.structs.asdict(finding), "replies": len(finding.replies)}
            for rule in self.rules
            for finding in rule.findings
        ]
