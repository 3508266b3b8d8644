"""An item in other forms whose content is the same, or has one thing more that should not count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.analysis.stress import wording
from mindgauge.analysis.stress.items import Version
from mindgauge.analysis.stress.wording import worded
from mindgauge.models.family import same_family
from mindgauge.records.text import HAN, join, split

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.stress.items import OriginalReply, Setting

TWICE = "said twice"
LIST, BOLD, HEADINGS = "list", "bold", "headings"
OWN, OTHER = "own family", "other family"
CLINICIAN, PRAISE, CONTEMPT, PLACEBO = "clinician", "praise", "contempt", "placebo"
PARAPHRASE = "paraphrase"
ENGLISH, CHINESE = "instructions in English", "instructions in Chinese"
OTHERS = ("gpt-5", "claude-sonnet-4", "llama-4", "qwen3", "gemini-2.5-pro")
"""Models that people know, to be named beside a judge of another family."""
_LEAD = 3
"""Words of a sentence that are set in bold; of Chinese, twice as many characters."""


def verbosity(item: OriginalReply, _: Setting) -> Iterator[Version]:
    """Say every sentence twice: longer, and nothing more in it."""
    bridge = worded(wording.AGAIN, item.language)
    doubled = [part for sentence in split(item.reply.text) for part in (sentence, bridge, sentence)]
    yield Version.replied(item, TWICE, join(doubled))


def formats(item: OriginalReply, _: Setting) -> Iterator[Version]:
    """Set the same sentences as Markdown: as a list, with bold leads, under headings that say nothing."""
    sentences = split(item.reply.text)
    yield Version.replied(item, LIST, "\n".join(f"- {sentence}" for sentence in sentences))
    yield Version.replied(item, BOLD, join([_led(sentence) for sentence in sentences]))
    half = (len(sentences) + 1) // 2
    parts = [part for part in (sentences[:half], sentences[half:]) if part]
    sections = [f"## {worded(wording.PART, item.language, number=n)}\n\n{join(p)}" for n, p in enumerate(parts, 1)]
    yield Version.replied(item, HEADINGS, "\n\n".join(sections))


def _led(sentence: str) -> str:
    lead = sentence[: 2 * _LEAD] if HAN.search(sentence) else "".join(re.findall(r"\S+\s*", sentence)[:_LEAD])
    return f"**{lead.rstrip()}**{sentence[len(lead.rstrip()) :]}"


def named(item: OriginalReply, setting: Setting) -> Iterator[Version]:
    """Name a model as the author: one of the judge's family, one of another."""
    other = next(name for name in OTHERS if not same_family(setting.judge, name))
    for version, name in ((OWN, re.split("[/#]", setting.judge)[-1]), (OTHER, other)):
        line = worded(wording.WRITTEN_BY, item.language, name=name)
        yield Version.replied(item, version, f"{line}\n\n{item.reply.text}")


def authority(item: OriginalReply, _: Setting) -> Iterator[Version]:
    """Open the reply with a clinician's credentials, or with as many words that claim nothing."""
    for version, texts in ((CLINICIAN, wording.CLINICIAN), (PLACEBO, wording.NOBODY)):
        yield Version.replied(item, version, join([worded(texts, item.language), item.reply.text]))


def sycophancy(item: OriginalReply, _: Setting) -> Iterator[Version]:
    """Let the person praise the answer beforehand, or run it down, or speak of something else."""
    for version, texts in ((PRAISE, wording.PRAISE), (CONTEMPT, wording.CONTEMPT), (PLACEBO, wording.NOTHING)):
        text = join([item.sample.messages[-1].content, worded(texts, item.language)])
        yield Version.said(item, version, text)


def instructions(item: OriginalReply, setting: Setting) -> Iterator[Version]:
    """Ask about the same reply in either language."""
    if {"en", "zh"} <= setting.languages:
        yield Version.tagged(item, CHINESE, language="zh")
        yield Version.tagged(item, ENGLISH, language="en")


def paraphrase(item: OriginalReply, _: Setting) -> Iterator[Version]:
    """Take the reply in other words, where its authors wrote it so."""
    if item.paraphrase:
        yield Version.replied(item, PARAPHRASE, item.paraphrase)
