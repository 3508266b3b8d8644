"""What is needed most comes first: a queue in its order, then crises, then the rest by lot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from mindgauge.annotation.order import BLOCK, batched, chosen, read_queue, review_id
from mindgauge.annotation.records import Item
from mindgauge.errors import DataError
from mindgauge.records import Message

if TYPE_CHECKING:
    from pathlib import Path


def made(count: int, crises: int = 0) -> list[Item]:
    """Return items, the last ones of which are crises."""
    return [Item(f"i{n:03}", (Message("user", str(n)),), "reply", crisis=n >= count - crises) for n in range(count)]


def test_crises_come_first_and_the_rest_is_shuffled_the_same_way_each_time() -> None:
    found = batched(made(30, 6), 10, seed=3)
    assert [item.crisis for item in found] == [True] * 6 + [False] * 24
    assert [item.tier for item in found] == [0] * 6 + [1] * 24
    assert [item.batch for item in found] == [1] * 10 + [2] * 10 + [3] * 10
    ids = [item.id for item in found]
    assert ids == [item.id for item in batched(made(30, 6)[::-1], 10, seed=3)]
    assert ids != sorted(ids)
    assert ids != [item.id for item in batched(made(30, 6), 10, seed=4)]


def test_a_queue_comes_before_crises_in_its_own_order_by_blocks() -> None:
    queue = [f"i{n:03}" for n in range(BLOCK + 3)][::-1]
    found = batched(made(40, 4), 20, queue)
    assert [item.id for item in found[: BLOCK + 3]] == queue
    assert [item.tier for item in found] == [0] * BLOCK + [1] * 3 + [2] * 4 + [3] * (40 - BLOCK - 7)
    assert all(item.crisis for item in found[BLOCK + 3 : BLOCK + 7])


@pytest.mark.parametrize(
    ("items", "size", "sizes"),
    [
        (5, 200, [5]),
        (200, 200, [200]),
        (219, 200, [219]),
        (220, 200, [200, 20]),
        (419, 200, [200, 219]),
        (600, 200, [200, 200, 200]),
        (3, 1, [1, 1, 1]),
        (21, 10, [10, 10, 1]),
    ],
)
def test_a_last_batch_under_a_tenth_joins_the_one_before(items: int, size: int, sizes: list[int]) -> None:
    found = [item.batch for item in batched(made(items), size)]
    assert [found.count(number) for number in range(1, max(found) + 1)] == sizes


def test_a_limit_takes_the_queue_first_and_then_by_lot_whatever_is_a_crisis() -> None:
    items = made(400, 200)
    kept = chosen(items, 100, ["i007", "i003"], seed=1)
    assert len(kept) == 100
    assert {"i003", "i007"} <= {item.id for item in kept}
    assert 30 < sum(item.crisis for item in kept) < 70
    assert [item.id for item in kept] == sorted(item.id for item in kept)
    assert {item.id for item in chosen(items, 2, ["i007", "i003", "i001"])} == {"i007", "i003"}
    assert chosen(items, None) == chosen(items, 400) == items


@pytest.mark.parametrize("column", ["review_id", "subject", "id"])
def test_a_queue_names_items_in_one_of_three_ways(tmp_path: Path, column: str) -> None:
    names = {"s1": "one", "s2": "two"}
    path = tmp_path / "queue.csv"
    path.write_text(f"place,{column}\n1,s2\n2,s1\n3,s2\n", encoding="utf-8")
    assert read_queue(path, names) == ["two", "one"]
    assert read_queue(pl.DataFrame({column: ["s1", "s2"]}), names) == ["one", "two"]


def test_what_nobody_labels_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "queue.csv"
    path.write_text("subject\nempty\ns1\n", encoding="utf-8")
    assert read_queue(path, {"s1": "one"}, {"empty"}) == ["one"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("subject\ns1\ns9\n", r"queue.csv:3: subject 's9' is none of the items"),
        ("subject,x\n,1\ns1,1\n", r"queue.csv:2: no subject"),
        ("name\ns1\n", r"a queue needs a column review_id, subject, id; found name"),
        ("subject\n", r"queue.csv: an empty queue"),
    ],
)
def test_a_queue_that_does_not_fit_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "queue.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_queue(path, {"s1": "one"})


def test_the_name_in_the_review_list_says_nothing_and_is_no_number() -> None:
    assert review_id("a") == review_id("a") != review_id("b")
    assert review_id("a")[0] == "r"
    assert len(review_id("a")) == 17
