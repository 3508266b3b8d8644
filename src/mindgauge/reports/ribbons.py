"""Dialogues read from a run: who might show what in which turn, what raters found in each reply, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis.frame import perceived
from mindgauge.benchmarks.metrics.conversations import APPROPRIATE, OVER_ESCALATES, PERCEIVED, RECOGNISES, VETO, YES
from mindgauge.benchmarks.persons.outcomes import Outcome
from mindgauge.raters.window import WHOLE, Unit
from mindgauge.records import BASE, Status
from mindgauge.records.english import named
from mindgauge.records.rounding import plural
from mindgauge.reports.dialogue_records import Ribbon, RibbonTurn
from mindgauge.reports.runs import GOLD, MODEL, PERSON, RULE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mindgauge.benchmarks.persons.persona import Situation
    from mindgauge.records import Reply, Sample
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section

CUES = "recognises_by_cues"
_KINDS = (PERSON, MODEL, RULE)
"""Whose word on recognition counts first, where they speak of as many turns."""

Verdicts = dict[str, list[Any]]
"""Reply → its verdicts; one that cannot be used is None."""


class _Message(NamedTuple):
    """What is known of a reply beside its text."""

    id: str
    unit: str
    model: str
    run: int
    status: Status
    dialogue: str
    turn: int
    client: str
    rung: str
    reaction: str
    outcome: str
    target: str
    """The model under test; of a person's message, the one that it is written to."""
    cluster: str
    source: str
    """The id, or the file, of the transcript that it was read from."""
    tags: Mapping[str, str]


class RatedDialogues(NamedTuple):
    """The dialogues of one benchmark in one run. `source` says who tells what was recognised."""

    ribbons: list[Ribbon]
    source: str


def dialogues(run: OpenRun, section: Section, systems: Sequence[System], situation: Situation | None) -> RatedDialogues:
    """Read every dialogue that a run holds of a benchmark; none, where its replies belong to no dialogue."""
    replies = list(_messages(run, section))
    turns = [reply for reply in replies if reply.unit == Unit.TURN]
    by_model = {system.model: system for system in systems}
    recognised, source = _recognised(run, section, {t.id for t in turns if t.status is Status.OK})
    vetoes, levels, ended = (
        _verdicts(run, section, name, (PERSON, MODEL)) for name in (VETO, APPROPRIATE, OVER_ESCALATES)
    )
    read_rungs = _perceived(run, section) if situation is not None else {}
    wholes = {(r.model.removesuffix(WHOLE), r.dialogue, r.run): r for r in replies if r.unit == Unit.DIALOGUE}
    persons = {(r.target, r.dialogue, r.run, r.turn): r for r in replies if r.unit == Unit.CLIENT}
    rungs = list(situation.rungs) if situation is not None else []
    turns_held: dict[tuple[str, str, int], list[_Message]] = {}
    for turn in turns:
        turns_held.setdefault((turn.model, turn.dialogue, turn.run), []).append(turn)
    ribbons = []
    for key, messages in turns_held.items():
        model, dialogue, repeat = key
        messages.sort(key=lambda message: message.turn)
        first, entire = messages[0], wholes.get(key)
        outcome = entire.outcome if entire is not None else next((m.outcome for m in messages if m.outcome), "")
        visible = []
        for message in messages:
            if message.status is Status.NOT_APPLICABLE:
                continue
            person = persons.get((model, dialogue, repeat, message.turn))
            rung = read_rungs.get(person.id) if person is not None else None
            visible.append(
                RibbonTurn(
                    message.turn, message.id,
                    rungs.index(message.rung) if message.rung in rungs else None,
                    rungs.index(rung) if rung is not None else None,
                    _majority(recognised.get(message.id, [])),
                    _any(vetoes.get(message.id, [])),
                    _mean(levels.get(message.id, [])),
                    message.reaction, message.status is Status.OK,
                )
            )  # fmt: skip
        if not visible or model not in by_model:
            continue
        tags = first.tags
        ribbons.append(
            Ribbon(
                f"{dialogue}/{repeat}", section.benchmark.name, tags.get("persona", ""), first.cluster, _setting(first), tags.get("planned", ""),
                tags.get("calm") == YES, by_model[model], rungs, rungs.index(situation.plain) if situation is not None else 0,
                max(len(messages), visible[-1].turn), visible, outcome,
                _majority(ended.get(entire.id, [])) if entire is not None else None,
            )
        )  # fmt: skip
    for ribbon in ribbons:
        ribbon.said = said(ribbon)
    return RatedDialogues(ribbons, source)


def _messages(run: OpenRun, section: Section) -> Iterable[_Message]:
    samples = {sample.id: sample for sample in run.store.samples(section.benchmark.name)}
    for reply in run.store.replies(section.benchmark.name):
        message = _message(reply, samples[reply.sample])
        if message is not None:
            yield message


def _message(reply: Reply, sample: Sample) -> _Message | None:
    facts = {**sample.tags, **reply.provenance}
    unit, dialogue = str(facts.get("unit", "")), facts.get("dialogue") or facts.get(BASE)
    if not unit or not dialogue:
        return None
    return _Message(
        reply.id, unit, reply.model, reply.run, reply.status, str(dialogue), int(facts.get("turn") or 0), str(facts.get("client", "")),
        str(facts.get("rung", "")), str(facts.get("reaction", "")), str(facts.get("outcome", "")), str(facts.get("target", reply.model)),
        sample.cluster, str(facts.get("source_id", facts.get("source_file", ""))), sample.tags,
    )  # fmt: skip


def _setting(message: _Message) -> str:
    """Say how the person was spoken with, beside who they are."""
    tags = message.tags
    parts = [
        f"transcript {message.source}" if message.source and not tags.get("persona") else "",
        {"en": "English", "zh": "Chinese"}.get(tags.get("language", ""), tags.get("language", "")),
        f"opening {tags['opening']}" if tags.get("opening") else "",
        f"played by {message.client}" if message.client else tags.get("mode", ""),
        f"repeat {message.run + 1}" if message.run else "",
    ]
    return ", ".join(part for part in parts if part)


def _perceived(run: OpenRun, section: Section) -> dict[str, str]:
    """Return what those see who read the person's messages alone, as metrics by perceived risk count it."""
    ratings = frame.ratings(run.store, section.benchmark)
    return perceived(ratings, run.store, section.benchmark, _silent(run, section, PERCEIVED))[0]


def _silent(run: OpenRun, section: Section, criterion: str) -> set[str]:
    """Return the judges whose word does not count on a criterion."""
    name = section.benchmark.name
    silent = {judge.judge for judge in run.scores.unfit if (judge.benchmark, judge.criterion) == (name, criterion)}
    if not run.standings.shown:
        silent |= {s.card.judge for s in run.standings.cards.values() if (s.benchmark, s.criterion) == (name, criterion) and s.limited}  # fmt: skip
    return silent


def _verdicts(run: OpenRun, section: Section, criterion: str, kinds: Sequence[str]) -> Verdicts:
    """Collect what raters of some kinds say on a criterion, less judges whose word does not count on it."""
    rows = section.ratings.filter(
        pl.col("criterion") == criterion, pl.col("rater_kind").is_in(list(kinds)), pl.col("rater_kind") != GOLD,
        pl.col("status") != Status.NOT_APPLICABLE.value, ~pl.col("rater").is_in(list(_silent(run, section, criterion))),
    )  # fmt: skip
    verdicts: Verdicts = {}
    for subject, status, value in rows.select("subject", "status", "value").iter_rows():
        verdicts.setdefault(subject, []).append(value if status == Status.OK.value else None)
    return verdicts


def _recognised(run: OpenRun, section: Section, turns: set[str]) -> tuple[Verdicts, str]:
    """Return what one kind of rater says on recognition: of people, judges and our cues, those who speak of most turns."""
    of_kind = {kind: _verdicts(run, section, CUES if kind == RULE else RECOGNISES, (kind,)) for kind in _KINDS}
    kind = max(_KINDS, key=lambda kind: len(turns & of_kind[kind].keys()))
    if kind == RULE:
        return of_kind[kind], "our own cues, which look for words and miss what is put in others"
    rows = section.ratings.filter(pl.col("criterion") == RECOGNISES, pl.col("rater_kind") == kind)
    raters = sorted(rows["rater"].unique())
    others = ", most of whose verdicts count" if len(raters) > 1 else ""
    return of_kind[
        kind
    ], f"{plural(len(raters), 'person', 'people')}{others}" if kind == PERSON else f"{named(raters)}{others}"


def _majority(values: Sequence[Any]) -> bool | None:
    """Say whether more than half of the verdicts are yes; None where none can be used."""
    values = [value == YES for value in values if value is not None]
    return sum(values) * 2 > len(values) if values else None


def _any(values: Sequence[Any]) -> bool | None:
    """Say whether anybody found it; None where none did and somebody gave no usable verdict."""
    if YES in values:
        return True
    return None if not values or None in values else False


def _mean(values: Sequence[Any]) -> float | None:
    values = [float(value) for value in values if value is not None]
    return sum(values) / len(values) if values else None


def said(ribbon: Ribbon) -> str:
    """Say in words what a ribbon shows."""
    start, questions = ribbon.first_plain(), ribbon.asked
    turns = plural(len(ribbon.turns), "turn")
    parts = [f"{turns} of {ribbon.length}" if len(ribbon.turns) < ribbon.length else turns]
    to_reader = " to a reader" if ribbon.unplanned else ""
    if start is not None:
        parts.append(f"the risk is plain{to_reader} from turn {start}")
        late = "at once" if not ribbon.late else f"{plural(ribbon.late, 'turn')} late"
        if questions is not None:
            parts.append(f"recognised in turn {questions}, {late}")
        else:
            parts.append("never recognised" if ribbon.never else "not recognised, as far as is known")
    elif ribbon.rungs and (ribbon.read if ribbon.unplanned else ribbon.planned):
        parts.append("a reader sees no plain sign of risk" if ribbon.unplanned else "no plain sign of risk shows")
        if questions is not None:
            parts.append(f"asked about risk in turn {questions}")
    if ribbon.vetoed:
        parts.append(f"something that must never be said in turn {named([str(turn) for turn in ribbon.vetoed])}")
    if ribbon.over_escalates:
        parts.append("a calm person treated as at risk")
    if ribbon.outcome and ribbon.outcome != Outcome.COMPLETE:
        parts.append(OUTCOMES[Outcome(ribbon.outcome)])
    return "; ".join(parts)


OUTCOMES = {
    Outcome.COMPLETE: "complete",
    Outcome.CLIENT_LEFT: "ends early because the client leaves, which says nothing about the model",
    Outcome.CLIENT_REFUSED: "ends early because the client refuses to play, which says nothing about the model",
    Outcome.CLIENT_BROKE_ROLE: "ends early because the client falls out of its role, which says nothing about the model",
    Outcome.TARGET_REFUSED: "ends early because the model refuses",
    Outcome.FILTERED: "ends early because a filter blocks a reply",
    Outcome.FAILED: "ends early because of an error",
}
"""How a dialogue ended, in words."""
