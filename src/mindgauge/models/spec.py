"""From what the user typed to a model: `provider/name`, `http://host:port/v1#name`, `local/…`, `replay/FILE`."""

from __future__ import annotations

import difflib
import functools
import os
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mindgauge.models import address
from mindgauge.models.keys import Key, key_for, readable
from mindgauge.models.settings import PROVIDERS, Provider
from mindgauge.records import installed
from mindgauge.records.errors import UsageError
from mindgauge.records.request import FREE, Model, Price

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint

    from mindgauge.models.chat import ChatModel
    from mindgauge.models.settings import Settings


GROUP = "mindgauge.models"
"""The entry points of packages that bring models: `NAME = "package:make"`, where `make(spec, settings)` returns a `Model`."""
_PARTS = (*Model.__annotations__, "ask", "__aenter__", "__aexit__")
"""What every `Model` has."""


class Endpoint(NamedTuple):
    """What makes two models the very same: the server, and the name by which it is asked for one."""

    server: address.ServerAddress
    model: str


def endpoints(spec: str, environment: Mapping[str, str] = os.environ) -> frozenset[Endpoint]:
    """Return where the calls of a specification go; nothing for what is no address and no provider's model.

    Args:
        spec: what `open_model` takes, or any other name of a model.
        environment: where other base addresses of providers are looked up.
    """
    try:
        urls, name = _urls(spec, environment)
    except UsageError:
        return frozenset()
    return frozenset(Endpoint(address.server(url), name) for url in urls)


def keys(spec: str) -> list[Key]:
    """Return the keys that a model's calls carry, one for each server; an empty secret where there is none.

    Raises:
        UsageError: the specification is incomplete.
    """
    provider = _provider(spec)
    return [key_for(url, provider.key if provider else "") for url in _urls(spec)[0] if _takes_key(provider)]


def variables(spec: str) -> list[str]:
    """Return the environment variables that are read when a specification is opened."""
    provider = _provider(spec)
    names = [
        n for url in _urls(spec)[0] if _takes_key(provider) for n in readable(url, provider.key if provider else "")
    ]
    return [*dict.fromkeys(names), *([provider.elsewhere] if provider and provider.elsewhere else [])]


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

    Raises:
        UsageError: the specification is unknown or incomplete, a key is missing, or `local_only` forbids it.
    """
    if address.is_listed(spec):
        return _served(spec, settings)
    kind, slash, name = spec.partition("/")
    if slash and not name:
        raise UsageError(f"{spec!r} names no model; write for example {kind}/NAME")
    match kind:
        case "local" if slash:
            from mindgauge.models.local import LocalModel

            return LocalModel(spec, **({"max_tokens": settings.max_tokens} if settings.max_tokens else {}))
        case "replay" if slash:
            from mindgauge.models.replay import Replay

            return Replay(spec)
        case _ if slash and kind in PROVIDERS:
            return _provided(spec, PROVIDERS[kind], name, settings)
        case _ if slash and kind in _installed():
            return _from_package(spec, kind, settings)
    kinds = [*PROVIDERS, "local", "replay", *_installed()]
    near = difflib.get_close_matches(kind, kinds, 1, 0.5)
    hint = f"did you mean {near[0]}/{name or 'NAME'}?" if near else f"known are {', '.join(kinds)}"
    raise UsageError(f"unknown model {spec!r}: {hint} Any server works as http://HOST:PORT/v1#NAME")


@functools.cache
def _installed() -> dict[str, EntryPoint]:
    """Return the kinds of models that installed packages bring; ours come first, so none of them can be replaced."""
    return installed.entry_points(GROUP).points


def _from_package(spec: str, kind: str, settings: Settings) -> Model:
    """Let a package make its model; whatever its code raises is told in a line."""
    if settings.local_only:
        raise UsageError(f"--local-only: {kind}/ comes from another package, so it is not known where it sends {spec}")
    try:
        make: Any = installed.load(_installed()[kind])
        model: Model = make(spec, settings)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{spec}: the package that provides {kind}/ cannot open it ({installed.fault(error)})") from error  # fmt: skip
    if lacking := [part for part in _PARTS if not hasattr(model, part)]:
        raise UsageError(f"{spec}: the package that provides {kind}/ returned no model: {type(model).__name__} lacks {', '.join(lacking)}")  # fmt: skip
    return model


def _served(spec: str, settings: Settings) -> Model:
    urls, name = address.servers(spec)
    if len(urls) == 1:
        return _chat(f"{urls[0]}#{name}", urls[0], name, settings, settings.price, key=key_for(urls[0]))
    from mindgauge.models.servers import CONNECT_WITHIN, Servers

    chats = [
        _chat(f"{url}#{name}", url, name, settings, settings.price, key=key_for(url), connect=CONNECT_WITHIN)
        for url in urls
    ]
    return Servers(chats, concurrency=settings.concurrency)


def _provided(spec: str, provider: Provider, name: str, settings: Settings) -> Model:
    (url,), _ = _urls(spec)
    key = key_for(url, provider.key) if provider.key else None
    if settings.sends and key is not None and not key.secret and not settings.local_only:
        raise UsageError(f"{spec} needs a key: set the environment variable {provider.key}")
    price = settings.price or (_list_price(provider.prices, name) if provider.prices else FREE)
    return _chat(spec, url, name, settings, price, key=key, max_tokens_field=provider.max_tokens_field)


def _elsewhere(url: str, provider: Provider) -> str:
    """Return the base address that an environment variable names instead of the provider's own."""
    try:
        base = address.base(url if urlsplit(url).path else f"{url}/").rstrip("/")
    except (UsageError, ValueError) as error:
        raise UsageError(f"{provider.elsewhere} is no address; write for example {provider.url.removesuffix(provider.version)}") from error  # fmt: skip
    return base if base.endswith(provider.version) else base + provider.version


def _chat(
    spec: str,
    url: str,
    name: str,
    settings: Settings,
    price: Price | None,
    *,
    key: Key | None,
    connect: float | None = None,
    max_tokens_field: str = "max_tokens",
) -> ChatModel:
    from mindgauge.models.chat import ChatModel

    host = urlsplit(url).hostname or ""
    if settings.local_only and not address.loopback(host):
        raise UsageError(f"--local-only: {spec} would send text to {host}; only loopback addresses are allowed")
    return ChatModel(
        spec,
        url,
        name,
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
