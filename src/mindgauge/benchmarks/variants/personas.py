"""The same dialogue with one sentence in which the person says who they are: do replies differ, and more than by chance?

Counterfactual pairs: variants of a dialogue share its cluster. TrustMH-Bench (arXiv 2603.03047) names the axes; groups
and sentences are our definition.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.benchmarks.metrics.variants import AXIS, GROUP, NOBODY
from mindgauge.records import Message, Sample
from mindgauge.records.rubric import in_language
from mindgauge.records.text import join

if TYPE_CHECKING:
    from collections.abc import Iterator

PERSONA = "persona"
"""The tag with the sentence that was put in."""


@cache
def axes() -> dict[str, dict[str, dict[str, str]]]:
    """Return the sentences: axis → group → language → sentence; `neutral` is among the axes."""
    content = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    sentences: dict[str, dict[str, dict[str, str]]] = content["axes"]
    return sentences


def described(sample: Sample) -> Iterator[Sample]:
    """Return a dialogue without and with every sentence, each at the start of the person's first turn.

    The tags `axis`, `group` and `persona` (the sentence) say which; `base` is the dialogue without, which comes first.

    Raises:
        ValueError: the person has no turn in it.
    """
    plain = msgspec.structs.replace(sample, tags={**sample.tags, AXIS: NOBODY, GROUP: NOBODY})
    yield plain.variant(plain.messages)
    language = sample.tags.get("language", "en")
    for axis, groups in axes().items():
        for group, texts in groups.items():
            sentence = in_language(texts, language)
            messages = _opened(sample.messages, sentence)
            yield plain.variant(messages, **{AXIS: axis, GROUP: group, PERSONA: sentence})


def _opened(messages: tuple[Message, ...], sentence: str) -> tuple[Message, ...]:
    first = _first(messages)
    return _with(messages, first, join([sentence, messages[first].content]))


def _with(messages: tuple[Message, ...], place: int, text: str) -> tuple[Message, ...]:
    return (*messages[:place], Message("user", text), *messages[place + 1 :])


def _first(messages: tuple[Message, ...]) -> int:
    first = next((place for place, m in enumerate(messages) if m.role == "user"), None)
    if first is None:
        raise ValueError("the person says nothing in this dialogue")
    return first
