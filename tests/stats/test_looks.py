"""Bounds that hold at all looks together, up to a number of data that was fixed beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from mindgauge.stats import looks
from mindgauge.stats.left_out import left_out
from tests.analysis.reliability.harmful import SKILL, error, levels


def test_levels_are_those_of_a_brownian_motion_that_is_watched() -> None:
    """P(B(t) > c for any t ≤ 1) is 2 (1 - Φ(c)), so at the last look a tail of 5 % asks for 1.96 errors, at a quarter for twice that."""
    assert looks.level(0.95, None) == 0.95
    assert looks.level(0.90, 1.0) == pytest.approx(0.95)
    assert special.ndtri((1 + looks.level(0.90, 0.25)) / 2) == pytest.approx(2 * special.ndtri(0.975))
    assert looks.level(0.95, 0.01) == pytest.approx(1 - 2e-6), "no tail is known further out"


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01])
def test_data_beyond_the_plan_have_no_level(share: float) -> None:
    with pytest.raises(ValueError, match="a share of the planned data"):
        looks.level(0.95, share)


def test_means_that_are_watched_after_each_value_are_missed_as_often_as_promised() -> None:
    """A bound of one look is passed by the truth at some look in 24 % of studies, and not in 5 %."""
    random = np.random.default_rng(3)
    values, n = random.normal(size=(4_000, 400)), np.arange(1, 401)
    z = values.cumsum(axis=1) / np.sqrt(n)
    once = (z[:, 49:] > special.ndtri(0.95)).any(axis=1).mean()
    watched = np.array([special.ndtri((1 + looks.level(0.90, k / 400)) / 2) for k in n])
    always = (z > watched).any(axis=1).mean()
    assert once > 0.15
    assert 0.035 < always < 0.06


def test_a_judge_at_the_margin_is_passed_at_some_look_no_oftener_than_at_one() -> None:
    """Looked at eight times it was found no worse than a clinician in a fifth of studies, where 5 % were promised."""
    studies, sd, replies = 100, error(0.74), 800
    ever = np.zeros((studies, 2), dtype=bool)
    for seed in range(studies):
        random = np.random.default_rng([7, seed])
        quality = random.normal(size=replies)
        seen = np.stack([levels(quality + s * sd * random.normal(size=replies)) for s in SKILL[3]], axis=1)
        people = (seen <= 2).astype(np.float64)
        sound = levels(quality + SKILL[3][0] * sd * random.normal(size=replies)) <= 2
        judge = (sound & (random.random(replies) > 0.177)).astype(np.float64)  # .10 less than a left-out person shares
        for n in range(100, replies + 1, 100):
            for place, share in enumerate((None, n / replies)):
                level = (1 + looks.level(0.90, share)) / 2
                found = left_out(judge[:n], people[:n], np.arange(n), 0.10, level=level).difference
                ever[seed, place] |= found.low is not None and found.low >= -0.10
    once, always = ever.mean(axis=0)
    assert once > 0.12
    assert always <= 0.09
