"""What every kind of model has that is set up under a short name, and the rules for headers, which several kinds send."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl

import msgspec

from mindgauge.records.errors import UsageError
from mindgauge.records.redaction import addresses, in_use
from mindgauge.records.regex import regex
from mindgauge.records.request import Price, Setup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

DAY = 86_400
"""Seconds."""
NAME = re.compile(r"[\w.+-]+")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
SECRET = regex(
    r"authori[sz]ation|(^|[-_])(auth|credential|signature|key|token|secret|password|cookie)s?($|[-_])|apikey",
    re.IGNORECASE,
)
"""Names of headers, and of environment variables, that carry a secret."""
_FRAMING = frozenset({
    "connection", "content-encoding", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
"""Headers that say how a call's own bytes are sent; another value would break it."""


class ConfigFaults(ValueError):  # noqa: N818 - several
    """What cannot be so in one model's set-up; `faults` are the ends of sentences about it."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """A model as a user sets it up under a short name: what every kind has."""

    name: str
    label: str = ""
    """The build, where several answer under one name."""
    price: str = ""
    """IN:OUT or IN:OUT:CACHED, US dollars per million tokens."""
    concurrency: int | None = None
    """Calls under way at once."""
    timeout: float | None = None
    """Seconds for one attempt of a call."""

    silent: ClassVar[frozenset[str]] = frozenset({"name", "label", "price", "concurrency", "timeout"})
    """What changes no answer, and name and label, which stand for themselves."""

    own: ClassVar[frozenset[str]] = frozenset({"name"})
    """Fields that no file sets."""

    def __post_init__(self) -> None:
        """Check what is said.

        Raises:
            ConfigFaults: something cannot be so.
        """
        if faults := list(self.faults()):
            raise ConfigFaults(faults)

    def faults(self) -> Iterator[str]:
        """Say what cannot be so, each the end of a sentence about the model."""
        if self.label and not NAME.fullmatch(self.label):
            yield f"label {self.label!r}: a label has letters, digits, `.`, `_`, `+` and `-`"
        if self.concurrency is not None and self.concurrency < 1:
            yield "concurrency is at least 1"
        if self.timeout is not None and not 0 < self.timeout <= DAY:
            yield "timeout is a number of seconds, at most a day"
        if self.price:
            try:
                Price.parse(self.price)
            except ValueError as error:
                yield str(error)

    @classmethod
    def table_faults(cls, table: Mapping[str, Any], folder: Path) -> Iterator[str]:
        """Say what a table of the file has that cannot be so, before it is read: tables within it, files that it names."""
        del table, folder
        yield from ()

    @classmethod
    def filled_in(cls, table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Return a table of the file with what it names by path.

        Raises:
            UsageError: a file cannot be read.
        """
        del folder
        return dict(table)

    @property
    def shown(self) -> str:
        """The name under which it stands in every table: `careline`, or `careline@2026-11-23` with a label."""
        return f"{self.name}@{self.label}" if self.label else self.name

    @property
    def spec(self) -> str:
        """The same model without a set-up, as far as there is one: `openai/gpt-5`, `https://host/v1#name`."""
        return ""

    @property
    def setup(self) -> Setup:
        """All that changes its answers, nothing secret."""
        said = msgspec.to_builtins(self)
        return Setup({name: value for name, value in said.items() if name not in self.silent})

    @property
    def sent(self) -> list[tuple[str, str]]:
        """The addresses that a secret is sent to, each with the environment variable that holds it; see also `spec.keys`."""
        return []

    @property
    def variables(self) -> list[str]:
        """The environment variables that are read when it is opened, beside that of the key."""
        return []


# -- headers -------------------------------------------------------------------------------------------------------------


def header_faults(headers: Mapping[str, str]) -> Iterator[str]:
    """Name headers that no call can carry, and secrets that are written out."""
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^`|~\w-]+", name, re.ASCII):
            yield f"{name!r} is no header's name"
        if not value.isprintable() or not value.isascii():
            yield f"header {name}: only printable ASCII can be sent"
        if name.lower() in _FRAMING:
            yield f"header {name} is not for a set-up: it says how a call is sent, which is settled for each call"
        if SECRET.search(name) and not named_in(value):
            yield (
                f"header {name} holds a secret, which would be kept with the file or the command; put it into an environment "
                f"variable and write '{name}: ${{VARIABLE}}'"
            )


def secret_faults(url: str) -> Iterator[str]:
    """Name what an address holds that is secret, and would be kept with the file."""
    if addresses.bare(url) != url:
        yield "url holds a password; send it as a header, from an environment variable"
    for name, _ in parse_qsl(url.partition("?")[2], keep_blank_values=True):
        if SECRET.search(name):
            yield f"url: its parameter {name} holds a secret; send it as a header, from an environment variable"


def near(key: str, known: list[str]) -> str:
    """Say what a name that nobody knows may mean: the end of a sentence about it."""
    matches = difflib.get_close_matches(key, known, 1, 0.5)
    return f"; did you mean `{matches[0]}`?" if matches else f"; known are {', '.join(known)}"


def named_in(value: str) -> list[str]:
    """Return the environment variables that a header's value names."""
    return [braced or bare for braced, bare in _VARIABLE.findall(value)]


def secrets_in(headers: Mapping[str, str]) -> list[str]:
    """Return the environment variables that headers take a secret from."""
    return [name for header, value in headers.items() for name in named_in(value) if _secret(header, name)]


def _secret(header: str, variable: str) -> bool:
    """Whether what a variable holds is secret: by its own name, or by that of the header that carries it."""
    return bool(SECRET.search(header) or SECRET.search(variable))


def filled(model: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers with what their variables hold.

    Raises:
        UsageError: a variable is not set, or holds what no header can carry.
    """

    def sent(header: str, value: str) -> str:
        for variable in secrets_in(
            {header: value}
        ):  # before it is sent, so that it is hidden where a server repeats it
            in_use.keep(_held(model, header, variable))
        return _VARIABLE.sub(lambda part: _held(model, header, part[1] or part[2]), value)

    return {header: sent(header, value) for header, value in headers.items()}


def _held(model: str, header: str, variable: str) -> str:
    value = os.environ.get(variable)
    if value is None:
        raise UsageError(f"{model}: its header {header} needs the environment variable {variable}, which is not set")
    if not value.isprintable() or not value.isascii():
        raise UsageError(
            f"{model}: {variable} holds what its header {header} cannot carry: only printable ASCII can be sent"
        )
    return value


TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""What the longest answer is called in a body."""


class Provider(msgspec.Struct, frozen=True):
    """Where a provider listens, and where its key and its prices are found."""

    url: str
    key: str = ""
    prices: str = ""
    """The provider's id in the price list; empty where tokens cost nothing."""
    max_tokens_field: str = "max_tokens"
    elsewhere: str = ""
    """The environment variable that names another base address, for proxies; read as the provider's own SDK does."""
    version: str = ""
    """What that SDK appends to it."""


PROVIDERS = {
    "anthropic": Provider(
        "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "anthropic", elsewhere="ANTHROPIC_BASE_URL", version="/v1"
    ),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek"),
    "fireworks": Provider("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", "fireworks"),
    "google": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", "google"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY", "groq"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral"),
    "moonshot": Provider("https://api.moonshot.cn/v1", "MOONSHOT_API_KEY", "moonshotai"),
    "ollama": Provider("http://127.0.0.1:11434/v1"),
    "openai": Provider(
        "https://api.openai.com/v1", "OPENAI_API_KEY", "openai", "max_completion_tokens", elsewhere="OPENAI_BASE_URL"
    ),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter"),
    "qwen": Provider("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "dashscope"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY", "together"),
    "vllm": Provider("http://127.0.0.1:8000/v1"),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY", "x-ai"),
}
