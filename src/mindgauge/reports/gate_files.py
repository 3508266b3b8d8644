"""What a gate says, as other tools read it: JUnit test cases, Markdown with before and after, error lines of a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import msgspec

from mindgauge.analysis.gate.outcome import FindingFigures, GateDecision, GateOutcome
from mindgauge.records import Value
from mindgauge.records import text as markup
from mindgauge.records.rounding import bounded, plural, write
from mindgauge.records.shell import command_line
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.gate.outcome import RatedReply, RuleFinding, RuleOutcome
    from mindgauge.records.rounding import Kind

REPLIES = 50
"""Replies that a test case lists at most."""
_MARKS = {GateOutcome.PASSED: "✓ passed", GateOutcome.FAILED: "✗ failed", GateOutcome.CANNOT_TELL: "? cannot tell"}


def junit(result: GateDecision) -> str:
    """Write a gate as one test suite, a rule as one test case: failed as a failure, cannot tell as an error.

    Args:
        result: of the gate.
    """
    counts = {outcome: sum(rule.outcome is outcome for rule in result.rules) for outcome in GateOutcome}
    figures = {
        "name": "mindgauge gate", "tests": str(len(result.rules)), "failures": str(counts[GateOutcome.FAILED]),
        "errors": str(counts[GateOutcome.CANNOT_TELL]), "skipped": "0",
    }  # fmt: skip
    suites = ET.Element("testsuites", {key: value for key, value in figures.items() if key != "skipped"})
    suite = ET.SubElement(suites, "testsuite", figures)
    listed: dict[RatedReply, str] = {}
    for rule in result.rules:
        case = ET.SubElement(suite, "testcase", {"classname": f"gate.{rule.kind}", "name": rule.title, "time": "0"})
        if rule.outcome is not GateOutcome.PASSED:
            kind = "failure" if rule.outcome is GateOutcome.FAILED else "error"
            message = "; ".join(rule.reasons)
            ET.SubElement(case, kind, {"message": message, "type": rule.outcome.value}).text = "\n".join(
                _details(rule, listed)
            )
        else:
            ET.SubElement(case, "system-out").text = "\n".join(rule.reasons)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + markup.xml(suites)


def _details(rule: RuleOutcome, listed: dict[RatedReply, str]) -> Iterator[str]:
    """Say why a rule is not met, with the replies behind it; what stands under an earlier rule is not listed again."""
    yield from rule.reasons
    replies = [reply for reply in rule.replies if reply not in listed]
    titles = list(dict.fromkeys(listed[reply] for reply in rule.replies if reply in listed))
    if replies:
        yield f"{plural(len(replies), 'reply', 'replies')} behind it (mindgauge report RUN --show NAME prints one):"
        yield from (_replies([reply]) for reply in replies[:REPLIES])
    if len(replies) > REPLIES:
        yield f"… and {len(replies) - REPLIES} more"
    if titles:
        yield f"{plural(len(rule.replies) - len(replies), 'reply', 'replies')} behind it under {'; '.join(titles)}"
    listed.update(dict.fromkeys(replies, rule.title))


def _replies(ratings: Sequence[RatedReply]) -> str:
    """Name a reply, and say how it was rated."""
    reply = ratings[0]
    levels = [
        f"{'no verdict' if rating.level is None else f'{rating.criterion} {rating.level}'}, rated by {rating.rater}"
        for rating in ratings
    ]
    return f"{reply.name}, to the message {reply.sample[:8]} ({reply.model}, time {reply.run + 1}): {'; '.join(levels)}"


def markdown(result: GateDecision) -> str:
    """Write a gate as Markdown: what it says, each rule with before and after, and the replies behind what is not met.

    Args:
        result: of the gate.
    """
    return "\n".join(_lines(result)) + "\n"


def _lines(result: GateDecision) -> Iterator[str]:
    yield f"## {_MARKS[result.outcome]}: {markup.text(result.headline())}"
    yield ""
    for rule in result.by_gravity:
        if rule.outcome is not GateOutcome.PASSED:
            yield from (f"- **{markup.text(rule.title)}**: {markup.text(reason)}" for reason in rule.reasons)
    yield ""
    yield "| rule | of | before | now | difference | n | outcome |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for rule in result.by_gravity:
        yield from (_row(rule, finding) for finding in rule.findings)
    behind = result.behind()
    if behind:
        yield f"\n<details><summary>{plural(len(behind), 'reply', 'replies')} behind what is not met</summary>\n"
        for ratings, rules in behind[:REPLIES]:
            yield f"- {markup.text(_replies(ratings))} (behind {markup.text('; '.join(rules))})"
        if len(behind) > REPLIES:
            yield f"- … and {len(behind) - REPLIES} more"
        one = command_line("report", result.run, "--show", behind[0][0][0].name)
        yield f"\n{markup.code(one)} prints one.\n\n</details>"
    yield ""
    yield from (f"Note: {markup.text(note)}" for note in result.notes)
    beside = f", beside {markup.text(result.baseline)}" if result.baseline else ""
    yield f"\n{markup.text(result.run)} by {markup.text(result.policy)}{beside}"


def _row(rule: RuleOutcome, finding: RuleFinding) -> str:
    raters = [] if finding.rater in {"", finding.model} else [finding.rater]
    about = ", ".join(
        filter(None, (finding.benchmark, finding.model, *raters, finding.slice if finding.slice != "all" else ""))
    )
    if finding.difference is None:
        now = bounded(finding.value, finding.low, finding.high, finding.unit)
        difference = ""
    else:
        now = write(finding.value, finding.unit)
        kind: Kind = "points" if finding.unit == "share" else "level"
        difference = bounded(finding.difference, finding.low, finding.high, kind, signed=True)
    before = "" if finding.before is None else write(finding.before, finding.unit)
    now = "" if finding.value is None else now
    cells: Sequence[str] = (rule.title, about, before, now, difference, str(finding.n or ""), _MARKS[finding.outcome])
    return f"| {' | '.join(map(markup.text, cells))} |"


def workflow_errors(result: GateDecision) -> list[str]:
    """Return the lines by which a GitHub workflow marks what is not met; a policy's file is where they stand.

    Args:
        result: of the gate.
    """
    lines = []
    for rule in result.by_gravity:
        if rule.outcome is not GateOutcome.PASSED:
            level = "error" if not result else "warning"
            properties = f"file={_property(result.policy)},title={_property(f'{rule.outcome.value}: {rule.title}')}"
            lines.append(f"::{level} {properties}::{_escaped('; '.join(rule.reasons))}")
    return lines


def _escaped(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


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
    for ratings, behind in result.behind():
        first = ratings[0]
        verdicts = [VerdictRecord(rated.criterion, rated.rater, rated.level) for rated in ratings]
        replies.append(ReplyRecord(first.name, first.reply, first.sample, first.model, first.run, verdicts, behind))
    return GateRecord(
        result.exit_code, rules, replies, result.run, result.policy, result.baseline, result.outcome, result.decision, result.notes, result.night,
    )  # fmt: skip
