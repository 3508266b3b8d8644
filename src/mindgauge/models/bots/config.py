"""How bots are set up in `mindgauge.toml`, kind by kind; `docs/tasks/own_bots.md` has an example of each."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from mindgauge.models.address import SCHEMES
from mindgauge.models.bots import template
from mindgauge.models.bots.template import CONVERSATION, MESSAGE, MESSAGES, PLACEHOLDERS
from mindgauge.models.model_config import (
    SECRET,
    ModelConfig,
    header_faults,
    named_in,
    near,
    secret_faults,
    secrets_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mindgauge.records.request import Setup

METHODS = ("POST", "PUT", "PATCH", "GET")
_FUNCTION = re.compile(r"(?P<file>.+\.py):(?P<name>[^\W\d]\w*)")
_SHORT_SECRET = 8
"""Characters; a shorter value of a field is no secret worth the name."""


# -- HTTP ------------------------------------------------------------------------------------------------------------------


class HttpCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One kind of call to a bot: where it goes, and what it carries."""

    url: str
    method: str = "POST"
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: Any = None

    @property
    def placeholders(self) -> set[str]:
        """What of a conversation it is told."""
        return template.named(self.body) | template.named(self.url)

    def call_faults(self) -> Iterator[str]:
        """Say what cannot be so."""
        yield from _url_faults(self.url)
        if self.method not in METHODS:
            yield f"method is {', '.join(METHODS)}, not {self.method!r}"
        if self.method == "GET" and self.body is not None:
            yield "a GET carries no body; put {message} into the url"
        yield from header_faults(self.headers)
        for name in sorted(self.placeholders.difference(PLACEHOLDERS)):
            known = ["{%s}" % known for known in PLACEHOLDERS]  # noqa: UP031 - braces
            yield f"unknown placeholder {{{name}}}{near('{%s}' % name, known)}; {{{{{name}}}}} stands for the word in braces"  # noqa: UP031
        yield from (
            f"{name} in the body holds a secret; send it as a header, from an environment variable"
            for name, value in _fields(self.body)
            if SECRET.search(name) and len(value) >= _SHORT_SECRET and not template.named(value)
        )

    @property
    def sent(self) -> list[tuple[str, str]]:
        """See `ModelConfig.sent`."""
        return [(self.url, name) for name in secrets_in(self.headers)]

    @property
    def variables(self) -> list[str]:
        """The environment variables that headers name."""
        return [name for value in self.headers.values() for name in named_in(value)]


class StartCall(HttpCall, frozen=True, kw_only=True, omit_defaults=True):
    """The call that starts a conversation."""

    conversation: str
    """The place of the conversation's id in its answer."""
    reply: str = ""
    """The place of what the bot says first; empty where it waits."""

    def faults(self) -> Iterator[str]:
        """Say what cannot be so."""
        yield from self.call_faults()
        yield from _place_faults(conversation=self.conversation, reply=self.reply)
        if told := sorted(self.placeholders.intersection(PLACEHOLDERS)):
            yield f"{{{told[0]}}} is not known yet when a conversation starts"


class HttpConfig(ModelConfig, frozen=True, kw_only=True, omit_defaults=True, tag="http"):
    """A bot behind HTTP with JSON of its own."""

    url: str
    method: str = "POST"
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: Any = None
    reply: str
    """The place of the reply in the answer: `data.reply.text`, `choices[0].message.content`."""
    start: StartCall | None = None
    echo: str = ""
    """The place where the answer repeats the conversation's id."""
    turns: bool | None = None
    """Whether a dialogue is replayed turn by turn; if not given, where the bot keeps conversations itself."""

    @property
    def call(self) -> HttpCall:
        """The call of every turn."""
        return HttpCall(url=self.url, method=self.method, headers=self.headers, body=self.body)

    @property
    def replays(self) -> bool:
        """Whether a dialogue is replayed turn by turn: it is told where it belongs and not what was said before."""
        told = self.call.placeholders
        keeps = (CONVERSATION in told or self.start is not None) and MESSAGES not in told
        return keeps if self.turns is None else self.turns

    def faults(self) -> Iterator[str]:
        """Say what cannot be so; see `ModelConfig`."""
        yield from super().faults()
        yield from self.call.call_faults()
        if not self.reply:
            yield "reply is empty; it is the place of the reply in the answer, like data.reply.text"
        yield from _place_faults(reply=self.reply, echo=self.echo)
        told = self.call.placeholders
        if not told & {MESSAGE, MESSAGES}:
            yield "the body has neither {message} nor {messages}, so the bot would not see what the person says"
        if self.turns and MESSAGES in told:
            yield "turns is for a bot that keeps the conversation itself; this one is told it with {messages}"
        if (self.start is not None or self.echo) and CONVERSATION not in told:
            yield f"{'start' if self.start is not None else 'echo'} needs {{conversation}} in the url or the body"
        if self.start is not None:
            yield from (f"start: {fault}" for fault in self.start.faults())

    @classmethod
    def table_faults(cls, table: Mapping[str, Any], folder: Path) -> Iterator[str]:
        """Name unknown keys of `start`, and those that it lacks."""
        del folder
        start = table.get("start")
        if not isinstance(start, dict):
            return
        known = [*StartCall.__struct_fields__]
        yield from (f"start has an unknown key `{key}`{near(key, known)}" for key in start if key not in known)
        yield from (f"start lacks `{key}`" for key in ("url", "conversation") if key not in start)

    @property
    def calls(self) -> list[HttpCall]:
        """All kinds of calls."""
        return [self.call, *([self.start] if self.start is not None else [])]

    @property
    def sent(self) -> list[tuple[str, str]]:
        """The addresses that a secret is sent to, with the environment variables that hold them."""
        return [entry for call in self.calls for entry in call.sent]

    @property
    def variables(self) -> list[str]:
        """All environment variables that headers name."""
        return [name for call in self.calls for name in call.variables]


def _url_faults(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        readable = url.startswith(SCHEMES) and bool(parts.hostname) and (parts.port or 1)
    except ValueError:
        readable = False
    if not readable or not url.isprintable() or " " in url:
        yield "url is an address that begins with http:// or https://"
    elif template.named(parts.netloc):
        yield "url: the host of a bot is always the same one; placeholders stand behind it"
    else:
        yield from secret_faults(url)


def _place_faults(**places: str) -> Iterator[str]:
    """Name places that are none; an empty one is not given, but a reply's place is needed."""
    for name, text in places.items():
        try:
            template.place(text) if text else None
        except ValueError as error:
            yield f"{name}: {error}"


def _fields(body: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Return the texts of a body, each with the name of its field."""
    if isinstance(body, dict):
        for key, value in body.items():
            yield from _fields(value, key)
    elif isinstance(body, list):
        for value in body:
            yield from _fields(value, name)
    elif isinstance(body, str):
        yield name, body


# -- a function ------------------------------------------------------------------------------------------------------------


def is_function(spec: str) -> bool:
    """Whether a specification names a function of a file: `bot.py:reply`."""
    return _FUNCTION.fullmatch(spec) is not None and not spec.startswith(SCHEMES)


class FunctionConfig(ModelConfig, frozen=True, kw_only=True, omit_defaults=True, tag="function"):
    """A Python function, or a class with `reply`, in a file."""

    function: str
    """`bot.py:reply`; in the file, relative to it."""

    def faults(self) -> Iterator[str]:
        """Say what cannot be so; see `ModelConfig`."""
        yield from super().faults()
        if not is_function(self.function):
            yield f"function is written like bot.py:reply, not {self.function!r}"

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.function.rpartition(":")[0])

    @property
    def attribute(self) -> str:
        """The function's or class's name in it."""
        return self.function.rpartition(":")[2]

    @property
    def setup(self) -> Setup:
        """What changes its answers: the sources of its file, and of those beside it that it imports.

        Raises:
            UsageError: a file cannot be read.
        """
        from mindgauge.models.bots import source

        return source.setup("function", f"{self.path.name}:{self.attribute}", source.files(self.path))

    @classmethod
    def of(cls, spec: str) -> FunctionConfig:
        """Read `bot.py:reply`; it stands in tables as it is."""
        return cls(name=spec, function=spec)

    @classmethod
    def table_faults(cls, table: Mapping[str, Any], folder: Path) -> Iterator[str]:
        """Say whether the file is missing."""
        function = table.get("function", "")
        file = function.rpartition(":")[0] if isinstance(function, str) and is_function(function) else ""
        if file and not (folder / file).is_file():
            yield f"function: there is no file {folder / file}"

    @classmethod
    def filled_in(cls, table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Return a table of the file with the function's file as it is found from here."""
        function = table["function"]
        return {**table, "function": str(folder / function) if isinstance(function, str) else function}


# -- a command -------------------------------------------------------------------------------------------------------------


class CommandConfig(ModelConfig, frozen=True, kw_only=True, omit_defaults=True, tag="command"):
    """A command that reads questions and writes replies, a line of JSON each."""

    command: list[str]
    turns: bool = False
    """Whether a dialogue is replayed turn by turn, for one that keeps the conversation itself."""
    folder: str = ""
    """Where it runs: where the configuration stands."""

    own: ClassVar[frozenset[str]] = ModelConfig.own | {"folder"}

    def faults(self) -> Iterator[str]:
        """Say what cannot be so; see `ModelConfig`."""
        yield from super().faults()
        if not self.command or not all(self.command):
            yield 'command is a list of words, like ["node", "bot.js"]'

    @property
    def program(self) -> str:
        """Where its program lies; empty if there is none."""
        word = self.command[0]
        if "/" not in word:
            return shutil.which(word) or ""
        return shutil.which(str((Path(self.folder) / word).absolute())) or ""

    @property
    def setup(self) -> Setup:
        """What changes its answers: its words, and the files that they name.

        Raises:
            UsageError: a file cannot be read.
        """
        from mindgauge.models.bots import source

        files = [path for word in self.command if (path := Path(self.folder) / word).is_file()]
        return source.setup("command", [*self.command], source.files(*files), turns=self.turns)

    @classmethod
    def filled_in(cls, table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Return a table of the file with the folder in which the command runs."""
        return {**table, "folder": str(folder)}
