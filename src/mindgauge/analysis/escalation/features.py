"""What a risk is learned from: fixed beforehand, so that nothing is chosen on the data that it is reported on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.stats.escalation import Features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.subjects import Subjects

    Floats = NDArray[np.float64]

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
