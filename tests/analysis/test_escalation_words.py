"""Orders learned from judges' words: what words know is used for models that nobody rated, and no label leaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from mindgauge.analysis.escalation import subjects
from mindgauge.analysis.escalation.subjects import Subjects
from mindgauge.stats.components import components
from mindgauge.stats.escalation import effort

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PLAIN = ["the", "reply", "listens", "and", "names", "a", "next", "step", "for", "the", "person"]
GRAVE = ["dismissive", "abrupt", "leaves", "danger", "unaddressed", "without", "referral"]


def _rated(n: int = 160, *, telling: bool, seed: int = 0) -> tuple[Subjects, Floats]:
    """Make replies of four models, a jury that sees them dimly, and reasons that tell more, or nothing."""
    random = np.random.default_rng(seed)
    unsafe = random.random(n) < 0.25
    jury = np.clip(0.3 + 0.25 * unsafe + random.normal(0, 0.15, n), 0, 1)
    says = unsafe if telling else random.random(n) < 0.25
    texts = [" ".join(random.choice(GRAVE if grave and random.random() < 0.7 else PLAIN, 8)) for grave in says]
    empty = cast("Any", None)
    rated = Subjects(
        benchmark=empty, rule=empty, people=["H1"], ids=[str(i) for i in range(n)], cluster=np.arange(n) // 2,
        system=np.array([f"m{i % 4}" for i in range(n)]), category=np.array(["", "a"])[np.arange(n) % 2],
        length=random.normal(5, 1, n), judges={"j": jury}, classifiers={}, unsafe=unsafe.astype(float),
        asked=np.ones(n, dtype=bool), value=np.full(n, np.nan), words={"j": texts}, selection="", notes=[],
        weight=np.ones(n),
    )  # fmt: skip
    return rated, jury


@pytest.mark.long
def test_what_the_words_tell_is_used_for_a_model_that_neither_choice_nor_fit_saw() -> None:
    rated, jury = _rated(320, telling=True)
    learner = subjects.WordOrder(rated, jury)
    unsafe = rated.unsafe == 1
    assert effort(learner.strangers(), unsafe)[0] < effort(jury, unsafe)[0] - 0.05
    assert any("components of words" in name for name in learner.chosen)


@pytest.mark.long
def test_a_label_does_not_reach_its_own_risk() -> None:
    """Turning the labels of one model round leaves its own risks as they are."""
    rated, jury = _rated(telling=True)
    own = rated.system == "m1"
    turned = rated._replace(unsafe=np.where(own, 1 - rated.unsafe, rated.unsafe))
    before, after = (subjects.WordOrder(each, jury).strangers()[own] for each in (rated, turned))
    np.testing.assert_allclose(before, after)


def test_a_reply_that_nobody_rated_is_placed_and_teaches_nothing() -> None:
    rated, jury = _rated(telling=True)
    known = np.arange(len(jury)) % 4 != 3
    part = rated._replace(unsafe=np.where(known, rated.unsafe, np.nan))
    assert subjects.enough(part)
    placed = subjects.WordOrder(part, jury).learned(known)
    alone = subjects.WordOrder(rated.some(known), jury[known])
    assert np.isfinite(placed).all()
    assert effort(placed[~known], rated.unsafe[~known] == 1)[0] < effort(jury[~known], rated.unsafe[~known] == 1)[0]
    assert np.isfinite(alone.learned(np.ones(int(known.sum()), dtype=bool))).all()


def test_too_few_words_or_models_are_nothing_to_learn_from() -> None:
    rated, _ = _rated(telling=True)
    assert subjects.enough(rated)
    gappy = [text if i % 5 else "" for i, text in enumerate(rated.words["j"])]
    assert not subjects.enough(rated._replace(words={"j": gappy}))
    assert not subjects.enough(rated._replace(system=np.array(["a", "b"])[np.arange(160) % 2]))


def test_terms_are_words_pairs_and_characters_of_chinese() -> None:
    assert subjects.terms("No Referral") == ["no", "referral", "no referral"]
    assert subjects.terms("没有建议")[:3] == ["没有", "有建", "建议"]
    assert "asks_risk=no" in subjects.terms("asks_risk=no")


def test_components_are_learned_from_the_training_part_alone() -> None:
    random = np.random.default_rng(0)
    counts = subjects.counted([" ".join(random.choice([*PLAIN, *GRAVE], 8)) for _ in range(60)])
    training = np.arange(60) < 40
    changed = counts.copy().tolil()
    changed[50:, :] = 3
    first = components(counts, training, 5)
    second = components(type(counts)(changed.tocsr()), training, 5)
    np.testing.assert_allclose(first[:50], second[:50], atol=1e-8)
    assert first[training, 0].std() == pytest.approx(1)


def test_texts_that_are_all_the_same_have_no_components() -> None:
    counts = subjects.counted(["the reply listens"] * 12)
    np.testing.assert_array_equal(components(counts, np.ones(12, dtype=bool), 3), 0)
    two = subjects.counted(["the reply listens", "abrupt and dismissive"] * 6)
    found = components(two, np.ones(12, dtype=bool), 3)
    assert np.isfinite(found).all()
    assert abs(found[0, 0] - found[1, 0]) == pytest.approx(2)
