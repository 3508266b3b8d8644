"""Self-preference under stress: what stats.favour finds becomes an effect among the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from mindgauge.analysis.stress.effects import BIASED, CANNOT_TELL, INAPPLICABLE, Effect, StressDesign, outcome

if TYPE_CHECKING:
    from mindgauge.analysis.stress.effects import Floats

G, SYSTEMS = 150, 3


def asked(design: StressDesign, given: Floats) -> Effect:
    """Return the effect on one criterion."""
    (effect,) = outcome(design, given.reshape(len(given), 1, -1))[0]
    assert (effect.probe, effect.n) == ("self-preference", len(given))
    return effect


def drawn(
    seed: int, *, gap: int = 0, middling: float = 0.0, fond: float = 0.0, controls: int = 1
) -> tuple[StressDesign, Floats]:
    """Judge one reply of the judge's family and two others in each conversation; two people rate each.

    Args:
        seed: of chance.
        gap: levels by which the family writes better replies.
        middling: how far a judge draws every level to the middle of the scale.
        fond: the chance that it gives its kin one level more.
        controls: judges of other families.
    """
    chance = np.random.default_rng(seed)
    count = G * SYSTEMS
    own, conversation = np.tile([True, False, False], G), np.repeat(np.arange(G), SYSTEMS)
    truth = np.clip(chance.integers(1, 4, count) + gap * own, 0, 4)
    people = np.stack([_off(chance, truth) for _ in range(2)], axis=1) / 4
    said = (1 - middling) * truth + 2 * middling + chance.normal(0, 0.5, count) + (chance.random(count) < fond) * own
    others = np.clip(np.rint(truth[:, None] + chance.normal(0, 0.5, (count, controls))), 0, 4) / 4
    design = StressDesign(
        criteria=["warmth"], levels=np.array([5]), original=np.arange(count), conversation=conversation, conversations=G,
        language=np.full(count, "en"), models=["kin-2" if kin else "other" for kin in own], own=own, people=people[:, None],
        others=others[:, None], judges=[f"j{i}" for i in range(controls)], pairs=[],
    )  # fmt: skip
    return design, np.clip(np.rint(said), 0, 4) / 4


def _off(chance: np.random.Generator, truth: Floats) -> Floats:
    """Let a person rate: now and then one level off."""
    return np.asarray(np.clip(truth + (chance.random(len(truth)) < 0.2) * chance.choice([-1, 1], len(truth)), 0, 4))


@pytest.mark.parametrize(("gap", "middling"), [(0, 0.0), (1, 0.0), (0, 0.4), (1, 0.4)])
def test_better_replies_of_its_own_are_no_self_preference(gap: int, middling: float) -> None:
    found = [asked(*drawn(seed, gap=gap, middling=middling)) for seed in range(20)]
    assert [effect.verdict for effect in found].count(BIASED) <= 2
    assert np.mean([effect.value for effect in found if effect.value is not None]) == pytest.approx(0, abs=0.04)


def test_who_prefers_kin_is_found() -> None:
    assert [asked(*drawn(seed, fond=0.6)).verdict for seed in range(10)].count(BIASED) >= 9
    assert [asked(*drawn(seed, middling=0.4, fond=0.6)).verdict for seed in range(10)].count(BIASED) >= 9


def test_without_a_judge_of_another_family_nobody_can_tell() -> None:
    effect = asked(*drawn(0, fond=0.9, controls=0))
    assert (effect.verdict, effect.p) == (CANNOT_TELL, None)
    assert "no judge of another family" in effect.note
    assert effect.low is not None and effect.low > 0


def test_repeats_count_as_one_and_missing_verdicts_are_counted() -> None:
    design, given = drawn(1)
    twice = np.stack([given, given], axis=1)
    twice[:2] = [[np.nan, INAPPLICABLE], [np.nan, given[1]]]
    effect = asked(design, twice)
    assert (effect.missing, effect.clusters) == (1, G)
    assert effect.value == pytest.approx(asked(design, np.where(np.arange(len(given)) == 0, np.nan, given)).value)
