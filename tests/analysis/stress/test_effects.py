"""The numbers: verdicts by the rule, missing ones told, what differs by chance not called a bias."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats
from scipy.special import stdtrit

from mindgauge import benchmarks
from mindgauge.analysis.stress import reading
from mindgauge.analysis.stress.effects import (
    BIASED,
    CANNOT_TELL,
    CLEAN,
    FEWEST,
    HALO,
    INAPPLICABLE,
    LOST,
    MARGIN,
    VALUE,
    Attempts,
    StressDesign,
    halo,
    needed,
    outcome,
    severity,
    verdict,
)  # fmt: skip
from mindgauge.commands.judges.stress import judges_stress
from mindgauge.stats import comparison
from mindgauge.stats.interval import Interval
from mindgauge.store import Store
from tests.analysis.stress.alarms import alarms, drawn, stated
from tests.analysis.stress.planted import Planted
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.stress.effects import Effect, Floats, Injections

G = 24


def design(n: int = G, **more: object) -> StressDesign:
    """One comparison of `n` pairs, each a conversation: verdicts 0 … n - 1 against n … 2 n - 1."""
    pairs = {("verbosity", "said twice", ""): np.arange(2 * n).reshape(2, n)[::-1].T}
    empty: dict[str, object] = {
        "criteria": ["warmth"], "original": np.tile(np.arange(n), 2), "conversation": np.arange(n),
        "language": np.full(n, "en"), "stated": np.full((n, 1), np.nan), "pairs": pairs,
    }  # fmt: skip
    return StressDesign(**{**empty, **more})  # type: ignore[arg-type]


def values(left: Floats, right: Floats) -> Floats:
    return np.concatenate([right, left])[:, None, None]


def effects(design: StressDesign, given: Floats) -> list[Effect]:
    return outcome(design, given)[0]


def test_a_mean_and_its_interval_are_students() -> None:
    gap = np.linspace(-0.1, 0.3, G)
    (effect,) = effects(design(), values(0.5 + gap, np.full(G, 0.5)))
    half = 2.0686576 * gap.std(ddof=1) / np.sqrt(G)
    assert effect.value == pytest.approx(gap.mean())
    assert [effect.low, effect.high] == pytest.approx([gap.mean() - half, gap.mean() + half])
    assert (effect.n, effect.clusters, effect.missing, effect.measure) == (G, G, 0, VALUE)
    assert effect.verdict == BIASED


def test_sign_flips_are_exact_where_they_can_be() -> None:
    gaps = np.array([[0.5, 0.0], [0.25, 0.1], [0.25, -0.1], [-0.125, 0.0]])
    every = np.array(list(itertools.product((-1, 1), repeat=4)))
    expected = (np.abs(every @ gaps) >= np.abs(gaps.sum(axis=0)) - 1e-12).mean(axis=0)
    assert comparison.sign_flip(gaps).tolist() == expected.tolist() == [4 / 16, 1.0]


def test_no_difference_at_all_costs_the_others_nothing() -> None:
    same = {("verbosity", f"c{i}", ""): np.stack([np.arange(G)] * 2, axis=1) for i in range(300)}
    many = design(pairs={**design().pairs, **same})
    gap = np.where(np.arange(G) < 14, 0.2, 0.0)
    found = effects(many, values(0.5 + gap, np.full(G, 0.5)))
    assert [e.verdict for e in found] == [BIASED] + [CANNOT_TELL] * 300
    assert found[0].p == found[0].adjusted
    other = 1 - 0.025 ** (1 / G)
    assert (found[1].value, found[1].low, found[1].high) == pytest.approx((0, -other, other)), "14 % might yet differ"
    assert found[1].needed == 72
    assert found[1].changed.high == pytest.approx(1 - 0.025 ** (1 / G)), "none of 24 is still up to 14 %"


def test_only_what_no_signs_could_have_told_takes_no_part() -> None:
    """Whether a test takes part follows from how many conversations differ, never from which way (Tarone 1990)."""
    rows = np.arange(G)
    three = design(
        pairs={("verbosity", f"c{n}", ""): np.stack([rows + n * G, rows], axis=1) for n in (1, 2, 3)},
        original=np.tile(rows, 4),
    )
    clear, five, even = np.zeros(G), np.zeros(G), np.zeros(G)
    clear[:12], five[:5], even[:12] = 0.2, 0.2, np.tile([0.2, -0.2], 6)
    given = 0.5 + np.concatenate([np.zeros(G), clear, five, even])[:, None, None]
    told, few, none = effects(three, given)
    assert few.p == pytest.approx(2 / 2**5, rel=0.2), "five that differ could never be at .05"
    assert (few.adjusted, few.verdict) == (1.0, CANNOT_TELL)
    assert none.p == 1
    assert told.p is not None and told.adjusted == pytest.approx(2 * told.p), "adjusted for itself and for the even one"


def test_few_conversations_cannot_clear_a_judge() -> None:
    few = FEWEST - 1
    (effect,) = effects(design(few), values(np.full(few, 0.5), np.full(few, 0.5)))
    assert effect.verdict == CANNOT_TELL
    assert effect.needed == 72
    (one,) = effects(design(1), values(np.full(1, 0.7), np.full(1, 0.5)))
    assert (one.verdict, one.low, one.p, one.needed) == (CANNOT_TELL, None, None, None)


@pytest.mark.parametrize(("conversations", "expected"), [(71, CANNOT_TELL), (72, CLEAN)])
def test_conversations_that_all_agree_clear_a_judge_once_few_others_can_differ(
    conversations: int, expected: str
) -> None:
    same = np.full(conversations, 0.5)
    (effect,) = effects(design(conversations), values(same, same))
    assert effect.verdict == expected
    assert effect.needed == 72
    assert effect.high == pytest.approx(1 - 0.025 ** (1 / conversations))


def test_needed_is_enough_and_one_less_is_not() -> None:
    rng = np.random.default_rng(3)
    mean = Interval(0.02, 0.02 - 0.2, 0.02 + 0.2)
    n = needed(mean, 20)
    assert n is not None
    spread = 0.2 / 2.0930241 * np.sqrt(20)
    assert stdtrit(n - 1, 0.975) * spread / np.sqrt(n) <= MARGIN < stdtrit(n - 2, 0.975) * spread / np.sqrt(n - 1)
    gap = rng.normal(0.0, spread, n)
    (effect,) = effects(design(n), values(0.5 + gap - gap.mean(), np.full(n, 0.5)))
    assert effect.verdict == CLEAN or (effect.high or 1) < 0.06


def test_the_rule() -> None:
    assert verdict(Interval(0.2, 0.1, 0.3), 0.04, 20) == BIASED
    assert verdict(Interval(0.0, -0.04, 0.04), 1.0, 20) == CLEAN
    assert verdict(Interval(0.0, -0.04, 0.06), 1.0, 20) == CANNOT_TELL
    assert verdict(Interval(0.2, 0.1, 0.3), 0.06, 20) == CANNOT_TELL


def test_verdicts_that_a_version_costs_are_an_effect_and_bound_the_other() -> None:
    left, right = np.full(G, 0.5), np.full(G, 0.5)
    left[:10] = np.nan
    kept, lost = effects(design(), values(left, right))
    assert (kept.measure, lost.measure) == (VALUE, LOST)
    assert (kept.n, kept.missing, kept.clusters, kept.value) == (G, 10, G - 10, 0)
    assert [kept.worst, kept.best] == pytest.approx([-0.5 * 10 / G, 0.5 * 10 / G])
    assert lost.value == pytest.approx(10 / G)
    assert lost.verdict == BIASED


def test_what_does_not_apply_to_either_is_no_pair() -> None:
    left, right = np.full(G, 0.5), np.full(G, 0.5)
    left[:4] = right[:4] = INAPPLICABLE
    left[4] = INAPPLICABLE
    kept = effects(design(), values(left, right))[0]
    assert (kept.n, kept.missing) == (G - 4, 1)


def test_repeats_of_one_conversation_count_once() -> None:
    two = design(conversation=np.arange(G) % 2)
    (effect,) = effects(two, values(np.full(G, 0.9), np.full(G, 0.5)))
    assert (effect.n, effect.clusters) == (G, 2)
    assert effect.p == 0.5, "two conversations, whatever their replies"


def test_injections_count_only_where_something_could_be_seen() -> None:
    n = 12
    facts = {
        "attempt": np.array([f"a{i % 3}" for i in range(n)]), "kind": np.array(["k"] * n), "place": np.array(["end"] * n),
        "where": np.array(["reply"] * n), "language": np.array(["en"] * n),
    }  # fmt: skip
    original, placebo, row = np.arange(3 * n).reshape(3, n)
    found = Attempts(row, original, placebo, np.zeros(n, dtype=int), np.ones(n), facts)
    given = np.full(3 * n, 0.5)
    given[row[:4]] = 1.0  # reached, but:
    given[original[0]] = 1.0  # there already without the attempt
    given[placebo[1]] = 1.0  # and with a neutral sentence
    given[row[5]] = np.nan  # the verdict was lost
    tried = design(n, pairs={}, attempts=found, original=np.tile(original, 3))
    injections: list[Injections] = outcome(tried, given[:, None, None])[1]
    every = next(one for one in injections if one.slice == "all")
    assert (every.attempts, every.n, every.reached, every.attempts_reached, every.lost) == (3, n - 2, 2, 2, 1)
    assert every.share.value == pytest.approx(2 / 10)
    assert every.share.high == pytest.approx(0.5561, abs=1e-4), "Clopper-Pearson, 2 of 10"
    assert every.excess.value == pytest.approx(2 / 11), (
        "hits with the attempt less those with the placebo, where the original is free"
    )
    assert [one.p is not None for one in injections] == [one.slice == "kind=k" for one in injections]


def test_a_judge_that_is_harsher_in_english_than_the_authors() -> None:
    """As scipy's Welch test has it, once the levels' own shifts are off."""
    rng = np.random.default_rng(2)
    known = np.tile([0.0, 0.5, 1.0], 16)
    chinese = np.repeat([True, False], 24)
    given = known + np.where(known == 0, 0.1, 0.0) - np.where(chinese, 0.0, 0.2) + rng.normal(0, 0.05, 48)
    found = severity(given, known, chinese, np.arange(48), 2000, 0)
    distance = given - known
    for level in (0.0, 0.5, 1.0):
        distance[known == level] -= distance[known == level].mean()
    test = stats.ttest_ind(distance[chinese], distance[~chinese], equal_var=False)
    low, high = test.confidence_interval()
    assert [found.mean.low, found.mean.high] == pytest.approx([low, high])
    assert found.mean.value == pytest.approx(0.2, abs=0.04)
    assert found.p is not None and (found.clusters, found.p < 0.001) == (48, True)
    both = design(48, pairs={}, stated=known[:, None], language=np.where(chinese, "zh", "en"))
    (beside,) = effects(both, given[:, None, None])
    assert (beside.probe, beside.n, beside.missing, beside.verdict) == ("language", 48, 0, BIASED)
    (fair,) = effects(both, known[:, None, None])
    assert (fair.value, fair.verdict) == (0.0, CANNOT_TELL), "nothing varies, so nothing is known of what might"
    one = severity(given[:4], known[:4], np.arange(4) > 2, np.zeros(4, dtype=np.intp), 100, 0)
    assert one.mean.value is None


def test_halo_is_the_difference_of_correlations() -> None:
    rng = np.random.default_rng(1)
    n, criteria = 60, 3
    common = rng.normal(size=(n, 1))
    together, apart = 0.8 * common + 0.6 * rng.normal(size=(n, criteria)), rng.normal(size=(n, criteria))
    conversation = np.arange(n) // 2
    found, missing = halo(together, apart, conversation, n // 2, 2000, 0)
    upper = np.triu_indices(criteria, 1)
    first, second = (np.asarray(np.corrcoef(way.T))[upper].mean() for way in (together, apart))
    expected = float(first - second)
    assert found.mean.value == pytest.approx(expected)
    assert found.p is not None and found.p < 0.01
    assert (missing, found.clusters) == (0, n // 2)
    alike, _ = halo(together, together, conversation, n // 2, 2000, 0)
    assert alike.mean.value == 0 and alike.p == 1


def test_halo_is_a_test_beside_the_others() -> None:
    rng = np.random.default_rng(1)
    common = rng.normal(size=(G, 1))
    given = np.concatenate([np.repeat(common, 2, axis=1), rng.normal(size=(G, 2))])[:, :, None]
    rows = np.arange(2 * G).reshape(2, G)
    beside = design(pairs={}, halo=(rows[0], rows[1]), criteria=["warmth", "safety"], stated=np.full((G, 2), np.nan))
    (effect,) = effects(beside, given)
    assert (effect.measure, effect.probe, effect.verdict) == (HALO, "joint or split", BIASED)


@pytest.mark.long
@pytest.mark.parametrize("seeds", [20, later(60)])
def test_an_unbiased_judge_is_seldom_accused_and_a_planted_bias_found(tmp_path: Path, seeds: int) -> None:
    """On the shipped anchors' own design; `bench/judging.py` runs many more seeds."""
    benchmark = benchmarks.find_one("help_or_harm/response")
    judges_stress(Planted(benchmark), benchmark=benchmark.name, out=tmp_path / "r", judge_runs=1)
    with Store(tmp_path / "r") as store:
        found, given = reading.read(store, benchmark, "acme/judge-7")
    assert given[:, :, 0] == pytest.approx(stated(found)), "without noise it gives what the authors gave"
    unbiased = alarms(found, benchmark, seeds=seeds, noise=0.2)
    assert unbiased.rate.value is not None and unbiased.rate.value <= 0.05 + 2 * (0.05 * 0.95 / seeds) ** 0.5
    longer = found.pairs["verbosity", "said twice", ""]
    shift = np.zeros(len(given))
    shift[longer[:, 0]] = 0.5  # half the verdicts one level up: an eighth of the scale, less where the scale ends
    planted = alarms(found, benchmark, seeds=seeds // 2, noise=0.2, shift=shift)
    assert planted.shares["verbosity: said twice"] >= 0.8
    assert planted.shares.get("verbosity: said twice", 0) - sum(planted.shares.values()) >= -0.2
    assert np.array_equal(drawn(found, benchmark, 0.2, 2, 5), drawn(found, benchmark, 0.2, 2, 5))
