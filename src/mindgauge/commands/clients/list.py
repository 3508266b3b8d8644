"""`clients list`: the persons that a client can play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks import registry
from mindgauge.records.command_result import Tabular
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks import Benchmark

_FAMILY = "conversations/"


class PersonaListing(msgspec.Struct, frozen=True):
    """A persona in a line: the highest rung that is planned, and how it writes and discloses."""

    situation: str
    id: str
    planned: str
    topic: str
    style: str
    disclosure: str
    reactions: list[str]
    languages: list[str]
    openings: int
    """In all languages; each begins a dialogue."""


class PersonaListings(Tabular, msgspec.Struct, frozen=True):
    """The personas that are here."""

    personas: list[PersonaListing]

    def summary(self) -> Iterator[str]:
        """Count them by situation."""
        for situation in dict.fromkeys(entry.situation for entry in self.personas):
            yield f"{situation}: {plural(sum(entry.situation == situation for entry in self.personas), 'persona')}"

    def _listed(self) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(persona) for persona in self.personas]


def clients_list(situation: str | None = None) -> PersonaListings:
    """List the personas that a client can play, by situation and planned risk.

    Args:
        situation: `risk`, …; all if not given.

    Raises:
        UsageError: there is no such situation.
        DataError: a file of the situation is not as it should be.
    """
    listed = []
    for benchmark in situations(situation):
        assert benchmark.persons is not None
        persons = benchmark.persons(None)
        for persona in sorted(persons.personas, key=lambda p: (persons.situation.level(p.planned), p.id)):
            openings = sum(len(persona.words(language).openings) for language in persona.languages)
            listed.append(
                PersonaListing(
                    persons.situation.id, persona.id, persona.planned, persona.topic, persona.style, persona.disclosure,
                    [*persona.reactions], [*persona.languages], openings,
                )
            )  # fmt: skip
    return PersonaListings(listed)


def situations(name: str | None = None) -> list[Benchmark]:
    """Return the benchmarks of dialogues with persons of ours.

    Raises:
        UsageError: there is none of the name.
    """
    by_situation = {}
    for entry in registry.names():
        if entry.startswith(_FAMILY):
            try:
                by_situation[entry.removeprefix(_FAMILY)] = registry.find_one(entry)
            except DataError:
                if name == entry.removeprefix(_FAMILY):
                    raise
    if name is not None and name not in by_situation:
        raise UsageError(
            f"there is no situation {name!r}; there {'is' if len(by_situation) == 1 else 'are'} {named(list(by_situation))}"
        )
    return [
        benchmark for key, benchmark in by_situation.items() if name in {None, key} and benchmark.persons is not None
    ]
