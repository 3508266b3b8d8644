"""What is known of clients, and what follows for the scores of the models that they talked to."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from mindgauge.benchmarks.persons.dialogues import whole_name


class Fitness(StrEnum):
    """Whether something keeps within its limit."""

    FIT = "fit"
    UNFIT = "unfit"
    UNKNOWN = "cannot tell"


class FidelityCheck(msgspec.Struct, frozen=True):
    """One figure of a client beside its limit; `judge` is empty where rules tell it.

    `low` and `high` are 95 % bounds for other personas. `missing` of the `n` have no usable verdict: `worst` and `best` are
    the value if all of them spoke against the client, or for it. `kind` is `share` or `level`.
    """

    name: str
    judge: str
    value: float | None
    low: float | None
    high: float | None
    worst: float | None
    best: float | None
    n: int
    missing: int
    personas: int
    limit: float
    kind: str
    verdict: Fitness
    reason: str
    """In a clause, why it is not fit; empty where it is."""
    too_few: bool = False
    """Whether nobody can tell because too few dialogues speak."""


class ClientFidelity(msgspec.Struct, frozen=True):
    """What a client did with one target."""

    client: str
    dialogues: int
    outcomes: dict[str, int]
    """How dialogues ended → how many."""
    failures: int
    """Dialogues in which the client failed."""
    begun_again: int
    """Dialogues that were held anew, since a bot with a state of its own had broken off."""
    messages: int
    heard_by: dict[str, int]
    """Who read what replies did (`client`: it itself; `cues`: our words) → before how many of its messages."""
    same_family: bool
    """Whether it comes from a family of the target."""
    checks: list[FidelityCheck]
    verdict: Fitness
    reasons: list[str]

    def check(self, name: str, judge: str = "") -> FidelityCheck:
        """Return a check by its name and judge."""
        return next(check for check in self.checks if (check.name, check.judge) == (name, judge))


class Fidelity(msgspec.Struct, frozen=True):
    """The clients of one target in one benchmark; `withheld` says why its scores are not shown, empty where they are."""

    benchmark: str
    target: str
    clients: list[ClientFidelity]
    families: int
    """Different families among the clients."""
    verdict: Fitness
    withheld: list[str]
    bounds: str = ""
    """What the worst and best of scores allow for."""

    @property
    def names(self) -> tuple[str, str]:
        """What the target's replies, and its whole dialogues, are called."""
        return self.target, whole_name(self.target)
