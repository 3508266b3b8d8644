"""The training round: texts of ours whose level is known, which everybody labels first and is told about.

An open question has anchors, replies written to stand at known levels; a closed one has our own samples with their
targets.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from mindgauge.annotation.items import fault, item, text_key
from mindgauge.benchmarks.anchors import AUTHORS, Anchor, spread
from mindgauge.benchmarks.card import first_with
from mindgauge.records import Reply, Status
from mindgauge.records.languages import LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.annotation.records import Item
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample, Value


def known(benchmark: Benchmark) -> list[Anchor]:
    """Return a benchmark's texts with known levels; none where it has no such texts.

    Raises:
        DataError: a line of them is not as it should be.
    """
    if benchmark.closed:
        return [] if benchmark.standalone else _targets(benchmark)
    folders = [folder for folder in (benchmark.folder, benchmark.shared) if folder is not None]
    return benchmark.anchors() if first_with("anchors.jsonl", *folders) else []


def training(benchmark: Benchmark, anchors: Sequence[Anchor], labelled: Sequence[Item], count: int) -> list[Item]:
    """Choose the items of batch 0, with the levels that are expected of them.

    They are in the languages of what is to be labelled, the most frequent first, and spread over levels and protocols.
    None has the words of an item that is to be labelled.

    Args:
        benchmark: what is asked.
        anchors: to choose from.
        labelled: the items of the batches.
        count: at most so many.
    """
    shown_texts = {text_key(other.messages, other.reply) for other in labelled}
    by_language: dict[str, list[Anchor]] = {}
    for anchor in anchors:
        candidate = _item(benchmark, anchor)
        if (
            candidate.expected
            and not fault(benchmark, candidate)
            and text_key(candidate.messages, candidate.reply) not in shown_texts
        ):
            by_language.setdefault(candidate.tags[LANGUAGE], []).append(anchor)
    chosen: list[Anchor] = []
    for language, _ in Counter(other.tags[LANGUAGE] for other in labelled).most_common():
        chosen += spread(by_language.get(language, []), count - len(chosen), benchmark.protocol)
    return [_item(benchmark, anchor) for anchor in chosen]


def _item(benchmark: Benchmark, anchor: Anchor) -> Item:
    """Make an item of an anchor: of its reply where it has one, else of its sample."""
    reply = Reply.of(anchor.sample.id, AUTHORS, 0, Status.OK, anchor.reply) if anchor.reply else None
    prepared = item(benchmark, anchor.sample, reply)
    criteria = {criterion.name for criterion in benchmark.rubric.on(prepared.tags).criteria}
    expected = {name: level for name, level in anchor.ratings.items() if name in criteria}
    return msgspec.structs.replace(prepared, expected=expected)


def _targets(benchmark: Benchmark) -> list[Anchor]:
    levelled = ((sample, _levels(benchmark, sample)) for sample in benchmark.own_samples())
    return [Anchor(sample, "", levels) for sample, levels in levelled if levels]


def _levels(benchmark: Benchmark, sample: Sample) -> dict[str, Value | None]:
    """Return a sample's targets: its own on the first criterion, its tags `target.…` on others."""
    first, *others = benchmark.rubric.criteria
    tagged = {c.name: c.read(sample.tags.get(f"target.{c.name}")) for c in others}
    return {name: level for name, level in {first.name: sample.target, **tagged}.items() if level is not None}
