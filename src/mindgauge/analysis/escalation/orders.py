"""Escalation curves: by each judge, their juries, classifiers, length, and what is learned from people's labels; and what they say, order by order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from mindgauge.analysis.reliability.card import Bound, estimate_columns
from mindgauge.records.english import named
from mindgauge.records.errors import DataError
from mindgauge.records.rounding import bounded, count, percent, plural, precise
from mindgauge.records.tabular import Tabular, first_of, noted
from mindgauge.stats import bootstrap, escalation
from mindgauge.stats.escalation import Features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.subjects import Subjects

    Floats = NDArray[np.float64]

    Codes = NDArray[np.intp]


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


# What a risk is learned from: fixed beforehand, so that nothing is chosen on the data that it is reported on.


JUDGES, CLASSIFIERS, LENGTH, CATEGORY = "judges", "classifiers", "length", "category"
_SURE = 1e-4
"""How close to 0 or 1 a classifier's probability counts: it writes four digits."""


class LearnedFeatures(NamedTuple):
    """A combination: the parts that it learns from, its name, and its columns."""

    parts: tuple[str, ...]
    features: Features
    columns: list[str]

    @property
    def name(self) -> str:
        """Its parts; without a judge among them, that is said."""
        return " + ".join(self.parts) + ("" if JUDGES in self.parts else ", no judge")


def combinations(subjects: Subjects) -> list[LearnedFeatures]:
    """Return what is fitted: judges; with length; with all there is; and all that is known without a judge."""
    sources = _there(subjects)
    cheap = tuple(part for part in sources if part in {LENGTH, CATEGORY})
    wanted = [(JUDGES,), *([(JUDGES, LENGTH)] if LENGTH in sources else []), sources, cheap]
    return [learned(subjects, parts) for parts in dict.fromkeys(wanted) if parts]


def everything(subjects: Subjects) -> LearnedFeatures:
    """Return the combination of all there is."""
    return learned(subjects, _there(subjects))


def _there(subjects: Subjects) -> tuple[str, ...]:
    sources = [JUDGES]
    sources += [CLASSIFIERS] if subjects.classifiers else []
    sources += [LENGTH] if len(np.unique(subjects.length)) > 1 else []
    sources += [CATEGORY] if len(np.unique(subjects.category)) > 1 else []
    return tuple(sources)


def learned(subjects: Subjects, parts: tuple[str, ...]) -> LearnedFeatures:
    """Put the columns of some parts together.

    A judge's risk and a classifier's may raise the fitted risk only. Length is log characters. Categories are one
    column each, and are not standardised.
    """
    table: list[tuple[str, Floats, bool, int]] = []
    if JUDGES in parts:
        table += [(name, risk, True, 1) for name, risk in subjects.judges.items()]
    if CLASSIFIERS in parts:
        table += [(name, _log_odds(risk), True, 1) for name, risk in subjects.classifiers.items()]
    if LENGTH in parts:
        table.append(("log length", subjects.length, True, 0))
    if CATEGORY in parts:
        table += [
            (f"category={name}", (subjects.category == name).astype(float), False, 0)
            for name in np.unique(subjects.category).tolist()
        ]
    values = np.column_stack([column for _, column, _, _ in table])
    scaled, signs = np.array([row[2] for row in table]), np.array([row[3] for row in table], dtype=np.intp)
    return LearnedFeatures(parts, Features(values, scaled, signs), [name for name, *_ in table])


def _log_odds(probability: Floats) -> Floats:
    p = np.clip(probability, _SURE, 1 - _SURE)
    return np.asarray(np.log(p / (1 - p)))


# How much is read until enough of the unsafe is found, on the same resamples of conversations for every order.


_GRID = np.linspace(0, 1, 101)


class ReadingEffort:
    """Replies that people rated, read in one order or another; the riskiest first, what has no verdict before them."""

    def __init__(self, rated: Subjects, *, resamples: int, target: float = escalation.TARGET, seed: int = 0) -> None:
        self.unsafe = rated.unsafe == 1
        self.cluster = rated.cluster
        self.system: Codes = np.unique(rated.system, return_inverse=True)[1].astype(np.intp)
        self.weights = np.concatenate(list(bootstrap.cluster_weights(rated.cluster, resamples, seed)))
        self.target, self.seed = target, seed
        self.copies = rated.weight
        """How many replies each stands for."""

    def effort(self, risk: Floats, target: float | None = None) -> float:
        """Return the share that is read."""
        return float(escalation.effort(risk, self.unsafe, self.copies[None], target or self.target)[0])

    def resampled(self, risk: Floats) -> Floats:
        """Return the share on every resample, shape (R,), of an order in which nothing is learned."""
        return escalation.effort(risk, self.unsafe, self.weights * self.copies, self.target)

    def learned(self, learned: LearnedFeatures, separate: Codes | None = None) -> Floats:
        """Return the risk that is learned on other conversations, or on those of other systems (`separate`)."""
        scaled = self.copies / self.copies.mean()
        return escalation.crossfit(
            learned.features, self.unsafe, self.cluster, weights=scaled, separate=separate, seed=self.seed
        )

    def relearned(self, learned: LearnedFeatures, separate: Codes | None = None) -> Floats:
        """Return the share on every resample, shape (R,), where the order is learned and cross-fitted anew on each."""
        risks = escalation.crossfits(
            learned.features, self.unsafe, self.cluster, self.weights * (self.copies / self.copies.mean()),
            separate=separate, seed=self.seed,
        )  # fmt: skip
        efforts = [
            escalation.effort(risk[drawn], self.unsafe[drawn], copies[None, drawn], self.target)[0]
            for risk, copies in zip(risks, self.weights * self.copies, strict=True)
            for drawn in [copies > 0]
        ]
        return np.array(efforts)

    def found(self, risk: Floats) -> list[float]:
        """Return the shares of the unsafe found once 0, 1, …, 100 % are read."""
        shares: list[float] = escalation.curve(risk, self.unsafe, _GRID, self.copies).round(4).tolist()
        return shares


def bound(value: float, values: Floats) -> Bound:
    """Return a share with its percentile interval."""
    return Bound(*bootstrap.percentile_interval(value, values))


def first(risk: Floats) -> Floats:
    """Put what has no verdict first."""
    return np.where(np.isfinite(risk), risk, np.inf)


# Escalation curves: by each judge, their juries, classifiers, length, and what is learned from people's labels.


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
    fixed, learned = _fixed(rated), combinations(rated)
    jury = next((order for order in fixed if order.name == JURY), fixed[0])
    reading = ReadingEffort(rated, resamples=options.resamples, target=options.target, seed=options.seed)
    curves = _Curves(reading, jury.risk)
    orders = [curves.fixed(order) for order in fixed] + [curves.learned(combination) for combination in learned]
    needed = math.ceil(options.target * unsafe.sum() - 1e-9)
    ideal = math.ceil(options.target * rated.weight[unsafe].sum() - 1e-9) / rated.weight.sum()
    models, counts = np.unique(rated.system[rated.system != ""], return_counts=True)
    left_out = int((subjects.asked & ~subjects.labelled).sum())
    result = Escalation(
        run=run, benchmark=subjects.benchmark.name, unsafe=subjects.rule.text, people=subjects.people, n=len(unsafe),
        clusters=int(rated.cluster.max()) + 1, n_unsafe=int(unsafe.sum()), target=options.target, needed=needed,
        ideal=float(ideal), left_out=left_out, selection=subjects.selection,
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
            risk_source,
            reading.unsafe,
            reading.cluster,
            target=reading.target,
            seed=reading.seed,
            weights=reading.copies,
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
    if subjects.drawn:
        notes.append(subjects.drawn)
    elif result.selection:
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
    combined = next((order for order in reversed(result.orders) if order.name.startswith(JUDGES)), None)
    jury = next((order for order in result.orders if order.name == JURY), None)
    if combined and jury and (combined.unseen.value or 0) > (jury.reads.value or 0):
        notes.append(
            f"{combined.name}: of a model from which nothing was learned, people would read {precise(combined.unseen.value)}, "
            f"more than in the jury's order ({precise(jury.reads.value)}); use it for models that people have rated"
        )
    if subjects.classifiers:
        notes.append("a classifier's figures hold only if it was trained without these replies' labels")
    return notes
