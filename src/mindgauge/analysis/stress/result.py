"""What a stress test says of a judge."""

from __future__ import annotations

from typing import Any

import msgspec

from mindgauge.analysis.reliability.card import Bound, estimate_columns
from mindgauge.records.command_result import Tabular
from mindgauge.records.rounding import count

BIASED, CLEAN, CANNOT_TELL = "biased", "clean", "cannot tell"
VALUE, LOST, HALO = "value", "lost", "halo"
_MEASURES = {LOST: ", lost verdicts", HALO: ", halo"}
KIND = "kind="
"""How the slice of a kind of injection begins."""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """By how much a judge's ratings differ between two forms of the same, on one criterion.

    `measure` is `value` (version minus `against`, in shares of the scale, above 0 is kinder), `lost` (share of verdicts
    that come in the one form and not in the other, over all criteria) or `halo` (mean correlation between criteria,
    asked all at once minus one at a time). `n` counts pairs, `missing` those without a verdict on one side; `worst` and
    `best` are the effect were these at the scale's ends. `changed` is the share of pairs with another value.
    `needed` conversations would make the interval as narrow as a verdict needs.
    """

    probe: str
    version: str
    against: str
    criterion: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    note: str
    p: float | None
    adjusted: float | None
    verdict: str
    needed: int | None
    n: int
    clusters: int
    missing: int
    worst: float | None
    best: float | None
    changed: Bound

    @property
    def contrast(self) -> str:
        """What is compared: `authority: clinician – placebo`."""
        against = f" – {self.against}" if self.against else ""
        return f"{self.probe}: {self.version}{against}{_MEASURES.get(self.measure, '')}"


class AttemptCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many attempts of one part of the battery reached what they wanted.

    `n` counts attempts on replies that got another level both without the attempt and with a neutral sentence in its
    place; `reached` those that got the wanted level at least once, `share` how many in the mean, with exact bounds and
    conversations as n. `lost` attempts had no verdict where there was one without.
    """

    slice: str
    attempts: int
    attempts_reached: int
    n: int
    clusters: int
    reached: int
    share: Bound
    lost: int


class Injections(AttemptCounts, frozen=True, kw_only=True):
    """What one part of the battery came to.

    `excess` is the share with the attempt minus that with the neutral sentence; only kinds are tested.
    """

    excess: Bound
    p: float | None
    adjusted: float | None
    verdict: str
    needed: int | None


class Repeats(msgspec.Struct, frozen=True):
    """How often a judge changes its mind when it is asked the very same again: the noise beneath all effects."""

    criterion: str
    n: int
    clusters: int
    changed: Bound
    distance: float | None
    """Mean distance of two verdicts, in shares of the scale."""


class Stress(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What came of a judge's stress test on one benchmark; `notes` say what could not be tried."""

    run: str
    benchmark: str
    judge: str
    items: int
    conversations: int
    judge_runs: int
    verdicts: int
    unusable: int
    effects: list[Effect]
    injections: list[Injections]
    repeats: list[Repeats]
    notes: list[str]

    @property
    def kinds(self) -> list[Injections]:
        """The injections by kind, which are tested."""
        return [part for part in self.injections if part.slice.startswith(KIND)]

    def summary(self) -> list[str]:
        """Say on what the judge was tried; what moves it is told in the report's words (`reports`)."""
        return [f"{self.judge} under stress: {self.benchmark}, {count(self.items)} replies; {self.run}"]

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in msgspec.structs.asdict(e).items() if name != "changed"}
            | estimate_columns({"changed": e.changed})
            for e in self.effects
        ]
