"""What a look leaves: of each rate its value in this look, and the evidence of all looks that its bound is passed."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from mindgauge.records.rounding import Kind, bounded, count, plural, write


class RateKey(NamedTuple):
    """Which rate it is, over all looks; a rater with another instrument has another."""

    rule: str
    benchmark: str
    criterion: str
    slice: str
    model: str
    rater: str
    instrument: str


class WatchedRate(msgspec.Struct, frozen=True, kw_only=True):
    """A rate that a policy bounds, in one look. `low` and `high` bound it with 95 % confidence.

    `evidence` is what each bet holds that the rate has passed its limit (`stats.detector`), `strength` their mean;
    `corrected` is people's rate over all looks by judge and people together, with its interval, where people rated.
    """

    key: RateKey
    title: str
    unit: Kind
    side: str
    limit: float
    value: float | None
    low: float | None
    high: float | None
    n: int
    conversations: int
    missing: int
    evidence: list[float]
    strength: float
    distrusted: str = ""
    """Why its judge is not trusted as far as the policy asks; it raises no alarm then."""
    alarm: bool = False
    corrected: tuple[float, float | None, float | None] | None = None
    labelled: int = 0
    """Conversations in which people rated, too."""

    def sentence(self) -> str:
        """Say what the look says of it."""
        relation = "≤" if self.side == "high" else "≥"
        figure = bounded(self.value, self.low, self.high, self.unit)
        text = f"{self.title} of {self.key.model}: {figure} in {plural(self.conversations, 'conversation')} (limit {relation} {write(self.limit, self.unit)})"
        if self.missing:
            text += f", {count(self.missing)} of {count(self.n)} verdicts missing"
        if self.corrected is not None:
            text += f"; corrected by people in {plural(self.labelled, 'conversation')}, over all looks: {bounded(*self.corrected, self.unit)}"
        if self.distrusted:
            return f"{text}; cannot tell: {self.distrusted}"
        return f"{text}; it has passed its limit" if self.alarm else text


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One look at what is new: how many dialogues came, how many were drawn and rated, and what they say."""

    number: int
    at: str
    dialogues: int
    drawn: int
    rates: list[WatchedRate]
    broken: list[str]
    """Rules that forbid a level, with the replies at it."""
    unmeasured: list[str] = []
    """Bounds of which no look so far has anything, a sentence each."""
    notes: list[str]

    @property
    def alarms(self) -> list[str]:
        """What somebody must look at now, a sentence each."""
        return [*(rate.sentence() for rate in self.rates if rate.alarm), *self.broken]

    @property
    def outcome(self) -> str:
        """What it comes to, in a word or two."""
        return "ALARM" if self.alarms else "cannot tell" if self.undecided else "no alarm"

    @property
    def date(self) -> str:
        """When it was taken."""
        return f"{self.at[:10]} {self.at[11:16]} UTC"

    def line(self) -> str:
        """Say it in one line: what came, what it comes to, and why."""
        reasons = self.alarms or [*self.unmeasured, *(rate.sentence() for rate in self.rates)]
        counted = f"{count(self.dialogues)} new, {count(self.drawn)} drawn and rated"
        return f"Look {self.number}, {self.date}: {counted}: {self.outcome}: {' | '.join(reasons)}"

    @property
    def undecided(self) -> bool:
        """Whether it says nothing that can be trusted of some rate."""
        return bool(self.unmeasured) or any(rate.distrusted or rate.value is None for rate in self.rates)
