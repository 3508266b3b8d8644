"""A metric is a function of weighted ratings: `compute(table, weights) -> (B,)`, one row of weights per resample.

So every metric, a newcomer's too, gets clustered intervals, slices, repeats and bounds for missing ratings from the
framework. Metric names say their direction.

An answer that cannot be read is as far off as it could be; the figures of those that can be read stand beside.
"""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from mindgauge.benchmarks.metrics.estimates import Estimate, estimate
from mindgauge.benchmarks.metrics.metric_sentences import MetricWords, ShareFigure, least_recognised, right
from mindgauge.benchmarks.metrics.own import guarded, metric
from mindgauge.benchmarks.metrics.scores import (
    distribution_of,
    label_of,
    mean_level,
    rate_of,
    sd_level,
    share,
    share_at,
    share_at_most,
    share_of,
    share_reaching,
    with_others,
)
from mindgauge.benchmarks.metrics.table import COEFFICIENT, Codes, Floats, Mask, Metric, RatingTable, mean_of
from mindgauge.records import Status, Value
from mindgauge.stats import agreement, classification, level
from mindgauge.stats.ratio import ratio


def _has_target(table: RatingTable) -> Mask:
    return table.target >= 0


def _hit(table: RatingTable) -> Floats:
    return np.equal(table.code, table.target).astype(float)


def _target_in(*values: Value) -> Callable[[RatingTable], Mask]:
    return lambda table: np.isin(table.target, table.codes(*values))


def _share(
    name: str,
    hits: Callable[[RatingTable], Floats],
    better: str,
    applies_to: Callable[[RatingTable], Mask],
    label: str = "",
    words: MetricWords | None = None,
) -> Metric:
    metric = mean_of(name, hits, better, applies_to, exact=True, missing_is_outcome=True, label=label)
    return msgspec.structs.replace(metric, words=words or MetricWords())


def _of_called(
    name: str, selected: Callable[[RatingTable], Mask], right: Callable[[RatingTable], Mask], label: str = ""
) -> Metric:
    """Return the share of the answers of some kind that are right; who answers decides which subjects these are."""

    def compute(table: RatingTable, weights: Floats) -> Floats:
        mask = selected(table)
        return ratio(weights @ (mask & right(table)).astype(float), weights @ mask.astype(float))

    return Metric(
        name,
        compute,
        "higher",
        lambda table: _has_target(table) & selected(table),
        exact=True,
        label=label,
        additive=True,
    )


# -- all labels together ----------------------------------------------------------------------------------------------

accuracy = msgspec.structs.replace(
    _share("accuracy", _hit, "higher", _has_target, words=MetricWords(sentence=right(of_read="accuracy_of_read"))),
    chance=lambda table: 1 / len(table.levels),
)
"""The strict one: an answer that cannot be read is wrong."""
accuracy_of_read = msgspec.structs.replace(
    mean_of("accuracy_of_read", _hit, "higher", lambda table: _has_target(table) & table.ok, exact=True),
    item_score=None,
    of_read="accuracy",
)
"""The accuracy of the answers that can be read; who answers decides which these are, so nobody is compared by it."""
weighted_recall = msgspec.structs.replace(
    accuracy, name="weighted_recall", item_score=None, chance=None, words=MetricWords()
)
"""Recall weighted by how often each label occurs: by identity the accuracy, so systems are compared by that alone."""


def _f1_of_guesses(table: RatingTable) -> float:
    """Return the macro-F1 of levels drawn evenly: their precision is the target's share, their recall 1 / levels."""
    share = np.unique(table.target, return_counts=True)[1] / len(table)
    recall = 1 / len(table.levels)
    return float((2 * share * recall / (share + recall)).mean())


def _of_confusion(
    name: str,
    figure: Callable[[Floats], Floats],
    title: str = "",
    limits: tuple[float, float] = (0.0, 1.0),
) -> Metric:
    words = MetricWords(title=title)
    return Metric(
        name,
        lambda table, weights: figure(_confusion(table, weights)),
        "higher",
        _has_target,
        additive=True,
        limits=limits,
        words=words,
    )


def _confusion(table: RatingTable, weights: Floats) -> Floats:
    return agreement.confusion(table.target, table.code, len(table.levels), weights)


weighted_precision = _of_confusion("weighted_precision", classification.weighted_precision)
weighted_f1 = _of_confusion("weighted_f1", classification.weighted_f1, "weighted F1")
macro_precision = _of_confusion("macro_precision", classification.macro_precision)
macro_recall = _of_confusion("macro_recall", classification.macro_recall)
macro_f1 = msgspec.structs.replace(
    _of_confusion("macro_f1", classification.macro_f1, "macro F1"), chance=_f1_of_guesses
)
"""Macro figures are means over the labels that occur as targets (in a resample: that occur there)."""
cohen_kappa = _of_confusion("cohen_kappa", agreement.cohen_kappa, level.named("cohen_kappa"), limits=COEFFICIENT)


# -- repeats ----------------------------------------------------------------------------------------------------------


def _subjects(table: RatingTable) -> tuple[Codes, Codes]:
    """Return where each subject stands first, and the number of each rating's subject."""
    _, first, number = np.unique(table.subject, return_index=True, return_inverse=True)
    return first, number


def _repeats(table: RatingTable, weights: Floats) -> Floats:
    if np.bincount(table.subject).max(initial=0) < 2:  # nothing was rated twice
        return np.full(len(weights), np.nan)
    first, subject = _subjects(table)
    counts = np.zeros((len(first), len(table.levels)))
    np.add.at(counts, (subject[table.ok], table.code[table.ok]), 1.0)
    return agreement.fleiss_kappa(counts, weights[:, first])


fleiss_kappa = Metric(
    "fleiss_kappa",
    _repeats,
    "higher",
    across_runs=True,
    limits=COEFFICIENT,
    words=MetricWords(title=f"{level.named('fleiss_kappa')}, of repeats on {{}}"),
)
"""Agreement between the repeats of one rater, or between several raters put in one table."""


def _stable(table: RatingTable, weights: Floats) -> Floats:
    if np.bincount(table.subject).max(initial=0) < 2:
        return np.full(len(weights), np.nan)
    first, subject = _subjects(table)
    runs = np.bincount(subject)
    same = np.bincount(subject, table.ok & (table.code == table.code[first][subject])) == runs
    repeated = runs > 1
    return ratio(weights[:, first] @ (same & repeated).astype(float), weights[:, first] @ repeated.astype(float))


repeat_stability = Metric("repeat_stability", _stable, "higher", exact=True, missing_is_outcome=True, across_runs=True)
"""Share of the subjects asked about more than once that got the same label every time; one without a label did not."""


# -- one label, or several against the rest ---------------------------------------------------------------------------


RECOGNISED = MetricWords(
    across=least_recognised,
    picture=ShareFigure(
        "recall", "Share of the messages of each class that were recognised", "Recognised least", "recognised",
        unranked=True,
    ),
)  # fmt: skip


def recall(label: Value) -> Metric:
    """Return the share of this label's samples that were given it; its n is their number."""
    return _share("recall", _hit, "higher", _target_in(label), str(label), RECOGNISED)


def precision(label: Value) -> Metric:
    """Return the share of the samples given this label that have it; its n is how often it was given."""
    return _of_called(
        "precision",
        lambda table: table.code == table.codes(label),
        lambda table: table.code == table.target,
        str(label),
    )


def call_rate(
    name: str, *, targets: Sequence[Value], answers: Sequence[Value], words: MetricWords | None = None
) -> Metric:
    """Return the share of samples with one of some targets that were given one of some answers; lower is better."""
    return _share(
        name,
        lambda table: np.isin(table.code, table.codes(*answers)).astype(float),
        "lower",
        _target_in(*targets),
        words=words,
    )


def binary(name: str, *, safe: Sequence[Value]) -> tuple[Metric, ...]:
    """Return accuracy, precision, recall and F1 of telling all other labels, as one, from the labels `safe`.

    Confusing two labels on the same side is no error. An answer without a label is on neither side: it raises no alarm.

    Args:
        name: what the other labels are called; the metrics are `<name>_accuracy`, `<name>_precision`, `<name>_recall`
            and `<name>_f1`.
        safe: the labels on the other side.
    """

    def called(table: RatingTable) -> Mask:
        return table.ok & ~np.isin(table.code, table.codes(*safe))

    def has(table: RatingTable) -> Mask:
        return _has_target(table) & ~np.isin(table.target, table.codes(*safe))

    def others(table: RatingTable) -> list[int]:
        return [code for code, level in enumerate(table.levels) if level not in safe]

    def f1(table: RatingTable, weights: Floats) -> Floats:
        return classification.binary_f1(_confusion(table, weights), others(table))

    return (
        _share(
            f"{name}_accuracy",
            lambda table: (table.ok & (called(table) == has(table))).astype(float),
            "higher",
            _has_target,
        ),
        _of_called(f"{name}_precision", called, has),
        _share(f"{name}_recall", lambda table: called(table).astype(float), "higher", has),
        Metric(f"{name}_f1", f1, "higher", _has_target, additive=True, limits=(0.0, 1.0)),
    )


# -- labels decided in order ------------------------------------------------------------------------------------------


def node_accuracy(nodes: Sequence[Sequence[Value]]) -> tuple[Metric, ...]:
    """Return, for each node of a taxonomy, how often its decision is right where the target gets as far as this node.

    A node settles its own labels and passes everything else on; past the last one are the labels that no node names.
    Where the target is settled there, giving that very label is right; where it is passed on, giving any label from
    further on is. An answer that was settled before the node, or has no label, is wrong there, so that the n of a node
    is the same for everybody.

    Args:
        nodes: the labels that each node settles, in order; the metrics are `node_1_accuracy`, `node_2_accuracy`, …
    """
    return tuple(_node(nodes, number) for number in range(len(nodes)))


def _node(nodes: Sequence[Sequence[Value]], number: int) -> Metric:
    def settled(table: RatingTable, codes: Codes) -> Codes:
        """Return at which node each code is settled; -1 for none, len(nodes) past the last."""
        position = np.full(len(table.levels) + 1, len(nodes))
        for node, labels in enumerate(nodes):
            position[table.codes(*labels)] = node
        position[-1] = -1
        return position[codes]

    def right(table: RatingTable) -> Floats:
        reached = settled(table, table.target) == number
        passed = settled(table, table.code) > number
        return np.where(reached, table.code == table.target, passed).astype(float)

    return _share(f"node_{number + 1}_accuracy", right, "higher", lambda table: settled(table, table.target) >= number)


# Closed questions whose levels have an order: how far beside the target, and on which side.


def _read(table: RatingTable) -> Mask:
    return _has_target(table) & table.ok


def _farthest(table: RatingTable) -> Codes:
    """Return each answer's place, and where there is none, the level farthest from the target."""
    last = len(table.levels) - 1
    return np.where(table.ok, table.code, np.where(table.target * 2 > last, 0, last))


def _kappa(table: RatingTable, weights: Floats) -> Floats:
    labels = len(table.levels)
    counts = agreement.confusion(table.target, _farthest(table), labels, weights)[:, :, :labels]
    return agreement.cohen_kappa(counts, "quadratic")


def _ordered_share(name: str, hits: Callable[[RatingTable], Mask], better: str) -> Metric:
    return mean_of(
        name, lambda table: hits(table).astype(float), better, _has_target, exact=True, missing_is_outcome=True
    )


def _off(table: RatingTable) -> Floats:
    return np.asarray(np.abs(_farthest(table) - table.target).astype(float))


quadratic_kappa = Metric(
    "quadratic_kappa", _kappa, "higher", _has_target, missing_is_outcome=True, additive=True, limits=COEFFICIENT
)
"""Cohen's kappa with the weights 1 - (i - j)² / (q - 1)², after Cohen, Psychological Bulletin 70 (1968)."""
quadratic_kappa_of_read = Metric(
    "quadratic_kappa_of_read", _kappa, "higher", _read, additive=True, of_read="quadratic_kappa", limits=COEFFICIENT
)
levels_off = mean_of("levels_off", _off, "lower", _has_target, missing_is_outcome=True)
"""The mean absolute error, in levels."""
levels_off_of_read = msgspec.structs.replace(
    mean_of("levels_off_of_read", lambda table: np.where(table.ok, _off(table), np.nan), "lower"), of_read="levels_off"
)
within_one = _ordered_share("within_one", lambda table: table.ok & (_off(table) <= 1), "higher")
under_triage_rate = _ordered_share("under_triage_rate", lambda table: _farthest(table) < table.target, "lower")
"""The share called less severe than the target, of levels that stand mildest first."""
over_triage_rate = _ordered_share("over_triage_rate", lambda table: _farthest(table) > table.target, "lower")


# What went wrong: the shares of ratings that ended without a value.


def status_rate(status: Status | str) -> Metric:
    """Return the share of ratings that ended in this status."""

    def compute(table: RatingTable, weights: Floats) -> Floats:
        return ratio(weights @ (table.status == str(status)).astype(float), weights.sum(axis=1))

    return Metric(
        f"{status}_rate", compute, "lower", exact=True, missing_is_outcome=True, of_status=True, additive=True
    )


STATUS_RATES = tuple(status_rate(s) for s in (Status.UNPARSABLE, Status.REFUSED, Status.FILTERED, Status.FAILED))


UNMOVED = frozenset(metric.name for metric in (fleiss_kappa, repeat_stability, *STATUS_RATES))
"""What says nothing of values: what became of verdicts, and whether repeats agree."""
SHARES_OF_YES = frozenset(make("yes").name for make in (share_of, share_reaching, rate_of))
"""How often yes was said, whichever of the levels it is."""

__all__ = [
    "SHARES_OF_YES",
    "STATUS_RATES",
    "UNMOVED",
    "Estimate",
    "Metric",
    "RatingTable",
    "accuracy",
    "accuracy_of_read",
    "binary",
    "call_rate",
    "cohen_kappa",
    "distribution_of",
    "estimate",
    "fleiss_kappa",
    "guarded",
    "label_of",
    "levels_off",
    "levels_off_of_read",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "mean_level",
    "mean_of",
    "metric",
    "node_accuracy",
    "over_triage_rate",
    "precision",
    "quadratic_kappa",
    "quadratic_kappa_of_read",
    "rate_of",
    "recall",
    "repeat_stability",
    "sd_level",
    "share",
    "share_at",
    "share_at_most",
    "share_of",
    "share_reaching",
    "status_rate",
    "under_triage_rate",
    "weighted_f1",
    "weighted_precision",
    "weighted_recall",
    "with_others",
    "within_one",
]
