"""How often intervals of a panel's errors and of corrected shares hold the truth, and how biased shares are, by simulation (bench/dataset_labels.py).

Three judges of differing quality say too seldom what is rare; half of the items say what others of their group say. Shares are
held against those of the items of each trial, the others against what 200,000 items show.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis.dataset import checked
from mindgauge.records.rubric import Criterion, Level, Scale

LEVELS = ("calm", "hint", "plain")
SHARES = np.array([0.70, 0.22, 0.08])
SAID = np.array([
    [[0.85, 0.10, 0.05], [0.25, 0.65, 0.10], [0.10, 0.25, 0.65]],
    [[0.80, 0.15, 0.05], [0.20, 0.70, 0.10], [0.10, 0.30, 0.60]],
    [[0.70, 0.20, 0.10], [0.30, 0.50, 0.20], [0.20, 0.30, 0.50]],
])  # fmt: skip
"""Judge, what is true, what the judge says: all of them say too seldom what is rare."""
CRITERION = Criterion("risk", Scale.NOMINAL, tuple(Level(level, {}) for level in LEVELS))


class LabelTrial(NamedTuple):
    """How often intervals hold, by kind of figure, and by how much shares are off, by class: corrected, raw, and width."""

    coverage: dict[str, float]
    errors: dict[str, list[float]]
    raw: dict[str, list[float]]
    widths: dict[str, list[float]]


def planted(n: int, generator: np.random.Generator) -> tuple[checked.PanelLabels, pl.DataFrame, pl.DataFrame]:
    """Half of the items say what their group says, so that groups matter; return labels, groups, and the truth."""
    group = generator.integers(0, n // 2, n)
    of_group, own = generator.choice(3, n // 2, p=SHARES), generator.choice(3, n, p=SHARES)
    truth = np.where(generator.random(n) < 0.5, of_group[group], own)
    said = [(generator.random(n)[:, None] > judge[truth].cumsum(axis=1)).sum(axis=1) for judge in SAID]
    ids = [f"i{place:06d}" for place in range(n)]
    rows = pl.DataFrame({
        "id": ids * 3, "rater": np.repeat(["x", "y", "z"], n), "status": ["ok"] * (3 * n), "value": np.array(LEVELS)[np.concatenate(said)],
    })  # fmt: skip
    groups = pl.DataFrame({"id": ids, "group": [f"g{number}" for number in group]})
    return checked.panel_labels(rows, ids), groups, pl.DataFrame({"id": ids, "people": np.array(LEVELS)[truth]})


def beside(labels: checked.PanelLabels, groups: pl.DataFrame, truth: pl.DataFrame, drawn: pl.DataFrame) -> pl.DataFrame:
    about = labels.items.join(truth, on="id").join(groups.rename({"group": "cluster"}), on="id")
    return drawn.join(about, on="id")


def trial(trials: int, *, seed: int, items: int = 1500, number: int = 160, disputed: int = 40) -> LabelTrial:
    """Plant a truth, draw, estimate, and hold the estimates against it, so many times."""
    generator = np.random.default_rng(seed)
    labels, _, truth = planted(200_000, generator)
    both = labels.items.join(truth, on="id")
    finds = {level: _share(both.filter(people=level)["outcome"], level) for level in LEVELS}
    called = {
        (said, people): _share(both.filter(outcome=said)["people"], people)
        for said in both["outcome"].unique()
        for people in LEVELS
    }
    held: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    errors, raw, widths = (defaultdict[str, list[float]](list) for _ in range(3))
    for place in range(trials):
        labels, groups, truth = planted(items, generator)
        rows = beside(labels, groups, truth, checked.check(labels, groups, number, disputed, place))
        outcomes = labels.items["outcome"]
        figures = [(f"confusion, {cell.panel}", cell.share, called[cell.panel, cell.people]) for cell in checked.confusion(rows, outcomes, CRITERION)]  # fmt: skip
        for entry in checked.classes(rows, outcomes, CRITERION):
            if entry.label not in LEVELS:
                continue
            share = _share(truth["people"], entry.label)
            figures += [(f"share, {entry.label}", entry.people, share), (f"recall, {entry.label}", entry.recall, finds[entry.label])]  # fmt: skip
            errors[entry.label].append((entry.people.value or 0) - share)
            raw[entry.label].append(entry.panel - share)
            widths[entry.label].append((entry.people.high or 0) - (entry.people.low or 0))
        for name, figure, value in figures:
            if figure.low is not None and figure.high is not None:
                asked[name] += 1
                held[name] += figure.low <= value <= figure.high
    return LabelTrial({name: held[name] / asked[name] for name in sorted(asked)}, errors, raw, widths)


def _share(labels: pl.Series, label: str) -> float:
    return int((labels == label).sum()) / len(labels)
