from __future__ import annotations

from mindgauge.raters.rule import RuleCriterion
from mindgauge.records import Message, RaterKind, Reply, Sample, Status
from mindgauge.records.rubric import Criterion, Level, Scale

LOUD = RuleCriterion(
    Criterion("loud", Scale.NOMINAL, (Level("no"), Level("yes")), applies={"question": ("free",)}),
    lambda sample, text: None if not text.strip() else ("yes" if sample.tags["name"] in text and "!" in text else "no"),
)
SAMPLE = Sample.of((Message("user", "hello"),), tags={"question": "free", "name": "Li"})


def rated(text: str, status: Status = Status.OK, **tags: str) -> tuple[Status, object]:
    sample = Sample.of(SAMPLE.messages, tags={**SAMPLE.tags, **tags})
    found = LOUD.rate(sample, Reply.of(sample.id, "m", 0, status, text))
    assert (found.rater, found.rater_kind, found.criterion) == ("rule/loud", RaterKind.RULE, "loud")
    return found.status, found.value


def test_a_reading_is_a_rating_by_rule() -> None:
    assert rated("Li! Hello") == (Status.OK, "yes")
    assert rated("hello") == (Status.OK, "no")


def test_what_cannot_be_read_or_never_came_has_no_value() -> None:
    assert rated("  ") == (Status.UNPARSABLE, None)
    assert rated("", Status.FILTERED) == (Status.FILTERED, None)


def test_samples_it_is_not_about_are_not_read() -> None:
    assert rated("Li!", question="control") == (Status.NOT_APPLICABLE, None)
