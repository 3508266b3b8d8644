"""Conversations of several turns, held with persons of ours: `risk`, `dependence`, `delusion`.

The person's turns are fixed words (`scripted`), a stored dialogue (`prefixed`), or a client's in a state that a rule decides
(`simulated`); see `benchmarks/persons/`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks import Benchmark, own_texts, rubric_defaults
from mindgauge.benchmarks.metrics import STATUS_RATES, conversations
from mindgauge.benchmarks.persons import persona
from mindgauge.benchmarks.persons.client import reply_signs
from mindgauge.benchmarks.persons.dialogues import DialoguePlan, PersonMode, Persons, stored_turn
from mindgauge.benchmarks.persons.persona import CALM_RUNGS
from mindgauge.raters.rule import RuleCriterion
from mindgauge.records.rubric import Criterion, Level, Scale

if TYPE_CHECKING:
    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.benchmarks.persons.persona import Situation
    from mindgauge.records import Sample

HERE = Path(__file__).parent
TURN: dict[str, tuple[str, ...]] = {"unit": ("turn",)}
CLIENT: dict[str, tuple[str, ...]] = {"unit": ("client",)}
PLAYED = {**CLIENT, "mode": (PersonMode.SIMULATED.value,)}
"""A message that a client wrote, which can be out of role, and can show more than it should; a person's own cannot."""


@cache
def persons(name: str) -> Persons:
    """Read the persons of a situation of ours.

    Raises:
        DataError: a file is not as it should be.
    """
    folder = HERE / name
    situation = persona.read_situation(folder / "situation.toml")
    return Persons(
        situation,
        tuple(persona.personas(folder / "personas", situation)),
        tuple(persona.scripts(folder / "scripts", situation)),
    )


def _of_clients(situation: Situation) -> tuple[Criterion, ...]:
    """Return what is rated of a person's messages, shown without what was answered; its rungs are the situation's."""
    rungs = {rung: {"en": situation.en.rungs[rung], "zh": situation.zh.rungs[rung]} for rung in situation.rungs}
    criteria = msgspec.toml.decode((HERE / "clients.toml").read_bytes(), type=dict[str, Any])
    return tuple(
        Criterion(
            name, Scale.ORDINAL, tuple(Level(level, words) for level, words in entry.get("levels", rungs).items()), entry["text"],
            applies=PLAYED if entry["of_models"] else CLIENT,
        )
        for name, entry in criteria.items()
    )  # fmt: skip


def _benchmark(name: str, *own: Metric) -> Benchmark:
    def read(_: Path | None) -> Persons:
        return persons(name)

    def scripted() -> list[Sample]:
        return DialoguePlan(persons(name), PersonMode.SCRIPTED).samples()

    def recognises(_: Sample, text: str) -> str:
        return "yes" if reply_signs(text, name).recognised else "no"

    def asked_of_people(turns: int) -> tuple[Criterion, ...]:
        return (persona.plain_turn(situation, turns),)

    levels = (Level("no", {"en": "not found"}), Level("yes", {"en": "found"}))
    cues = Criterion("recognises_by_cues", Scale.NOMINAL, levels, applies=TURN)
    situation = persona.read_situation(HERE / name / "situation.toml")
    benchmark = Benchmark.from_folder(
        HERE / name,
        read=own_texts.unreleased,
        own=scripted,
        persons=read,
        completed=stored_turn,
        metrics=(
            *conversations.METRICS,
            *own,
            conversations.over_escalation(*situation.rungs[:CALM_RUNGS]),
            conversations.risk_disclosed(*situation.rungs[situation.level(situation.plain) :]),
            *STATUS_RATES,
        ),
        metric_tags=conversations.TAGS,
        headline=(
            "turns_to_recognition", "over_escalation", "vetoed_dialogues", *(metric.name for metric in own), "never_recognised",
            "risk_disclosed", "worst_turn", "turns_to_recognition_perceived", "never_recognised_perceived",
        ),
        shown_first=("never_recognised", "vetoed_dialogues", "over_escalation", "never_recognised_perceived"),
        situation=situation,
        asked_of_people=asked_of_people,
        readings=(RuleCriterion(cues, recognises),),
        cross_checked=("recognises", "recognises_by_cues", ("yes",)),
        slices=("planned", "perceived", "language"),
    )  # fmt: skip
    rubric = benchmark.rubric
    rated = msgspec.structs.replace(rubric, criteria=(*rubric.criteria, *_of_clients(situation)))
    return msgspec.structs.replace(benchmark, rubric=rated, prompts=rubric_defaults.prompts(rated))


risk, dependence = map(_benchmark, ("risk", "dependence"))
delusion = _benchmark("delusion", conversations.labelled_dialogues)
