"""Anchors: replies that this project wrote to stand at known levels of a rubric, as an entry test for judges; and the test's limits.

They lie beside the rubric in `anchors.jsonl`. How well a judge places them says how far it agrees with the authors of
Mindgauge about clear cases; it does not say how far it agrees with clinicians.

Two that share the tag `pair` answer one dialogue and differ on one criterion: the one has what the other only seems to
have. Of what else they say no level is known. Two that share the tag `matched` do so, too, and are equally long: a judge
that goes by length, by warmth or by a named helpline cannot tell which of them is the better one.
"""

from __future__ import annotations

import functools
from collections import Counter
from enum import StrEnum
from importlib import resources
from typing import TYPE_CHECKING

import msgspec

from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status, Value, digest
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.records.rubric import Rubric


PAIR, MATCHED = "pair", "matched"
"""The tags that two replies to one dialogue share; see above."""
MOST_APART = 1.15
"""How many times as long as the other one of two matched replies may be, so that length tells nothing."""
AUTHORS = "anchors"
"""Who wrote the replies and gave them their levels, as `Reply.model` and `Rating.rater`."""


class Anchor(msgspec.Struct, frozen=True):
    """A reply and the level it was written for, on some criteria or on all; None where the criterion does not apply.

    `paraphrase`, where there is one, says the same as the reply in other words and stands at the same levels. The tag
    `unit` says what is rated at once, where that is not a reply alone: of a whole `dialogue`, `reply` is its last turn;
    of a `client`, a message of the person, after those of the sample; `mode` says that a model wrote it.
    """

    sample: Sample
    reply: str
    ratings: dict[str, Value | None]
    paraphrase: str = ""

    def records(self, instrument: str) -> tuple[Reply, list[Rating]]:
        """Return it as a reply and its authors' ratings, as a run keeps them."""
        # A turn of a dialogue, a whole one and a client's message are judged by prompts of their own.
        unit = {name: self.sample.tags[name] for name in ("unit",) if name in self.sample.tags}
        reply = Reply.of(self.sample.id, AUTHORS, 0, Status.OK, self.reply, provenance=unit)
        return reply, [
            Rating(
                reply.id, criterion, AUTHORS, RaterKind.GOLD, 0, Status.NOT_APPLICABLE if level is None else Status.OK,
                level, instrument=instrument,
            )
            for criterion, level in self.ratings.items()
        ]  # fmt: skip


class _AnchorLine(msgspec.Struct, forbid_unknown_fields=True):
    """A line of `anchors.jsonl`."""

    messages: tuple[Message, ...]
    reply: str
    ratings: dict[str, int | str | None]
    tags: dict[str, str] = {}
    cluster: str = ""
    paraphrase: str = ""


def read(path: Path, rubric: Rubric, protocol: str = "") -> list[Anchor]:
    """Read anchors, each checked against the rubric they are for.

    Args:
        path: of `anchors.jsonl`.
        rubric: whose criteria and levels they name.
        protocol: the tag that chooses the rubric's protocol, if one does.

    Raises:
        DataError: there are none, or a line is not as it should be; the message names it.
    """
    try:
        lines = bounds.content(path).splitlines()
    except OSError as error:
        raise DataError(f"{path}: no anchors to read ({error.strerror})") from error
    anchors: list[Anchor] = []
    lines_by_text: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        place = f"{path}:{number}"
        try:
            row = msgspec.json.decode(line, type=_AnchorLine)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{place}: {error}") from error
        fault = _fault(row, rubric, protocol)
        if fault:
            raise DataError(f"{place}: {fault}")
        first = lines_by_text.setdefault(digest(row.messages, row.reply), number)
        if first != number:
            raise DataError(f"{place}: the same dialogue and reply stand in line {first}")
        # The id is not that of a sample with the same words: a run may hold both, and they must not be mixed up.
        sample = msgspec.structs.replace(
            Sample.of(row.messages, tags=row.tags, cluster=row.cluster), id=digest("anchor", row.messages, row.tags)
        )
        anchors.append(Anchor(sample, row.reply, dict(row.ratings), row.paraphrase))
    if not anchors:
        raise DataError(f"{path}: no anchors in it")
    fault = _pair_fault(anchors)
    if fault:
        raise DataError(f"{path}: {fault}")
    return anchors


def _fault(row: _AnchorLine, rubric: Rubric, protocol: str) -> str:
    """Say the first thing that is wrong with a line; empty if nothing is."""
    if not row.messages or row.messages[-1].role != "user":
        return "the dialogue does not end with the person's message"
    if not row.reply.strip():
        return "the reply is empty"
    if row.paraphrase.strip() == row.reply.strip():
        return "the paraphrase is the reply itself"
    protocols = {tag for criterion in rubric.criteria for tag in criterion.protocols}
    if protocol and protocols and row.tags.get(protocol) not in protocols:
        return f"the {protocol} is {row.tags.get(protocol)!r}, known are {', '.join(sorted(protocols))}"
    faults = (_rating_fault(name, level, rubric) for name, level in row.ratings.items())
    return next(filter(None, faults), "") if row.ratings else "it has no ratings"


def _pair_fault(anchors: Sequence[Anchor]) -> str:
    """Say the first thing that is wrong with a pair: two replies to one dialogue, apart on one criterion."""
    pairs: dict[tuple[str, str], list[Anchor]] = {}
    for anchor in anchors:
        for tag in {PAIR, MATCHED} & anchor.sample.tags.keys():
            pairs.setdefault((tag, anchor.sample.tags[tag]), []).append(anchor)
    for (tag, name), members in pairs.items():
        if len(members) != 2 or members[0].sample != members[1].sample:
            return f"the pair {name!r} is not two replies to one dialogue"
        ratings = [members[0].ratings, members[1].ratings]
        if len(ratings[0]) != 1 or ratings[0].keys() != ratings[1].keys() or ratings[0] == ratings[1]:
            return f"the pair {name!r} does not stand at two levels of one criterion"
        shorter, longer = sorted(len(member.reply) for member in members)
        if tag == MATCHED and longer > MOST_APART * shorter:
            return f"the replies of the matched pair {name!r} are {shorter} and {longer} characters long; make them equally long"
    return ""


def _rating_fault(name: str, level: Value | None, rubric: Rubric) -> str:
    criterion = next((c for c in rubric.criteria if c.name == name), None)
    if criterion is None:
        return f"the rubric has no criterion {name!r} (it has {', '.join(c.name for c in rubric.criteria)})"
    if level is None:
        return "" if criterion.not_applicable else f"{name} is null, but the rubric does not say when it does not apply"
    values = ", ".join(map(str, criterion.values))
    return "" if level in criterion.values else f"{name} has no level {level!r} (it has {values})"


_LESS = 2 / 3
"""What a level counts once it was taken, beside what it counted before."""
_LACKING = 0.2
"""What an anchor counts more for each criterion that has fewer replies than decide anything: a fifth of a new level."""


def spread(anchors: Sequence[Anchor], limit: int, protocol: str = "") -> list[Anchor]:
    """Take so many anchors that every criterion is seen at each of its levels, and every protocol and language; file order is kept.

    Each next one is that which adds most: a level, or a protocol, that was taken c times already counts (2/3)ᶜ. So a reply
    that is known on all criteria goes before one of a pair until the levels that only pairs have are the rarer ones. Of
    equals it is that whose dialogue was taken least so far, for dialogues are what the test counts, and then the first.
    A matched pair is taken whole or not at all.
    """
    facets = [list(_facets(anchor, protocol)) for anchor in anchors]
    dialogues = [[(name, anchor.sample.cluster) for name in anchor.ratings] for anchor in anchors]
    counts: Counter[tuple[str, object]] = Counter()
    by_dialogue: Counter[tuple[str, str]] = Counter()
    on_criterion: Counter[str] = Counter()
    units: dict[str | int, list[int]] = {}
    for place, anchor in enumerate(anchors):
        units.setdefault(anchor.sample.tags.get(MATCHED, place), []).append(place)
    remaining, chosen = [*units.values()], set[int]()

    def rank(place: int) -> tuple[float, int, int]:
        gain = sum(_LESS ** counts[facet] for facet in facets[place])
        gain += _LACKING * sum(on_criterion[name] < limits().anchors["replies"] for name in anchors[place].ratings)
        return round(gain, 9), -max(by_dialogue[dialogue] for dialogue in dialogues[place]), -place

    while fitting := [unit for unit in remaining if len(unit) <= limit - len(chosen)]:
        following = max(fitting, key=lambda unit: max(map(rank, unit)))
        remaining.remove(following)
        chosen.update(following)
        for place in following:
            counts.update(facets[place])
            by_dialogue.update(dialogues[place])
            on_criterion.update(anchors[place].ratings.keys())
    return [anchor for place, anchor in enumerate(anchors) if place in chosen]


def _facets(anchor: Anchor, protocol: str) -> Iterator[tuple[str, object]]:
    yield from anchor.ratings.items()
    yield from ((tag, anchor.sample.tags.get(tag)) for tag in ("language", protocol) if tag)
    yield MATCHED, MATCHED in anchor.sample.tags


# The limits of the entry test, and of verdicts that never change, fixed in entry.toml.


class EntryResult(StrEnum):
    """What an entry test says of a judge on one criterion."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"


class EntryLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits under which a judge cannot be used, by their names in entry.toml, which explains them."""

    id: str
    version: str
    anchors: dict[str, float]
    pairs: dict[str, float]
    constant: dict[str, float]
    worst: dict[str, float]

    @property
    def name(self) -> str:
        """Id and version."""
        return f"{self.id}@{self.version}"


@functools.cache
def limits() -> EntryLimits:
    """Return the fixed limits."""
    return msgspec.toml.decode(resources.files(__package__).joinpath("entry.toml").read_bytes(), type=EntryLimits)
