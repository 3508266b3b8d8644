"""Which family a model comes from, by its name: models tend to favour their own kind."""

from __future__ import annotations

import re


def family(model: str) -> str:
    """Return the family a model's name begins with: `gpt` of `openai/gpt-5-nano`, `llama` of `meta-llama/Llama-4`."""
    name = model.rpartition("#")[2].rpartition("/")[2].casefold()
    found = re.match(r"(?:meta-)?([a-z]+)", name)
    return found[1] if found else name


def same_family(judge: str, model: str) -> bool:
    """Whether a judge is, or comes from the family of, the model it judges. Rules and classifiers have no family."""
    return not judge.startswith(("rule/", "classifier/")) and family(judge) == family(model)
