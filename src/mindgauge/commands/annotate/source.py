"""What people are to label: dialogues with or without replies from a file, or the subjects of a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.annotation.blind import Blind
from mindgauge.annotation.items import fault, item, text_key
from mindgauge.records import Status
from mindgauge.records.errors import DataError
from mindgauge.records.files import texts
from mindgauge.runs import inputs
from mindgauge.runs.replies import read_samples, rows
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mindgauge.annotation.records import Item
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Reply, Sample
    from mindgauge.records.files.texts import Frame

_NO_TEXT, _REPEATED, _NO_PART = "it has no text", "another has the same words", "it has no part that is judged"


class LabelSource(NamedTuple):
    """What is labelled, and the samples and replies that it comes from (of a run, they stay in it)."""

    items: list[Item]
    given: inputs.Inputs
    names: dict[str, str]
    """What an item may be called in a queue → its subject."""
    left_out: dict[str, str]
    """Subjects in the run that nobody labels → why."""
    blind: Blind | None = None
    """What names those of the run in its review lists; None where there are none."""

    @property
    def unlabelled(self) -> set[str]:
        """What a queue of the run may call those that nobody labels."""
        return {name for subject in self.left_out for name in _also(subject, self.blind)}

    @property
    def notes(self) -> list[str]:
        """What is to be known of it, one line each."""
        counts = Counter(self.left_out.values())
        told = [f"{count} left out: {why}" for why, count in counts.items()]
        return [*([self.given.note] if self.given.note else []), *told]


def of_file(source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str], language: str) -> LabelSource:
    """Read a file; each row is an item.

    Raises:
        DataError: it cannot be read, a row is empty, repeats another, or cannot be put to people; the message names it.
    """
    found = list(rows(source, columns))
    replied = any("reply" in row for row, _ in found)
    asks_for_reply = replied and not (benchmark.closed and not benchmark.about_reply)
    if not found:
        raise DataError(f"{source}: no rows; each is a dialogue, and a reply where one is asked about")
    _every_row_once(found, with_reply=asks_for_reply)
    if benchmark.closed and benchmark.about_reply:
        taken = inputs.classified(source, benchmark, columns, None)
    elif "judge" in benchmark.prompts or asks_for_reply:
        taken = inputs.replies(source, benchmark, columns, None)
    else:
        samples = read_samples(source, benchmark, columns)
        note = "the column `reply` is not shown: the question is about the dialogue" if replied else ""
        taken = inputs.Inputs(benchmark, samples, [], {"rate": True}, str(source), note)
    subjects = list(taken.subjects()) if taken.replies else [(sample, None) for sample in taken.samples]
    items = []
    for (_, where), (sample, reply) in zip(found, subjects, strict=True):
        items.append(item(benchmark, sample, reply, language))
        why = fault(benchmark, items[-1])
        if why:
            raise DataError(f"{where}: {why}")
    return LabelSource(items, taken, _names(items, [_called(s, r) for s, r in subjects]), {})


def of_run(folder: Path, benchmark: Benchmark, language: str) -> LabelSource:
    """Take the replies of a run, or of a closed question its samples, that a judge would be shown, as it would be.

    What has no text, or cannot be put to people, is left out; of replies with the same words the first is labelled.

    Raises:
        UsageError: there is no run.
        DataError: nothing in it can be labelled.
    """
    taken = inputs.run(folder, benchmark)
    kept: dict[str, Item] = {}
    called: list[str] = []
    blind = Blind.known(folder)
    same: dict[str, str] = {}
    left_out: dict[str, str] = {}
    with Store(folder) as store:

        def find(ident: str) -> Sample:
            return store.sample(benchmark.name, ident)

        subjects: Iterator[tuple[Sample, Reply | None]] = (
            ((sample, None) for sample in taken.samples) if benchmark.closed else taken.subjects()
        )
        for sample, reply in subjects:
            found, why = _shown(benchmark, sample, reply, find, language)
            key = text_key(found.messages, found.reply)
            why = why or fault(benchmark, found) or (_REPEATED if key in kept else "")
            if why:
                left_out[found.subject] = why
                if why == _REPEATED:
                    same |= dict.fromkeys(_also(found.subject, blind), kept[key].subject)
                continue
            kept[key] = found
            called.append(_called(sample, reply))
    if not kept:
        whys = "; ".join(f"{count}: {why}" for why, count in Counter(left_out.values()).items())
        raise DataError(f"{folder}: nothing of {benchmark.name} here can be labelled ({whys})")
    names = _names(list(kept.values()), called, blind) | same
    return LabelSource(list(kept.values()), taken, names, left_out, blind)


def _shown(benchmark: Benchmark, sample: Sample, reply: Reply | None, find: Any, language: str) -> tuple[Item, str]:
    if reply is None:
        return item(benchmark, sample, None, language), ""
    shown = benchmark.shown(sample, reply, find)
    about = item(benchmark, *(shown or (sample, reply)), language)
    if reply.status is not Status.OK or not reply.text.strip():
        return about, _NO_TEXT
    return about, "" if shown else _NO_PART


def _every_row_once(found: list[tuple[dict[str, Any], str]], *, with_reply: bool) -> None:
    """Check that each row has its texts, and that no two rows have the same."""
    seen: dict[str, str] = {}
    for row, where in found:
        reply = row.get("reply", "") if with_reply else ""
        if with_reply and not str(reply).strip():
            raise DataError(f"{where}: an empty reply; there is nothing to label, take the row out")
        first = seen.setdefault(text_key(texts.dialogue(row, where), str(reply)), where)
        if first != where:
            raise DataError(f"{where}: the same dialogue and reply as {first}; people label each once, take one out")


def _called(sample: Sample, reply: Reply | None) -> str:
    """Return the id that the source's own file gave it; empty if none."""
    return str(reply.provenance.get("source_id", "")) if reply else sample.tags.get("id", "")


def _names(items: list[Item], called: list[str], blind: Blind | None = None) -> dict[str, str]:
    """Return what each item may be called: its subject, its name in a review list, and the file's own id, if it is one's."""
    counts = Counter(called)
    names = {name: one.subject for one, name in zip(items, called, strict=True) if name and counts[name] == 1}
    return names | {name: one.subject for one in items for name in _also(one.subject, blind)}


def _also(subject: str, blind: Blind | None) -> tuple[str, ...]:
    return (subject,) if blind is None else (subject, blind.review(subject))
