"""What is needed most comes first: a queue in its order, then crises, then the rest by lot."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import polars as pl
import pytest

from mindgauge.annotation.blind import FILE, Blind
from mindgauge.annotation.items import BLOCK, batched, chosen, read_queue
from mindgauge.annotation.records import Item
from mindgauge.records import Message
from mindgauge.records.errors import DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def made(count: int, crises: int = 0) -> list[Item]:
    """Return items, the last ones of which are crises."""
    return [Item(f"i{n:03}", (Message("user", str(n)),), "reply", crisis=n >= count - crises) for n in range(count)]


def test_crises_come_first_and_the_rest_by_ids_that_say_nothing() -> None:
    items = made(30, 6)
    found = batched(items, 10)
    assert [item.crisis for item in found] == [True] * 6 + [False] * 24
    assert [item.tier for item in found] == [0] * 6 + [1] * 24
    assert [item.batch for item in found] == [1] * 10 + [2] * 10 + [3] * 10
    assert found == batched(items[::-1], 10)
    others = batched(made(30, 6), 10)
    assert [item.subject for item in found] != [item.subject for item in others]
    for tier in (0, 1):
        ids = [(item.batch, item.id) for item in found if item.tier == tier]
        assert ids == sorted(ids)


def test_a_queue_comes_before_crises_in_its_own_order_by_blocks() -> None:
    queue = [f"i{n:03}" for n in range(BLOCK + 3)][::-1]
    found = batched(made(40, 4), 20, queue)
    assert {item.subject for item in found[:BLOCK]} == set(queue[:BLOCK])
    assert {item.subject for item in found[BLOCK : BLOCK + 3]} == set(queue[BLOCK:])
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
    kept = chosen(items, 100, ["i007", "i003"])
    assert len(kept) == 100
    assert {"i003", "i007"} <= {item.subject for item in kept}
    assert 20 < sum(item.crisis for item in kept) < 80
    assert [item.subject for item in kept] == sorted(item.subject for item in kept)
    assert {item.subject for item in chosen(items, 2, ["i007", "i003", "i001"])} == {"i007", "i003"}
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
        ("name\ns1\n", r"a queue needs a column subject, review_id, id; found name"),
        ("subject\n", r"queue.csv: an empty queue"),
    ],
)
def test_a_queue_that_does_not_fit_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "queue.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_queue(path, {"s1": "one"})


def test_names_on_blind_forms_follow_from_the_run_s_secret_alone_and_are_no_numbers(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    assert Blind.known(tmp_path / "one") is None
    one, two = Blind.of(tmp_path / "one"), Blind.of(tmp_path / "two")
    again = Blind.known(tmp_path / "one")
    assert again is not None
    assert one.review("a") == again.review("a")
    assert len({one.review("a"), one.review("b"), two.review("a")}) == 3
    assert (one.review("a")[0], len(one.review("a"))) == ("r", 17)
    assert one.chance(1).random() == again.chance(1).random() != two.chance(1).random()
    assert stat.S_IMODE((tmp_path / "one" / FILE).stat().st_mode) == 0o600


def test_a_secret_that_is_damaged_or_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    for content in ("", "zz", "abcd"):
        (tmp_path / FILE).write_text(content, encoding="utf-8")
        with pytest.raises(UsageError, match=r"blind\.key: (cannot read|damaged)"):
            Blind.of(tmp_path)
    with pytest.raises(UsageError, match=r"blind\.key: cannot write here"):
        Blind.of(tmp_path / "nowhere")
