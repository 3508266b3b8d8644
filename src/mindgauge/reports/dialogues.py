"""The section on dialogues: ribbons worst first, how long a risk goes unseen, the turns where it went wrong, a page a persona."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis.frame import perceived
from mindgauge.benchmarks.metrics.conversations import (
    APPROPRIATE,
    DIALOGUE,
    HORIZON,
    NO,
    OVER_ESCALATES,
    PERCEIVED,
    PLAIN,
    RECOGNISES,
    TURN,
    VETO,
    YES,
    recognition,
)
from mindgauge.benchmarks.metrics.table import RatingTable
from mindgauge.benchmarks.persons.dialogues import Outcome
from mindgauge.raters.window import WHOLE, Unit
from mindgauge.records import BASE, Status
from mindgauge.records.english import named, words
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.rounding import count, percent, plural
from mindgauge.reports import content, texts
from mindgauge.reports.content import Case, Column, ReportTable, heads
from mindgauge.reports.draw.records import DialoguePart, PersonaPage, Ribbon, RibbonTurn, Survival, SurvivalLine
from mindgauge.reports.reader import rows
from mindgauge.reports.runs import GOLD, MODEL, PERSON, RULE
from mindgauge.stats.survival import kaplan_meier, mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks.persons.dialogues import Persons
    from mindgauge.benchmarks.persons.persona import Persona, Situation
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun, Section
    from mindgauge.stats.survival import Waits


CUES = "recognises_by_cues"
_KINDS = (PERSON, MODEL, RULE)
"""Whose word on recognition counts first, where they speak of as many turns."""

Verdicts = dict[str, list[Any]]
"""Reply → its verdicts; one that cannot be used is None."""


def read_dialogues(
    run: OpenRun, section: Section, systems: Sequence[System], situation: Situation | None
) -> tuple[list[Ribbon], str]:
    """Read every dialogue that a run holds of a benchmark, and who says what was recognised; none, where its replies belong to none."""
    replies = list(_messages(run, section))
    turns = [reply for reply in replies if reply["unit"] == Unit.TURN]
    by_model = {system.model: system for system in systems}
    recognised, source = _recognised(run, section, {turn["id"] for turn in turns if turn["status"] is Status.OK})
    vetoes, levels, ended = (
        _verdicts(run, section, name, (PERSON, MODEL)) for name in (VETO, APPROPRIATE, OVER_ESCALATES)
    )
    read_rungs = _perceived(run, section) if situation is not None else {}
    wholes = {
        (r["model"].removesuffix(WHOLE), r["dialogue"], r["run"]): r for r in replies if r["unit"] == Unit.DIALOGUE
    }
    persons = {(r["target"], r["dialogue"], r["run"], r["turn"]): r for r in replies if r["unit"] == Unit.CLIENT}
    rungs = list(situation.rungs) if situation is not None else []
    turns_held: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for turn in turns:
        turns_held.setdefault((turn["model"], turn["dialogue"], turn["run"]), []).append(turn)
    ribbons = []
    for key, messages in turns_held.items():
        model, dialogue, repeat = key
        messages.sort(key=lambda message: message["turn"])
        first, entire = messages[0], wholes.get(key)
        ends = [m["outcome"] for m in messages if m["outcome"]] if entire is None else [entire["outcome"]]
        outcome = next(iter(ends), "")
        visible = []
        for message in messages:
            if message["status"] is Status.NOT_APPLICABLE:
                continue
            person = persons.get((model, dialogue, repeat, message["turn"]))
            rung = read_rungs.get(person["id"]) if person is not None else None
            visible.append(
                RibbonTurn(
                    message["turn"], message["id"],
                    rungs.index(message["rung"]) if message["rung"] in rungs else None,
                    rungs.index(rung) if rung is not None else None,
                    _majority(recognised.get(message["id"], [])),
                    _any(vetoes.get(message["id"], [])),
                    _mean(levels.get(message["id"], [])),
                    message["reaction"], message["status"] is Status.OK,
                )
            )  # fmt: skip
        if not visible or model not in by_model:
            continue
        tags = first["tags"]
        ribbons.append(
            Ribbon(
                f"{dialogue}/{repeat}", section.benchmark.name, tags.get("persona", ""), first["cluster"], _setting(first), tags.get("planned", ""),
                tags.get("calm") == YES, by_model[model], rungs, rungs.index(situation.plain) if situation is not None else 0,
                max(len(messages), visible[-1].turn), visible, outcome,
                _majority(ended.get(entire["id"], [])) if entire is not None else None,
            )
        )  # fmt: skip
    for ribbon in ribbons:
        ribbon.said = said(ribbon)
    return ribbons, source


def _messages(run: OpenRun, section: Section) -> Iterator[dict[str, Any]]:
    """Yield what is known of each reply in a dialogue beside its text.

    `target` is the model under test, of a person's message the one that it is written to; `source` the id, or the file, of
    the transcript that it was read from.
    """
    samples = {sample.id: sample for sample in run.store.samples(section.benchmark.name)}
    for reply in run.store.replies(section.benchmark.name):
        sample = samples[reply.sample]
        facts = {**sample.tags, **reply.provenance}
        unit, dialogue = str(facts.get("unit", "")), facts.get("dialogue") or facts.get(BASE)
        if unit and dialogue:
            yield {
                **{name: str(facts.get(name, "")) for name in ("client", "rung", "reaction", "outcome")},
                "id": reply.id, "model": reply.model, "run": reply.run, "status": reply.status, "unit": unit, "dialogue": str(dialogue),
                "turn": int(facts.get("turn") or 0), "target": str(facts.get("target", reply.model)), "cluster": sample.cluster,
                "source": str(facts.get("source_id", facts.get("source_file", ""))), "tags": sample.tags,
            }  # fmt: skip


def _setting(message: dict[str, Any]) -> str:
    """Say how the person was spoken with, beside who they are."""
    tags = message["tags"]
    parts = [
        f"transcript {message['source']}" if message["source"] and not tags.get("persona") else "",
        {"en": "English", "zh": "Chinese"}.get(tags.get("language", ""), tags.get("language", "")),
        f"opening {tags['opening']}" if tags.get("opening") else "",
        f"played by {message['client']}" if message["client"] else tags.get("mode", ""),
        f"repeat {message['run'] + 1}" if message["run"] else "",
    ]
    return ", ".join(part for part in parts if part)


def _perceived(run: OpenRun, section: Section) -> dict[str, str]:
    """Return what those see who read the person's messages alone, as metrics by perceived risk count it."""
    ratings = frame.ratings(run.store, section.benchmark)
    return perceived(ratings, run.store, section.benchmark, set(texts.withheld_judges(run, section, PERCEIVED)))[0]


def _verdicts(run: OpenRun, section: Section, criterion: str, kinds: Sequence[str]) -> Verdicts:
    """Collect what raters of some kinds say on a criterion, less judges whose word does not count on it."""
    rows = section.ratings.filter(
        pl.col("criterion") == criterion, pl.col("rater_kind").is_in(list(kinds)), pl.col("rater_kind") != GOLD,
        pl.col("status") != Status.NOT_APPLICABLE.value, ~pl.col("rater").is_in(list(texts.withheld_judges(run, section, criterion))),
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
    source = plural(len(raters), "person", "people") if kind == PERSON else named(raters)
    return of_kind[kind], f"{source}{others}"


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


MOST = 12
"""Dialogues that are drawn openly."""
FOLDED = 60
"""Dialogues that are drawn behind a fold; the table has all."""
MOST_SETTINGS = 8


def dialogues(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[DialoguePart]:
    """Gather, benchmark by benchmark, what there is to see of dialogues; nothing where there are none."""
    parts: dict[str, _Gathered] = {}
    for number, run in enumerate(runs):
        for section in run.sections:
            if section.benchmark.persons is None:
                continue
            persons = _persons(section)
            situation = persons.situation if persons is not None else None
            own = [system for system in systems if system.run == number]
            ribbons, source = read_dialogues(run, section, own, situation)
            part = parts.setdefault(section.benchmark.name, _Gathered(section, persons))
            for ribbon in ribbons:
                part.add(ribbon, run, section)
            part.sources += [source] if ribbons else []
    return [part.made() for part in parts.values() if part.ribbons]


def _persons(section: Section) -> Persons | None:
    """Return with whom dialogues are held; None where that is read from files that are not at hand."""
    assert section.benchmark.persons is not None
    try:
        return section.benchmark.persons(None)
    except MindgaugeError:
        return None


class _Gathered:
    """The dialogues of one benchmark in all runs."""

    def __init__(self, section: Section, persons: Persons | None) -> None:
        self.benchmark, self.persons = section.benchmark, persons
        self.ribbons: list[Ribbon] = []
        self.sources: list[str] = []
        self._places: dict[int, tuple[OpenRun, Section]] = {}

    def add(self, ribbon: Ribbon, run: OpenRun, section: Section) -> None:
        """Add a dialogue of a run."""
        self.ribbons.append(ribbon)
        self._places[ribbon.system.run] = (run, section)

    def made(self) -> DialoguePart:
        """Put everything into order."""
        ordered = sorted(self.ribbons, key=_gravity)
        slug = _slug(self.benchmark.name.rpartition("/")[2])
        for number, ribbon in enumerate(ordered):
            ribbon.anchor = f"dialogue-{slug}-{number + 1}"
            ribbon.opens = self._opens(ribbon)
        worst = [ribbon for ribbon in ordered[:MOST] if _class(ribbon) < _FINE] or ordered[:MOST]
        rest = ordered[len(worst) : len(worst) + FOLDED]
        for ribbon in worst:
            ribbon.cause, ribbon.case = self._case(ribbon)
        systems = list(
            {r.system.number: r.system for r in sorted(self.ribbons, key=lambda r: r.system.number)}.values()
        )
        withheld = {system.number: self._withheld(system) for system in systems}
        clear = [system for system in systems if not withheld[system.number]]
        situation = self.persons.situation if self.persons is not None else None
        perceived = any(turn.perceived is not None for ribbon in self.ribbons for turn in ribbon.turns)
        views = (False, True) if perceived else (False,)
        drawn = [_curves(self.benchmark.name, slug, self.ribbons, clear, perceived=view) for view in views]
        curves = [curve for curve in drawn if curve is not None]
        if len(curves) > 1:
            curves[1].folded = "The same from the turn in which a reader sees the risk"
        return DialoguePart(
            self.benchmark.name,
            self.benchmark.card.title,
            [fact for system in clear for fact in _facts(system, self._of(system))],
            [(words(rung), situation.en.rungs[rung]) for rung in situation.rungs] if situation is not None else [],
            words(situation.plain) if situation is not None else "",
            perceived,
            any(ribbon.unplanned for ribbon in self.ribbons),
            "; ".join(dict.fromkeys(self.sources)),
            curves,
            [reason for reason in withheld.values() if reason],
            worst,
            rest,
            len(ordered) - len(worst) - len(rest),
            _sheet(slug, ordered),
            list(self._personas(slug)),
        )

    def _withheld(self, system: System) -> str:
        """Say why nothing is drawn of a model whose clients were not fit for their part; empty where something is."""
        run, _ = self._places[system.run]
        reasons = [
            reason
            for entry in run.scores.fidelity_of(self.benchmark.name)
            if entry.target == system.model
            for reason in entry.withheld
        ]
        return (
            f"No figure is shown for {system.label}: {'; '.join(reasons)}. Its dialogues can be read."
            if reasons
            else ""
        )

    def _of(self, system: System) -> list[Ribbon]:
        return [ribbon for ribbon in self.ribbons if ribbon.system == system]

    def _opens(self, ribbon: Ribbon) -> str:
        """Return where the turn that went wrong stands in the reader, else the last."""
        turn = next((t for t in ribbon.turns if t.turn == ribbon.went_wrong), ribbon.turns[-1])
        repeat = int(ribbon.key.rpartition("/")[2])
        key = rows.key(ribbon.benchmark, turn.reply, ribbon.system.model, repeat)
        return content.lines(system=ribbon.system.label, persona=ribbon.persona, open=key)

    def _case(self, ribbon: Ribbon) -> tuple[str, Case | None]:
        """Open the turn where a dialogue went wrong: the person's message before, the reply, and the verdicts."""
        turn = next((t for t in ribbon.turns if t.turn == ribbon.went_wrong), None)
        if turn is None:
            return "", None
        run, section = self._places[ribbon.system.run]
        reply = run.store.reply(section.benchmark.name, turn.reply)
        if reply is None:
            return "", None
        sample = reply.answered(run.store.sample(section.benchmark.name, reply.sample))
        decides = VETO if ribbon.vetoed else RECOGNISES
        verdicts = sorted(
            texts.verdicts(run, section, reply.id, sample), key=lambda verdict: verdict.criterion != decides
        )
        quotes = texts.quoted(verdicts)
        hidden = texts.withheld(run, section, sample.id)
        language = sample.tags.get("language", "en")
        before = [] if hidden else [texts.passage("user", sample.messages[-1].content, quotes, language)]
        cause = f"turn {turn.turn}: {_cause(ribbon)}"
        case = Case(
            f"{ribbon.anchor}-turn", ribbon.persona, cause, "", ribbon.system, before,
            texts.reply(section, sample, reply.text, quotes), verdicts, hidden,
        )  # fmt: skip
        return cause, case

    def _personas(self, slug: str) -> Iterator[PersonaPage]:
        by_persona: dict[str, list[Ribbon]] = {}
        for ribbon in self.ribbons:
            if ribbon.persona:
                by_persona.setdefault(ribbon.persona, []).append(ribbon)
        known = {p.id: p for p in self.persons.personas} if self.persons is not None else {}
        scripts = {s.id: s for s in self.persons.scripts} if self.persons is not None else {}
        for name in sorted(by_persona, key=lambda name: min(map(_gravity, by_persona[name]))):
            own = by_persona[name]
            settings: dict[str, list[Ribbon]] = {}
            for ribbon in sorted(own, key=lambda ribbon: ribbon.system.number):
                settings.setdefault(ribbon.setting, []).append(ribbon)
            ordered = sorted(settings.items(), key=lambda item: min(map(_gravity, item[1])))
            simulated = any("played by" in ribbon.setting for ribbon in own)
            persona = known.get(name) if simulated or name not in scripts else None
            yield PersonaPage(
                f"persona-{slug}-{_slug(name)}",
                name,
                _about(persona, scripts.get(name), own[0].planned),
                persona.words(persona.languages[0]).who if persona is not None and not persona.system else "",
                persona.languages[0] if persona is not None else "en",
                _over_models(own),
                ordered[:MOST_SETTINGS],
                sum(len(settings) for _, settings in ordered[MOST_SETTINGS:]),
            )


def _slug(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]+", "-", name).strip("-") or "x"


_VETO, _NEVER, _LATE, _OVER, _OPEN, _FINE, _CLIENT = range(7)


def _class(ribbon: Ribbon) -> int:
    """Say how grave what happened is, the gravest 0: a veto, a risk never seen, seen late, seen where there is none."""
    if ribbon.vetoed:
        return _VETO
    if ribbon.failed_by_client:
        return _CLIENT
    if ribbon.never:
        return _NEVER
    if ribbon.late:
        return _LATE
    if ribbon.over_escalates:
        return _OVER
    return _OPEN if ribbon.first_plain() is not None and ribbon.asked is None else _FINE


def _gravity(ribbon: Ribbon) -> tuple[int, int, int, float, str, int, str]:
    levels = [t.appropriate for t in ribbon.turns if t.appropriate is not None]
    rung = max((t.allowed for t in ribbon.turns if t.allowed is not None), default=0)
    vetoes = -len(ribbon.vetoed)
    return _class(ribbon), vetoes, -ribbon.late - rung, min(levels, default=9.0), ribbon.persona, ribbon.system.number, ribbon.key  # fmt: skip


def _cause(ribbon: Ribbon) -> str:
    if ribbon.vetoed:
        return "the reply says something that must never be said"
    if ribbon.never:
        return "the first plain sign of risk, which no reply recognises"
    return f"the first plain sign of risk, which is recognised {plural(ribbon.late, 'turn')} later"


def _facts(system: System, own: Sequence[Ribbon]) -> Iterator[str]:
    """Say in whole numbers what became of one system's dialogues."""
    valid = [ribbon for ribbon in own if not ribbon.failed_by_client]
    plain = [ribbon for ribbon in valid if ribbon.first_plain() is not None]
    judged = [ribbon for ribbon in own if any(turn.veto is not None for turn in ribbon.turns)]
    calm = [ribbon for ribbon in valid if ribbon.calm and ribbon.over_escalates is not None]
    parts = []
    if judged:
        parts.append(
            f"something that must never be said is in {sum(bool(r.vetoed) for r in judged)} of {plural(len(judged), 'dialogue')}"
        )
    if plain:
        at_once = sum(r.asked is not None and not r.late for r in plain)
        late, never = sum(bool(r.late) for r in plain), sum(r.never for r in plain)
        unknown = len(plain) - at_once - late - never
        rest = f"; in {count(unknown)} nobody knows" if unknown else ""
        where = " to a reader" if any(ribbon.unplanned for ribbon in plain) else ""
        parts.append(
            f"in {plural(len(plain), 'dialogue')} the risk becomes plain{where}: it is recognised at once in {count(at_once)}, late in "
            f"{count(late)}, never in {count(never)}{rest}"
        )
    if calm:
        parts.append(
            f"in {sum(bool(r.over_escalates) for r in calm)} of {plural(len(calm), 'dialogue')} with a calm person, the person is treated as at risk"
        )
    if parts:
        yield f"{system.label}: {'; '.join(parts)}."


def _curves(
    benchmark: str, slug: str, ribbons: Sequence[Ribbon], systems: Sequence[System], *, perceived: bool
) -> Survival | None:
    """Draw how long each system takes from the first plain sign, by plan or as a reader sees it, to its recognition."""
    lines, rows, clusters, total, open_ones = [], [], set(), 0, 0
    noun = "persona" if all(ribbon.persona for ribbon in ribbons) else "person"
    nouns = "personas" if noun == "persona" else "people"
    for system in systems:
        own = [
            ribbon
            for ribbon in ribbons
            if ribbon.system == system and not ribbon.failed_by_client and ribbon.first_plain(perceived=perceived)
        ]
        waits, unknown = _waits(own, perceived=perceived)
        open_ones += unknown
        if not len(waits):
            continue
        clusters |= {ribbon.cluster for ribbon in own}
        total += len(waits)
        line = _line(system, waits)
        lines.append(line)
        mean = mean_interval(waits, min(HORIZON, len(line.shares) - 1))
        rows.append([
            system.label, len(waits), len({ribbon.cluster for ribbon in own}), int(waits.event.sum()), int((~waits.event).sum()), mean.value,
            mean.low, mean.high, *line.shares[1:],
        ])  # fmt: skip
    if not lines:
        return None
    steps = max(len(line.shares) for line in lines)
    columns = [
        *heads(
            f"model | dialogues:count | {nouns}:count | recognised:count | not by the end:count | "
            f"mean turns, of at most {HORIZON}:level | low:level | high:level"
        ),
        *(Column(f"not after {step}", "share") for step in range(1, steps)),
    ]  # fmt: skip
    table: list[list[Cell]] = [[*row, *[None] * (len(columns) - len(row))] for row in rows]
    kind = "what a reader of the person’s messages alone sees" if perceived else "the plan"
    doubt = (
        f" Left out: {plural(open_ones, 'dialogue')} without a verdict on the first of these replies."
        if open_ones
        else ""
    )
    return Survival(
        anchor=f"recognition-{slug}{'-perceived' if perceived else ''}",
        finding=_told(lines),
        measure=(
            f"Share of dialogues in which the risk is not yet recognised, counted in replies since its first plain sign by {kind} "
            f"(Kaplan–Meier; a tick marks a dialogue that ends with the risk unrecognised). {plural(total, 'dialogue')} with {plural(len(clusters), noun, nouns)}.{doubt}"
        ),
        sheet=ReportTable(
            f"recognition-{slug}{'-perceived' if perceived else ''}", "How long the risk goes unrecognised", columns, table,
            f"Intervals are 95 %, of other {nouns}.",
        ),
        benchmark=benchmark, lines=lines,
    )  # fmt: skip


def _waits(own: Sequence[Ribbon], *, perceived: bool) -> tuple[Waits, int]:
    """Fold the turns of dialogues as the metric of turns to recognition does; also count those of which nothing is known."""
    turns = [(number, ribbon, turn) for number, ribbon in enumerate(own) for turn in ribbon.turns]
    clusters = {name: place for place, name in enumerate(dict.fromkeys(ribbon.cluster for ribbon in own))}
    starts = [ribbon.first_plain(perceived=perceived) or 0 for ribbon in own]

    def column(values: list[str]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
        return np.array(values, dtype=object)

    table = RatingTable(
        levels=(NO, YES),
        code=np.array([-1 if t.recognised is None else int(t.recognised) for _, _, t in turns], dtype=np.intp),
        target=np.full(len(turns), -1, dtype=np.intp),
        cluster=np.array([clusters[ribbon.cluster] for _, ribbon, _ in turns], dtype=np.intp),
        subject=np.arange(len(turns)),
        status=np.array(["ok" if t.recognised is not None else "failed" for _, _, t in turns], dtype=np.str_),
        tags={
            DIALOGUE: column([str(number) for number, _, _ in turns]),
            TURN: column([str(t.turn) for _, _, t in turns]),
            PLAIN: column([YES if t.turn >= starts[number] else NO for number, _, t in turns]),
        },
    )
    waits = recognition(table).waits
    known = waits.time >= 0
    return waits.rows(known), int((~known).sum())


def _line(system: System, waits: Waits) -> SurvivalLine:
    last = int(waits.time.max()) + 1
    curve = kaplan_meier(waits)
    shares = [1.0, *(float(curve.at(step - 1)[0]) for step in range(1, last + 1))]
    at_risk = [int((waits.time >= step).sum()) for step in range(last + 1)]
    ends = sorted({int(time) + 1 for time in waits.time[~waits.event]})
    return SurvivalLine(system, shares, at_risk, [(step, shares[step]) for step in ends])


def _told(lines: Sequence[SurvivalLine]) -> str:
    """State what the curves show: who leaves most unrecognised by the end, and who least."""
    ordered = sorted(lines, key=lambda line: (-line.shares[-1], -sum(line.shares)))
    shares = [
        f"{percent(line.shares[-1])}{'' if number else ' of dialogues'} with {line.system.label}"
        for number, line in enumerate(ordered if len(ordered) < 4 else [ordered[0], ordered[-1]])
    ]
    if not any(line.shares[-1] for line in lines):
        slowest = ordered[0]
        return (
            f"All recognise the risk by the end; {slowest.system.label} takes longest"
            if len(lines) > 1
            else "The risk is recognised in every dialogue by the end"
        )
    return f"By the end, the risk is still unrecognised in {named(shares)}"


def _over_models(own: Sequence[Ribbon]) -> str:
    """Say in a clause what happened to a persona, with all models."""
    classes = [_class(ribbon) for ribbon in own]
    phrases = [
        (_VETO, "with something that must never be said"), (_NEVER, "with a risk that is never recognised"),
        (_LATE, "with a risk that is recognised late"), (_OVER, "with a calm person treated as at risk"), (_CLIENT, "spoilt by the client"),
    ]  # fmt: skip
    parts = [f"{classes.count(number)} {phrase}" for number, phrase in phrases if number in classes]
    return f"{plural(len(own), 'dialogue')}{': ' + ', '.join(parts) if parts else ''}"


def _about(persona: Persona | None, script: object, planned: str) -> str:
    """Say who a person is, in our own words."""
    entry = persona or script
    facts = [f"planned risk: {words(planned)}" if planned else ""]
    if entry is not None:
        style = str(getattr(entry, "style", ""))
        manner = f"writes in {'an' if style[:1] in 'aeiou' else 'a'} {style} way" if style else ""
        facts = [str(getattr(entry, "topic", "")), manner, *facts]
    if persona is not None:
        facts.append(
            {"asked": "says it when asked", "early": "says it early", "slow": "says it slowly"}.get(
                persona.disclosure, persona.disclosure
            )
        )
        if persona.reactions:
            facts.append(f"pushes back: {named([words(reaction) for reaction in persona.reactions])}")
    text = "; ".join(fact for fact in facts if fact)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _sheet(slug: str, ordered: Sequence[Ribbon]) -> ReportTable:
    columns = [
        *map(Column, ("model", "persona", "planned", "setting")), *heads(
            "turns:count | plain in turn:count | recognised in turn:count | vetoes:count | ended | in words"
        ),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            r.system.label, r.persona, words(r.planned), r.setting, len(r.turns), r.first_plain(), r.asked,
            len(r.vetoed) if any(t.veto is not None for t in r.turns) else None, words(r.outcome), r.said,
        ]
        for r in ordered
    ]  # fmt: skip
    return ReportTable(f"dialogues-{slug}", "Every dialogue, worst first", columns, rows)
