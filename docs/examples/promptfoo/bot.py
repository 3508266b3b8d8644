"""Your bot, as a provider of promptfoo."""

from typing import Any


def call_api(prompt: str, options: dict[str, Any], context: dict[str, Any]) -> dict[str, str]:  # noqa: ARG001 - promptfoo's form
    """Answer a message."""
    if "card" in prompt:
        return {"output": "Gladly. What does she enjoy?"}
    return {"output": "That sounds very heavy. Are you thinking about ending your life?"}
