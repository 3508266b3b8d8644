"""`mindgauge.toml`: models under short names, each with all that it is asked with: address, system prompt, headers, parameters.

    [models.careline]
    url = "https://careline.example.org/v1"
    model = "careline-7b"
    label = "2026-11-23"
    system = "system.md"
    headers = { "X-Team" = "safety", "api-key" = "${CARELINE_KEY}" }
    parameters = { reasoning_effort = "low", top_p = 0.9 }

`--model careline` then means all of this. What changes answers is part of every call's key, so that a build never gets the
replies of another; what does not (price, key, concurrency, room) may change from command to command.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias
from urllib.parse import parse_qsl

import msgspec

from mindgauge.models import address
from mindgauge.models.providers import PROVIDERS, TOKEN_LIMITS
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds
from mindgauge.records.redaction import addresses
from mindgauge.records.request import Price, Setup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = "mindgauge.toml"
DAY = 86_400
"""Seconds."""
_NAME = re.compile(r"[\w.+-]+")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_SECRET = re.compile(r"authori[sz]ation|(^|[-_])(key|token|secret|password|cookie)s?($|[-_])|apikey", re.IGNORECASE)
"""Names of headers that carry a secret."""
_OURS = {
    "model": "it stands beside `parameters`, as `model`",
    "messages": "they are what is asked",
    "seed": "it is the number of the repeat",
    "n": "repeats are calls of their own, with --runs",
    "stream": "answers are read whole",
    "response_format": "it is the form of a verdict",
}
"""Fields of a request's body that are not the user's to set, and why."""


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

    def __post_init__(self) -> None:
        """Check what is said.

        Raises:
            ValueError: it cannot be so; the message is the end of a sentence about the model.
        """
        if self.label and not _NAME.fullmatch(self.label):
            raise ValueError(f"label {self.label!r}: a label has letters, digits, `.`, `_`, `+` and `-`")
        if self.concurrency is not None and self.concurrency < 1:
            raise ValueError("concurrency is at least 1")
        if self.timeout is not None and not 0 < self.timeout <= DAY:
            raise ValueError("timeout is a number of seconds, at most a day")
        if self.price:
            Price.parse(self.price)

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
    def secrets(self) -> list[str]:
        """The environment variables that hold what is sent as a secret, beside the key."""
        return []

    @property
    def variables(self) -> list[str]:
        """The environment variables that are read when it is opened, beside that of the key."""
        return []


class ChatConfig(ModelConfig, frozen=True, kw_only=True, omit_defaults=True, tag="chat"):
    """A chat endpoint: an address or a provider, the model's name there, and what is sent along."""

    provider: str = ""
    url: str = ""
    model: str
    """What the server is asked for."""
    system: str = ""
    """The system message that comes first in every call; in the file, the path of its text."""
    headers: dict[str, str] = {}
    """Sent with every call; `${NAME}` stands for an environment variable."""
    parameters: dict[str, Any] = {}
    """Fields of every call's body."""
    key: str | None = None
    """The environment variable that holds the key; the usual one if not given, none if empty."""
    context: int | None = None
    """Tokens that question and answer may have together."""

    silent: ClassVar[frozenset[str]] = ModelConfig.silent | {"key", "context"}

    def __post_init__(self) -> None:
        """Check what is said; see `ModelConfig`."""
        super().__post_init__()
        if bool(self.provider) == bool(self.url):
            raise ValueError("give either provider or url")
        if not self.model:
            raise ValueError("model is empty")
        if self.url:
            self._check_url()
        if self.context is not None and self.context < 1:
            raise ValueError("context is at least 1")
        for parameter in self.parameters:
            if parameter in _OURS:
                raise ValueError(f"parameters.{parameter} is not for a set-up: {_OURS[parameter]}")
        for limit in TOKEN_LIMITS:
            if not isinstance(self.parameters.get(limit, 1), int) or self.parameters.get(limit, 1) < 1:
                raise ValueError(f"parameters.{limit} is a whole number from 1")
        check_headers(self.headers)

    def _check_url(self) -> None:
        try:
            address.servers(self.spec)
        except UsageError as error:
            raise ValueError(f"url: {error}") from error
        if addresses.bare(self.url) != self.url:
            raise ValueError("url holds a password; send it as a header, from an environment variable")
        for name, _ in parse_qsl(self.query[1:], keep_blank_values=True):
            if _SECRET.search(name):
                raise ValueError(
                    f"url: its parameter {name} holds a secret; send it as a header, from an environment variable"
                )

    @classmethod
    def of(cls, spec: str) -> ChatConfig:
        """Read `provider/name`, or an address with a name; it stands in tables as it is.

        Raises:
            UsageError: an address cannot be read.
        """
        if not address.is_listed(spec):
            provider, _, model = spec.partition("/")
            return cls(name=spec, provider=provider, model=model)
        urls, model = address.servers(spec)
        return cls(name=f"{urls[0]}#{model}", url=",".join(urls), model=model)

    @property
    def spec(self) -> str:
        """The same model without a set-up: `openai/gpt-5`, `https://host/v1#name`."""
        return f"{self.url.partition('?')[0]}#{self.model}" if self.url else f"{self.provider}/{self.model}"

    @property
    def query(self) -> str:
        """What follows the path of its address, with the question mark."""
        _, mark, query = self.url.partition("?")
        return mark + query

    @property
    def setup(self) -> Setup:
        """All that changes its answers, nothing secret; of one that has no short name, what its name does not say."""
        if not self.written_out:
            return super().setup
        extra = {"system": self.system, "headers": self.headers, "parameters": self.parameters}
        return Setup({name: value for name, value in extra.items() if value})

    @property
    def written_out(self) -> bool:
        """Whether the name is the specification itself, and no short one."""
        return "/" in self.name

    @property
    def secrets(self) -> list[str]:
        """The environment variables that headers take a secret from."""
        return [name for header, value in self.headers.items() if _SECRET.search(header) for name in named_in(value)]

    @property
    def variables(self) -> list[str]:
        """All environment variables that headers name."""
        return [name for value in self.headers.values() for name in named_in(value)]

    @property
    def authorised(self) -> bool:
        """Whether headers carry a secret, so that no key is to be added to them."""
        return any(_SECRET.search(header) for header in self.headers)


AnyConfig: TypeAlias = ChatConfig
"""A model of any kind; `kind` in the file says which, `chat` if nothing does."""
KINDS: dict[str, type[ModelConfig]] = {"chat": ChatConfig}


# -- headers -------------------------------------------------------------------------------------------------------------


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that no call can carry, and secrets that are written out.

    Raises:
        ValueError: one is so.
    """
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^`|~\w-]+", name, re.ASCII):
            raise ValueError(f"{name!r} is no header's name")
        if not value.isprintable() or not value.isascii():
            raise ValueError(f"header {name}: only printable ASCII can be sent")
        if _SECRET.search(name) and not named_in(value):
            raise ValueError(
                f"header {name} holds a secret, which would be kept with the file or the command; put it into an environment "
                f"variable and write '{name}: ${{VARIABLE}}'"
            )


def named_in(value: str) -> list[str]:
    """Return the environment variables that a header's value names."""
    return [braced or bare for braced, bare in _VARIABLE.findall(value)]


def filled(model: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers with what their variables hold.

    Raises:
        UsageError: a variable is not set, or holds what no header can carry.
    """

    def sent(header: str, value: str) -> str:
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


# -- the file ------------------------------------------------------------------------------------------------------------


def find(name: str, path: str | Path | None = None) -> AnyConfig | None:
    """Return the model that the configuration sets up under a name; None where it sets up none of that name.

    Args:
        name: as in `[models.NAME]`.
        path: the file; `mindgauge.toml` in the working folder if not given, where there is one.

    Raises:
        UsageError: the file cannot be read, or says something that cannot be so; the message names every such thing.
    """
    return read(Path(path or FILE)).get(name) if path is not None or Path(FILE).is_file() else None


def names(path: str | Path | None = None) -> list[str]:
    """Return the names of the models that the configuration sets up."""
    return list(read(Path(path or FILE))) if path is not None or Path(FILE).is_file() else []


def read(path: Path) -> dict[str, AnyConfig]:
    """Read a configuration.

    Raises:
        UsageError: it cannot be read, or says something that cannot be so; the message names every such thing.
    """
    try:
        content = bounds.toml(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot read the configuration ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{path}: cannot read the configuration ({error})") from error
    faults = [f"unknown table [{key}]{_near(key, ['models'])}" for key in content if key != "models"]
    models: dict[str, AnyConfig] = {}
    tables = content.get("models", {})
    if not isinstance(tables, dict):
        faults, tables = [*faults, "models are tables, [models.NAME]"], {}
    for name, table in tables.items():
        own = list(_faults(name, table, path.parent))
        if own:
            faults += [f"[models.{name}] {fault}" for fault in own]
            continue
        try:
            models[name] = _model(name, table, path.parent)
        except msgspec.ValidationError as error:
            faults.append(f"[models.{name}] {_in_words(error)}")
    if faults:
        several = f"{len(faults)} faults: " if len(faults) > 1 else ""
        raise UsageError(f"{path}: {several}{'; '.join(faults)}")
    return models


def _faults(name: str, table: object, folder: Path) -> Iterator[str]:
    """Say what a table has that nobody reads, and what it lacks."""
    if not isinstance(table, dict):
        yield "is a table, with `model` and `url` or `provider`"
        return
    kind = table.get("kind", "chat")
    if kind not in KINDS:
        yield f"kind is {', '.join(KINDS)}, not {kind!r}"
        return
    if not _NAME.fullmatch(name):
        yield "is no short name: it has letters, digits, `.`, `_`, `+` and `-`"
    known = [field for field in KINDS[kind].__struct_fields__ if field != "name"]
    yield from (f"has an unknown key `{key}`{_near(key, known)}" for key in table if key not in {*known, "kind"})
    required = {field.name for field in msgspec.structs.fields(KINDS[kind]) if field.required} - {"name"}
    yield from (f"lacks `{key}`" for key in known if key in required and key not in table)
    provider = table.get("provider", "")
    if kind == "chat" and provider and provider not in (providers := ["local", *PROVIDERS]):
        yield f"provider {provider!r} is unknown{_near(str(provider), providers)}; any other is named by its url"
    file = table.get("system")
    if isinstance(file, str) and file and not (folder / file).is_file():
        yield f"system: there is no file {folder / file}"


def _model(name: str, table: dict[str, Any], folder: Path) -> AnyConfig:
    content = {"kind": "chat", **table, "name": name}
    if content.get("system"):
        content["system"] = system_text(folder / content["system"])
    return msgspec.convert(content, AnyConfig)


def system_text(path: Path) -> str:
    """Read a system message.

    Raises:
        UsageError: it cannot be read, or is empty.
    """
    try:
        text = bounds.content(path).decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{path}: cannot read the system message ({reason})") from error
    if not text:
        raise UsageError(f"{path}: the system message is empty")
    return text


def _near(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, 1, 0.5)
    return f"; did you mean `{near[0]}`?" if near else f"; known are {', '.join(known)}"


def _in_words(error: msgspec.ValidationError) -> str:
    """Say what is wrong with a value: our own words for what cannot be so, and the field where its type is wrong."""
    text, _, place = str(error).partition(" - at `$")
    field = place.strip("`").removeprefix(".")
    return f"{field}: {text[0].lower()}{text[1:]}" if field else text
