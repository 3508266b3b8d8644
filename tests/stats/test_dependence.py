"""Who never stands alone, who is a rule of others, who errs together: found where planted, and hardly ever by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.stats import dependence
from mindgauge.stats.dependence import MISSING, RaterCodes
from tests.thinned import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]

SEEDS = st.integers(0, 2**32 - 1)


def coded(codes: Codes, cluster: Codes | None = None) -> RaterCodes:
    return RaterCodes(codes, codes.astype(float), np.arange(len(codes)) if cluster is None else cluster)


def test_only_subjects_on_which_somebody_stands_alone_are_evidence() -> None:
    easy = np.zeros((500, 3), dtype=np.intp)
    beside = dependence.adjudication([coded(easy)], 0)
    assert (beside.unanimous, beside.agreed, beside.split, beside.evidence) == (500, 500, 0, 0)
    assert beside.p == beside.p_equal == 1.0


def test_counts_by_hand() -> None:
    codes = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 1, 2], [0, 0, MISSING], [1, 0, 1], [0, 1, 1]])
    third = dependence.adjudication([coded(codes)], 2)
    assert (third.unanimous, third.agreed, third.split, third.sided) == (2, 1, 5, 4)
    assert third.alone == 1
    # The first two differ as 1-0 twice and as 0-1 twice, the third siding with one of them: four, both ways alike.
    assert third.evidence == 4
    assert third.p_equal == pytest.approx((2 / 3) ** 5 + 5 * (1 / 3) * (2 / 3) ** 4)


def test_a_difference_in_one_direction_is_no_evidence() -> None:
    """A strict and a lenient rater, and one between them who is never alone: standards, and nobody decides."""
    generator = np.random.default_rng(1)
    severity = generator.normal(size=2000)
    nested = np.stack([severity > -0.8, severity > 0.8, severity > 0.0], axis=1).astype(np.intp)
    beside = dependence.adjudication([coded(nested)], 2)
    assert beside.alone == 0 and beside.split > 500 and beside.sided == beside.split
    assert beside.evidence == 0 and beside.p == 1.0


def test_a_conversation_counts_once() -> None:
    codes = np.array([[0, 1, 1], [1, 0, 0], [0, 1, 1], [1, 0, 0]] * 50)
    apart = dependence.adjudication([coded(codes)], 2)
    together = dependence.adjudication([coded(codes, np.arange(200) // 20)], 2)
    assert apart.evidence == 200
    assert together.evidence == 10
    several = dependence.adjudication([coded(codes), coded(codes)], 2)
    assert several.evidence == 200, "the same conversations on two criteria"


def test_rated_only_what_others_dispute() -> None:
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 2, (300, 2))
    split = codes[:, 0] != codes[:, 1]
    decided = np.where(split, generator.integers(0, 2, 300), MISSING)
    drawn = dependence.adjudication([coded(np.column_stack([codes, decided]))], 2).drawn
    assert (drawn.rated, drawn.split) == (split.sum(), split.sum())
    assert drawn.p < 1e-20
    at_random = np.where(generator.random(300) < 0.5, generator.integers(0, 2, 300), MISSING)
    assert dependence.adjudication([coded(np.column_stack([codes, at_random]))], 2).drawn.p > 0.01


@given(SEEDS, st.sampled_from(sorted(dependence.RULES)), st.integers(2, 5))
@examples(60)
def test_a_rule_equals_itself(seed: int, name: str, raters: int) -> None:
    generator = np.random.default_rng(seed)
    values = np.clip(np.round(3 + generator.normal(size=(80, 1)) + generator.normal(size=(80, raters))), 1, 5)
    result = dependence.RULES[name](values)
    said = np.isfinite(result)
    table = np.column_stack([values, result])[said]
    codes = np.unique(table, return_inverse=True)[1].reshape(table.shape)
    followed = {rule.rule: rule for rule in dependence.rules(RaterCodes(codes, table, np.arange(len(table))), raters)}
    assert followed[name].equal == followed[name].n == said.sum()
    assert followed[name].split == (np.ptp(values[said], axis=1) > 0).sum()


def test_erring_together() -> None:
    generator = np.random.default_rng(5)
    truth = generator.integers(0, 3, 400)

    def rated() -> Codes:
        return np.where(generator.random(400) < 0.25, generator.integers(0, 3, 400), truth)

    one = rated()
    codes = np.column_stack([one, np.where(generator.random(400) < 0.005, 0, one), rated(), rated()])
    copied = dependence.together([coded(codes)], 0, 1)
    assert copied.together > 40 and copied.apart <= 3 and copied.p < 1e-4
    honest = dependence.together([coded(codes)], 2, 3)
    assert honest.apart > honest.together and honest.p > 0.5
