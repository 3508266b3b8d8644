"""Lettered options: what guessing scores, and whether another order of the options changes the answer."""

from __future__ import annotations

import numpy as np
import pytest

from mindgauge.benchmarks.metrics import RatingTable, accuracy, accuracy_of_read, estimate
from mindgauge.benchmarks.metrics.variants import chance, option_consistency

LETTERS = ("A", "B", "C", "D")


def table(
    rows: list[tuple[str, str, str, str]], run: list[int] | None = None, levels: tuple[str, ...] = LETTERS
) -> RatingTable:
    """Build a table of rows (base question, places, letter answered or empty, right letter)."""
    code = np.array([levels.index(row[2]) if row[2] else -1 for row in rows], dtype=np.intp)
    base = np.array([row[0] for row in rows], dtype=object)
    number = np.unique(base.astype(str), return_inverse=True)[1].astype(np.intp)
    return RatingTable(
        levels,
        code,
        np.array([levels.index(row[3]) for row in rows], dtype=np.intp),
        number,
        np.arange(len(rows)),
        np.where(code >= 0, "ok", "unparsable").astype(object),
        None if run is None else np.array(run, dtype=np.intp),
        {"base": base, "places": np.array([row[1] for row in rows], dtype=object)},
    )


def test_the_same_option_at_another_letter_is_consistent() -> None:
    found = estimate(
        option_consistency,
        table([
            ("p", "", "A", "A"), ("p", "2,3,0,1", "C", "C"),  # the first option both times
            ("q", "", "B", "A"), ("q", "1,2,0", "A", "C"),  # the second both times, wrong as it is
            ("r", "", "A", "A"), ("r", "1,2,3,0", "A", "D"),  # the same letter, another option
            ("s", "", "", "A"), ("s", "1,0", "", "B"),  # no answer is no option
        ]),
    )  # fmt: skip
    assert (found.value, found.clusters, found.missing) == (0.5, 4, 2)
    assert (found.low, found.high) == pytest.approx((0.0676, 0.9324), abs=1e-4)  # Clopper-Pearson, 2 of 4
    assert (found.worst, found.best) == (0.5, 0.75)


def test_an_answer_in_one_order_only_is_not_consistent_and_stays_in_n() -> None:
    found = estimate(option_consistency, table([("p", "", "A", "A"), ("p", "1,0", "", "B")]))
    assert (found.value, found.n, found.missing) == (0.0, 2, 1)


def test_repeats_are_compared_with_their_own_repeat() -> None:
    rows = [("p", "", "A", "A"), ("p", "1,0", "B", "B"), ("p", "", "B", "A"), ("p", "1,0", "B", "B")]
    found = estimate(option_consistency, table(rows, [0, 0, 1, 1]))
    assert (found.value, found.runs, found.mean_of_runs) == (0.5, 2, 0.5)


def test_questions_asked_in_one_order_say_nothing() -> None:
    found = estimate(option_consistency, table([("p", "", "A", "A"), ("q", "", "B", "B")]))
    assert (found.value, found.n) == (None, 0)
    both = table([("p", "", "A", "A"), ("p", "1,0", "B", "B"), ("q", "", "B", "B")])
    assert estimate(option_consistency, both).n == 2


def test_weights_count_questions() -> None:
    found = table([("p", "", "A", "A"), ("p", "1,0", "B", "B"), ("q", "", "A", "A"), ("q", "1,0", "A", "B")])
    weights = np.array([[1, 1, 1, 1], [3, 3, 1, 1], [0, 0, 2, 2], [0, 0, 0, 0]], dtype=float)
    values = option_consistency.compute(found, weights)
    assert values[:3].tolist() == [0.5, 0.75, 0.0]
    assert np.isnan(values[3])


def options(*counts: str, levels: tuple[str, ...] = LETTERS, **more: tuple[str, ...]) -> RatingTable:
    found = table([(str(n), "", "", levels[0]) for n in range(len(counts))], levels=levels)
    tags = {"options": counts, **more}
    return RatingTable(
        found.levels, found.code, found.target, found.cluster, found.subject, found.status, None,
        {name: np.array(values, dtype=object) for name, values in tags.items()},
    )  # fmt: skip


def test_chance_is_the_mean_of_one_in_so_many() -> None:
    found = estimate(chance("options"), options("4", "2", "4"))
    assert found.value == pytest.approx((0.25 + 0.5 + 0.25) / 3)
    assert found.low is not None and found.high is not None
    assert found.low < found.value < found.high  # type: ignore[operator]  # it is a number, as seen above


def test_to_guess_two_questions_is_the_product() -> None:
    both = options("2", "4", levels=("no", "yes"), cause=("4", "2"))
    assert estimate(chance("options", "cause", levels=2), both).value == pytest.approx(1 / 8)


def test_chance_leaves_out_what_has_no_number_and_suits_its_own_scale_only() -> None:
    assert estimate(chance("options"), options("", "4")).value == 0.25
    assert estimate(chance("options"), options("", "")).value is None
    assert chance("options", levels=4).supports(LETTERS)
    assert not chance("options", levels=6).supports(LETTERS)
    assert chance("options").supports(LETTERS)


def test_answers_that_cannot_be_read_stand_apart() -> None:
    found = table([("p", "", "A", "A"), ("q", "", "B", "A"), ("r", "", "", "A"), ("s", "", "", "B")])
    assert estimate(accuracy, found).value == 0.25
    read = estimate(accuracy_of_read, found)
    assert (read.value, read.n, read.missing) == (0.5, 2, 0)
