"""Means of means, with numbers computed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from mindgauge.benchmarks.metrics import RatingTable, estimate, mean_level
from mindgauge.benchmarks.metrics.scores import mean_of_topics

if TYPE_CHECKING:
    from mindgauge.records import Value

LEVELS = (0, 1, 2, 3)


def table(
    rows: list[tuple[str, int, int]], levels: tuple[Value, ...] = LEVELS, run: list[int] | None = None
) -> RatingTable:
    """Write rows of topic, dialogue and level's code."""
    topic, dialogue, code = zip(*rows, strict=True)
    codes = np.array(code, dtype=np.intp)
    return RatingTable(
        levels,
        codes,
        np.full(len(rows), -1),
        np.array(dialogue, dtype=np.intp),
        np.arange(len(rows)),
        np.where(codes >= 0, "ok", "unparsable").astype(object),
        None if run is None else np.array(run, dtype=np.intp),
        tags={"topic": np.array(topic, dtype=object)},
    )


UNEVEN = [("work", 0, 3), ("work", 0, 3), ("work", 0, 3), ("work", 1, 1), ("family", 2, 0), ("family", 2, 1)]


def test_turns_count_within_their_dialogue_and_dialogues_within_their_topic() -> None:
    found = estimate(mean_of_topics, table(UNEVEN))
    assert found.value == pytest.approx(((3 + 1) / 2 + 0.5) / 2)
    assert (found.n, found.clusters) == (6, 3)
    assert estimate(mean_level, table(UNEVEN)).value == pytest.approx(11 / 6), "the mean of turns is another"


def test_a_dialogue_drawn_twice_counts_twice_within_its_topic_and_a_topic_not_drawn_is_left_out() -> None:
    weights = np.array([[2, 2, 2, 1, 0, 0], [0, 0, 0, 3, 1, 1], [0, 0, 0, 0, 0, 0]], dtype=float)
    found = mean_of_topics.compute(table(UNEVEN), weights)
    assert found[0] == pytest.approx((2 * 3 + 1) / 3)
    assert found[1] == pytest.approx((1 + 0.5) / 2)
    assert np.isnan(found[2])


def test_a_missing_verdict_is_left_out_and_shown() -> None:
    rows = [*UNEVEN, ("work", 1, -1), ("health", 3, -1)]
    found = estimate(mean_of_topics, table(rows))
    assert found.value == pytest.approx(1.25)
    assert (found.n, found.missing) == (8, 2)
    assert found.worst == pytest.approx(((3 + 0.5) / 2 + 0.5 + 0) / 3)
    assert found.best == pytest.approx(((3 + 2) / 2 + 0.5 + 3) / 3)
    assert estimate(mean_of_topics, table([("work", 0, -1)])).value is None


def test_repeats_of_a_turn_stay_in_their_dialogue() -> None:
    found = estimate(
        mean_of_topics, table([("work", 0, 3), ("work", 0, 1), ("home", 1, 0), ("home", 1, 0)], run=[0, 1, 0, 1])
    )
    assert (found.value, found.runs, found.mean_of_runs) == (1.0, 2, 1.0)
    assert found.sd == pytest.approx(np.std([1.5, 0.5], ddof=1))


def test_the_order_of_the_rows_does_not_matter() -> None:
    generator = np.random.default_rng(0)
    rows = [(f"topic {d % 3}", d, int(generator.integers(-1, 4))) for d in range(9) for _ in range(d + 1)]
    shuffled = [rows[place] for place in generator.permutation(len(rows))]
    assert estimate(mean_of_topics, table(rows)) == estimate(mean_of_topics, table(shuffled))


def test_words_have_no_mean() -> None:
    assert estimate(mean_of_topics, table([("work", 0, 1)], ("no", "yes"))).value is None
