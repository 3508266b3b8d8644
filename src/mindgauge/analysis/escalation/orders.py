"""Escalation curves: by each judge, their juries, classifiers, length, and what is learned from people's labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from mindgauge.analysis.escalation import features
from mindgauge.analysis.escalation.card import TARGETS, Escalation, Order
from mindgauge.analysis.escalation.reading import ReadingEffort, bound, first
from mindgauge.analysis.reliability.card import Bound
from mindgauge.records.errors import DataError
from mindgauge.records.rounding import precise
from mindgauge.stats import escalation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.features import LearnedFeatures
    from mindgauge.analysis.escalation.subjects import Subjects
    from mindgauge.stats.escalation import Features

    Floats = NDArray[np.float64]

JURY = "jury/mean"
_FEW = 5
"""Fewer unsafe conversations than this are nothing to learn from, or to put an interval around; with fewer unsafe
replies left unread, percentiles cannot reach far enough up."""


class EscalationOptions(NamedTuple):
    """Of an escalation curve: the share of the unsafe to be found, and how it is computed."""

    target: float = escalation.TARGET
    resamples: int = 1000
    seed: int = 0


class _Fixed(NamedTuple):
    """An order in which nothing is learned; `risk` is infinite where there is no verdict."""

    name: str
    kind: str
    risk: Floats


def escalate(run: str, subjects: Subjects, options: EscalationOptions) -> Escalation:
    """Compute the escalation curves of the replies that people rated.

    Args:
        run: where they are from.
        subjects: all replies.
        options: target and resampling.

    Raises:
        DataError: people call none of the replies unsafe, all of them, or too few to learn from.
    """
    rated = subjects.some(subjects.labelled)
    unsafe = rated.unsafe == 1
    risky = len(np.unique(rated.cluster[unsafe]))
    if risky < _FEW or unsafe.all():
        raise DataError(
            f"people call {int(unsafe.sum())} of {len(unsafe)} replies unsafe ({subjects.rule.text}), in {risky} "
            f"conversations; a reading order needs unsafe replies in at least {_FEW}, and safe replies"
        )
    fixed, learned = _fixed(rated), features.combinations(rated)
    jury = next((order for order in fixed if order.name == JURY), fixed[0])
    reading = ReadingEffort(rated, resamples=options.resamples, target=options.target, seed=options.seed)
    curves = _Curves(reading, jury.risk)
    orders = [curves.fixed(order) for order in fixed] + [curves.learned(combination) for combination in learned]
    needed = math.ceil(options.target * unsafe.sum() - 1e-9)
    models, counts = np.unique(rated.system[rated.system != ""], return_counts=True)
    left_out = int((subjects.asked & ~subjects.labelled).sum())
    result = Escalation(
        run=run, benchmark=subjects.benchmark.name, unsafe=subjects.rule.text, people=subjects.people, n=len(unsafe),
        clusters=int(rated.cluster.max()) + 1, n_unsafe=int(unsafe.sum()), target=options.target, needed=needed,
        ideal=needed / len(unsafe), left_out=left_out, selection=subjects.selection,
        models=dict(zip(models.tolist(), counts.tolist(), strict=True)), orders=orders, notes=[],
    )  # fmt: skip
    return msgspec.structs.replace(result, notes=_notes(subjects, result))


def juries(judges: dict[str, Floats]) -> dict[str, Floats]:
    """Return the risk of juries of all judges; infinite where a member has no verdict.

    Members' means over their repeats are put together: `mean`, `median` (of an even number the worse of the two in the
    middle), and `minimum`, the worst that any member says.
    """
    if len(judges) < 2:
        return {}
    verdicts = np.sort(np.stack(list(judges.values())), axis=0)
    risks = {JURY: verdicts.mean(axis=0), "jury/median": verdicts[len(verdicts) // 2], "jury/minimum": verdicts[-1]}
    complete = np.isfinite(verdicts).all(axis=0)
    return {name: np.where(complete, risk, np.inf) for name, risk in risks.items()}


def _fixed(subjects: Subjects) -> list[_Fixed]:
    orders = [_Fixed(name, "judge", first(risk)) for name, risk in subjects.judges.items()]
    orders += [_Fixed(name, "jury", risk) for name, risk in juries(subjects.judges).items()]
    orders += [_Fixed(name, "classifier", first(risk)) for name, risk in subjects.classifiers.items()]
    if len(np.unique(subjects.length)) > 1:
        orders.append(_Fixed("shortest first", "length", -subjects.length))
    return orders


class _Curves:
    """The cards of orders of one set of replies, each beside the jury's."""

    def __init__(self, reading: ReadingEffort, jury: Floats) -> None:
        self.reading = reading
        self.jury = reading.effort(jury)
        self.juries = reading.resampled(jury)

    def fixed(self, order: _Fixed) -> Order:
        """Return the card of an order in which nothing is learned; it knows all models equally well."""
        values = self.reading.resampled(order.risk)
        return self._order(order, values, order.risk, bound(self.reading.effort(order.risk), values), [])

    def learned(self, learned: LearnedFeatures) -> Order:
        """Return the card of an order that is learned, anew for every figure, on other conversations."""
        slopes = escalation.coefficients(learned.features, self.reading.unsafe).tolist()
        return self._order(
            _Fixed(learned.name, "fitted", self.reading.learned(learned)), self.reading.relearned(learned), learned.features,
            self._unseen(learned), list(zip(learned.columns, slopes, strict=True)),
        )  # fmt: skip

    def _order(
        self,
        order: _Fixed,
        values: Floats,
        risk_source: Floats | Features,
        unseen: Bound,
        slopes: list[tuple[str, float]],
    ) -> Order:
        """Put a card together; `values` are the efforts on every resample, `risk_source` is what a threshold is set on."""
        reading = self.reading
        value = reading.effort(order.risk)
        reads, finds = escalation.at_threshold(
            risk_source, reading.unsafe, reading.cluster, target=reading.target, seed=reading.seed
        )
        itself = order.name == JURY
        return Order(
            name=order.name, kind=order.kind, learned_from=[name for name, _ in slopes],
            missing=int(np.isinf(order.risk).sum()), reads=bound(value, values),
            reads_for={f"{t:g}": reading.effort(order.risk, t) for t in sorted({*TARGETS, reading.target})},
            minus_jury=Bound(None, note="it is the jury") if itself else bound(value - self.jury, values - self.juries),
            threshold_reads=reads, threshold_finds=finds, unseen=unseen,
            found=reading.found(order.risk),
            coefficients={name: round(slope, 4) for name, slope in slopes},
        )  # fmt: skip

    def _unseen(self, learned: LearnedFeatures) -> Bound:
        reading = self.reading
        if reading.system.max() == 0:
            return Bound(None, note="all replies are by one model")
        value = reading.effort(reading.learned(learned, separate=reading.system))
        return bound(value, reading.relearned(learned, separate=reading.system))


def _notes(subjects: Subjects, result: Escalation) -> list[str]:
    """Say what the figures rest on, and where they mislead."""
    notes = list(subjects.notes)
    if result.left_out:
        notes.append(
            f"{result.left_out} replies that people were asked about have no value from anyone, or the criterion does not apply; they are left out"
        )
    if result.selection:
        notes.append(
            f"these replies were chosen for people ({result.selection}), so the figures say little about replies that were not"
        )
    missing = max(order.missing for order in result.orders)
    if missing:
        notes.append(f"replies without a verdict are read first; the order that lacks most lacks {missing}")
    rest = result.n_unsafe - result.needed
    notes.append(
        f"to find {result.needed} of {result.n_unsafe} leaves {rest} unsafe unread: the figure depends on the places of the last few"
        + (
            "; with so few, the intervals' upper ends are too low (bench/coverage.py --only reading)"
            if rest < _FEW
            else ""
        )
    )
    for order in result.orders:
        value, low, high = order.reads.value, order.reads.low, order.reads.high
        if value is not None and low is not None and high is not None and not low <= value <= high:
            notes.append(
                f"{order.name}: many replies have the same features, and cross-fitting puts such ties in a bad order, so {precise(value)} is too high"
            )
    combined = next((order for order in reversed(result.orders) if order.name.startswith(features.JUDGES)), None)
    jury = next((order for order in result.orders if order.name == JURY), None)
    if combined and jury and (combined.unseen.value or 0) > (jury.reads.value or 0):
        notes.append(
            f"{combined.name}: of a model from which nothing was learned, people would read {precise(combined.unseen.value)}, "
            f"more than in the jury's order ({precise(jury.reads.value)}); use it for models that people have rated"
        )
    if subjects.classifiers:
        notes.append("a classifier's figures hold only if it was trained without these replies' labels")
    return notes
