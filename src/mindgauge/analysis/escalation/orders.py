"""Escalation curves: by each judge, their juries, classifiers, length, and what is learned from people's labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from mindgauge.analysis.escalation.result import Escalation, Order, Promise, guarantees, level_sets, said_of_carrier
from mindgauge.analysis.escalation.subjects import WORDS, WordOrder, enough
from mindgauge.analysis.reliability.card import Bound
from mindgauge.records.english import named
from mindgauge.records.errors import DataError
from mindgauge.records.rounding import interval, precise, write
from mindgauge.stats import bootstrap, escalation
from mindgauge.stats.escalation import Features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.result import Learn
    from mindgauge.analysis.escalation.subjects import Subjects

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


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
    return [learned_features(subjects, parts) for parts in dict.fromkeys(wanted) if parts]


def everything(subjects: Subjects) -> LearnedFeatures:
    """Return the combination of all there is."""
    return learned_features(subjects, _there(subjects))


def _there(subjects: Subjects) -> tuple[str, ...]:
    sources = [JUDGES]
    sources += [CLASSIFIERS] if subjects.classifiers else []
    sources += [LENGTH] if len(np.unique(subjects.length)) > 1 else []
    sources += [CATEGORY] if len(np.unique(subjects.category)) > 1 else []
    return tuple(sources)


def learned_features(subjects: Subjects, parts: tuple[str, ...]) -> LearnedFeatures:
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


TARGETS = (0.8, 0.9, 0.95, 0.98, 1.0)


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


class _Fixed(NamedTuple):
    """An order in which nothing is learned; `risk` is infinite where there is no verdict."""

    name: str
    kind: str
    risk: Floats


def escalate(run: str, subjects: Subjects, promise: Promise, resamples: int = 1000) -> Escalation:
    """Compute the escalation curves of the replies that people rated.

    Args:
        run: where they are from.
        subjects: all replies.
        promise: what a threshold must hold: the share of the unsafe to be found, what may pass, the confidence, and the seed.
        resamples: of the bootstrap.

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
    reading = ReadingEffort(rated, resamples=resamples, target=promise.target, seed=promise.seed)
    curves = _Curves(reading, jury.risk, rated.system, promise)
    orders = [curves.fixed(order) for order in fixed] + [curves.learned(combination) for combination in learned]
    orders += [curves.worded(WordOrder(rated, jury.risk), promise.seed)] if enough(rated) else []
    needed = math.ceil(promise.target * unsafe.sum() - 1e-9)
    ideal = math.ceil(promise.target * rated.weight[unsafe].sum() - 1e-9) / rated.weight.sum()
    models, counts = np.unique(rated.system[rated.system != ""], return_counts=True)
    unsafe_of = {model: int(unsafe[rated.system == model].sum()) for model in models.tolist()}
    left_out = int((subjects.asked & ~subjects.labelled).sum())
    result = Escalation(
        run=run, benchmark=subjects.benchmark.name, unsafe=subjects.rule.text, people=subjects.people, n=len(unsafe),
        clusters=int(rated.cluster.max()) + 1, n_unsafe=int(unsafe.sum()), target=promise.target, needed=needed,
        ideal=float(ideal), left_out=left_out, selection=subjects.selection,
        models=dict(zip(models.tolist(), counts.tolist(), strict=True)), unsafe_by_model=unsafe_of,
        confidence=promise.confidence, tolerated=promise.tolerated, default=_default(orders, jury.name), orders=orders,
        sets=level_sets(rated, {**rated.judges, **({JURY: jury.risk} if jury.name == JURY else {})}), notes=[],
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


def _default(orders: list[Order], jury: str) -> str:
    """Return the order for models that nobody rated: the jury's, unless words of judges read less of such models.

    Only the order of words stands for election, since what it learns from was chosen without these models.
    """
    reads = {order.name: order.unseen.value for order in orders}
    challengers = [order.name for order in orders if order.chosen]
    return next((name for name in challengers if (reads[name] or 1.0) < (reads[jury] or 0.0)), jury)


class _Curves:
    """The cards of orders of one set of replies, each beside the jury's."""

    def __init__(self, reading: ReadingEffort, jury: Floats, system: NDArray[np.str_], promise: Promise) -> None:
        self.reading, self.system, self.promise = reading, system, promise
        self.jury = reading.effort(jury)
        self.juries = reading.resampled(jury)

    def fixed(self, order: _Fixed) -> Order:
        """Return the card of an order in which nothing is learned; it knows all models equally well."""
        values = self.reading.resampled(order.risk)
        return self._order(order, values, order.risk, [], (order.risk, values))

    def learned(self, learned: LearnedFeatures) -> Order:
        """Return the card of an order that is learned, anew for every figure, on other conversations."""
        slopes = escalation.coefficients(learned.features, self.reading.unsafe).tolist()
        return self._order(
            _Fixed(learned.name, "fitted", self.reading.learned(learned)), self.reading.relearned(learned), learned.features,
            list(zip(learned.columns, slopes, strict=True)), self._unseen(learned),
        )  # fmt: skip

    def worded(self, words: WordOrder, seed: int) -> Order:
        """Return the card of the order that is learned from judges' words; its resamples do not learn it anew."""
        note = "the order is not learned anew in the resamples, so the interval is too short"
        strangers, chosen = words.strangers(), dict(words.chosen)
        risk = words.crossfitted(seed)
        order = self._order(
            _Fixed(f"jury + {WORDS}", "fitted", risk), self.reading.resampled(risk), risk, [],
            (strangers, self.reading.resampled(strangers)), words.learned,
        )  # fmt: skip
        learned_from = [JURY, *(f"{WORDS} of {judge}" for judge in words.judges), "log length", CATEGORY]
        return msgspec.structs.replace(
            order, chosen=chosen, learned_from=learned_from,
            reads=msgspec.structs.replace(order.reads, note=note),
            minus_jury=msgspec.structs.replace(order.minus_jury, note=note),
            unseen=msgspec.structs.replace(order.unseen, note=note),
            unseen_minus_jury=msgspec.structs.replace(order.unseen_minus_jury, note=note),
        )  # fmt: skip

    def _order(
        self,
        order: _Fixed,
        values: Floats,
        risk_source: Floats | Features,
        slopes: list[tuple[str, float]],
        strangers: tuple[Floats, Floats] | None,
        learn: Learn | None = None,
    ) -> Order:
        """Put a card together.

        `values` are the efforts on every resample, `risk_source` is what a threshold is set on, `strangers` the risk
        where nothing was learned from a reply's model, with its efforts on every resample, `learn` what learns anew on
        half of the conversations.
        """
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
        if isinstance(risk_source, Features):
            learn = _relearning(risk_source, reading.unsafe)
        promised, passes = guarantees(
            learn or order.risk, reading.unsafe, reading.cluster, self.promise, reading.copies
        )
        unseen, unseen_minus, models = self._of_strangers(strangers, itself := order.name == JURY)
        return Order(
            name=order.name, kind=order.kind, learned_from=[name for name, _ in slopes],
            missing=int(np.isinf(order.risk).sum()), reads=bound(value, values),
            reads_for={f"{t:g}": reading.effort(order.risk, t) for t in sorted({*TARGETS, reading.target})},
            minus_jury=Bound(None, note="it is the jury") if itself else bound(value - self.jury, values - self.juries),
            threshold_reads=reads, threshold_finds=finds, unseen=unseen, unseen_minus_jury=unseen_minus,
            found=reading.found(order.risk),
            coefficients={name: round(slope, 4) for name, slope in slopes},
            guarantee=promised, passing=passes, by_model=models,
        )  # fmt: skip

    def _by_model(self, risk: Floats) -> dict[str, float | None]:
        """Return what is read of each model's replies alone."""
        unsafe, target = self.reading.unsafe, self.reading.target
        parts = {str(model): self.system == model for model in np.unique(self.system[self.system != ""])}
        return {
            model: float(escalation.effort(risk[own], unsafe[own], target=target)[0]) if unsafe[own].any() else None
            for model, own in parts.items()
        }

    def _of_strangers(
        self, strangers: tuple[Floats, Floats] | None, itself: bool
    ) -> tuple[Bound, Bound, dict[str, float | None]]:
        """Return what is read of models that nothing was learned from, less the jury's, and model by model."""
        if strangers is None:
            alone = Bound(None, note="all replies are by one model")
            return alone, alone, {}
        risk, values = strangers
        reads = self.reading.effort(risk)
        difference = Bound(None, note="it is the jury") if itself else bound(reads - self.jury, values - self.juries)
        return bound(reads, values), difference, self._by_model(risk)

    def _unseen(self, learned: LearnedFeatures) -> tuple[Floats, Floats] | None:
        system = self.reading.system
        if system.max() == 0:
            return None
        return self.reading.learned(learned, separate=system), self.reading.relearned(learned, separate=system)


def _relearning(features: Features, unsafe: Mask) -> Learn:
    """Return what learns the risks of all replies from some of them."""
    return lambda training: np.asarray(escalation.learn(features, unsafe, training[None, :].astype(float))[0])


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
    notes += _of_words(result)
    if subjects.classifiers:
        notes.append("a classifier's figures hold only if it was trained without these replies' labels")
    return notes


def _of_words(result: Escalation) -> list[str]:
    """Say which model the figures hang on, what was chosen of the judges' words, and which order is for whom."""
    carrier = said_of_carrier(result.unsafe_by_model)
    notes = [carrier] if carrier else []
    for order in result.orders:
        if order.chosen:
            difference = order.unseen_minus_jury
            choices = named([f"{name} ({count})" for name, count in order.chosen.items()], limit=9)
            notes.append(
                f"{order.name}: chosen by leaving models out, for each model left out: {choices}; "
                "its intervals do not learn it anew, so they are too short"
            )
            if difference.value is not None:
                notes.append(
                    f"{order.name}: of such models it reads {write(difference.value, 'points', signed=True)} beside the jury "
                    f"({interval(difference.low, difference.high, 'points', signed=True)}, too short)"
                )
    notes.append(
        f"for models that people have not rated, read in the order of {result.default}; a guarantee holds for one order "
        "that was settled on beforehand, and for conversations like those that people rated, each of which counts once"
    )
    return notes
