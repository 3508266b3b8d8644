"""What is asked of a model, and what every model can do."""

from __future__ import annotations

import hashlib
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from mindgauge.records.records import Exchange, Message, Sample, digest, encode
from mindgauge.records.rounding import count

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


_BYTES = 16
"""Of a hash."""
NO_PARAMETERS: dict[str, Any] = {}
UNLIMITED = 0
"""As `max_tokens` of a request: no longest answer is sent, so that the provider's default holds."""
_QUESTION, _LAST_KEY = "_question", "_last_key"
"""Where a request keeps its hashes: every call has a request of its own, and `cached_property` locks before Python 3.12."""


class Request(msgspec.Struct, frozen=True, dict=True):
    """One call: messages, parameters, which repeat it is, and optionally a JSON schema for the answer.

    `nonces` are the random marks of fences inside the messages, that of the subject first; they are blanked in the call's
    key, so that a repeat of the same question from another process is the same call. `sample` is the dialogue the call is
    about. `repair` says that it repeats a question whose answer could not be read. `subject` names that of a call which
    no other subject shares, though its words may be the same.
    """

    messages: tuple[Message, ...]
    run: int = 0
    parameters: dict[str, Any] = NO_PARAMETERS
    schema: dict[str, Any] | None = None
    nonces: tuple[str, ...] = ()
    sample: Sample | None = None
    repair: bool = False
    subject: str = ""

    def repeated(self, run: int) -> Request:
        """Return the same question as another repeat, whose number is its seed, if one is sent."""
        if run == self.run:
            return self
        seed = {"seed": run} if "seed" in self.parameters else {}
        return msgspec.structs.replace(self, run=run, parameters={**self.parameters, **seed})

    @property
    def prompt_hash(self) -> bytes:
        """Hash the question alone: 16 bytes over messages and repeat."""
        question_hash: bytes | None = self.__dict__.get(_QUESTION)
        if question_hash is None:
            question = _begun(self.messages, self.nonces).copy()
            question.update(b",%d]" % self.run)
            question_hash = self.__dict__[_QUESTION] = question.digest()
        return question_hash

    def key(self, model: str) -> bytes:
        """Hash the call: 16 bytes over model (its `identity`), messages, parameters, schema and repeat."""
        entry: tuple[str, bytes] | None = self.__dict__.get(_LAST_KEY)
        if entry is None or entry[0] != model:
            subjects = [self.subject] if self.subject else []
            parts = encode((model, self.prompt_hash.hex(), self.parameters, self.schema, *subjects))
            entry = self.__dict__[_LAST_KEY] = model, hashlib.blake2b(parts, digest_size=_BYTES).digest()
        return entry[1]


def seeded(parameters: dict[str, Any], run: int) -> dict[str, Any]:
    """Return parameters with the number of a repeat as the seed; what they say is not sent (None) is left out."""
    seed = {"seed": run} if parameters.get("seed", run) is not None else {}
    unlimited = {"max_tokens": UNLIMITED} if parameters.get("max_tokens", UNLIMITED) is None else {}
    return {**stated(parameters), **unlimited, **seed}


def stated(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that are sent: those that are not None."""
    return {name: value for name, value in parameters.items() if value is not None}


def asked_for(request: Request) -> set[str]:
    """Return the names of what a request asks for beside its messages, as endpoints call them."""
    names = {name for name, value in request.parameters.items() if (name, value) != ("max_tokens", UNLIMITED)}
    return names | ({"response_format"} if request.schema is not None else set())


@lru_cache(maxsize=16)
def _begun(messages: tuple[Message, ...], nonces: tuple[str, ...]) -> hashlib.blake2b:
    """Begin the hash of a question, up to the number of its repeat: repeats come one after the other."""
    if nonces:
        content = [(message.role, _blanked(message.content, nonces)) for message in messages]
        return hashlib.blake2b(b"[" + encode(content), digest_size=_BYTES)
    begun = _opened(messages[:-1]).copy()
    begun.update(b"".join(map(encode, messages[-1:])) + b"]")
    return begun


@lru_cache(maxsize=1024)
def _opened(messages: tuple[Message, ...]) -> hashlib.blake2b:
    """Begin the hash of messages that another follows; that of a dialogue goes on from the turn before."""
    if not messages:
        return hashlib.blake2b(b"[[", digest_size=_BYTES)
    begun = _opened(messages[:-2]).copy()
    begun.update(b"".join(encode(message) + b"," for message in messages[-2:]))
    return begun


def _blanked(text: str, nonces: tuple[str, ...]) -> str:
    for nonce in nonces:
        text = text.replace(nonce, "")
    return text


DEAREST = 1000.0
"""US dollars for a token: more is a slip of a decimal point."""


class Price(msgspec.Struct, frozen=True):
    """US dollars per token, read and written; and read from the server's cache, where that has a price of its own."""

    prompt: float
    completion: float
    cached: float | None = None

    def __post_init__(self) -> None:
        parts = (self.prompt, self.completion, self.prompt if self.cached is None else self.cached)
        if not all(0 <= part <= DEAREST for part in parts):  # nor is any of them NaN
            raise ValueError(f"a price is from 0 to {count(round(DEAREST * 1e6))} dollars per million tokens")

    @classmethod
    def parse(cls, text: str) -> Price:
        """Read IN:OUT or IN:OUT:CACHED, US dollars per million tokens.

        Raises:
            ValueError: it is not so.
        """
        try:
            read, generated, *cached = (float(part) / 1e6 for part in text.split(":"))
            return cls(read, generated, *cached)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"price {text!r}: write IN:OUT or IN:OUT:CACHED, US dollars per million tokens, for example 0.15:0.60"
            ) from error

    def of(self, prompt_tokens: float, completion_tokens: float, cached_tokens: float = 0) -> float:
        """Return the price of an exchange in US dollars; cached tokens are among those of the prompt."""
        cached = self.prompt if self.cached is None else self.cached
        read = (prompt_tokens - cached_tokens) * self.prompt + cached_tokens * cached
        return read + completion_tokens * self.completion


FREE = Price(0.0, 0.0)


class Setup(msgspec.Struct, frozen=True, dict=True):
    """What a model is asked with beside its name, where a user has set it up: all that changes its answers, nothing secret."""

    facts: dict[str, Any] = {}

    @property
    def system(self) -> str:
        """The system message that comes first in every call; empty if there is none."""
        return str(self.facts.get("system", ""))

    @property
    def parameters(self) -> dict[str, Any]:
        """Fields of every call's body, before those of a request."""
        parameters: dict[str, Any] = self.facts.get("parameters", {})
        return parameters

    @cached_property
    def hash(self) -> str:
        """Sixteen digits; empty for a model that is nothing but its name."""
        return digest(self.facts)[:_BYTES] if self.facts else ""

    def opened(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return messages that begin with the system message, joined with one that they have."""
        if not self.system:
            return messages
        first, *others = messages
        if first.role == "system":
            return Message("system", f"{self.system}\n\n{first.content}"), *others
        return Message("system", self.system), *messages


BARE = Setup()


class Model(Protocol):
    """Anything that answers. Used as an asynchronous context manager, so that servers start and stop with it."""

    name: str
    """As the user spelled it, without secrets; part of every call's key."""
    host: str
    """Where the text goes; empty if it stays in the process."""
    price: Price | None
    """What a token costs; None if unknown."""
    max_tokens: int
    """The longest answer asked for, unless a request says otherwise."""
    context: int | None
    """Tokens that a question and its answer may have together; None if unknown."""
    own_machine: bool
    """Whether it computes on this machine, so that only one such model should run at a time."""
    setup: Setup
    """What it is asked with beside its name; `BARE` for nothing."""
    at_once: int | None
    """Calls that may wait for it at once; None for as many as the command says."""

    async def ask(self, request: Request) -> Exchange:
        """Answer one request. What goes wrong is a status of the exchange, not an exception.

        Raises:
            EndpointError: no later call can succeed either: nothing listens there, or our key is refused.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Costless:
    """What models have that send nothing to a server."""

    host = ""
    price: Price | None = FREE
    max_tokens = 4096
    context: int | None = None
    own_machine = False
    setup = BARE
    at_once: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def identity(model: Model) -> str:
    """Return what of a model is part of every call's key: its name, and a hash of its setup where it has one."""
    return f"{model.name}#{model.setup.hash}" if model.setup.facts else model.name
