"""Agreement of people: its interval lies where the coefficient can, holds what was planted, and so few labels that leave it open are said to."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.dataset import checked
from mindgauge.analysis.dataset.checked import LabelFigure, LabelRecord
from mindgauge.records.rubric import Criterion, Level, Scale
from mindgauge.stats import agreement
from tests.analysis.dataset.label_trial import CRITERION, LEVELS, beside, planted
from tests.thinned import later

ORDER = Criterion("risk", Scale.ORDINAL, tuple(Level(level, {}) for level in LEVELS))
RECORD = LabelRecord(
    rubric="r", criterion="risk", judges=["x"], runs=1, ties=0, unreadable=0, coefficient="Fleiss' kappa",
    panel_agreement=LabelFigure(None, None, None, 0), people=["a", "b"], people_agreement=LabelFigure(0.47, 0.41, 0.52, 300),
    gate=0.4, passed=True, checked=300, disputed=0, gold=300, undecided=0, classes=[], confusion=[],
)  # fmt: skip


def two_people(n: int, generator: np.random.Generator) -> tuple[checked.PanelLabels, pl.DataFrame, pl.DataFrame]:
    """Two people, of whom each says what is true 80 times in 100, and else anything."""
    labels, groups, truth = planted(n, generator)
    codes = truth["people"].replace_strict({level: place for place, level in enumerate(LEVELS)}, return_dtype=pl.Int64).to_numpy()  # fmt: skip
    answers = [np.where(generator.random(n) < 0.8, codes, generator.integers(0, 3, n)) for _ in range(2)]
    columns = {name: pl.Series(np.array(LEVELS)[own]) for name, own in zip("ab", answers, strict=True)}
    return labels, groups, truth.with_columns(**columns)


@pytest.mark.parametrize("criterion", [CRITERION, ORDER])
@pytest.mark.parametrize(("number", "disputed"), [(8, 0), later(8, 8), later(16, 0), later(24, 12)])
def test_an_interval_lies_where_the_coefficient_can(criterion: Criterion, number: int, disputed: int) -> None:
    generator = np.random.default_rng(7)
    widths = []
    for seed in range(30):
        labels, groups, people = two_people(103, generator)
        rows = beside(labels, groups, people, checked.check(labels, groups, number, disputed, seed))
        figure = checked.among_people(rows, ["a", "b"], criterion)
        if figure.value is not None and figure.low is not None and figure.high is not None:
            assert -1 <= figure.low <= figure.value <= figure.high <= 1
            widths.append(figure.high - figure.low)
        else:
            assert figure.note
    assert not widths or max(widths) > 0.5


@pytest.mark.long
def test_an_interval_of_agreement_holds_what_was_planted() -> None:
    generator = np.random.default_rng(3)
    _, _, people = two_people(100_000, generator)
    codes = np.stack([people[name].replace_strict({level: n for n, level in enumerate(LEVELS)}, return_dtype=pl.Int64).to_numpy() for name in "ab"], axis=1)  # fmt: skip
    truth = float(agreement.fleiss_kappa(agreement.counts(codes.astype(np.intp), 3))[0])
    held = asked = 0
    for seed in range(120):
        labels, groups, part = two_people(600, generator)
        rows = beside(labels, groups, part, checked.check(labels, groups, 120, 40, seed))
        figure = checked.among_people(rows, ["a", "b"], CRITERION)
        assert figure.low is not None and figure.high is not None
        asked += 1
        held += figure.low <= truth <= figure.high
    assert held / asked >= 0.93


def test_too_few_groups_for_the_strata_are_said_to_be_too_few() -> None:
    labels, groups, people = two_people(60, np.random.default_rng(6))
    rows = beside(labels, groups, people, checked.check(labels, groups, 8, 0, 0))
    strata = pl.int_range(pl.len()).cast(pl.String)
    rows = rows.with_columns(stratum=strata, stratum_size=pl.lit(60 / rows.height), b=pl.lit("calm"))
    figure = checked.among_people(rows, ["a", "b"], CRITERION)
    assert (figure.low, figure.note) == (None, checked.FEW)


@pytest.mark.parametrize(
    ("low", "passed", "standing"),
    [
        (0.41, True, "reaches the gate of 0.4"),
        (0.21, True, "reaches the gate of 0.4, but the interval goes down to 0.21"),
        (-0.6, True, "reaches the gate of 0.4, but the interval goes down to −0.60, no better than chance: people labelled too few items, or too few groups of them"),
        (None, True, "reaches the gate of 0.4"),
        (-0.6, False, "below the gate of 0.4"),
        (None, None, "not held against the gate"),
    ],
)  # fmt: skip
def test_a_standing_says_where_the_interval_leaves_it_open(low: float | None, passed: bool | None, standing: str) -> None:  # fmt: skip
    figure = LabelFigure(0.47, low, 0.9, 16)
    assert msgspec.structs.replace(RECORD, people_agreement=figure, passed=passed).standing == standing
