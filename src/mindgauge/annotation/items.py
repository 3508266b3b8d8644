"""From samples and replies to what people are shown, in which order of need, after a training round of texts whose level is known.

An item says nothing of where it comes from. Of a sample's tags it carries its language and those that decide how the
rubric is put (its protocol, which criteria apply, which levels are offered), and no other: a source, a model, a judge's
verdict or a target may stand in the others.

Within a tier of a batch, items stand by their ids, which are drawn by lot, and everybody has an order of their own. So
need decides which items come early, and nobody learns more than the tier from an item's place or number: not where it
stood in its source or in the queue, and not what a hash of it begins with.

An open question has anchors, replies written to stand at known levels; a closed one has our own samples with their
targets.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.annotation.records import Item
from mindgauge.benchmarks.anchors import AUTHORS, Anchor, spread
from mindgauge.benchmarks.card import first_with
from mindgauge.raters.risk_cues import first_risk
from mindgauge.raters.window import Unit
from mindgauge.records import Message, Reply, Status, digest, languages
from mindgauge.records.drawn import COLUMNS as DRAWN_COLUMNS
from mindgauge.records.drawn import WEIGHT, Drawn, of_row
from mindgauge.records.errors import DataError
from mindgauge.records.files import tables
from mindgauge.records.languages import LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample, Value
    from mindgauge.records.files.texts import Frame


RISK, GRAPHIC = "risk", "graphic"
"""Tags: that somebody is at risk, that they are covered until wanted."""
_YES = {"yes", "true", "1"}


def item(benchmark: Benchmark, sample: Sample, reply: Reply | None = None, language: str = "") -> Item:
    """Make an item of a sample, or of a reply to it, which may be a whole dialogue, or a client's message.

    A closed question is about the sample, an open one about the reply. Where there is none, the sample's last message is
    the reply, if the question is about one.

    Args:
        benchmark: what is asked.
        sample: the dialogue.
        reply: to it.
        language: of the texts, where no tag says it; told by their letters if not given.
    """
    messages, text = sample.messages, reply.text if reply else ""
    unit = str(reply.provenance.get("unit", "")) if reply else ""
    if unit == Unit.DIALOGUE:
        messages, text = (*messages, Message("assistant", text)), ""
    if reply is None and (benchmark.about_reply if benchmark.closed else messages[-1].role == "assistant"):
        messages, text = messages[:-1], messages[-1].content
    spoken = languages.named(sample.tags.get(LANGUAGE) or language) or languages.written(
        (*(message.content for message in messages), text)
    )
    return Item(
        subject=reply.id if reply else sample.id,
        messages=messages,
        reply=text,
        tags={
            LANGUAGE: spoken,
            **{t: sample.tags[t] for t in _wording(benchmark) if t in sample.tags},
            **({"unit": unit} if unit else {}),
        },
        cluster=digest("cluster", sample.cluster or sample.id),  # the user's own word for it may tell the source
        crisis=_crisis(benchmark, sample, (*messages, Message("user", text)) if unit == Unit.CLIENT else messages),
        graphic=_says_yes(sample.tags, GRAPHIC),
        turn=0 if unit in {"", Unit.DIALOGUE} or reply is None else int(reply.provenance.get("turn", 0)),
    )


def fault(benchmark: Benchmark, candidate: Item) -> str:
    """Say why an item cannot be labelled; empty if it can."""
    first_message = candidate.unit == Unit.CLIENT and not candidate.messages
    if not first_message and not any(message.content.strip() for message in candidate.messages):
        return "an empty dialogue; there is nothing to label"
    if _about_reply(benchmark) and candidate.unit != Unit.DIALOGUE and not candidate.reply.strip():
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


# The order of work by need: a queue first, then crises, then the rest as chance has it; cut into batches.


COLUMNS = ("subject", "review_id", "id")
"""Of a queue, the first that is there: as in a table of ratings, in the review list, or in the file of the items."""
BLOCK = 10
"""Items of a queue that make one tier: what stands so close together in it is needed alike."""


def read_queue(source: str | Path | Frame, names: Mapping[str, str], left_out: Collection[str] = ()) -> list[str]:
    """Read a queue: the subjects of items, each once, in its order.

    Args:
        source: a table, with one of `COLUMNS`.
        names: what an item may be called → its subject.
        left_out: names of what stands in the items' source but cannot be labelled; they are passed over.

    Raises:
        DataError: it has none of the columns, is empty, or names something else.
    """
    title = str(source) if isinstance(source, str | Path) else "the queue"
    column_map = tables.beside(source, COLUMNS)
    rows = list(tables.open_table(source, column_map.layout).rows(column_map.columns))
    if not rows:
        raise DataError(f"{title}: an empty queue")
    present = dict.fromkeys(name for _, row in rows for name in row)
    column = next((name for name in COLUMNS if name in present), None)
    if column is None:
        raise DataError(f"{title}: a queue needs a column {', '.join(COLUMNS)}; found {', '.join(present)}")
    queue: dict[str, None] = {}
    for line, row in rows:
        name = str(row.get(column, "")).strip()
        if name in names:
            queue[names[name]] = None
        elif not name:
            raise DataError(f"{title}:{line}: no {column}")
        elif name not in left_out:
            raise DataError(f"{title}:{line}: {column} {name!r} is none of the items; is this a queue of theirs?")
    return list(queue)


def read_draw(source: str | Path | Frame, names: Mapping[str, str]) -> dict[str, Drawn]:
    """Read with which probabilities a queue was drawn: subject → how; nothing where it says no probability.

    Args:
        source: a table, as `read_queue` takes it, which has read it.
        names: what an item may be called → its subject.

    Raises:
        DataError: only some rows have a probability, one is none, or two rows are about the same item.
    """
    title = str(source) if isinstance(source, str | Path) else "the queue"
    column_map = tables.beside(source, (*COLUMNS, *DRAWN_COLUMNS, WEIGHT))
    rows = [(f"{title}:{n}", row) for n, row in tables.open_table(source, column_map.layout).rows(column_map.columns)]
    read = [(place, row, of_row(row, place)) for place, row in rows]
    if all(record is None for *_, record in read):
        return {}
    drawn: dict[str, Drawn] = {}
    for place, row, record in read:
        if record is None:
            raise DataError(
                f"{place}: no probability, and other rows have one; of what was drawn each row says how probable that was"
            )
        name = next(str(row[column]).strip() for column in COLUMNS if column in row)
        subject = names.get(name)
        if subject in drawn:
            raise DataError(
                f"{place}: {name!r} has the same words as another that was drawn; the frame of a draw holds each once"
            )
        if subject is not None:
            drawn[subject] = record
    return drawn


def chosen(items: Sequence[Item], limit: int | None, queue: Sequence[str] = ()) -> list[Item]:
    """Take at most so many items: the first of the queue, and then by lot, so that no part of a file is preferred."""
    if limit is None or len(items) <= limit:
        return list(items)
    places = _places(queue)
    ranked = sorted(items, key=lambda item: (places.get(item.subject, len(places)), item.lot))
    selected = {item.id for item in ranked[:limit]}
    return [item for item in items if item.id in selected]


def batched(items: Sequence[Item], size: int, queue: Sequence[str] = (), *, by_lot: bool = False) -> list[Item]:
    """Return items in the order of work, with their batch (from 1) and tier.

    A last batch of less than a tenth of the size would have a gate that says nothing; it joins the one before. Items of
    one source dialogue are not kept together: the gate's intervals resample dialogues, and a queue's order binds.

    Args:
        items: in any order, which does not matter.
        size: of a batch.
        queue: subjects of items that come first, in this order.
        by_lot: cut batches by lot, whatever is needed, so that those that are finished are a part like the rest.
    """
    places = _places(queue)
    blocks = -(-len(places) // BLOCK)

    def tier(item: Item) -> int:
        return places[item.subject] // BLOCK if item.subject in places else blocks + (not item.crisis)

    def need(item: Item) -> tuple[int, int, tuple[str, int, str]]:
        if by_lot:
            return 0, 0, (item.id, 0, "")
        return tier(item), places.get(item.subject, 0), item.lot

    batches = max(len(items) // size, 1)
    if len(items) > size and (len(items) % size) * 10 >= size:
        batches += 1
    placed = [
        msgspec.structs.replace(item, batch=min(place // size + 1, batches), tier=tier(item))
        for place, item in enumerate(sorted(items, key=need))
    ]
    return sorted(placed, key=lambda item: (item.batch, item.tier, item.id))


def _places(queue: Sequence[str]) -> dict[str, int]:
    return {subject: place for place, subject in enumerate(queue)}


# The training round: texts of ours whose level is known, which everybody labels first and is told about.


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
