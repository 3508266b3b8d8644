"""The gold as a view over people's labels: each policy, ties, and those who cannot tell."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from mindgauge.annotation.gold import Gold, gold
from mindgauge.annotation.records import Answered, Item, Policy
from mindgauge.records import Status, Value
from mindgauge.records.rubric import Criterion, Level, Rubric, Scale
from tests.annotation.test_agreement import CANNOT_TELL, PEOPLE, RUBRIC, label, round_of

ITEM = [Item("", (), "", id="item 0")]


def one(cells: list[Value | None], adjudicated: Value | None = None, policy: Policy = Policy.ADJUDICATED) -> Gold:
    labels = round_of("warmth", [cells])
    if adjudicated is not None:
        labels["item 0", "dana", "warmth"] = label("item 0", "dana", "warmth", adjudicated, 9)
    return gold(labels, ITEM, PEOPLE, ["dana"], policy, RUBRIC)[1]


@pytest.mark.parametrize(
    ("cells", "value", "policy", "status", "votes"),
    [
        ([4, 4, 4], 4, "unanimous", Status.OK, {"4": 3}),
        ([5, 1, 5], 5, "majority", Status.OK, {"1": 1, "5": 2}),  # the most frequent, not the middle
        ([5, 1, 3], None, "tie", Status.UNPARSABLE, {"1": 1, "3": 1, "5": 1}),
        ([5, 1, None], None, "tie", Status.UNPARSABLE, {"1": 1, "5": 1}),
        ([5, 5, CANNOT_TELL], 5, "majority", Status.OK, {"5": 2, CANNOT_TELL: 1}),
        ([5, CANNOT_TELL, None], None, "tie", Status.UNPARSABLE, {"5": 1, CANNOT_TELL: 1}),
        ([5, CANNOT_TELL, CANNOT_TELL], None, "majority", Status.UNPARSABLE, {"5": 1, CANNOT_TELL: 2}),
        ([CANNOT_TELL] * 3, None, "unanimous", Status.UNPARSABLE, {CANNOT_TELL: 3}),
        (["not_applicable"] * 3, None, "unanimous", Status.NOT_APPLICABLE, {"not_applicable": 3}),
        ([2, None, None], 2, "single", Status.OK, {"2": 1}),
        ([None, None, None], None, "none", Status.REFUSED, {}),
    ],
)
def test_the_most_frequent_answer_of_people(
    cells: list[Value | None], value: Value | None, policy: str, status: Status, votes: dict[str, int]
) -> None:
    for rule in Policy:
        found = one(cells, policy=rule)
        assert (found.value, found.policy, found.status, found.votes) == (value, policy, status, votes)
        assert found.people == sum(votes.values())
        assert list(found.votes) == list(votes)  # in the rubric's order
        assert (found.answered is None) == (policy in {"tie", "none"})


def test_the_adjudicator_decides_under_the_policy_that_says_so_and_votes_stay() -> None:
    decided = one([5, 1, 3], adjudicated=2)
    assert (decided.value, decided.policy, decided.by, decided.people) == (2, "adjudicated", "dana", 3)
    assert decided.votes == {"1": 1, "3": 1, "5": 1}
    assert one([5, 5, 3], adjudicated=3).value == 3
    assert one([5, 5, 3], adjudicated=3, policy=Policy.MAJORITY).policy == "majority"
    assert one([5, 1, 3], adjudicated=3, policy=Policy.MAJORITY).policy == "tie"
    open_still = one([5, 1, 3], adjudicated=CANNOT_TELL)
    assert (open_still.value, open_still.answered, open_still.given) == (None, Answered.CANNOT_TELL, CANNOT_TELL)
    assert open_still.status is Status.UNPARSABLE


def test_only_those_named_vote() -> None:
    labels = round_of("warmth", [[1, 1, 5]]) | {
        ("item 0", name, "warmth"): label("item 0", name, "warmth", 5) for name in ("openai/judge", "gold", "owner")
    }
    assert gold(labels, ITEM, PEOPLE, [], Policy.MAJORITY, RUBRIC)[1].votes == {"1": 2, "5": 1}


def test_each_item_has_gold_on_the_criteria_that_are_about_it() -> None:
    level = (Level(value="a"), Level(value="b"))
    rubric = Rubric(
        id="o",
        version="1",
        source="",
        criteria=(
            Criterion(name="always", scale=Scale.NOMINAL, levels=level),
            Criterion(name="sometimes", scale=Scale.NOMINAL, levels=level, applies={"risk": ("yes",)}),
        ),
    )
    items = [Item("", (), "", tags={"risk": "yes"}, id="item 0"), Item("", (), "", id="item 1")]
    found = gold({}, items, PEOPLE, [], Policy.MAJORITY, rubric)
    assert [(g.item, g.criterion) for g in found] == [
        ("item 0", "always"), ("item 0", "sometimes"), ("item 1", "always"),
    ]  # fmt: skip


def test_many_rounds_against_counting() -> None:
    draw = random.Random(5)
    for _ in range(300):
        cells: list[Value | None] = [draw.choice([1, 2, 3, None, CANNOT_TELL]) for _ in PEOPLE]
        counted = Counter(cell for cell in cells if cell is not None).most_common()
        found = one(cells)
        if not counted:
            assert found.policy == "none"
        elif len(counted) > 1 and counted[0][1] == counted[1][1]:
            assert (found.policy, found.value) == ("tie", None)
        else:
            assert found.given == counted[0][0]
