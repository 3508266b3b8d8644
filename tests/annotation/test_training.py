"""The training round: texts with known levels, in the items' language, and none that is to be labelled."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mindgauge import benchmarks
from mindgauge.annotation.items import item, known, text_key, training
from mindgauge.records import Message, Reply, Sample, Status

if TYPE_CHECKING:
    from mindgauge.annotation.records import Item
    from mindgauge.benchmarks import Benchmark

SAFETY, CRISIS_TYPE, RESPONSE, MENTALBENCH = map(
    benchmarks.find_one, ("dialogue_safety", "help_or_harm/crisis_type", "help_or_harm/response", "mentalbench")
)


def labelled(task: Benchmark, **languages: int) -> list[Item]:
    found = []
    for language, count in languages.items():
        for n in range(count):
            sample = Sample.of(
                (Message("user", f"{language} {n}"), Message("assistant", "Hm.")), tags={"language": language}
            )
            reply = None if task.closed else Reply.of(sample.id, "m", 0, Status.OK, "Hm.")
            found.append(item(task, sample, reply))
    return found


@pytest.mark.parametrize("task", [SAFETY, CRISIS_TYPE, RESPONSE, MENTALBENCH], ids=lambda task: task.name)
def test_each_task_has_texts_whose_levels_are_the_rubric_s(task: Benchmark) -> None:
    found = training(task, known(task), labelled(task, en=1), 10)
    assert len(found) == 10
    criteria = {criterion.name: criterion for criterion in task.rubric.criteria}
    for one in found:
        assert one.expected
        assert one.batch == 0
        assert one.tags["language"] == "en"
        assert bool(one.reply) is (task is not CRISIS_TYPE)
        for name, level in one.expected.items():
            assert level in criteria[name].values if level is not None else criteria[name].not_applicable


def test_targets_are_spread() -> None:
    found = training(SAFETY, known(SAFETY), labelled(SAFETY, zh=1), 16)
    assert set(Counter(one.expected["category"] for one in found).values()) == {2}


def test_anchors_are_spread_over_levels_and_protocols() -> None:
    found = training(RESPONSE, known(RESPONSE), labelled(RESPONSE, en=1), 35)
    assert {one.expected["appropriateness"] for one in found} == {1, 2, 3, 4, 5}
    assert len({one.tags["category"] for one in found}) == 7


def test_the_most_frequent_language_comes_first_and_no_other_than_the_items() -> None:
    mixed = training(SAFETY, known(SAFETY), labelled(SAFETY, en=1, zh=3), 70)
    assert Counter(one.tags["language"] for one in mixed) == {"zh": 57, "en": 13}
    assert len(training(SAFETY, known(SAFETY), labelled(SAFETY, en=2), 70)) == 57
    assert training(SAFETY, known(SAFETY), labelled(SAFETY, fr=2), 70) == []


def test_nothing_that_is_to_be_labelled_is_trained_on() -> None:
    ours = [item(SAFETY, sample) for sample in SAFETY.own_samples()]
    some = [one for place, one in enumerate(ours) if place % 3]
    found = training(SAFETY, known(SAFETY), some, 200)
    assert len(found) == len(ours) - len(some)
    assert not {text_key(one.messages, one.reply) for one in found} & {
        text_key(one.messages, one.reply) for one in some
    }
    assert training(SAFETY, known(SAFETY), ours, 10) == []
