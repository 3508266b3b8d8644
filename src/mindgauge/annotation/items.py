"""From samples and replies to what people are shown: the texts, and what the rubric needs to be worded.

An item says nothing of where it comes from. Of a sample's tags it carries its language and those that decide how the
rubric is put (its protocol, which criteria apply, which levels are offered), and no other: a source, a model, a judge's
verdict or a target may stand in the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.annotation.records import Item
from mindgauge.raters.risk_cues import first_risk
from mindgauge.records import Message, digest, languages
from mindgauge.records.languages import LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Reply, Sample

RISK, GRAPHIC = "risk", "graphic"
"""Tags: that somebody is at risk, that they are covered until wanted."""
_YES = {"yes", "true", "1"}


def item(benchmark: Benchmark, sample: Sample, reply: Reply | None = None, language: str = "") -> Item:
    """Make an item of a sample, or of a reply to it.

    A closed question is about the sample, an open one about the reply. Where there is none, the sample's last message is
    the reply, if the question is about one.

    Args:
        benchmark: what is asked.
        sample: the dialogue.
        reply: to it.
        language: of the texts, where no tag says it; told by their letters if not given.
    """
    messages, text = sample.messages, reply.text if reply else ""
    last_is_asked = benchmark.about_reply if benchmark.closed else messages[-1].role == "assistant"
    if reply is None and last_is_asked:
        messages, text = messages[:-1], messages[-1].content
    spoken = languages.named(sample.tags.get(LANGUAGE) or language) or languages.written(
        (*(message.content for message in messages), text)
    )
    return Item(
        subject=reply.id if reply else sample.id,
        messages=messages,
        reply=text,
        tags={LANGUAGE: spoken, **{t: sample.tags[t] for t in _wording(benchmark) if t in sample.tags}},
        cluster=digest("cluster", sample.cluster or sample.id),  # the user's own word for it may tell the source
        crisis=_crisis(benchmark, sample, messages),
        graphic=_says_yes(sample.tags, GRAPHIC),
    )


def fault(benchmark: Benchmark, candidate: Item) -> str:
    """Say why an item cannot be labelled; empty if it can."""
    if not any(message.content.strip() for message in candidate.messages):
        return "an empty dialogue; there is nothing to label"
    if _about_reply(benchmark) and not candidate.reply.strip():
        return "an empty reply; there is nothing to label"
    protocols = {name for criterion in benchmark.rubric.criteria for name in criterion.protocols}
    if protocols and candidate.tags.get(benchmark.protocol) not in protocols:
        protocol = candidate.tags.get(benchmark.protocol)
        problem = f"unknown {benchmark.protocol} {protocol!r}" if protocol else f"it has no {benchmark.protocol}"
        return f"{problem}, which chooses the rubric's wording (known are {', '.join(sorted(protocols))})"
    if not benchmark.rubric.on(candidate.tags).criteria:
        return "no criterion of the rubric is about it"
    return ""


def text_key(messages: tuple[Message, ...], reply: str) -> str:
    """Return the same for the same dialogue and reply, blanks at their ends aside."""
    return digest("text", [(message.role, message.content.strip()) for message in messages], reply.strip())


def _about_reply(benchmark: Benchmark) -> bool:
    return benchmark.about_reply or "judge" in benchmark.prompts


def _wording(benchmark: Benchmark) -> list[str]:
    """Return the tags that decide how the rubric is put."""
    tags = [benchmark.protocol]
    for criterion in benchmark.rubric.criteria:
        tags += [*criterion.applies, criterion.options]
    return sorted({tag for tag in tags if tag})


def _crisis(benchmark: Benchmark, sample: Sample, messages: tuple[Message, ...]) -> bool:
    """Say whether somebody is at risk: a tag says so, or the person's words may mean it.

    A closed question may be about just that, and the order of work would tell the target: there only words count, and
    what the user says with a column `risk`.
    """
    group = {} if benchmark.closed else benchmark.groups.get(benchmark.lead_group, {})
    tagged = group and all(sample.tags.get(tag) in values for tag, values in group.items())
    return bool(tagged) or _says_yes(sample.tags, RISK) or first_risk(messages) is not None


def _says_yes(tags: Mapping[str, str], tag: str) -> bool:
    return tags.get(tag, "").strip().casefold() in _YES
