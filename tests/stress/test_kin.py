"""Self-preference: kin are told from better replies, and who prefers kin is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from mindgauge.analysis.stress.design import INAPPLICABLE, Design, Kin
from mindgauge.analysis.stress.effects import outcome
from mindgauge.analysis.stress.found import BIASED, CANNOT_TELL
from mindgauge.analysis.stress.kin import preference

if TYPE_CHECKING:
    from mindgauge.analysis.stress.design import Floats

G, SYSTEMS = 60, 3


def asked(kin: Kin, given: Floats) -> str:
    """Return the verdict on one criterion."""
    count = len(given)
    design = Design(G, [], [kin], [], None, None, {}, np.full(count, np.nan), np.full(count, 5), count, [])
    (effect,) = outcome(design, given[:, None]).effects
    assert (effect.probe, effect.n) == ("self-preference", count)
    return effect.verdict


def drawn(seed: int, *, gap: int, middling: float, fond: float) -> str:
    """Judge one reply of the judge's family and two others in each conversation.

    Args:
        seed: of chance.
        gap: levels by which the family writes better replies.
        middling: how far a judge draws every level to the middle of the scale.
        fond: the chance that it gives its kin one level more.
    """
    chance = np.random.default_rng(seed)
    count = G * SYSTEMS
    own, conversation = np.tile([True, False, False], G), np.repeat(np.arange(G), SYSTEMS)
    truth = np.clip(chance.integers(1, 4, count) + gap * own, 0, 4)
    known = np.mean([_off(chance, truth) for _ in range(2)], axis=0) / 4
    said = (1 - middling) * truth + 2 * middling + chance.normal(0, 0.5, count) + (chance.random(count) < fond) * own
    given = np.clip(np.rint(said), 0, 4) / 4
    return asked(Kin("warmth", np.arange(count), known, own, conversation), given)


def _off(chance: np.random.Generator, truth: Floats) -> Floats:
    """Let a person rate: now and then one level off."""
    return np.asarray(np.clip(truth + (chance.random(len(truth)) < 0.2) * chance.choice([-1, 1], len(truth)), 0, 4))


@pytest.mark.parametrize(("gap", "middling"), [(0, 0.0), (1, 0.0), (0, 0.4), (1, 0.4)])
def test_better_replies_of_its_own_are_no_self_preference(gap: int, middling: float) -> None:
    found = [drawn(seed, gap=gap, middling=middling, fond=0.0) for seed in range(40)]
    assert found.count(BIASED) <= 5, "the upper end of what 5 % of 40 can be"


def test_who_prefers_kin_is_found() -> None:
    assert [drawn(seed, gap=0, middling=0.0, fond=0.6) for seed in range(10)].count(BIASED) >= 9
    assert [drawn(seed, gap=0, middling=0.4, fond=0.6) for seed in range(10)].count(BIASED) >= 9


def test_what_is_taken_off_is_what_it_does_to_others_of_that_level() -> None:
    own = np.tile([True, False, False], 4)
    known = np.tile([0.5, 0.25, 0.75], 4)
    given = np.tile([0.7, 0.35, 0.75], 4)
    found = preference(Kin("warmth", np.arange(12), known, own, np.repeat(np.arange(4), 3)), given[:, None], 4)
    assert found.plain == pytest.approx(np.full(4, 0.2 - 0.05))
    assert found.alike == pytest.approx(np.full(4, 0.2 - 0.05)), "0.05 is between what it does at 0.25 and at 0.75"
    given[:2] = [np.nan, INAPPLICABLE]
    missed = preference(Kin("warmth", np.arange(12), known, own, np.repeat(np.arange(4), 3)), given[:, None], 4)
    assert np.isnan(missed.plain[0]) and (missed.n, missed.missing) == (12, 2)


def test_a_judge_that_agrees_with_people_is_not_accused() -> None:
    own, known = np.tile([True, False, False], G), np.tile([0.75, 0.25, 0.5], G)
    kin = Kin("warmth", np.arange(3 * G), known, own, np.repeat(np.arange(G), 3))
    assert asked(kin, known) == CANNOT_TELL, "nothing varies, so nothing is known of what might"
