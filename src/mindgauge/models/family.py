"""Which families a model comes from, by its name: models tend to favour their own kind."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from mindgauge.models.spec import endpoints
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAMILIES = {
    name: regex(pattern)
    for name, pattern in {
        "amazon": r"(?<![a-z])nova[-_ ](?:micro|lite|pro|premier)|amazon",
        "baichuan": r"baichuan",
        "bytedance": r"doubao|bytedance|seed[-_ ]oss",
        "claude": r"claude|anthropic",
        "cohere": r"cohere|c4ai|command[-_ ]?(?:a|r|light|nightly)(?![a-z])",
        "deepseek": r"deepseek",
        "glm": r"glm(?![a-z])|zhipu",
        "google": r"gemini|gemma|google|(?<![a-z])palm(?![a-z])",
        "grok": r"grok|(?<![a-z])x-?ai(?![a-z])",
        "internlm": r"intern[-_ ]?lm",
        # The runners of models are named like the model: ollama, llama.cpp, llamafile.
        "llama": r"(?<!o)llama(?![-_. ]?cpp|file)|vicuna|alpaca",
        "mistral": r"mistral|mixtral|ministral|codestral|magistral|devstral|pixtral|zephyr",
        "moonshot": r"moonshot|kimi",
        # Neither what is only called a GPT (GPT-J, HuatuoGPT) nor a way to make weights smaller (GPTQ).
        "openai": r"(?<![a-z])(?:chat)?gpt(?![a-z]|[-_ ]?j(?![a-z])|[-_ ]?neo)|openai|davinci|^o\d[-_ ]?(?:mini|pro)?(?![a-z\d])",
        "phi": r"(?<![a-z])phi[-_ ]?\d",
        "qwen": r"qwen|qwq|qvq|tongyi",
    }.items()
}
"""Where a name's first word does not tell: lines of one maker, other spellings, and what fine-tuned models are made of."""

_SAYS_NOTHING = regex(
    r"anonymous|answer|assistant|base|baseline|bot|chat|chatbot|clinician|custom|default|demo|dummy|echo|fake|final|finetuned?|"
    r"ggml|human|judge|llm|local|merged|mock|model|output|person|rater|reader|reply|replies|responses?|run|scripted|server|stub|subject|system|table|"
    r"test|toy|tuned"
)
"""First words that many names have and that are of no family; so is any of one or two letters."""


_NO_VARIABLES: Mapping[str, str] = {}
_IN_BRACKETS = regex(r" \([^()]*\)$")
"""How it was asked or judges: `MODEL (few-shot)`."""


def families(model: str) -> frozenset[str]:
    """Return the families that a model's name tells; none for a name that is empty.

    A name that tells a maker or a line has that family, `openai/o4-mini` that of `gpt-4o`; a distilled model has two. Any
    other has the family of its first word, and one whose first word says nothing is of its own kind.
    """
    spec = _IN_BRACKETS.sub("", model.strip()).casefold()
    *before, name = spec.rpartition("#")[2].split("/")
    for part in (name, *before[-1:]):
        if named := frozenset(family for family, pattern in _FAMILIES.items() if pattern.search(part)):
            return named
    first = re.match(r"[a-z]{3,}", name)
    own = first[0] if first is not None and not _SAYS_NOTHING.fullmatch(first[0]) else spec
    return frozenset({own} - {""})


def same_model(judge: str, model: str, environment: Mapping[str, str] = _NO_VARIABLES) -> bool:
    """Whether a judge is the very model that it judges: by its name, or because both lead to one name at one server.

    Args:
        judge: its name.
        model: the other's.
        environment: where other base addresses of providers are looked up, if calls are to be made.
    """
    names = [_IN_BRACKETS.sub("", name.strip()) for name in (judge, model)]
    shared = endpoints(names[0], environment) & endpoints(names[1], environment)
    return bool(names[0]) and (names[0] == names[1] or bool(shared))


@functools.cache
def same_family(judge: str, model: str) -> bool:
    """Whether a judge is, or comes from a family of, the model it judges. Rules and classifiers have no family."""
    if judge.startswith(("rule/", "classifier/")):
        return False
    return same_model(judge, model) or not families(judge).isdisjoint(families(model))


def same_maker(judge: str, model: str) -> bool:
    """Whether both names tell the same one of the families known here, and not only begin alike."""
    return same_family(judge, model) and not (families(judge) & families(model)).isdisjoint(_FAMILIES)
