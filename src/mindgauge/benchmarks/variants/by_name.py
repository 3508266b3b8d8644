"""Variants by rule of any sample, by name: `noise:word:0.10`, `personas:gender:woman`, `jailbreak:cot`, `options:shuffled`.

A name's beginning stands for all that begin so: `noise`, `personas:gender`. `plain` is the sample itself.

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
from mindgauge.benchmarks.variants import jailbreak, perturbation
from mindgauge.benchmarks.variants.options import MultipleChoice
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rubric import in_language
from mindgauge.records.text import join

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


PERSONA = "persona"
"""The tag with the sentence that was put in."""


@cache
def axes() -> dict[str, dict[str, dict[str, str]]]:
    """Return the sentences: axis → group → language → sentence; `neutral` is among the axes."""
    content = tomllib.loads(Path(__file__).with_name("personas.toml").read_text(encoding="utf-8"))
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


PLAIN = "plain"
ROTATIONS = 3
"""So many places options are rotated by, one after the other."""


@cache
def names() -> tuple[str, ...]:
    """Return the names of all variants."""
    return (
        PLAIN,
        *(f"noise:{depth}:{perturbation.written(intensity)}" for depth, intensity in perturbation.CELLS),
        *(f"personas:{axis}:{group}" for axis, groups in axes().items() for group in groups),
        *(f"jailbreak:{kind}" for kind in jailbreak.JailbreakKind),
        "options:shuffled",
        *(f"options:rotated:{places}" for places in range(1, ROTATIONS + 1)),
    )


def beginning(form: str) -> list[str]:
    """Return the names that are a form, or begin with it; none where it is none of ours.

    Raises:
        UsageError: its first part is ours, and what follows is not.
    """
    matches = [name for name in names() if name == form or name.startswith(f"{form}:")]
    prefix = form
    while not matches and ":" in prefix:
        prefix = prefix.rpartition(":")[0]
        if names_below := beginning(prefix):
            parts = dict.fromkeys(name.removeprefix(f"{prefix}:").partition(":")[0] for name in names_below)
            raise UsageError(f"--form {form}: after {prefix}: come {', '.join(parts)}")
    return matches


def variants(sample: Sample, wanted: Sequence[str], seed: int) -> Iterator[tuple[str, Sample | str]]:
    """Yield the variants of a sample, each with its name; in the place of one that it has not, why.

    Args:
        sample: any, whose `language` its tags may say.
        wanted: names.
        seed: of all draws.
    """
    described = _described(sample) if any(name.startswith("personas:") for name in wanted) else {}
    for name in wanted:
        kind, _, detail = name.partition(":")
        try:
            match kind:
                case "personas":
                    yield name, described[detail]
                case "noise":
                    depth, _, intensity = detail.partition(":")
                    yield name, perturbation.perturbed(sample, perturbation.Depth(depth), float(intensity), seed)
                case "jailbreak":
                    yield name, _jailbroken(sample, jailbreak.JailbreakKind(detail), seed)
                case "options":
                    yield name, _reordered(sample, detail, seed)
                case _:
                    yield name, sample
        except (KeyError, DataError) as error:
            yield name, "the person says nothing in it" if isinstance(error, KeyError) else str(error)


def _described(sample: Sample) -> dict[str, Sample]:
    """Return the variants with a sentence on who the person is: `AXIS:GROUP` → variant; none where the person says nothing."""
    if all(message.role != "user" for message in sample.messages):
        return {}
    return {f"{variant.tags[AXIS]}:{variant.tags[GROUP]}": variant for variant in described(sample)}


def _jailbroken(sample: Sample, kind: jailbreak.JailbreakKind, seed: int) -> Sample:
    *before, request = sample.messages
    if request.role != "user":
        raise DataError("it does not end with a request of the person")
    attack = Message("user", jailbreak.transform(request.content, kind, seed=seed))
    return sample.variant((*before, attack), jailbreak=str(kind))


def _reordered(sample: Sample, order: str, seed: int) -> Sample:
    question = MultipleChoice.of(sample)
    if order == "shuffled":
        changed = question.shuffled(seed, sample.id)
    else:
        places, size = int(order.rpartition(":")[2]), len(question.options)
        if places >= size:
            raise DataError(f"it has {size} options, and is itself again after {size} places")
        changed = question.ordered([(place + places) % size for place in range(size)])
    reordered = changed.sample()
    return sample.variant(reordered.messages, target=reordered.target, options=order)
