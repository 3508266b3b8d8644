"""From what the user typed to a model: `provider/name`, `http://host:port/v1#name`, `local/…`, `replay/FILE`, `files/DIR`, a short name."""

from __future__ import annotations

import difflib
import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from mindgauge.models import address, config_file
from mindgauge.models.address import Key, key_for, readable
from mindgauge.models.bots.config import CommandConfig, FunctionConfig, HttpConfig, is_function
from mindgauge.models.config_file import ChatConfig
from mindgauge.models.model_config import PROVIDERS, Provider, filled
from mindgauge.records import installed
from mindgauge.records.errors import UsageError
from mindgauge.records.request import FREE, Model, Price

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint

    from mindgauge.models.chat_endpoint import ChatModel
    from mindgauge.models.config_file import AnyConfig
    from mindgauge.models.settings import Settings


GROUP = "mindgauge.models"
"""The entry points of packages that bring models: `NAME = "package:make"`, where `make(spec, settings)` returns a `Model`."""
_PARTS = (*Model.__annotations__, "ask", "__aenter__", "__aexit__")
"""What every `Model` has."""


def endpoints(spec: str, environment: Mapping[str, str] = os.environ) -> frozenset[tuple[tuple[str, int, str], str]]:
    """Return where the calls of a specification go; nothing for what is no address and no provider's model.

    Args:
        spec: what `open_model` takes, or any other name of a model.
        environment: where other base addresses of providers are looked up.
    """
    try:
        urls, name = _urls(spec, environment)
    except UsageError:
        return frozenset()
    return frozenset((address.server(url), name) for url in urls)


def keys(spec: str, config: AnyConfig | None = None) -> list[Key]:
    """Return the keys that a model's calls carry, one for each server; an empty secret where there is none.

    Args:
        spec: what the user typed.
        config: the model's, where it is set up.

    Raises:
        UsageError: the specification is incomplete.
    """
    if config is None:
        provider = _provider(spec)
        return [key_for(url, provider.key if provider else "") for url in _urls(spec)[0] if _takes_key(provider)]
    if not isinstance(config, ChatConfig):
        return [key_for(url, variable) for url, variable in config.sent]
    sent = []
    for url in _urls(config.spec)[0]:
        own = _key(config, url, _provider(config.spec))
        sent += [own] if own is not None else []
        sent += [key_for(url, variable) for variable in config.secrets]
    return sent


def variables(spec: str, config: AnyConfig | None = None) -> list[str]:
    """Return the environment variables that are read when a specification is opened."""
    plain = config.spec if config is not None else spec
    provider = _provider(plain)
    names = [
        n for url in _urls(plain)[0] if _takes_key(provider) for n in readable(url, provider.key if provider else "")
    ]
    if config is not None:
        names += [*([config.key] if isinstance(config, ChatConfig) and config.key else []), *config.variables]
    return [*dict.fromkeys(names), *([provider.elsewhere] if provider and provider.elsewhere else [])]


def _key(config: ChatConfig, url: str, provider: Provider | None) -> Key | None:
    """Find the key for an address of a model that is set up; None where its calls carry none."""
    if config.key is not None:
        return key_for(url, config.key) if config.key else None
    if config.authorised or not _takes_key(provider):
        return None
    return key_for(url, provider.key if provider else "")


def _provider(spec: str) -> Provider | None:
    return None if address.is_listed(spec) else PROVIDERS.get(spec.partition("/")[0])


def _takes_key(provider: Provider | None) -> bool:
    """Whether calls carry a key: to any server named by its address, and to providers that ask for one."""
    return provider is None or bool(provider.key)


def _urls(spec: str, environment: Mapping[str, str] = os.environ) -> tuple[list[str], str]:
    """Return the base addresses of a model, and the name by which it is asked for there; none of either if it has none.

    Raises:
        UsageError: an address, or the variable that names another for a provider, cannot be read.
    """
    provider = _provider(spec)
    if provider is None:
        return address.servers(spec) if address.is_listed(spec) else ([], "")
    elsewhere = environment.get(provider.elsewhere, "").strip() if provider.elsewhere else ""
    return [_elsewhere(elsewhere, provider) if elsewhere else provider.url], spec.partition("/")[2]


def open_model(spec: str, settings: Settings) -> Model:
    """Find the model that a specification names, which answers call by call, from this process. Nothing is sent yet.

    Args:
        spec: `provider/name`, an address, `FILE.py:NAME`, or the short name of a model that is set up.
        settings: how it is called, and where models are set up.

    Raises:
        UsageError: the specification is unknown or incomplete, a key is missing, or `local_only` forbids it.
    """
    config = configured(spec, settings)
    if config is not None:
        return _set_up(config, settings)
    if address.is_listed(spec):
        return _served(ChatConfig.of(spec), settings)
    kind, slash, name = spec.partition("/")
    if slash and not name:
        raise UsageError(f"{spec!r} names no model; write for example {kind}/NAME")
    match kind:
        case "replay" if slash:
            from mindgauge.models.replay import Replay

            return Replay(spec)
        case _ if slash and (kind in {"local", "files"} or kind in PROVIDERS):
            return _set_up(ChatConfig.of(spec), settings)
        case _ if slash and kind in _installed():
            return _from_package(spec, kind, settings)
    raise UsageError(_unknown(spec, settings))


def configured(spec: str, settings: Settings) -> AnyConfig | None:
    """Return the set-up of a model that is called by a short name, or is a function; None for any other.

    Raises:
        UsageError: the configuration cannot be read.
    """
    if spec in settings.models:
        return settings.models[spec]
    if is_function(spec):
        return FunctionConfig.of(spec)
    return None if "/" in spec else config_file.find(spec, settings.config)


def _unknown(spec: str, settings: Settings) -> str:
    """Say that nothing is called so, and what comes near."""
    if spec.endswith(".py"):
        return f"{spec}: name the function or class in it, as {spec}:NAME"
    module, colon, attribute = spec.partition(":")
    if colon and "/" not in spec and attribute.isidentifier() and Path(f"{module}.py").is_file():
        return f"unknown model {spec!r}: did you mean {module}.py:{attribute}?"
    kind, slash, name = spec.partition("/")
    short = [] if slash else config_file.names(settings.config)
    kinds = [*PROVIDERS, "local", "replay", "files", *_installed()]
    near = difflib.get_close_matches(kind, [*short, *kinds], 1, 0.5)
    if near:
        hint = f"did you mean {near[0] if near[0] in short else near[0] + '/' + (name or 'NAME')}?"
    else:
        hint = f"known are {', '.join([*short, *kinds])}."
    missing = ""
    if not slash and not short:
        missing = f" A short name is set up as [models.{spec}] in {config_file.FILE}, or in another file with --config."
    return f"unknown model {spec!r}: {hint} Any server works as http://HOST:PORT/v1#NAME, and a Python function as FILE.py:NAME.{missing}"


@functools.cache
def _installed() -> dict[str, EntryPoint]:
    """Return the kinds of models that installed packages bring; ours come first, so none of them can be replaced."""
    return installed.entry_points(GROUP)[0]


def _from_package(spec: str, kind: str, settings: Settings) -> Model:
    """Let a package make its model; whatever its code raises is told in a line."""
    if settings.local_only:
        raise UsageError(f"--local-only: {kind}/ comes from another package, so it is not known where it sends {spec}")
    try:
        make: Any = installed.load(_installed()[kind])
        with installed.unprinted():
            model: Model = make(spec, settings)
    except (KeyboardInterrupt, UsageError):
        raise
    except BaseException as error:
        raise UsageError(f"{spec}: the package that provides {kind}/ cannot open it ({installed.fault(error)})") from error  # fmt: skip
    if lacking := [part for part in _PARTS if not hasattr(model, part)]:
        raise UsageError(f"{spec}: the package that provides {kind}/ returned no model: {type(model).__name__} lacks {', '.join(lacking)}")  # fmt: skip
    return model


def _set_up(config: AnyConfig, settings: Settings) -> Model:
    """Open a model with all that is said of it; what the command says of every model holds for the rest."""
    if not isinstance(config, ChatConfig):
        return _bot(config, settings)
    own = {name: value for name in ("concurrency", "context", "timeout") if (value := getattr(config, name, None))}
    if config.price:
        own["price"] = Price.parse(config.price)
    settings = msgspec.structs.replace(settings, **own)
    if config.provider == "files":
        from mindgauge.models.by_hand import ByHand

        return ByHand(config.shown, config.model, config.setup)
    if config.provider == "local":
        from mindgauge.models.local import LocalModel

        limit = {"max_tokens": settings.max_tokens} if settings.max_tokens else {}
        return LocalModel(config.shown, weights=config.spec, setup=config.setup, **limit)
    return _served(config, settings) if config.url else _provided(config, settings)


def _bot(config: HttpConfig | FunctionConfig | CommandConfig, settings: Settings) -> Model:
    """Open somebody's own bot; what the configuration says of it comes before what the command says of all."""
    price = Price.parse(config.price) if config.price else settings.price
    timeout = config.timeout or settings.timeout
    if isinstance(config, FunctionConfig):
        from mindgauge.models.bots import source
        from mindgauge.models.bots.function import Function

        code = source.load(config.path, config.attribute, config.shown)
        return Function(
            code, name=config.shown, concurrency=config.concurrency, timeout=timeout, price=price, setup=config.setup
        )
    if isinstance(config, CommandConfig):
        from mindgauge.models.bots.command import CommandBot

        return CommandBot(config, price=price, timeout=timeout)
    from mindgauge.models.bots.http import HttpBot

    elsewhere = next((h for call in config.calls if not address.loopback(h := urlsplit(call.url).hostname or "")), "")
    if settings.local_only and elsewhere:
        raise UsageError(
            f"--local-only: {config.shown} would send text to {elsewhere}; only loopback addresses are allowed"
        )
    headers = [filled(config.shown, call.headers) if settings.sends else {} for call in config.calls]
    return HttpBot(
        config, headers=headers[0], start_headers=headers[-1], price=price, timeout=timeout, tries=settings.tries,
        concurrency=config.concurrency or settings.concurrency,
    )  # fmt: skip


def _served(config: ChatConfig, settings: Settings) -> Model:
    urls, _ = address.servers(config.spec)
    ends = [(f"{url}{config.query}", _key(config, url, None)) for url in urls]
    if len(ends) == 1:
        return _chat(config.shown, *ends[0], config, settings, settings.price)
    from mindgauge.models.servers import CONNECT_WITHIN, Servers

    chats = [
        _chat(config.shown, url, key, config, settings, settings.price, connect=CONNECT_WITHIN) for url, key in ends
    ]
    return Servers(chats, concurrency=settings.concurrency)


def _provided(config: ChatConfig, settings: Settings) -> Model:
    provider = PROVIDERS[config.provider]
    (url,), _ = _urls(config.spec)
    key = _key(config, url, provider)
    price = settings.price or (_list_price(provider.prices, config.model) if provider.prices else FREE)
    return _chat(config.shown, url, key, config, settings, price, max_tokens_field=provider.max_tokens_field)


def _elsewhere(url: str, provider: Provider) -> str:
    """Return the base address that an environment variable names instead of the provider's own."""
    try:
        base = address.base(url if urlsplit(url).path else f"{url}/").rstrip("/")
    except (UsageError, ValueError) as error:
        raise UsageError(f"{provider.elsewhere} is no address; write for example {provider.url.removesuffix(provider.version)}") from error  # fmt: skip
    return base if base.endswith(provider.version) else base + provider.version


def _chat(
    name: str,
    url: str,
    key: Key | None,
    config: ChatConfig,
    settings: Settings,
    price: Price | None,
    *,
    connect: float | None = None,
    max_tokens_field: str = "max_tokens",
) -> ChatModel:
    from mindgauge.models.chat_endpoint import ChatModel

    host = urlsplit(url).hostname or ""
    if settings.local_only and not address.loopback(host):
        raise UsageError(f"--local-only: {name} would send text to {host}; only loopback addresses are allowed")
    needed = config.key or (PROVIDERS[config.provider].key if config.provider else "")
    if needed and settings.sends and key is not None and not key.secret and not settings.local_only:
        raise UsageError(f"{name} needs a key: set the environment variable {needed}")
    return ChatModel(
        name,
        url,
        config.model,
        key=key.secret if key else "",
        key_name=key.variable if key and key.secret else "",
        price=price,
        concurrency=settings.concurrency,
        timeout=settings.timeout,
        connect=connect,
        tries=settings.tries,
        max_tokens=settings.max_tokens or 4096,
        max_tokens_field=max_tokens_field,
        context=settings.context,
        setup=config.setup,
        headers=filled(name, config.headers) if settings.sends else {},
        at_once=config.concurrency,
    )


def _list_price(provider: str, model: str) -> Price | None:
    """Look a model up in the price list that ships with genai-prices; None where it is not listed."""
    from genai_prices import Usage, calc_price

    try:
        prompt = calc_price(Usage(input_tokens=1_000_000), model, provider_id=provider)
        cached = calc_price(Usage(input_tokens=1_000_000, cache_read_tokens=1_000_000), model, provider_id=provider)
        completion = calc_price(Usage(output_tokens=1_000_000), model, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return Price(*(float(price.total_price) / 1e6 for price in (prompt, completion, cached)))
