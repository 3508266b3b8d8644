"""Drops under noise, with numbers computed by hand."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mindgauge.benchmarks.metrics import RatingTable, estimate
from mindgauge.benchmarks.metrics.variants import (
    flip_rate,
    mean_absolute_drop,
    mean_relative_drop,
    relative_drop_at,
    worst_relative_drop,
)
from mindgauge.stats.interval import SAME

if TYPE_CHECKING:
    from mindgauge.records import Value

LABELS = ("a", "b", "c", "d")
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
CELLS = tuple(product(("character", "word"), ("0.10", "0.20")))


def table(
    rows: list[tuple[str, str, str, int, int]], levels: tuple[Value, ...] = LABELS, run: list[int] | None = None
) -> RatingTable:
    """Write rows of base, noise, intensity, code and target; a cluster is a base."""
    base, noise, intensity, code, target = zip(*rows, strict=True)
    codes = np.array(code, dtype=np.intp)
    cluster = np.unique(base, return_inverse=True)[1]
    return RatingTable(
        levels,
        codes,
        np.array(target, dtype=np.intp),
        cluster,
        np.arange(len(rows)),
        np.where(codes >= 0, "ok", "unparsable").astype(object),
        None if run is None else np.array(run, dtype=np.intp),
        tags={
            "base": np.array(base, dtype=object),
            "noise": np.array(noise, dtype=object),
            "intensity": np.array(intensity, dtype=object),
        },
    )


def answered(base: list[int], **cells: list[int]) -> RatingTable:
    """Write a closed question to which `a` is right: codes without noise, then those of each cell (`word_20=…`)."""
    rows = [(str(item), "none", "", code, 0) for item, code in enumerate(base)]
    for name, codes in cells.items():
        noise, percent = name.split("_")
        rows += [(str(item), noise, f"0.{percent}", code, 0) for item, code in enumerate(codes)]
    return table(rows)


def rated(base: list[int], **cells: list[int]) -> RatingTable:
    """Write a score in quarters without target: codes without noise, then those of each cell."""
    found = answered(base, **cells)
    return RatingTable(
        SHARES, found.code, np.full(len(found), -1), found.cluster, found.subject, found.status, tags=found.tags
    )


def test_the_relative_drop_is_the_mean_over_cells_and_the_worst_is_their_largest() -> None:
    found = answered([0, 0, 0, 1], character_10=[0, 0, 1, 1], word_20=[0, 1, 1, 1])
    assert estimate(mean_relative_drop, found).value == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert estimate(worst_relative_drop, found).value == pytest.approx(2 / 3)
    assert estimate(mean_absolute_drop, found).value == pytest.approx((0.25 + 0.5) / 2)
    assert estimate(relative_drop_at("word", 0.2), found).value == pytest.approx(2 / 3)
    assert estimate(relative_drop_at("sentence", 0.2), found).value is None, "there is no such cell"
    assert relative_drop_at("word", 0.2).label == "word 0.20"


def test_a_gain_is_a_drop_below_nought() -> None:
    found = rated([2, 2], character_10=[4, 4], word_20=[3, 2])
    assert estimate(mean_relative_drop, found).value == pytest.approx(-(1.0 + 0.25) / 2)
    assert estimate(worst_relative_drop, found).value == pytest.approx(-0.25)


def test_cells_count_the_same_however_many_samples_they_have() -> None:
    rows = [("0", "none", "0.00", 4, -1), ("1", "", "", 4, -1)]
    rows += [("0", "word", "0.10", 0, -1), ("0", "word", "0.20", 4, -1), ("1", "word", "0.20", 4, -1)]
    assert estimate(mean_relative_drop, table(rows, SHARES)).value == pytest.approx(0.5)


def test_nothing_is_lost_where_the_score_without_noise_is_no_better_than_chance() -> None:
    found = answered([0, 1, 1, 1], character_10=[1, 1, 1, 1])
    assert estimate(mean_relative_drop, found).value is None
    assert estimate(relative_drop_at("character", 0.1), found).value is None
    assert estimate(mean_absolute_drop, found).value == 0.25
    nothing = rated([0, 0], character_10=[1, 1])
    assert estimate(mean_relative_drop, nothing).value is None, "a score of 0 leaves nothing to lose"
    assert estimate(mean_relative_drop, rated([1, 0], character_10=[0, 0])).value == 1.0, (
        "a quality has no chance level"
    )


def test_a_missing_answer_is_wrong_and_a_missing_verdict_is_missing() -> None:
    found = estimate(mean_relative_drop, answered([0, 0], word_10=[0, -1]))
    assert (found.value, found.missing, found.worst, found.best) == (0.5, 1, 0.5, 0.0)
    found = estimate(mean_relative_drop, rated([4, 4], word_10=[2, -1]))
    assert (found.value, found.missing, found.worst, found.best) == (0.5, 1, 0.75, 0.25)


def test_levels_of_any_numeric_scale_count_by_their_share() -> None:
    found = table([("0", "none", "", 4, -1), ("0", "word", "0.10", 1, -1)], (1, 2, 3, 4, 5))
    assert estimate(mean_relative_drop, found).value == pytest.approx(0.75)
    words = table([("0", "none", "", 1, -1), ("0", "word", "0.10", 0, -1)], ("no", "yes"))
    assert estimate(mean_relative_drop, words).value is None, "words without a target have no score"


def test_a_flip_is_another_answer_than_that_to_the_same_sample_without_noise() -> None:
    found = estimate(flip_rate, answered([0, 1, 2, -1], word_10=[0, 2, -1, -1]))
    assert found.value == 0.5
    assert found.clusters == 4
    assert (found.low, found.high) == pytest.approx((0.0676, 0.9324), abs=1e-4), "the exact bounds of 2 of 4"
    assert estimate(flip_rate, rated([4], word_10=[0])).value is None, "no closed question"


def test_flips_are_counted_within_a_repeat_and_without_a_base_not_at_all() -> None:
    rows = [("0", "none", "", 0, 0), ("0", "none", "", 1, 0), ("0", "word", "0.10", 0, 0), ("0", "word", "0.10", 0, 0)]
    assert estimate(flip_rate, table(rows, run=[0, 1, 0, 1])).value == 0.5
    assert estimate(flip_rate, table([*rows[:3], ("1", "word", "0.10", 3, 0)], run=[0, 1, 0, 0])).value == 0.0


def test_what_has_nothing_to_be_compared_with_has_no_drop() -> None:
    for rows in ([("0", "none", "", 4, -1)], [("0", "word", "0.10", 4, -1)]):
        found = estimate(mean_relative_drop, table(rows, SHARES))
        assert (found.value, found.n) == (None, 0)
    found = estimate(relative_drop_at("word", 0.1), rated([4, 4], word_10=[2, 3], character_10=[0, 0]))
    assert (found.value, found.n) == (0.375, 4), "of the base and this cell alone"


def test_every_resample_is_computed_as_if_it_were_the_data() -> None:
    generator = np.random.default_rng(0)
    rows = [(str(item), "none", "", int(generator.integers(2, 5)), -1) for item in range(12)]
    rows += [(str(item), *cell, int(generator.integers(-1, 5)), -1) for item in range(12) for cell in CELLS]
    found = table(rows, SHARES)
    weights = generator.integers(0, 4, (7, 12)).astype(float)[:, found.cluster]
    metrics = (mean_relative_drop, worst_relative_drop, mean_absolute_drop, relative_drop_at("word", 0.1))
    for metric in metrics:
        for place, drawn in enumerate(weights):
            again = found.at(np.repeat(np.arange(len(found)), drawn.astype(int)))
            assert metric.compute(found, weights)[place] == pytest.approx(
                metric.compute(again, np.ones((1, len(again))))[0], nan_ok=True
            )


def test_the_interval_holds_a_conversation_and_its_variants_together() -> None:
    level = [1, 2, 3, 4] * 5
    found = estimate(mean_relative_drop, rated(level, character_10=[code // 2 for code in level]))
    assert found.value == pytest.approx(0.6)
    assert found.low is not None
    assert found.high is not None
    assert 0.5 < found.low < 0.6 < found.high < 0.75
    assert found.clusters == 20
    halved = estimate(mean_relative_drop, rated([4, 2] * 10, character_10=[2, 1] * 10))
    assert (halved.value, halved.low, halved.high, halved.note) == (0.5, None, None, SAME)
