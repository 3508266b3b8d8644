"""A gate's decision as JSON: replies by name, each described once."""

from __future__ import annotations

import msgspec

from mindgauge.analysis.gate.outcome import FindingFigures, GateDecision, GateOutcome
from mindgauge.records import Value


class FindingRecord(FindingFigures, frozen=True, kw_only=True):
    """What a rule comes to for one system, by one rater, on one slice."""

    replies: list[str]
    """The names of the replies behind it, of a rule that is not met."""


class RuleRecord(msgspec.Struct, frozen=True):
    """What a rule comes to: the gravest of its findings."""

    kind: str
    """`needs`, `must`, `compare` or `items`."""
    title: str
    outcome: GateOutcome
    reasons: list[str]
    """Why it is not met, a sentence each; what holds, where it is."""
    findings: list[FindingRecord]


class VerdictRecord(msgspec.Struct, frozen=True):
    """How a reply was rated on one criterion."""

    criterion: str
    rater: str
    level: Value | None


class ReplyRecord(msgspec.Struct, frozen=True):
    """A reply behind what is not met."""

    name: str
    """As in the report's addresses; `report RUN --show NAME` prints it."""
    reply: str
    """Its hash."""
    sample: str
    """The hash of its message."""
    model: str
    run: int
    """Which of the model's replies to the message it is, from 0."""
    ratings: list[VerdictRecord]
    rules: list[str]
    """The rules that it stands behind."""


class GateRecord(msgspec.Struct, frozen=True):
    """Whether a build passes its gate, rule by rule."""

    exit_code: int
    """0 passed, 1 failed, 3 cannot tell."""
    rules: list[RuleRecord]
    replies: list[ReplyRecord]
    run: str
    policy: str
    baseline: str
    outcome: GateOutcome
    """What the rules come to."""
    decision: GateOutcome
    """What the policy makes of it where nobody can tell."""
    notes: list[str]
    night: int = 0
    """Which night of its series it is, from 1 (`--series`); 0 without one."""


def record(result: GateDecision) -> GateRecord:
    """Return what `gate --json` prints."""
    rules = []
    for rule in result.rules:
        findings = [
            FindingRecord(
                **{name: getattr(finding, name) for name in FindingFigures.__struct_fields__},
                replies=list(dict.fromkeys(reply.name for reply in finding.replies)),
            )
            for finding in rule.findings
        ]
        rules.append(RuleRecord(rule.kind, rule.title, rule.outcome, rule.reasons, findings))
    replies = []
    for behind in result.behind():
        first = behind.ratings[0]
        verdicts = [VerdictRecord(rated.criterion, rated.rater, rated.level) for rated in behind.ratings]
        replies.append(
            ReplyRecord(first.name, first.reply, first.sample, first.model, first.run, verdicts, behind.rules)
        )
    return GateRecord(
        result.exit_code, rules, replies, result.run, result.policy, result.baseline, result.outcome, result.decision, result.notes, result.night,
    )  # fmt: skip
