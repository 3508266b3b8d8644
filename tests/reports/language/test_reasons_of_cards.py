"""Every reason that the rule can give for a verdict has its Chinese, whatever a planted report happens to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import BesideClinician, Bound, Danger, Share, WorstReplies
from mindgauge.analysis.reliability.unsafe_levels import _without_worst
from mindgauge.reports import first_finding, reliability_gate
from mindgauge.reports.language import memory
from mindgauge.reports.language.translator import Translator

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = rule.load(rule.MINDGAUGE)
SHARE = Share(0.75, 0.5, 0.9, 15, 20, 20.0)


def _end(low: float, high: float, clinician: float | None = 0.7, spare: int = 3) -> BesideClinician:
    return BesideClinician(0.7, clinician, Bound((low + high) / 2, low, high), 40, 40.0, 2, spare)


def _danger(**more: object) -> Danger:
    blank: dict[str, object] = {
        "levels": [1, 2], "is_assumed": False, "found": SHARE, "found_any": SHARE, "ceiling": SHARE, "lowest": None, "lowest_unsafe": None,
        "passed": SHARE, "critical": {}, "by_category": {}, "people": 2, "absent": 4, "rated": 400, "found_if_missed": SHARE,
    }  # fmt: skip
    return Danger(**(blank | more))  # type: ignore[arg-type]


def _facts(people: float | None, agreement: Bound) -> rule.Facts:
    return rule.Facts(
        True, 4.0, 400, 400.0, (40, 400), 1, 3, agreement, people, 0.4, None, None, None, "", passed=(agreement, None)
    )


def reasons() -> Iterator[str]:
    ends = [
        _end(-0.5, -0.2),
        _end(-0.05, 0.1),
        _end(-0.15, 0.1),
        _end(-0.4, 0.2),
        _end(-0.1, 0.1, 0.3),
        _end(-0.1, 0.1, None),
    ]
    for kind in ("unsafe", "safe"):
        for end in ends:
            for where in ("", " in the critical category self-harm"):
                yield rule._beside(end, kind, RULE.left_out, "unknown", where)[1]
    for spare in (0, 3):
        danger = _danger(
            unsafe_end=_end(-0.05, 0.1), unsafe_if_missed=_end(-0.3, 0.1, spare=spare), safe_if_flagged=_end(-0.3, 0.1)
        )
        yield from (reason for _, reason in rule._if_wrong(danger, RULE, reachable=True))
    worst = WorstReplies(1.0, 0.3, 24, 0.001)
    for unused in (worst, None):
        said = _without_worst(Share(0.0, 0.0, 0.14, 0, 24, 24.0), unused, 0.01, gives=True)
        yield from (reason for _, reason in rule._at_worst(_danger(worst_missed=worst, worst_level=said), RULE))
    said = _without_worst(Share(0.0, 0.0, 0.14, 0, 24, 24.0), None, 0.01, gives=False)
    yield from (reason for _, reason in rule._at_worst(_danger(worst_level=said), RULE))
    alone = _danger(unsafe_end=_end(-0.05, 0.1), found_alone=Share(0.1, 0.05, 0.2, 3, 30, 30.0))
    yield from (reason for _, reason in rule._alone(alone, RULE.data.level))
    yield rule.UNSAID
    for n in (9, 20):
        yield from (reason for _, reason in rule._few_unsafe(Share(1.0, 0.8, 1.0, n, n, float(n)), RULE.left_out))
    for share in (Share(0.3, 0.2, 0.39, 12, 40, 40.0), Share(0.5, 0.3, 0.7, 10, 20, 20.0)):
        for replies in (rule.UNSAFE, "unsafe replies in the critical category self-harm"):
            yield rule._found(share, replies, RULE.danger, 0.4, "unknown", 0.95)[1]
    for people, value in ((None, 0.9), (0.3, 0.6), (0.7, 0.72), (0.7, 0.6), (0.7, 0.45)):
        facts = _facts(people, Bound(value, value - 0.05, value + 0.05))
        yield from rule.decide(facts, RULE)[0].reasons


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator(memory.read("zh"), {"judge-1"})


def test_every_reason_of_the_rule_has_its_chinese(translator: Translator) -> None:
    unknown = [
        s.text
        for reason in dict.fromkeys(reasons())
        for s in translator.sentences(f"{reason[0].upper()}{reason[1:]}.")
        if not s.known
    ]
    assert not unknown


def test_every_clause_about_a_judge_in_part_has_its_chinese(translator: Translator) -> None:
    clauses = [
        text.format(judges="the judge judge-1", s="s", it="it", them="it", is_="is", miss="misses", es="es", its="its")
        for text in (*first_finding._PARTLY.values(), first_finding._MISSES)
    ]
    clauses += [
        f"On safety, people must check the judge judge-1 before its scores are relied on: {text} (ICC(A,1) within systems 0.78; moderate: validate)"
        for text in reliability_gate._PARTLY.values()
    ]
    assert not [
        s.text for text in clauses for s in translator.sentences(f"{text[0].upper()}{text[1:]}.") if not s.known
    ]
