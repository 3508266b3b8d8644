"""The records everything is made of: a message, a sample, a reply, a rating.

A clinician, a judge model, an encoder, a regular expression and the gold label of a data set do the same thing:
they put one value on one criterion for one subject. So there is one record for it, `Rating`.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any, Literal, TypeAlias

import msgspec

Value: TypeAlias = int | float | str
BASE = "base"
"""The tag of a variant with the id of the sample that it comes from."""
HELD = "held"
"""In a reply's provenance: the dialogue before it, where that is not its sample's."""
REASONING = "reasoning"
"""In a reply's provenance: what the model thought before it, as far as it showed that."""
Role: TypeAlias = Literal["system", "user", "assistant"]

encode = msgspec.json.Encoder(order="deterministic", enc_hook=tuple).encode


def digest(*parts: object) -> str:
    """Hash any JSON-like parts: 32 hexadecimal digits, the same on every machine and in every run."""
    return hashlib.blake2b(encode(parts), digest_size=16).hexdigest()


class Status(StrEnum):
    """What became of a reply or a rating. Only `OK` carries a value."""

    OK = "ok"
    UNPARSABLE = "unparsable"
    """An answer came, but nothing usable could be read from it."""
    REFUSED = "refused"
    """The model declined."""
    FILTERED = "filtered"
    """The provider blocked the exchange."""
    FAILED = "failed"
    """No answer came."""
    NOT_APPLICABLE = "not_applicable"
    """The criterion does not apply to this subject."""


class RaterKind(StrEnum):
    """Who put the value there."""

    GOLD = "gold"
    PERSON = "person"
    MODEL = "model"
    CLASSIFIER = "classifier"
    RULE = "rule"
    PANEL = "panel"


class Message(msgspec.Struct, frozen=True):
    """One turn of a dialogue."""

    role: Role
    content: str


class Sample(msgspec.Struct, frozen=True, omit_defaults=True):
    """A dialogue that ends with the person's turn, or with a reply to it that is asked about, and what is known about it.

    `cluster` is the source dialogue it comes from: samples of one cluster are resampled together.
    """

    id: str
    messages: tuple[Message, ...]
    target: Value | None = None
    tags: dict[str, str] = {}
    cluster: str = ""
    parts: dict[str, str] = {}
    """The parts of an item as its authors ship them, by name, which a prompt of the user's own may show apart."""

    @classmethod
    def of(
        cls,
        messages: tuple[Message, ...],
        *,
        target: Value | None = None,
        tags: dict[str, str] | None = None,
        cluster: str = "",
        parts: dict[str, str] | None = None,
    ) -> Sample:
        """Build a sample whose id is the hash of its messages, so that a duplicate text has a duplicate id."""
        ident = digest("sample", messages)
        return cls(ident, messages, target, tags or {}, cluster or ident, parts or {})

    def variant(self, messages: tuple[Message, ...], *, target: Value | None = None, **tags: str) -> Sample:
        """Build a variant of the sample: in its cluster, with its tags and these, and `base` for where it comes from.

        Its id hashes what was done, too: two variants may leave the same text, and are two samples all the same.

        Args:
            messages: its dialogue.
            target: its own; the sample's if not given.
            tags: what was done; where none is named, the variant is the sample itself, as a base to compare with.
        """
        ident = digest("variant", self.id, messages, tags) if tags else self.id
        target = self.target if target is None else target
        return Sample(ident, messages, target, {**self.tags, BASE: self.id, **tags}, self.cluster)


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one exchange, as the server counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


CUT_OFF = "length"
"""The `finish_reason` of an answer that was cut off at the longest that was asked for."""


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model answered to a sample. `run` counts repeats from 0; `seconds` is the last attempt's duration."""

    id: str
    sample: str
    model: str
    run: int
    status: Status
    text: str = ""
    finish_reason: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    provenance: dict[str, Any] = {}

    @classmethod
    def of(cls, sample: str, model: str, run: int, status: Status, text: str = "", **fields: Any) -> Reply:
        """Build a reply whose id is the hash of where it stands and what it says."""
        return cls(digest("reply", sample, model, run, text), sample, model, run, status, text, **fields)

    @property
    def reasoning(self) -> str:
        """What the model thought before it replied; empty where it showed nothing."""
        return str(self.provenance.get(REASONING, ""))

    def answered(self, sample: Sample) -> Sample:
        """Return its sample with the dialogue that it answers: as it was held, where a bot did not answer the one on file."""
        if HELD not in self.provenance:
            return sample
        system = (message for message in sample.messages if message.role == "system")
        held = msgspec.convert([*self.provenance[HELD]], tuple[Message, ...])
        return msgspec.structs.replace(sample, messages=(*system, *held))


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """Words a rater quotes, and whether they really stand in the dialogue or the reply; `source` says in which.

    `start` and `end` are where they stand there, in characters, as far as that is known: of the reply, or of the
    dialogue's transcript. A run without text keeps the place alone.
    """

    quote: str = ""
    found: bool = False
    source: str = ""
    start: int | None = None
    end: int | None = None


class Rating(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value on one criterion for one subject (a sample's or a reply's id), by one rater."""

    subject: str
    criterion: str
    rater: str
    rater_kind: RaterKind
    run: int
    status: Status
    value: Value | None = None
    rationale: str = ""
    evidence: tuple[Evidence, ...] = ()
    instrument: str = ""
    provenance: dict[str, Any] = {}


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One finished call to a model, as it happened: the raw text, what it took, and what went wrong if it did.

    `model_resolved` and `fingerprint` are what the server says it ran; `cost` is in US dollars, None if no price is
    known; `seconds` is the last attempt, `at` its end in seconds since 1970. `unsupported` are the parameters that the
    server does not take, so that it was asked without them. `before` is the dialogue that the text answers, where it is not
    the one that was asked: a bot spoke first, or was told it turn by turn. `overdue` counts the attempts that ran into the
    time limit; each may have been paid for. `at_most` is what they may have cost; None where there are none. `reasoning` is
    what the model thought, where that came apart from the text.
    """

    status: Status
    text: str = ""
    finish_reason: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    attempts: int = 1
    model_resolved: str = ""
    fingerprint: str = ""
    cost: float | None = None
    error: str = ""
    at: float = 0.0
    unsupported: tuple[str, ...] = ()
    before: tuple[Message, ...] = ()
    overdue: int = 0
    at_most: float | None = None
    reasoning: str = ""
