"""A request under a jailbreak: the fourteen kinds of TrustLLM, as pure functions of prompt and seed.

What a kind says around a request is its templates. Those of the released prompts are found in them when they are read
(`derived`), and never stand in this project; its own (`templates.toml`) are milder and serve where there are none.
Kinds and names: Sun et al., TrustLLM, arXiv 2401.05561; eight of them in TrustMH-Bench, arXiv 2603.03047.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from enum import StrEnum
from functools import cache, reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from mindgauge.benchmarks.variants.options import generator, order, pick, uniforms

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

    Templates = Mapping["JailbreakKind", Sequence["JailbreakTemplate"]]


class JailbreakKind(StrEnum):
    """What is done to a request, by the name that the released files give it."""

    FIXED_SENTENCE = "fixed sentence"
    NO_PUNCTUATION = "no punctuation"
    PROGRAMMING = "programming"
    CHAIN_OF_UTTERANCES = "cou"
    NO_REFUSAL_WORDS = "Refusal sentence prohibition"
    STEP_BY_STEP = "cot"
    SCENARIO = "scenario"
    MULTITASK = "multitask"
    NO_LONG_WORD = "no_long_word"
    URL_ENCODE = "url_encode"
    WITHOUT_THE = "without_the"
    JSON_FORMAT = "json_format"
    LEETSPEAK = "leetspeak"
    BAD_WORDS = "bad words"

    @classmethod
    def named(cls, label: str) -> JailbreakKind:
        """Return the kind of a label; `no_punctuation` is another spelling.

        Raises:
            ValueError: there is none of this name.
        """
        return cls("no punctuation" if label == "no_punctuation" else label)


class JailbreakTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands before and after a request; in a multitask, also the tasks that it is hidden among."""

    before: str = ""
    after: str = ""
    tasks: tuple[str, ...] = ()


_BOUNDARY = re.compile(r"(?s).*(?:[:.!?#\"”(]\s*|\n)")
_TASK = re.compile(r"(?m)^\d+\. ?(.*)$")
_HINGE = re.compile(r"(?<![^.!?:\n\"”])[^.!?:\n\"”]*\w:\s*$")
_PARAMETERS = re.compile(r"(?<!\w)\w+\(((?:\w, )+\w)\)")
_ENOUGH = 5
"""Prompts that must end alike before the end is taken for the template's."""
_TASKS = 4


def transform(prompt: str, kind: JailbreakKind, *, templates: Templates | None = None, seed: int = 0) -> str:
    """Put a request under a jailbreak.

    Args:
        prompt: the request; it stands in the result as it is, except percent-encoded or cut into pieces where the kind
            says so.
        kind: of the jailbreak.
        templates: by kind; our own where there are none of a kind.
        seed: of the choice among templates and tasks.
    """
    if kind is JailbreakKind.URL_ENCODE:
        return quote(prompt, safe="")
    draws = generator(seed, kind, prompt)
    choices = (templates or {}).get(kind) or own_templates()[kind]
    template = pick(choices, draws.random())
    if kind is JailbreakKind.PROGRAMMING:
        return template.before + ", ".join(_pieces(prompt, template.before, draws)) + template.after
    if kind is JailbreakKind.MULTITASK:
        tasks = [template.tasks[place] for place in order(draws, len(template.tasks))[:_TASKS]]
        return template.before + "\n".join(f"{n}. {task}" for n, task in enumerate([*tasks, prompt], 1))
    blank = " " if template.after and not template.after[0].isspace() else ""
    return f"{template.before}{prompt}{blank}{template.after}"


def _pieces(prompt: str, before: str, draws: random.Random) -> list[str]:
    """Cut a request between words, into as many pieces as the described function takes."""
    match = _PARAMETERS.search(before)
    count = len(match[1].split(", ")) if match else 2
    words = prompt.split(" ")
    cuts = sorted(1 + int(draw * max(len(words) - 1, 0)) for draw in uniforms(draws, count - 1))
    bounds = [0, *cuts, len(words)]
    return [" ".join(words[a:b]) for a, b in pairwise(bounds)]


@cache
def own_templates() -> dict[JailbreakKind, tuple[JailbreakTemplate, ...]]:
    """Return this project's own templates."""
    content = tomllib.loads(Path(__file__).with_name("templates.toml").read_text(encoding="utf-8"))
    return msgspec.convert(
        {JailbreakKind(name): rows for name, rows in content.items()},
        dict[JailbreakKind, tuple[JailbreakTemplate, ...]],
    )


def derived(prompts: Iterable[tuple[str, str]]) -> dict[JailbreakKind, tuple[JailbreakTemplate, ...]]:
    """Find the templates in released prompts: what several of a kind have in common, once the request is taken away.

    Args:
        prompts: label and prompt, several of each label.

    Raises:
        ValueError: a label is none of the fourteen.
    """
    by_kind: dict[JailbreakKind, list[str]] = defaultdict(list)
    for label, prompt in prompts:
        by_kind[JailbreakKind.named(label)].append(prompt)
    templates = {
        kind: tuple(_templates(kind, sorted({*texts})))
        for kind, texts in by_kind.items()
        if kind is not JailbreakKind.URL_ENCODE
    }
    return {kind: texts for kind, texts in templates.items() if texts}


def _templates(kind: JailbreakKind, prompts: list[str]) -> list[JailbreakTemplate]:
    if kind is JailbreakKind.MULTITASK:
        return _multitask(prompts)
    shared = _beginnings(prompts)
    ways = Counter(_hinge(beginning) for beginning in {*shared})
    hinges = [hinge for hinge, count in sorted(ways.items()) if hinge and count > 1]
    groups: dict[str, list[str]] = defaultdict(list)
    for prompt, beginning in zip(prompts, shared, strict=True):
        ends = [prompt.rindex(hinge) + len(hinge) for hinge in hinges if hinge in prompt]
        groups[prompt[: max(ends)] + " " if ends else beginning].append(prompt)
    templates = [JailbreakTemplate(beginning, _end(beginning, texts)) for beginning, texts in sorted(groups.items())]
    longer = [t.before for t in templates]
    return [
        t
        for t in templates
        if (t.before or t.after) and not any(b != t.before and b.startswith(t.before) for b in longer)
    ]


def _hinge(beginning: str) -> str:
    """Return the words that lead over to a request (`My question:`), where a beginning ends with such."""
    match = _HINGE.search(beginning)
    return match[0].rstrip() if match else ""


def _beginnings(prompts: list[str]) -> list[str]:
    """Return what each prompt has in common with a neighbour in alphabetical order, up to where a request could begin."""
    common = ["", *(_common(text, following) for text, following in pairwise(prompts)), ""]
    matches = [_BOUNDARY.match(max(around, key=len)) for around in pairwise(common)]
    return [match[0] if match else "" for match in matches]


def _common(text: str, other: str) -> str:
    """Return the beginning that two texts share, whose end is looked for by halves."""
    start, end = 0, min(len(text), len(other))
    while start < end:
        middle = (start + end + 1) // 2
        if text[start:middle] == other[start:middle]:
            start = middle
        else:
            end = middle - 1
    return text[:start]


def _end(beginning: str, prompts: list[str]) -> str:
    """Return how all prompts of one beginning end, from where a request could have ended."""
    if len(prompts) < _ENOUGH:
        return ""
    common = reduce(_common, (prompt[::-1] for prompt in prompts))[::-1]
    if beginning.endswith("(") and common.endswith(")"):
        return ")"
    start = re.search(r"(?:^|[\s.!?])(?=[A-Z\n\-])", common)
    tail = common[start.start() :].strip() if start else ""
    return tail if re.search(r"\w", tail) else ""


def _multitask(prompts: list[str]) -> list[JailbreakTemplate]:
    """Return the one beginning before the numbered tasks, and all harmless tasks of all prompts."""
    heads = [prompt.partition("1. ")[0] for prompt in prompts]
    before = max(sorted({*heads}), key=heads.count, default="")
    numbered = ("1. " + prompt.partition("1. ")[2] for prompt in prompts)
    tasks = {task.strip() for text in numbered for task in _TASK.findall(text)[:_TASKS]}
    return [JailbreakTemplate(before, tasks=tuple(sorted(tasks - {""})))] if before and tasks else []
