"""Calls carried by a provider's batch service: cheaper, within a day, and collected by whichever process comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from mindgauge.models.settings import Settings
    from mindgauge.records.request import Model

SPEAK_OPENAI = ("openai", "groq", "moonshot", "qwen")
"""Providers that document the OpenAI Batch protocol."""
HALF_PRICE = ("openai", "anthropic", "qwen")
"""Providers that document batches at half of their price; with others a batch is reckoned at the full price."""


def in_batches(model: Model, spec: str, settings: Settings) -> Model:
    """Let a model's calls be carried by its provider's batch service. Nothing is sent yet.

    Raises:
        UsageError: no batch service is known for it.
    """
    from mindgauge.models.batch.anthropic_batches import AnthropicBatches
    from mindgauge.models.batch.model import BatchModel
    from mindgauge.models.batch.openai_batches import OpenAIBatches
    from mindgauge.models.chat_endpoint import ChatModel

    anywhere = spec.startswith(("http://", "https://"))
    kind = "" if anywhere else spec.partition("/")[0]
    if anywhere and "," in spec.partition("#")[0]:
        raise UsageError(f"--batch: {spec} names several servers; name the one that has the batch service")
    if not isinstance(model, ChatModel) or not (anywhere or kind == "anthropic" or kind in SPEAK_OPENAI):
        specs = ", ".join(f"{name}/NAME" for name in ("anthropic", *SPEAK_OPENAI))
        raise UsageError(
            f"--batch: no batch service is known for {spec}; it works with {specs}, and http://HOST/v1#NAME where the server has one"
        )
    service = None if anywhere else AnthropicBatches(model) if kind == "anthropic" else OpenAIBatches(model)
    price = model.price
    if kind in HALF_PRICE and settings.price is None and price is not None:
        cached = None if price.cached is None else price.cached / 2
        price = msgspec.structs.replace(price, prompt=price.prompt / 2, completion=price.completion / 2, cached=cached)
    return BatchModel(model, service, price=price, settings=settings)
