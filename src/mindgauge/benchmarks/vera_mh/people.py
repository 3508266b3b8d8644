"""The authors' personas as persons of ours: a client is told what the authors tell it, and checked by our rules.

Nothing opens step by step: the authors' words say how openly a person speaks. So a persona's ladder is its one rung, its level of
risk in our terms, against which a reader's impression is held. The client writes the first message, too; it is the same
for every model under test.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.benchmarks.persons import persona
from mindgauge.benchmarks.persons.dialogues import Persons
from mindgauge.benchmarks.persons.persona import Persona, PersonaWords, Rung
from mindgauge.benchmarks.vera_mh import released
from mindgauge.records.errors import MissingDataError

if TYPE_CHECKING:
    from mindgauge.benchmarks.vera_mh.released import VeraPersona

SITUATION = Path(__file__).parents[1] / "conversations" / "risk" / "situation.toml"
TOPIC = "suicide"


def persons(data: Path) -> Persons:
    """Read the persons below a folder.

    Raises:
        MissingDataError: there are none, or nothing says what a client is told.
        DataError: they cannot be used; the message names the line.
    """
    files = released.find(data)
    people, prompt, reminder = released.personas(files).personas, released.client_prompt(files), ""
    with contextlib.suppress(MissingDataError):
        reminder = released.text(files.one("reminder")).strip()
    read = [_person(person, prompt.filled(person), reminder) for person in people]
    return Persons(persona.read_situation(SITUATION), tuple(read))


def _person(person: VeraPersona, system: str, reminder: str) -> Persona:
    words = PersonaWords(who=". ".join(person.cells.values()), openings=(), rungs={})
    return Persona(
        id=person.name, topic=TOPIC, style=_said(person, "style"), disclosure=_said(person, "disclosure"),
        planned=person.planned, ladder=(Rung(person.planned),), en=words, system=system, reminder=reminder,
    )  # fmt: skip


def _said(person: VeraPersona, about: str) -> str:
    """Return what the column about something says in short: what stands before any bracket."""
    cell = next((cell for header, cell in person.cells.items() if about in header.casefold()), "")
    return cell.partition("(")[0].strip().casefold()
