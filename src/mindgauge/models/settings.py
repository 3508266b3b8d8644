"""How models are called, and where providers listen: what a command says of all its models."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mindgauge.records.request import Price


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

    concurrency: Annotated[int, Meta(ge=1, le=1_000_000, description="Calls under way at once, per model.")] = 32
    timeout: Annotated[
        float,
        Meta(ge=0.001, le=86_400, description="Seconds for one attempt of a call.", extra={"unit": " seconds, a day"}),
    ] = 120.0
    tries: Annotated[int, Meta(ge=1, description="Attempts per call.")] = 5
    max_tokens: Annotated[int, Meta(ge=1, le=2**24, description="The longest answer asked for.")] | None = None
    price: Annotated[
        Price | None,
        Meta(
            description="IN:OUT, or IN:OUT:CACHED, US dollars per million tokens, where no list knows the model.",
        ),
    ] = None
    local_only: Annotated[bool, Meta(description="Refuse every address but loopback.")] = False
    context: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="Tokens that question and answer may have together, so that longer ones are named first.",
            ),
        ]
        | None
    ) = None
    sends: bool = True
    """Whether anything will be sent; a dry run needs no key."""
    engine: Annotated[
        str,
        Meta(
            description="Where calls are made from: plain (this process), ray (actors on this machine, or on the cluster that RAY_ADDRESS names), or ray://HOST:PORT."
        ),
    ] = ""
    actors: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="With --engine ray, how many actors share a model's calls; one a node if not given, at least two.",
            ),
        ]
        | None
    ) = None
    batch: Annotated[
        bool,
        Meta(
            description="Use the provider's batch service: cheaper, within a day. Stop and run the same command again at will."
        ),
    ] = False
    wait: (
        Annotated[
            float,
            Meta(
                ge=0,
                description="Minutes to wait for batches, then stop and leave them under way; until they are done if not given.",
            ),
        ]
        | None
    ) = None

    @classmethod
    def of(cls, settings: Settings | None, *, dry_run: bool) -> Settings:
        """Return a command's settings, or the usual ones."""
        return msgspec.structs.replace(settings or cls(), sends=not dry_run)
