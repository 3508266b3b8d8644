"""What a stress test is made of: replies to be rated, with what is known of them."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.records import Message, Reply, Sample, Status, Value, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mindgauge.benchmarks.anchors import Anchor

_KEPT = ":stress:"
MARK = "stress"
"""Where a reply's provenance says which version of which reply it is."""


class Setting(NamedTuple):
    """What a version may depend on: the judge's name and the languages of the prompts."""

    judge: str
    languages: frozenset[str]


def store_names(benchmark: str, judge: str) -> tuple[str, str]:
    """Return the names under which a run keeps the items of a judge's stress test, and their versions; no score sees them."""
    return f"{benchmark}{_KEPT}{judge}", f"{benchmark}:stress versions:{judge}"


def judges_in(names: Iterable[str], benchmark: str) -> list[str]:
    """Return the judges under stress, from the names under which a run keeps replies."""
    return sorted(name.removeprefix(benchmark + _KEPT) for name in names if name.startswith(benchmark + _KEPT))


class OriginalReply(msgspec.Struct, frozen=True):
    """A reply as it was written.

    `stated_levels` are the levels that its authors gave it, as far as there are any; `paraphrase` says the same in other words.
    """

    sample: Sample
    reply: Reply
    stated_levels: dict[str, Value | None] = {}
    paraphrase: str = ""

    @property
    def language(self) -> str:
        """The language of the dialogue."""
        return self.sample.tags.get("language", "en")

    @classmethod
    def of(cls, anchor: Anchor) -> OriginalReply:
        """Take an anchor."""
        reply, _ = anchor.records("")
        return cls(anchor.sample, reply, dict(anchor.ratings), anchor.paraphrase)


class Version(msgspec.Struct, frozen=True):
    """An item in another form: another reply, another dialogue, or other tags; `facts` are of its making."""

    name: str
    sample: Sample
    reply: str
    facts: dict[str, Any] = {}

    @classmethod
    def replied(cls, item: OriginalReply, name: str, reply: str) -> Version:
        """Replace the reply."""
        return cls(name, item.sample, reply)

    @classmethod
    def said(cls, item: OriginalReply, name: str, text: str) -> Version:
        """Replace the person's last message."""
        last = Message(item.sample.messages[-1].role, text)
        messages = (*item.sample.messages[:-1], last)
        return cls(name, _derived(item.sample, messages, item.sample.tags), item.reply.text)

    @classmethod
    def tagged(cls, item: OriginalReply, name: str, **tags: str) -> Version:
        """Replace tags of the dialogue."""
        sample = _derived(item.sample, item.sample.messages, {**item.sample.tags, **tags})
        return cls(name, sample, item.reply.text)

    def differs(self, item: OriginalReply) -> bool:
        """Whether it is another form at all."""
        return bool(self.facts) or self.reply != item.reply.text or self.sample != item.sample

    def record(self, item: OriginalReply, probe: str) -> Reply:
        """Return it as a reply that knows what it is a version of."""
        mark = {"probe": probe, "version": self.name, "of": item.reply.id, **self.facts}
        ident = digest(MARK, probe, self.name, item.reply.id, self.sample.id, self.reply)
        # A turn of a dialogue, or a whole one, is judged by prompts of its own; so are its versions.
        unit = {name: item.reply.provenance[name] for name in ("unit",) if name in item.reply.provenance}
        return Reply(
            ident, self.sample.id, item.reply.model, item.reply.run, Status.OK, self.reply,
            provenance={**unit, MARK: mark},
        )  # fmt: skip


def _derived(sample: Sample, messages: tuple[Message, ...], tags: dict[str, str]) -> Sample:
    return msgspec.structs.replace(sample, id=digest(MARK, messages, tags, sample.id), messages=messages, tags=tags)


def in_turn(items: Sequence[OriginalReply], group: Callable[[OriginalReply], str]) -> list[OriginalReply]:
    """Put one item of each group first, such as each conversation, then the second of each, and so on."""
    groups: dict[str, list[OriginalReply]] = {}
    for item in items:
        groups.setdefault(group(item), []).append(item)
    return [item for turn in zip_longest(*groups.values()) for item in turn if item is not None]


def originals(items: Sequence[OriginalReply]) -> list[Reply]:
    """Return the items' replies, each with the reply that says the same in English, where there is one.

    That are the only two of a conversation, one in each language, that were written for the same levels.
    """
    alike: dict[str, list[OriginalReply]] = {}
    for item in items:
        alike.setdefault(digest(item.sample.cluster, item.stated_levels), []).append(item)
    replies = []
    for item in items:
        both = alike[digest(item.sample.cluster, item.stated_levels)] if item.stated_levels else []
        english = [other for other in both if other.language == "en"]
        mark: dict[str, Any] = {}
        if len(both) == 2 and len(english) == 1 and item.language != "en":
            mark = {"counterpart": english[0].reply.id}
        provenance = {**item.reply.provenance, MARK: mark}
        replies.append(msgspec.structs.replace(item.reply, provenance=provenance))
    return replies
