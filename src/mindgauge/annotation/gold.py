"""The gold: a view over people's last labels, read off by a policy that is named. It overwrites nothing.

Only people vote, and "cannot tell" is a vote like another: where most could not tell, there is no value. Ties stay ties
unless an adjudicator's label settles them, and the votes stand beside every value.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import msgspec

from mindgauge.annotation.records import Answered, Policy
from mindgauge.records import Status, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from mindgauge.annotation.agreement import Labels
    from mindgauge.annotation.records import Item, Label
    from mindgauge.records.rubric import Criterion, Rubric


class Gold(msgspec.Struct, frozen=True):
    """What people say of one item on one criterion, all together."""

    item: str
    criterion: str
    answered: Answered | None
    """None where votes are tied, or nobody voted."""
    value: Value | None
    policy: Literal["unanimous", "majority", "adjudicated", "tie", "single", "none"]
    """How it was read off; `single` where one person alone voted, `none` where everybody handed the item on."""
    votes: dict[str, int]
    """What annotators said last, and how many of them: levels in the rubric's order, then `cannot_tell` and such."""
    people: int
    """Annotators who voted."""
    by: str = ""
    """Who adjudicated, by id."""

    @property
    def status(self) -> Status:
        """The status of its rating: a tie is unparsable, what nobody labelled was refused."""
        if self.answered is None:
            return Status.UNPARSABLE if self.votes else Status.REFUSED
        return self.answered.status

    @property
    def given(self) -> Value | str | None:
        """The value, or why there is none, as one word; None for a tie, and where nobody voted."""
        return self.value if self.answered in (Answered.OK, None) else str(self.answered)


def gold(
    labels: Labels,
    items: Iterable[Item],
    annotators: Sequence[str],
    adjudicators: Collection[str],
    policy: Policy,
    rubric: Rubric,
) -> list[Gold]:
    """Read the gold off people's last labels, for each item and each criterion that is about it.

    The most frequent answer wins, on ordered levels, too; under `adjudicated`, an adjudicator's label is taken where
    there is one.

    Args:
        labels: the last ones.
        items: in order.
        annotators: ids; only they vote.
        adjudicators: ids.
        policy: of the project.
        rubric: the items were labelled under.
    """
    values = []
    for item in items:
        for criterion in rubric.criteria:
            if not criterion.about(item.tags):
                continue
            cast = _given(labels, item.id, annotators, criterion)
            decided = _given(labels, item.id, adjudicators, criterion) if policy is Policy.ADJUDICATED else []
            values.append(_read(item.id, criterion, cast, decided))
    return values


def _given(labels: Labels, item: str, people: Iterable[str], criterion: Criterion) -> list[Label]:
    labels_given = (labels.get((item, person, criterion.name)) for person in people)
    return [label for label in labels_given if label is not None and label.answered is not Answered.WITHDRAWN]


def _read(item: str, criterion: Criterion, cast: list[Label], decided: list[Label]) -> Gold:
    order = [*map(str, criterion.values), Answered.NOT_APPLICABLE.value, Answered.CANNOT_TELL.value]
    counted = Counter(str(label.given) for label in cast)
    votes = {name: counted[name] for name in dict.fromkeys((*order, *counted)) if counted[name]}
    if decided:
        decisive = max(decided, key=lambda label: label.number)
        return Gold(
            item, criterion.name, decisive.answered, decisive.value, "adjudicated", votes, len(cast), decisive.person
        )
    if not cast:
        return Gold(item, criterion.name, None, None, "none", votes, 0)
    (first, top), *others = counted.most_common()
    if others and others[0][1] == top:
        return Gold(item, criterion.name, None, None, "tie", votes, len(cast))
    decisive = next(label for label in cast if str(label.given) == first)
    policy: Literal["single", "majority", "unanimous"] = (
        "single" if len(cast) == 1 else "majority" if others else "unanimous"
    )
    return Gold(item, criterion.name, decisive.answered, decisive.value, policy, votes, len(cast))
