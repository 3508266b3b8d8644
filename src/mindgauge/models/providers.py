"""Where providers of models listen, and what they call things."""

from __future__ import annotations

import msgspec

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
