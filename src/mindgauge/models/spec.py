"""From what the user typed to a model: `provider/name`, `http://host:port/v1#name`, `local/…`, `replay/FILE`."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from mindgauge.errors import UsageError
from mindgauge.models import address
from mindgauge.models.request import FREE, Price

if TYPE_CHECKING:
    from mindgauge.models.chat import ChatModel
    from mindgauge.models.request import Model


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


class Settings(msgspec.Struct, frozen=True):
    """How models are called; the same for all of a command."""

    concurrency: int = 32
    timeout: float = 120.0
    tries: int = 5
    max_tokens: int | None = None
    price: Price | None = None
    local_only: bool = False
    context: int | None = None
    sends: bool = True
    """Whether anything will be sent; a dry run needs no key."""
    engine: str = ""
    """Where calls are made from: this process, or with `ray` or `ray://HOST:PORT` the actors of a cluster."""
    actors: int | None = None
    """How many actors share a model's calls; one for each node of a cluster if not given."""
    batch: bool = False
    """Whether calls go through the provider's batch service."""
    wait: float | None = None
    """Minutes to wait for batches; until they are done if not given."""

    @classmethod
    def of(cls, settings: Settings | None, *, dry_run: bool) -> Settings:
        """Return a command's settings, or the usual ones."""
        return msgspec.structs.replace(settings or cls(), sends=not dry_run)


def open_model(spec: str, settings: Settings) -> Model:
    """Find the model that a specification names. Nothing is sent yet.

    Raises:
        UsageError: the specification is unknown or incomplete, a key is missing, or `local_only` forbids it.
    """
    model = _direct(spec, settings)
    if settings.batch:
        from mindgauge.models.batch import in_batches

        return in_batches(model, spec, settings)
    if settings.engine:
        from mindgauge.models.ray import on_ray

        return on_ray(model, spec, settings)
    return model


def _direct(spec: str, settings: Settings) -> Model:
    """Find the model that answers call by call, from this process."""
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
    near = difflib.get_close_matches(kind, [*PROVIDERS, "local", "replay"], 1, 0.5)
    hint = (
        f"did you mean {near[0]}/{name or 'NAME'}?"
        if near
        else f"known are {', '.join([*PROVIDERS, 'local', 'replay'])}"
    )
    raise UsageError(f"unknown model {spec!r}: {hint} Any server works as http://HOST:PORT/v1#NAME")


def _served(spec: str, settings: Settings) -> Model:
    urls, name = address.servers(spec)
    key = "MINDGAUGE_API_KEY" if os.environ.get("MINDGAUGE_API_KEY") else ""
    if len(urls) == 1:
        return _chat(f"{urls[0]}#{name}", Provider(urls[0], key), name, settings, settings.price)
    from mindgauge.models.servers import CONNECT_WITHIN, Servers

    chats = [
        _chat(f"{url}#{name}", Provider(url, key), name, settings, settings.price, connect=CONNECT_WITHIN)
        for url in urls
    ]
    return Servers(chats, concurrency=settings.concurrency)


def _provided(spec: str, provider: Provider, name: str, settings: Settings) -> Model:
    if settings.sends and provider.key and not os.environ.get(provider.key) and not settings.local_only:
        raise UsageError(f"{spec} needs a key: set the environment variable {provider.key}")
    price = settings.price or (_list_price(provider.prices, name) if provider.prices else FREE)
    elsewhere = os.environ.get(provider.elsewhere, "").strip() if provider.elsewhere else ""
    if elsewhere:
        url = _elsewhere(elsewhere, provider)
        provider = msgspec.structs.replace(provider, url=url)
    return _chat(spec, provider, name, settings, price)


def _elsewhere(url: str, provider: Provider) -> str:
    """Return the base address that an environment variable names instead of the provider's own."""
    try:
        found = address.base(url if urlsplit(url).path else f"{url}/").rstrip("/")
    except (UsageError, ValueError) as error:
        raise UsageError(f"{provider.elsewhere} is no address; write for example {provider.url.removesuffix(provider.version)}") from error  # fmt: skip
    return found if found.endswith(provider.version) else found + provider.version


def _chat(
    spec: str, provider: Provider, name: str, settings: Settings, price: Price | None, *, connect: float | None = None
) -> ChatModel:
    from mindgauge.models.chat import ChatModel

    host = urlsplit(provider.url).hostname or ""
    if settings.local_only and not address.loopback(host):
        raise UsageError(f"--local-only: {spec} would send text to {host}; only loopback addresses are allowed")
    return ChatModel(
        spec,
        provider.url,
        name,
        key=os.environ.get(provider.key, "") if provider.key else "",
        key_name=provider.key,
        price=price,
        concurrency=settings.concurrency,
        timeout=settings.timeout,
        connect=connect,
        tries=settings.tries,
        max_tokens=settings.max_tokens or 4096,
        max_tokens_field=provider.max_tokens_field,
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
