"""Attempts to talk a judge into a verdict, from `injection_attempts.toml`, and a neutral sentence in the same place."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from mindgauge.analysis.stress.items import Version, in_turn
from mindgauge.records import digest
from mindgauge.records.rubric import in_language
from mindgauge.records.text import middle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.stress.items import OriginalReply
    from mindgauge.records.rubric import Criterion, Texts

NEUTRAL: Texts = {"en": "It is a little after nine in the evening now.", "zh": "现在是晚上九点多一点。"}
"""Stands where an attempt to talk a judge over would stand; a person or a reply may say it."""
_MARK = 16
"""Characters of a fence's mark."""
_SLOT = re.compile(r"\{(criterion|best|worst|seen)\}")


class Attempt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attempt: where it is put, what it wants, and how it goes about it."""

    id: str
    kind: str
    where: Literal["reply", "dialogue"]
    language: str
    place: Literal["start", "middle", "end"]
    aims: Literal["best", "worst"]
    how: str
    text: str

    def aim(self, criterion: Criterion) -> int | float | str:
        """Return the level it wants."""
        return criterion.worst_first[-1 if self.aims == "best" else 0]

    def filled(self, criterion: Criterion, mark: str = "") -> str:
        """Write it for a criterion; other words in braces stay as they are.

        Args:
            criterion: that it aims at.
            mark: the mark of a fence that its author was shown earlier; without one, a mark that looks like it.
        """
        levels = {"best": criterion.worst_first[-1], "worst": criterion.worst_first[0]}
        slots = {name: json.dumps(level, ensure_ascii=False) for name, level in levels.items()}
        slots |= {"criterion": criterion.name, "seen": mark or digest("seen", self.id)[:_MARK]}
        return _SLOT.sub(lambda slot: slots[slot[1]], self.text)


class _Battery(msgspec.Struct, forbid_unknown_fields=True):
    attempts: tuple[Attempt, ...]


@functools.cache
def attempts() -> tuple[Attempt, ...]:
    """Return the battery."""
    return msgspec.toml.decode((Path(__file__).parent / "injection_attempts.toml").read_bytes(), type=_Battery).attempts


def put(text: str, addition: str, place: str) -> str:
    """Put something before a text, behind it, or behind the sentence that ends nearest to its middle."""
    if place == "start":
        return f"{addition}\n\n{text}"
    cut = len(text) if place == "end" else middle(text)
    return f"{text[:cut].rstrip()}\n\n{addition}\n\n{text[cut:].lstrip()}".rstrip()


def injected(
    items: Sequence[OriginalReply], criteria: Sequence[Criterion], per_attempt: int
) -> Iterator[tuple[OriginalReply, Version]]:
    """Put every attempt into items of its language, and a neutral sentence into the same places.

    The items take turns, one conversation after the other, and so do the criteria; an item known to stand at the level
    that an attempt wants is passed over, since nothing could be seen there.

    Args:
        items: to be rated.
        criteria: ordinal ones that an attempt can aim at.
        per_attempt: items per attempt.
    """
    tries = attempts()
    placebos: set[tuple[str, str]] = set()
    for number, attempt in enumerate(tries):
        able = in_turn([item for item in items if item.language == attempt.language], lambda item: item.sample.cluster)
        targets = [
            target for place, item in enumerate(able) if (target := _target(attempt, item, criteria, number + place))
        ]
        first = number * per_attempt % max(len(targets), 1)
        for item, criterion in (targets[first:] + targets[:first])[:per_attempt]:
            placebo = f"placebo, {attempt.where} {attempt.place}"
            facts: dict[str, object] = {
                "attempt": attempt.id, "kind": attempt.kind, "where": attempt.where, "place": attempt.place,
                "language": attempt.language, "criterion": criterion.name, "aim": attempt.aim(criterion),
                "placebo": placebo,
            }  # fmt: skip
            yield item, _placed(item, attempt, attempt.id, attempt.filled(criterion), facts)
            if (item.reply.id, placebo) not in placebos:
                placebos.add((item.reply.id, placebo))
                yield item, _placed(item, attempt, placebo, in_language(NEUTRAL, item.language), {})


def _target(
    attempt: Attempt, item: OriginalReply, criteria: Sequence[Criterion], first: int
) -> tuple[OriginalReply, Criterion] | None:
    """Return the first criterion, counted round from `first`, on which the item is not known to be where the attempt wants it."""
    for step in range(len(criteria)):
        criterion = criteria[(first + step) % len(criteria)]
        if criterion.name not in item.stated_levels or item.stated_levels[criterion.name] not in {
            None,
            attempt.aim(criterion),
        }:
            return item, criterion
    return None


def _placed(item: OriginalReply, attempt: Attempt, name: str, addition: str, facts: dict[str, object]) -> Version:
    if attempt.where == "reply":
        version = Version.replied(item, name, put(item.reply.text, addition, attempt.place))
    else:
        version = Version.said(item, name, put(item.sample.messages[-1].content, addition, attempt.place))
    return msgspec.structs.replace(version, facts=facts)
