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

`[run]` has what holds where nothing is typed, under the options' names: of `run` and `rate` every option that has a default, of
other commands that make calls what no command line takes (`engine`, `cache`, `timeout` and so on):

    [run]
    timeout = 60
    engine = "ray"
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import msgspec

from mindgauge.models import address
from mindgauge.models.bots.config import CommandConfig, FunctionConfig, HttpConfig
from mindgauge.models.model_config import (
    NAME,
    PROVIDERS,
    TOKEN_LIMITS,
    ConfigFaults,
    ModelConfig,
    header_faults,
    named_in,
    near,
    secret_faults,
    secrets_in,
)
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds
from mindgauge.records.request import Setup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = "mindgauge.toml"
TABLES = ("models", "run")
_OURS = {
    "model": "it stands beside `parameters`, as `model`",
    "messages": "they are what is asked",
    "seed": "it is the number of the repeat",
    "n": "repeats are calls of their own, with --runs",
    "stream": "answers are read whole",
    "response_format": "it is the form of a verdict",
}
"""Fields of a request's body that are not the user's to set, and why."""


class ChatConfig(ModelConfig, frozen=True, kw_only=True, omit_defaults=True, tag="chat"):
    """A chat endpoint: an address or a provider, the model's name there, and what is sent along."""

    provider: str = ""
    url: str = ""
    model: str
    """What the server is asked for."""
    system: str = ""
    """The system message that comes first in every call; in the file, the path of its text."""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    """Sent with every call; `${NAME}` stands for an environment variable."""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    """Fields of every call's body."""
    key: str | None = None
    """The environment variable that holds the key; the usual one if not given, none if empty."""
    context: int | None = None
    """Tokens that question and answer may have together."""

    silent: ClassVar[frozenset[str]] = ModelConfig.silent | {"key", "context"}

    def faults(self) -> Iterator[str]:
        """Say what cannot be so; see `ModelConfig`."""
        yield from super().faults()
        if bool(self.provider) == bool(self.url):
            yield "give either provider or url"
        if not self.model:
            yield "model is empty"
        if self.url and self.model:
            yield from self._url_faults()
        if self.context is not None and self.context < 1:
            yield "context is at least 1"
        for parameter in self.parameters:
            if parameter in _OURS:
                yield f"parameters.{parameter} is not for a set-up: {_OURS[parameter]}"
            elif not _json(self.parameters[parameter]):
                yield f"parameters.{parameter} is no value of JSON: {self.parameters[parameter]}"
        for limit in TOKEN_LIMITS:
            if not isinstance(self.parameters.get(limit, 1), int) or self.parameters.get(limit, 1) < 1:
                yield f"parameters.{limit} is a whole number from 1"
        yield from header_faults(self.headers)

    def _url_faults(self) -> Iterator[str]:
        try:
            address.servers(self.spec)
        except UsageError as error:
            yield f"url: {error}"
            return
        yield from secret_faults(self.url)

    @classmethod
    def table_faults(cls, table: Mapping[str, Any], folder: Path) -> Iterator[str]:
        """Say which provider is unknown, and whether the file of the system message is missing."""
        provider = table.get("provider", "")
        if provider and provider not in (providers := ["local", "files", *PROVIDERS]):
            yield f"provider {provider!r} is unknown{near(str(provider), providers)}; any other is named by its url"
        file = table.get("system")
        if isinstance(file, str) and file and not (folder / file).is_file():
            yield f"system: there is no file {folder / file}"

    @classmethod
    def filled_in(cls, table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Return a table of the file with the text of the system message, and the folder of `files`."""
        system = table.get("system")
        if table.get("provider") == "files" and isinstance(model := table.get("model"), str):
            table = {**table, "model": str(folder / model)}
        return {**table, "system": system_text(folder / system)} if system else dict(table)

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
        return secrets_in(self.headers)

    @property
    def variables(self) -> list[str]:
        """All environment variables that headers name."""
        return [name for value in self.headers.values() for name in named_in(value)]

    @property
    def authorised(self) -> bool:
        """Whether headers carry a secret, so that no key is to be added to them."""
        return bool(self.secrets)


AnyConfig: TypeAlias = ChatConfig | HttpConfig | FunctionConfig | CommandConfig
"""A model of any kind; `kind` in the file says which, `chat` if nothing does."""
KINDS: dict[str, type[ModelConfig]] = {
    "chat": ChatConfig, "http": HttpConfig, "function": FunctionConfig, "command": CommandConfig,
}  # fmt: skip


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


def run_defaults(path: str | Path | None = None) -> dict[str, Any]:
    """Return the table `[run]`: option → what holds where nothing is typed; empty where there is none.

    Raises:
        UsageError: the file cannot be read, or `run` is no table.
    """
    file = Path(path or FILE)
    if path is None and not file.is_file():
        return {}
    table = _content(file).get("run", {})
    if not isinstance(table, dict):
        raise UsageError(f"{file}: run is a table, [run]")
    return table


def _content(path: Path) -> dict[str, Any]:
    try:
        return bounds.toml(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot read the configuration ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{path}: cannot read the configuration ({error})") from error


def read(path: Path) -> dict[str, AnyConfig]:
    """Read a configuration.

    Raises:
        UsageError: it cannot be read, or says something that cannot be so; the message names every such thing.
    """
    content = _content(path)
    faults = [f"unknown table [{key}]{near(key, [*TABLES])}" for key in content if key not in TABLES]
    models: dict[str, AnyConfig] = {}
    tables = content.get("models", {})
    if not isinstance(tables, dict):
        faults, tables = [*faults, "models are tables, [models.NAME]"], {}
    for name, table in tables.items():
        own = list(_faults(name, table, path.parent))
        if not own:
            try:
                models[name] = _model(name, table, path.parent)
            except msgspec.ValidationError as error:
                own = error.__cause__.faults if isinstance(error.__cause__, ConfigFaults) else [_in_words(error)]
        faults += [f"[models.{name}] {fault}" for fault in own]
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
    if not NAME.fullmatch(name):
        yield "is no short name: it has letters, digits, `.`, `_`, `+` and `-`"
    known = [field for field in KINDS[kind].__struct_fields__ if field not in KINDS[kind].own]
    yield from (f"has an unknown key `{key}`{near(key, known)}" for key in table if key not in {*known, "kind"})
    required = {field.name for field in msgspec.structs.fields(KINDS[kind]) if field.required}
    yield from (f"lacks `{key}`" for key in known if key in required and key not in table)
    yield from KINDS[kind].table_faults(table, folder)


def _json(value: object) -> bool:
    """Whether a value stands in a body as it is: no date, and no number that is none."""
    if isinstance(value, dict | list):
        return all(_json(part) for part in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def _model(name: str, table: dict[str, Any], folder: Path) -> AnyConfig:
    content = {"kind": "chat", **table, "name": name}
    config: AnyConfig = msgspec.convert(KINDS[content["kind"]].filled_in(content, folder), AnyConfig)
    return config


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


def _in_words(error: msgspec.ValidationError) -> str:
    """Say what is wrong with a value: our own words for what cannot be so, and the field where its type is wrong."""
    text, _, place = str(error).partition(" - at `$")
    field = place.strip("`").removeprefix(".")
    return f"{field}: {text[0].lower()}{text[1:]}" if field else text
