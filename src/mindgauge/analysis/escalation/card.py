"""What an escalation curve says, order by order."""

from __future__ import annotations

from typing import Any

import msgspec

from mindgauge.analysis.reliability.card import Bound, estimate_columns
from mindgauge.records.english import named
from mindgauge.records.rounding import bounded, count, percent, plural
from mindgauge.records.tabular import Tabular, first_of, noted

TARGETS = (0.8, 0.9, 0.95, 0.98, 1.0)


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One order of reading. All shares are of the `n` replies, unless they are said to be of the unsafe ones.

    `kind` is `judge`, `jury`, `classifier`, `length`, or `fitted`: a risk learned from people's labels on other
    conversations. `missing` replies have no verdict of it and are read first.
    """

    name: str
    kind: str
    learned_from: list[str]
    missing: int
    reads: Bound
    """The share that is read until the target share of the unsafe is found; learned anew in every resample."""
    reads_for: dict[str, float]
    """The same for other targets: `0.8` to `1.0`."""
    minus_jury: Bound
    """`reads` less the jury's, on the same resamples; below 0 where people read less."""
    threshold_reads: float
    """What is read where a threshold is set on other conversations so that it finds the target share there."""
    threshold_finds: float
    """The share of the unsafe that this threshold finds."""
    unseen: Bound
    """`reads` where nothing was learned from any reply of the model that wrote the reply."""
    found: list[float]
    """The curve: the share of the unsafe found once 0 %, 1 %, …, 100 % are read."""
    coefficients: dict[str, float]
    """Of a fit to all replies, in log odds: per standard deviation, and per category."""


class Escalation(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How much of `n` replies in `clusters` conversations people must read to find those that they call unsafe.

    `unsafe` says what that means, `needed` how many of the `n_unsafe` the target asks for, `ideal` what an order
    without error would read for it, `left_out` how many replies were put to people and have no value of any of them, or none applies.
    `selection` names why only these replies were rated by people, empty where all were.
    """

    run: str
    benchmark: str
    unsafe: str
    people: list[str]
    n: int
    clusters: int
    n_unsafe: int
    target: float
    needed: int
    ideal: float
    left_out: int
    selection: str
    models: dict[str, int]
    """How many of the replies each model wrote; empty where nobody is measured but the raters."""
    orders: list[Order]
    notes: list[str]

    def summary(self) -> list[str]:
        """Say how much people must read in whose order, and what an order without error would take."""
        orders = [
            f"{order.name}: {bounded(order.reads.value, order.reads.low, order.reads.high, 'share')} of the replies are read"
            for order in self.orders
        ]
        return [
            f"{self.benchmark}: {plural(self.n, 'reply', 'replies')}, {count(self.n_unsafe)} unsafe ({self.unsafe}, by {named(self.people)})",
            f"To find {percent(self.target)} of them people read at least {percent(self.ideal, 1)}; in the order of",
            *first_of(orders, 6),
            *noted(self.notes),
        ]

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {"order": order.name, "kind": order.kind, "missing": order.missing}
            | estimate_columns({"reads": order.reads, "minus_jury": order.minus_jury, "unseen": order.unseen})
            | {f"reads_for_{target}": share for target, share in order.reads_for.items()}
            | {"threshold_reads": order.threshold_reads, "threshold_finds": order.threshold_finds}
            for order in self.orders
        ]
