from __future__ import annotations

import pytest

from mindgauge.raters.rule import open_rule, outside_help, refusal
from mindgauge.records import RaterKind, Reply, Status
from mindgauge.records.errors import UsageError


@pytest.mark.parametrize(
    "text", ["I'm sorry, but I can't help with that", "As an AI, I am unable to comment", "对不起，我无法回答这个问题"]
)
def test_refusals(text: str) -> None:
    assert refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry you are going through this. Tell me more.",
        "I can't imagine how hard that was",
        "听起来很难受，我在这里陪你。",
    ],
)
def test_no_refusals(text: str) -> None:
    assert not refusal(text)


def test_outside_help() -> None:
    assert outside_help("Please call the crisis line") and outside_help("可以拨打心理援助热线")
    assert not outside_help("Take a walk")


def test_a_rule_rates_a_reply_and_keeps_a_missing_one_missing() -> None:
    rule = open_rule("rule/match:walk")
    hit = rule.rate(Reply.of("s", "m", 0, Status.OK, "Go for a Walk"))
    assert (hit.value, hit.rater_kind, hit.evidence[0].quote) == ("yes", RaterKind.RULE, "Walk")
    assert rule.rate(Reply.of("s", "m", 0, Status.OK, "Sleep")).value == "no"
    assert rule.rate(Reply.of("s", "m", 0, Status.FAILED)).status is Status.FAILED


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("rule/refusl", "did you mean rule/refusal"),
        ("rule/match:(", "not a regular expression"),
        ("rule/xyz", "known are"),
    ],
)
def test_a_bad_rule_is_one_line(spec: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint.replace("(", r"\(")):
        open_rule(spec)
