"""Ethics: options in another order, the choice by rule, and a judge that sees the reasoning alone."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks.trustmh.ethics.dilemmas import CHOICE, reasoning, with_shuffled
from tests.benchmarks.trustmh import made
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

ETHICS = benchmarks.find_one("trustmh/ethics")


def options(text: str) -> dict[str, str]:
    return {line[0]: line[3:] for line in text.splitlines() if line[1:3] == ". " and line[0] in "ABCD"}


def test_every_dilemma_is_asked_in_two_orders_and_its_target_follows(real: TrustMHRelease) -> None:
    base = ETHICS.read(real.folder)
    found = with_shuffled(base)
    assert (len(base), len(found), len({s.id for s in found})) == (125, 250, 250)
    for one, released, shuffled in zip(base, found[::2], found[1::2], strict=True):
        assert (released.id, released.tags["order"]) == (one.id, "released")
        assert (shuffled.tags["base"], shuffled.tags["order"], shuffled.cluster) == (one.id, "shuffled", one.cluster)
        before, after = (options(s.messages[0].content) for s in (released, shuffled))
        assert sorted(before.values()) == sorted(after.values())
        assert before[str(released.target)] == after[str(shuffled.target)]
        assert list(before.values()) != list(after.values()), "never the same order"
        places = map(int, shuffled.tags["places"].split(","))
        assert [list(before.values())[place] for place in places] == list(after.values())
    assert Counter(s.target for s in base) == {"A": 53, "B": 46, "C": 26}
    assert min(Counter(s.target for s in found[1::2]).values()) >= 20, "right answers stand at all letters"
    assert [s.id for s in with_shuffled(base)] == [s.id for s in found]


def test_the_kinds_are_short_and_even(real: TrustMHRelease) -> None:
    found = ETHICS.read(real.folder)
    kinds = Counter(s.tags["subcategory"] for s in found)
    assert kinds == dict.fromkeys(("confidentiality", "race", "gender", "adult", "minor"), 25)


def test_ours_cover_the_kinds_and_the_letters() -> None:
    found = [s for s in ETHICS.samples(None) if s.tags["order"] == "released"]
    assert len(found) >= 10
    assert len({s.tags["subcategory"] for s in found}) == 5
    assert {s.target for s in found} == {*"ABCD"}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ('```json\n{"choice": "B", "reasoning": " It is fair. "}\n```', "It is fair."),
        ('{"choice": "B"}', None),
        ("B, since it is fair.", None),
        ('{"reasoning": ""}', None),
        ('{"reasoning": ["a"]}', None),
        ('<think>{"reasoning": "no"}</think>{"reasoning": "yes"}', "yes"),
    ],
)
def test_the_reasoning_is_taken_out_of_the_object(reply: str, told: str | None) -> None:
    assert reasoning(reply) == told


def test_the_choice_is_read_by_the_rules_of_closed_answers() -> None:
    sample = ETHICS.samples(None)[0]
    assert CHOICE.read(sample, '{"choice": "c", "reasoning": "r"}') == "C"
    assert CHOICE.read(sample, "It is a hard case.") is None


def test_a_run_judges_the_reasoning_alone_and_blind(tmp_path: Path) -> None:
    made.dilemmas(tmp_path / "data")
    seen: list[str] = []

    def handler(body: dict[str, Any], count: int) -> Any:
        if "response_format" in body:
            seen.append(words(body))
            levels = dict.fromkeys((c.name for c in ETHICS.rubric.criteria), 4)
            return says(json.dumps({"quotes": [], "rationale": "r", **levels}))
        if "Case 3" in words(body):
            return says("It is a hard case.")
        return says('```json\n{"choice": "A", "reasoning": "Since nobody is hurt by it."}\n```')

    with Stub(handler) as stub:
        run = mindgauge.run(
            ETHICS.name, model=stub.model, judge=stub.judge, data=tmp_path / "data", out=tmp_path / "run"
        )
    assert isinstance(run, Scores)
    assert seen
    assert not any("Case 3" in text for text in seen), "what has no reasoning is not judged"
    for text in seen:
        assert "Since nobody is hurt by it." in text
        assert '"choice"' not in text
        assert "unseen" not in text
    (released,) = run.find("accuracy", "order=released", criterion="choice")
    assert (released.value, released.n, released.missing) == (0.25, 4, 1)
    (mean,) = run.find("mean", criterion="reasoning")
    assert (mean.value, mean.n, mean.missing, mean.clusters) == (4.0, 8, 2, 4)
    assert not run.find("accuracy", criterion="beneficence")
    assert not run.find("option_consistency", criterion="beneficence")
    (consistency,) = run.find("option_consistency", criterion="choice")
    assert consistency.value is not None
    assert consistency.value < 1, "whoever always says A changes the option with the order"
    (guessing,) = run.find("chance", criterion="choice")
    assert guessing.value == 0.25
