"""What people are to label: dialogues with or without replies from a file, or the subjects of a run."""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

import mindgauge.annotation
from mindgauge.analysis.score import open_run
from mindgauge.annotation.blind import Blind
from mindgauge.annotation.items import fault, item, text_key
from mindgauge.benchmarks.persons.dialogues import CLIENT_FAILURES
from mindgauge.raters.window import Unit
from mindgauge.records import Message, RaterKind, Status, encode
from mindgauge.records.drawn import of_row
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import tables, texts
from mindgauge.runs import dialogue_files, inputs, languages
from mindgauge.runs.reply_tables import read_samples, rows
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mindgauge.annotation.records import Item
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Reply, Sample
    from mindgauge.records.files.texts import Frame

RATIONALES = "rationales"
"""What `--rubric` calls the packaged rubric on judges' reasons."""
RUBRIC = Path(str(resources.files(mindgauge.annotation) / "rationales.toml"))
_UNITS = "SELECT DISTINCT json_extract(provenance, '$.unit') FROM replies WHERE benchmark = ?"
_KINDS = {Unit.TURN: "single turns", Unit.DIALOGUE: "whole dialogues", Unit.CLIENT: "messages of a person"}
_WHERE_THEY_ARE = "; they are there where a client plays the person, and where transcripts are rated with --unit client"
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
        omissions = [f"{count} left out: {reason}" for reason, count in counts.items()]
        return [*self.given.notes, *omissions]


def of_file(source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str], language: str) -> LabelSource:
    """Read a file; each row is an item.

    Raises:
        DataError: it cannot be read, a row is empty, repeats another, or cannot be put to people; the message names it.
    """
    table_rows = list(rows(source, columns))
    replied = any("reply" in row for row, _ in table_rows)
    asks_for_reply = replied and not (benchmark.closed and not benchmark.about_reply)
    if not table_rows:
        raise DataError(f"{source}: no rows; each is a dialogue, and a reply where one is asked about")
    _every_row_once(table_rows, with_reply=asks_for_reply)
    if benchmark.closed and benchmark.about_reply:
        taken = inputs.classified(source, benchmark, columns, None)
    elif asks_for_reply or ("judge" in benchmark.prompts and not benchmark.standalone):
        taken = inputs.replies(source, benchmark, columns, None)
    else:
        samples = read_samples(source, benchmark, columns)
        samples = languages.told(samples) if benchmark.standalone else samples
        note = "the column `reply` is not shown: the question is about the dialogue" if replied else ""
        taken = inputs.Inputs(benchmark, samples, [], {"rate": True}, str(source), note)
    subjects = list(taken.subjects()) if taken.replies else [(sample, None) for sample in taken.samples]
    items = []
    for (row, place), (sample, reply) in zip(table_rows, subjects, strict=True):
        entry = item(benchmark, sample, reply, language)
        items.append(msgspec.structs.replace(entry, drawn=of_row(row, place)))
        reason = fault(benchmark, items[-1])
        if reason:
            raise DataError(f"{place}: {reason}")
    return LabelSource(items, taken, _names(items, [_called(s, r) for s, r in subjects]), {})


def reasons(run: object) -> Frame:
    """Return the reasons of a run's judges as a table: each answers the dialogue and the reply that it is about; the model is the judge.

    Raises:
        UsageError: it is no run, or no judge gave reasons there.
    """
    if not (isinstance(run, str | Path) and tables.is_run(run)):
        raise UsageError(f"--rubric {RATIONALES} asks about the reasons of judges; name their run with --items")
    table: dict[str, dict[str, str]] = {}
    store, benchmarks, _ = open_run(Path(run))
    with store:
        for benchmark in (task for task in benchmarks if not task.closed):
            samples = {sample.id: sample for sample in store.samples(benchmark.name)}
            replies = {reply.id: reply for reply in store.replies(benchmark.name)}
            for rating in store.ratings(benchmark.name):
                reply = replies.get(rating.subject)
                by_judge = rating.rater_kind is RaterKind.MODEL and rating.status is Status.OK
                if reply is None or not by_judge or not rating.rationale:
                    continue
                sample = reply.answered(samples[reply.sample])
                dialogue = (*sample.messages, Message("assistant", reply.text))
                steps = [f"{name}: {answer}" for name, answer in rating.provenance.get("checks", {}).items()]
                quotes = [f"> {evidence.quote}" for evidence in rating.evidence]
                text = "\n".join([f"{rating.criterion}: {rating.value}", *steps, *quotes, rating.rationale])
                row = {
                    "messages": encode(dialogue).decode(),
                    "reply": text,
                    "model": rating.rater,
                    "cluster": sample.cluster,
                }
                table.setdefault(text_key(dialogue, text), row)
    if not table:
        raise UsageError(f"{run}: no judge gave reasons here")
    return pl.DataFrame([*table.values()])


def of_dialogues(
    source: str | Path | Frame,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    language: str,
    unit: Unit,
    write_items: str | Path | None = None,
) -> LabelSource:
    """Cut transcripts into what people label; see `of_run`, as which their parts are put to people.

    A closed question is about one reply, or one message of the person, with the dialogue before it.

    Raises:
        UsageError: the question is not about this unit, or the items cannot be written.
        DataError: no transcript can be read, or nothing in it can be labelled.
    """
    required = (Unit.TURN if benchmark.about_reply else Unit.CLIENT) if benchmark.closed else unit
    if unit is not required:
        raise UsageError(
            f"{benchmark.name} is asked about {_KINDS[required]} with the dialogue before; use --unit {required}"
        )
    cut = dialogue_files.cut(source, benchmark, columns, (unit,), None)
    if write_items is not None:
        dialogue_files.write(Path(write_items), cut)
    if benchmark.closed:
        read = of_file(
            cut.table.unique(["messages", *(["reply"] if benchmark.about_reply else [])], maintain_order=True),
            benchmark,
            {},
            language,
        )
        return read._replace(given=read.given._replace(source=str(source), notes=[*cut.lines, *read.given.notes]))
    dialogue_files.check_units(benchmark, (unit,))
    dialogues = dialogue_files.read(source, benchmark, columns, (unit,))
    taken = inputs.Inputs(
        benchmark, dialogues.samples, dialogues.replies, {"rate": True}, str(source), dialogues.lines, model=dialogues.model
    )  # fmt: skip
    samples = {sample.id: sample for sample in dialogues.samples}
    return _labelled(benchmark, taken, taken.subjects(), samples.__getitem__, unit, language)


def replied(source: str | Path | Frame, columns: Mapping[str, str]) -> bool:
    """Say whether a file holds replies: in a column of theirs, or as the last message of a dialogue.

    Raises:
        DataError: it cannot be read.
    """
    return any(
        "reply" in row or texts.dialogue(row, place)[-1].role == "assistant" for row, place in rows(source, columns)
    )


def of_run(folder: Path, benchmark: Benchmark, language: str, unit: Unit | None = None) -> LabelSource:
    """Take the replies of a run, or of a closed question its samples, that a judge would be shown, as it would be.

    What has no text, or cannot be put to people, is left out; of replies with the same words the first is labelled. Of
    dialogues of several turns, one unit is labelled: whole dialogues, where there are such, if none is named.

    Raises:
        UsageError: there is no run, or it has no dialogues of several turns, of which a unit is labelled.
        DataError: nothing in it can be labelled.
    """
    taken = inputs.run(folder, benchmark)
    with Store(folder) as store:
        unit = _unit(store, benchmark, folder, unit)
        subjects: Iterator[tuple[Sample, Reply | None]] = (
            ((sample, None) for sample in taken.samples) if benchmark.closed else taken.subjects()
        )
        find = partial(store.sample, benchmark.name)
        return _labelled(benchmark, taken, subjects, find, unit, language, Blind.known(folder))


def _labelled(
    benchmark: Benchmark,
    taken: inputs.Inputs,
    subjects: Iterable[tuple[Sample, Reply | None]],
    find: Callable[[str], Sample],
    unit: Unit | None,
    language: str,
    blind: Blind | None = None,
) -> LabelSource:
    """Take what can be put to people, each text once.

    Raises:
        DataError: nothing can.
    """
    by_text: dict[str, Item] = {}
    source_ids: list[str] = []
    same: dict[str, str] = {}
    left_out: dict[str, str] = {}
    dialogues: defaultdict[object, str] = defaultdict(lambda: f"d{secrets.token_hex(8)}")
    for sample, reply in subjects:
        if unit is not None and reply is not None and (own_unit := str(reply.provenance.get("unit", ""))) != unit:
            kind = _KINDS[Unit(own_unit)] if own_unit else "replies by themselves"
            left_out[reply.id] = f"{kind}, while {_KINDS[unit]} are labelled"
            continue
        candidate, reason = _shown(benchmark, sample, reply, find, language)
        if unit is not None and reply is not None:
            dialogue = (reply.provenance.get("dialogue") or sample.cluster, reply.model, reply.run)
            candidate = msgspec.structs.replace(candidate, dialogue=dialogues[dialogue])
        key = text_key(candidate.messages, candidate.reply)
        reason = reason or fault(benchmark, candidate) or (_REPEATED if key in by_text else "")
        if reason:
            left_out[candidate.subject] = reason
            if reason == _REPEATED:
                same |= dict.fromkeys(_also(candidate.subject, blind), by_text[key].subject)
            continue
        by_text[key] = candidate
        source_ids.append(_called(sample, reply))
    if not by_text:
        reasons = "; ".join(f"{count}: {reason}" for reason, count in Counter(left_out.values()).items())
        raise DataError(f"{taken.source}: nothing of {benchmark.name} here can be labelled ({reasons})")
    items = _alike(list(by_text.values()))
    names = _names(items, source_ids, blind) | same
    return LabelSource(items, taken, names, left_out, blind)


def _unit(store: Store, benchmark: Benchmark, folder: Path, wanted: Unit | None) -> Unit | None:
    """Return what of a run's dialogues is labelled; None where its replies are no parts of dialogues.

    Raises:
        UsageError: what is wanted is not there.
    """
    present = [unit for unit in Unit if (unit.value,) in store.select(_UNITS, (benchmark.name,)).fetchall()]
    if wanted is None:
        return Unit.DIALOGUE if Unit.DIALOGUE in present else next(iter(present), None)
    if not present:
        raise UsageError(f"{folder}: its replies are no parts of dialogues of several turns; leave out --unit")
    if wanted not in present:
        raise UsageError(
            f"{folder}: no {_KINDS[wanted]} in this run; choose --unit {' or '.join(present)}"
            + (_WHERE_THEY_ARE if wanted is Unit.CLIENT else "")
        )
    return wanted


def _alike(items: list[Item]) -> list[Item]:
    """Give all parts of a dialogue the same need, so that none comes before those that it follows."""
    crises = {item.dialogue for item in items if item.dialogue and item.crisis}
    graphic = {item.dialogue for item in items if item.dialogue and item.graphic}
    return [
        msgspec.structs.replace(
            item, crisis=item.crisis or item.dialogue in crises, graphic=item.graphic or item.dialogue in graphic
        )
        for item in items
    ]


def _shown(benchmark: Benchmark, sample: Sample, reply: Reply | None, find: Any, language: str) -> tuple[Item, str]:
    if reply is None:
        return item(benchmark, sample, None, language), ""
    presented = benchmark.shown(sample, reply, find)
    about = item(benchmark, *(presented or (sample, reply)), language)
    if reply.status is not Status.OK or not reply.text.strip():
        return about, _ended(reply) if about.unit == Unit.DIALOGUE else _NO_TEXT
    return about, "" if presented else _NO_PART


def _ended(reply: Reply) -> str:
    """Say why a dialogue is none that people rate: what a client failed in is no evidence of the model under test."""
    outcome = reply.provenance.get("outcome", "")
    if outcome in CLIENT_FAILURES:
        return f"the client failed in it ({outcome})"
    return f"it ended before its last turn ({outcome})" if outcome else _NO_TEXT


def _every_row_once(table_rows: list[tuple[dict[str, Any], str]], *, with_reply: bool) -> None:
    """Check that each row has its texts, and that no two rows have the same."""
    places: dict[str, str] = {}
    for row, place in table_rows:
        reply = row.get("reply", "") if with_reply else ""
        if with_reply and not str(reply).strip():
            raise DataError(f"{place}: an empty reply; there is nothing to label, take the row out")
        first = places.setdefault(text_key(texts.dialogue(row, place), str(reply)), place)
        if first != place:
            raise DataError(f"{place}: the same dialogue and reply as {first}; people label each once, take one out")


def _called(sample: Sample, reply: Reply | None) -> str:
    """Return the id that the source's own file gave it; empty if none."""
    return str(reply.provenance.get("source_id", "")) if reply else sample.tags.get("id", "")


def _names(items: list[Item], source_ids: list[str], blind: Blind | None = None) -> dict[str, str]:
    """Return what each item may be called: its subject, its name in a review list, and the file's own id, if it is one's."""
    counts = Counter(source_ids)
    names = {name: entry.subject for entry, name in zip(items, source_ids, strict=True) if name and counts[name] == 1}
    return names | {name: entry.subject for entry in items for name in _also(entry.subject, blind)}


def _also(subject: str, blind: Blind | None) -> tuple[str, ...]:
    return (subject,) if blind is None else (subject, blind.review(subject))
