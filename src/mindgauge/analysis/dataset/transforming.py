"""Items in other forms as a data set of the same kind: what was made of each, what was dropped and why, and a sample for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis.dataset import build
from mindgauge.analysis.dataset.build import StepAccount
from mindgauge.analysis.dataset.recipe import written_out
from mindgauge.benchmarks.own_columns import VARIANT
from mindgauge.benchmarks.variants import by_name
from mindgauge.records import BASE, Message, Sample, digest
from mindgauge.records.drawn import COLUMNS as DRAWN_COLUMNS
from mindgauge.records.drawn import Drawn
from mindgauge.stats import sampling
from mindgauge.stats.jackknife import effective

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class MadeText(msgspec.Struct, frozen=True):
    """What was made of an item, or why nothing was."""

    place: int
    """Of the item among all."""
    variant: str
    messages: tuple[Message, ...] = ()
    target: str | None = None
    """Its label, where that is not the item's."""
    tags: dict[str, str] = {}
    fault: str = ""
    subject: str = ""
    """What a run calls it, where models wrote or read it and people can look at it."""

    anew: bool = False
    """Whether it was written anew, so that one message is a text though the item is a dialogue."""

    def dialogue(self, item: Mapping[str, object]) -> bool:
        """Whether it is a dialogue, made of such an item."""
        return len(self.messages) > 1 or (not self.anew and item["messages"] is not None)


def samples(items: pl.DataFrame) -> list[Sample]:
    """Return items as samples, one after the other; what shares a group is one cluster."""
    rows = items.select("text", "messages", "language", "label", "group").iter_rows()
    return [_sample(*row) for row in rows]


def _sample(text: str, messages: list[dict[str, str]] | None, language: str, label: str | None, group: str) -> Sample:
    turns = (Message("user", text),) if messages is None else tuple(msgspec.convert(turn, Message) for turn in messages)
    return Sample.of(turns, target=label, tags={"language": language}, cluster=group)


def by_rule(items: pl.DataFrame, names: Sequence[str], seed: int) -> Iterator[MadeText]:
    """Yield the variants by rule of each item (`benchmarks.variants.by_name`)."""
    for place, sample in enumerate(samples(items)):
        for name, variant in by_name.variants(sample, names, seed):
            if isinstance(variant, str):
                yield MadeText(place, name, fault=variant)
            else:
                target = None if variant.target == sample.target else str(variant.target)
                yield MadeText(place, name, variant.messages, target)


def tables(items: pl.DataFrame, texts: Sequence[MadeText]) -> tuple[pl.DataFrame, pl.DataFrame, list[StepAccount]]:
    """Put what was made into two tables: everything is an item, or is dropped with a reason.

    An item has everything from the one that it was made from (group, cluster and split among it) but its words, the id of
    these, and a label that goes with them. Of equal texts the first stays.
    """
    rows = [*items.iter_rows(named=True)]
    items_by_id: dict[str, dict[str, object]] = {}
    dropped: list[dict[str, object]] = []
    counts: dict[str, Counter[str]] = {}
    for text in sorted(texts, key=lambda text: (rows[text.place]["id"], text.place)):
        item = rows[text.place]
        dialogue = text.dialogue(item)
        words = written_out(text.messages) if dialogue else "".join(turn.content for turn in text.messages)
        ident = digest("item", words)
        repeated = not text.fault and ident in items_by_id
        reason = "the same text as another" if repeated else text.fault
        counts.setdefault(_form(text), Counter())[reason] += 1
        row = {
            **item, "id": ident, "text": words, BASE: item["id"], VARIANT: text.variant,
            "messages": [msgspec.structs.asdict(turn) for turn in text.messages] if dialogue else None,
            "label": item["label"] if text.target is None else text.target, **text.tags,
        }  # fmt: skip
        if reason:
            of = ident if repeated else None
            dropped.append({**row, "step": f"transform {_form(text)}", "reason": reason, "of": of})
        else:
            items_by_id[ident] = row
    tags = sorted({name for text in texts for name in text.tags})
    schema = {**{name: items.schema[name] for name in items.columns}, **dict.fromkeys((BASE, VARIANT, *tags), pl.String())}  # fmt: skip
    outcome = pl.DataFrame([*items_by_id.values()], schema).sort("id")
    drops = pl.DataFrame(dropped, dict.fromkeys((*build.DROPPED, BASE, VARIANT), pl.String()))
    steps = [
        StepAccount(f"transform {form}", n.total(), n.total() - n[""], dict(sorted((reason, k) for reason, k in n.items() if reason)))
        for form, n in counts.items()
    ]  # fmt: skip
    return outcome.rechunk(), drops.sort(BASE, VARIANT, "id").rechunk(), steps


def _form(text: MadeText) -> str:
    return text.variant.partition(":")[0]


def people_sample(items: pl.DataFrame, texts: Sequence[MadeText], number: int, seed: int) -> pl.DataFrame:
    """Draw by lot what people look at, as even as can be from each form, from what passed and what did not.

    A row each: `subject`, and with which probability it was drawn (docs/tasks/annotate.md). What is there says nothing of form
    or verdict to whoever labels: the page shows neither.
    """
    frame = {text.subject: text for text in sorted(texts, key=lambda text: text.subject) if text.subject}
    strata: dict[str, list[str]] = {}
    for subject, text in frame.items():
        strata.setdefault(f"{_form(text)}, {'dropped' if text.fault else 'kept'}", []).append(subject)
    sizes = [len(subjects) for subjects in strata.values()]
    numbers = _shares(sizes, number)
    groups = items["group"].to_list()
    clusters = Counter(groups[text.place] for text in frame.values())
    conversations = round(effective(np.array([*clusters.values()], float)), 3) if frame else 0.0
    name = digest("transform", sorted(frame), number, seed)[:8]
    rows = [
        (subjects[int(place)], *Drawn(len(lot) / size, stratum, size, len(frame), conversations, name).cells)
        for (stratum, subjects), size, lot in zip(strata.items(), sizes, sampling.draw(sizes, numbers, seed), strict=True)
        for place in lot
    ]  # fmt: skip
    return pl.DataFrame(rows, ["subject", *DRAWN_COLUMNS], orient="row")


def _shares(sizes: Sequence[int], number: int) -> list[int]:
    """Share a number among strata as evenly as their sizes allow, at least one of each."""
    numbers = [min(size, 1) for size in sizes]
    while sum(numbers) < min(number, sum(sizes)):
        place = min((place for place, size in enumerate(sizes) if numbers[place] < size), key=numbers.__getitem__)
        numbers[place] += 1
    return numbers
