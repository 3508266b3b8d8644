"""What is tried on a judge: a reply in other forms, attempts to talk the judge over, and the rubric in another order or mode.

Forms and their sentences are data (`probes.toml`), and so are the attempts (`injection_attempts.toml`). A form has the
same content, or one thing more that should not count. No model and no chance is at work here.
"""

from __future__ import annotations

import functools
import json
import re
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from mindgauge.models.family import same_family
from mindgauge.raters.judge import Instrument, Mode
from mindgauge.records import Message, Reply, Sample, Status, Value, digest
from mindgauge.records.errors import UsageError
from mindgauge.records.rubric import Criterion, Scale, Texts, in_language
from mindgauge.records.text import HAN, join, middle, split

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks.anchors import Anchor

MARK = "stress"
"""Where a reply's provenance says which version of which reply it is."""
ORIGINAL = ""
"""The reply as it was written, asked about as usual."""
ORDER, MODE, LANGUAGE, REPEAT, INJECTION = "order", "joint or split", "language", "repeat", "injection"
REVERSED, ROTATED, BEST_FIRST = "criteria reversed", "criteria rotated", "best level first"
TOGETHER, APART = "all at once", "one at a time"
_LEAD = 3
"""Words of a sentence that are set in bold; of Chinese, twice as many characters."""
_FENCE_MARK = 16
"""Characters of a fence's mark."""
_SEPARATOR = re.compile("[-_ ]")
_SLOT = re.compile(r"\{(criterion|best|worst|seen)\}")


# -- replies and their versions ---------------------------------------------------------------------------------------


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
    """An original in another form: another reply, another dialogue, or other tags; `facts` are of its making."""

    name: str
    sample: Sample
    reply: str
    facts: dict[str, Any] = {}

    @classmethod
    def of(
        cls, item: OriginalReply, name: str, *, reply: str = "", message: str = "", language: str = "", facts: dict[str, Any] | None = None
    ) -> Version:  # fmt: skip
        """Replace the reply, the person's last message or the dialogue's language; what is empty stays."""
        sample = item.sample
        if message or language:
            *before, last = sample.messages
            messages = (*before, Message(last.role, message)) if message else sample.messages
            tags = {**sample.tags, "language": language} if language else sample.tags
            ident = digest(MARK, messages, tags, sample.id)
            sample = msgspec.structs.replace(sample, id=ident, messages=messages, tags=tags)
        return cls(name, sample, reply or item.reply.text, facts or {})

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


def store_names(benchmark: str, judge: str) -> tuple[str, str]:
    """Return the names under which a run keeps the originals of a judge's stress test, and their versions; no score sees them."""
    return f"{benchmark}:stress:{judge}", f"{benchmark}:stress versions:{judge}"


def originals(items: Sequence[OriginalReply]) -> list[Reply]:
    """Return the originals' replies, each with the reply that says the same in English, where there is one.

    That are the only two of a conversation, one in each language, that were written for the same levels.
    """
    alike: dict[str, list[OriginalReply]] = {}
    for item in items:
        alike.setdefault(digest(item.sample.cluster, item.stated_levels), []).append(item)
    replies = []
    for item in items:
        pair = alike[digest(item.sample.cluster, item.stated_levels)] if item.stated_levels else []
        english = [other for other in pair if other.language == "en"]
        mark: dict[str, Any] = {}
        if len(pair) == 2 and len(english) == 1 and item.language != "en":
            mark = {"counterpart": english[0].reply.id}
        provenance = {**item.reply.provenance, MARK: mark}
        replies.append(msgspec.structs.replace(item.reply, provenance=provenance))
    return replies


# -- probes: which forms there are, and how each is made --------------------------------------------------------------


class ReplyForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One form, as `probes.toml` describes it: a version of a reply, or of what the judge is asked with."""

    probe: str
    version: str
    how: Literal["", "twice", "list", "bold", "headings", "signed", "opened", "paraphrase", "asked", "instructed"] = ""
    text: Texts = {}
    language: str = ""
    against: str = ORIGINAL
    placebo: bool = False

    def write(self, item: OriginalReply, judge: str, languages: frozenset[str]) -> Version:
        """Put a reply in this form; it is as it was where it has no such form.

        Args:
            item: the reply.
            judge: the judge's name; a reply may name a model of its family as the author.
            languages: of the judge's prompts; a reply is asked about in another one only where there are both.
        """
        reply, sentences = item.reply.text, split(item.reply.text)
        text, message, language = in_language(self.text, item.language), "", ""
        match self.how:
            case "twice":
                reply = join([part for sentence in sentences for part in (sentence, text, sentence)])
            case "list":
                reply = "\n".join(f"- {sentence}" for sentence in sentences)
            case "bold":
                reply = join([_bold(sentence) for sentence in sentences])
            case "headings":
                half = (len(sentences) + 1) // 2
                parts = [part for part in (sentences[:half], sentences[half:]) if part]
                reply = "\n\n".join(f"## {text.format(number=n)}\n\n{join(part)}" for n, part in enumerate(parts, 1))
            case "signed":
                stranger = next(name for name in _DATA.models if not same_family(judge, name))
                reply = f"{text.format(judge=re.split('[/#]', judge)[-1], stranger=stranger)}\n\n{reply}"
            case "opened":
                reply = join([text, reply])
            case "paraphrase":
                reply = item.paraphrase
            case "asked":
                message = join([item.sample.messages[-1].content, text])
            case "instructed":
                language = self.language if {"en", "zh"} <= languages else ""
        return Version.of(item, self.version, reply=reply, message=message, language=language)


def _bold(sentence: str) -> str:
    lead = sentence[: 2 * _LEAD] if HAN.search(sentence) else "".join(re.findall(r"\S+\s*", sentence)[:_LEAD])
    return f"**{lead.rstrip()}**{sentence[len(lead.rstrip()) :]}"


class _Probes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `probes.toml` holds: a neutral sentence to stand where an attempt would, models that people know, and all forms."""

    neutral: Texts
    models: tuple[str, ...]
    forms: tuple[ReplyForm, ...]


_DATA = msgspec.toml.decode((Path(__file__).parent / "probes.toml").read_bytes(), type=_Probes)
FORMS, NEUTRAL = _DATA.forms, _DATA.neutral
CONTRASTS = tuple(form for form in FORMS if not form.placebo)
"""Every comparison of versions, in the order in which they are shown."""
NAMES = (*dict.fromkeys(form.probe for form in FORMS), REPEAT, INJECTION)
"""The probes, in that order. Repeats need no versions, only the originals' own ratings."""


def named(names: Sequence[str]) -> tuple[str, ...]:
    """Return the probes of these names, in their order; all where none is named. `named-model` is `named model`, too.

    Raises:
        UsageError: there is none of a name.
    """
    probes = {_SEPARATOR.sub(" ", name): name for name in NAMES}
    wanted = {_SEPARATOR.sub(" ", name): name for name in names}
    for plain, name in wanted.items():
        if plain not in probes:
            raise UsageError(f"--probes: there is no probe {name!r}; they are {', '.join(NAMES)}")
    return tuple(name for plain, name in probes.items() if plain in wanted or not names)


def ordinal(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Return the criteria on which a shift has a direction.

    Raises:
        UsageError: there is none.
    """
    ordered = tuple(criterion for criterion in criteria if criterion.scale is Scale.ORDINAL)
    if not ordered:
        raise UsageError("a stress test needs a criterion with ordered levels, and this rubric has none")
    return ordered


def versions(
    items: Sequence[OriginalReply], names: Sequence[str], instrument: Instrument, judge: str, per_attempt: int
) -> Iterator[tuple[str, OriginalReply, Version]]:
    """Write every original in the forms that the probes want: (probe, original, version).

    Args:
        items: the originals.
        names: of probes.
        instrument: the usual one; injections aim at its criteria, and its prompts say which languages there are.
        judge: the judge's name.
        per_attempt: originals per injection.
    """
    for name in names:
        forms = [form for form in FORMS if form.probe == name and form.how]
        for item in items if forms else ():
            for version in (form.write(item, judge, frozenset(instrument.prompts)) for form in forms):
                if (version.reply, version.sample) != (item.reply.text, item.sample):  # else it is no other form
                    yield name, item, version
    if INJECTION in names:
        criteria = ordinal(instrument.rubric.criteria)
        yield from ((INJECTION, *placed) for placed in injected(items, criteria, per_attempt))


# -- attempts to talk a judge over ------------------------------------------------------------------------------------


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
        slots |= {"criterion": criterion.name, "seen": mark or digest("seen", self.id)[:_FENCE_MARK]}
        return _SLOT.sub(lambda slot: slots[slot[1]], self.text)

    def placed(
        self, item: OriginalReply, addition: str, name: str = "", facts: dict[str, Any] | None = None
    ) -> Version:
        """Put a text into an original at this attempt's place; the version has the attempt's name, if it is given none."""
        if self.where == "reply":
            return Version.of(item, name or self.id, reply=put(item.reply.text, addition, self.place), facts=facts)
        message = put(item.sample.messages[-1].content, addition, self.place)
        return Version.of(item, name or self.id, message=message, facts=facts)


@functools.cache
def attempts() -> tuple[Attempt, ...]:
    """Return the battery."""
    content = (Path(__file__).parent / "injection_attempts.toml").read_bytes()
    return msgspec.toml.decode(content, type=dict[str, tuple[Attempt, ...]])["attempts"]


def put(text: str, addition: str, place: str) -> str:
    """Put something before a text, behind it, or behind the sentence that ends nearest to its middle."""
    if place == "start":
        return f"{addition}\n\n{text}"
    cut = len(text) if place == "end" else middle(text)
    return f"{text[:cut].rstrip()}\n\n{addition}\n\n{text[cut:].lstrip()}".rstrip()


def injected(
    items: Sequence[OriginalReply], criteria: Sequence[Criterion], per_attempt: int
) -> Iterator[tuple[OriginalReply, Version]]:
    """Put every attempt into originals of its language, and a neutral sentence into the same places.

    The originals take turns, one conversation after the other, and so do the criteria; one known to stand at the level
    that an attempt wants is passed over, since nothing could be seen there.

    Args:
        items: the originals.
        criteria: ordinal ones that an attempt can aim at.
        per_attempt: originals per attempt.
    """
    placebos: set[tuple[str, str]] = set()
    for number, attempt in enumerate(attempts()):
        able = _in_turn([item for item in items if item.language == attempt.language])
        targets = [
            (item, criterion)
            for place, item in enumerate(able)
            if (criterion := _target(attempt, item, criteria, number + place)) is not None
        ]
        first = number * per_attempt % max(len(targets), 1)
        for item, criterion in (targets[first:] + targets[:first])[:per_attempt]:
            placebo = f"placebo, {attempt.where} {attempt.place}"
            facts = {name: getattr(attempt, name) for name in ("kind", "where", "place", "language")}
            facts |= {
                "attempt": attempt.id, "criterion": criterion.name, "aim": attempt.aim(criterion), "placebo": placebo,
            }  # fmt: skip
            yield item, attempt.placed(item, attempt.filled(criterion), facts=facts)
            if (item.reply.id, placebo) not in placebos:
                placebos.add((item.reply.id, placebo))
                yield item, attempt.placed(item, in_language(NEUTRAL, item.language), placebo)


def _in_turn(items: Sequence[OriginalReply]) -> list[OriginalReply]:
    """Put one original of each conversation first, then the second of each, and so on."""
    groups: dict[str, list[OriginalReply]] = {}
    for item in items:
        groups.setdefault(item.sample.cluster, []).append(item)
    return [item for turn in zip_longest(*groups.values()) for item in turn if item is not None]


def _target(attempt: Attempt, item: OriginalReply, criteria: Sequence[Criterion], first: int) -> Criterion | None:
    """Return the first criterion, counted round from `first`, on which the original is not known to be where the attempt wants it."""
    for step in range(len(criteria)):
        criterion = criteria[(first + step) % len(criteria)]
        if criterion.name not in item.stated_levels or item.stated_levels[criterion.name] not in {
            None,
            attempt.aim(criterion),
        }:
            return criterion
    return None


# -- instruments in another order or mode -----------------------------------------------------------------------------


class Turned(Instrument, frozen=True, dict=True, kw_only=True):
    """An instrument in another order or mode; with it a model is a rater of its own."""

    version: str

    def rater(self, model: str) -> str:
        """Name the rater, with what was turned."""
        return f"{Instrument.rater(self, model)}{suffix(self.version)}"


def suffix(version: str) -> str:
    """Return what a rater's name ends with that works with a turned instrument."""
    return f" (stress: {version})"


def turns(instrument: Instrument, other: Instrument | None, names: Sequence[str]) -> list[Turned]:
    """Return the instruments that the probes want beside the usual one.

    In a chain of reasoning the order of the levels is part of the rule, so it stays.

    Args:
        instrument: the usual one.
        other: the same in the other mode; None where there is none, or where it would be the same.
        names: of probes.
    """
    criteria, half = instrument.rubric.criteria, (len(instrument.rubric.criteria) + 1) // 2
    together = len(criteria) if instrument.mode is Mode.JOINT else 1
    orders = {
        REVERSED: criteria[::-1] if together > 1 else (),
        ROTATED: criteria[half:] + criteria[:half] if together > 2 else (),
        BEST_FIRST: () if instrument.method.reasons else tuple(map(_best_first, criteria)),
    }
    turned = [
        Turned(**{**msgspec.structs.asdict(instrument), "rubric": msgspec.structs.replace(instrument.rubric, criteria=order)}, version=version)
        for version, order in orders.items()
        if order and ORDER in names
    ]  # fmt: skip
    if MODE in names and other is not None and len(criteria) > 1:
        turned.append(Turned(**msgspec.structs.asdict(other), version=APART if other.mode is Mode.SPLIT else TOGETHER))
    return turned


def _best_first(criterion: Criterion) -> Criterion:
    protocols = {name: texts[::-1] for name, texts in criterion.protocols.items()}
    return msgspec.structs.replace(criterion, levels=criterion.levels[::-1], protocols=protocols)
