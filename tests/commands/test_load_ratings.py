"""Ratings of the user's own beside a release: joined to its replies, in any shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.records.errors import DataError
from mindgauge.store import Store

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARK = "psycrisis"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A table of dialogues and replies as psycrisis reads them."""
    rows = [{"id": f"d{n}", "category": "depression", "user": f"I feel low, for {n} days now.", "reply": f"I am here. ({n})"} for n in range(12)]  # fmt: skip
    path = tmp_path / "data" / "replies.csv"
    path.parent.mkdir()
    pl.DataFrame(rows).write_csv(path)
    return path


MAP = {"user": "user", "reply": "reply", "id": "id", "category": "category"}


def test_ratings_in_another_shape_join_the_replies(data: Path, tmp_path: Path) -> None:
    loaded = mindgauge.papers_load(BENCHMARK, data=data, mapping=MAP, out=tmp_path / "bare")
    rubric = benchmarks.find_one(BENCHMARK).rubric.criteria[0]
    criterion = rubric.name
    with Store(tmp_path / "bare") as store:
        replies = list(store.replies(BENCHMARK))
    assert loaded.replies == 12
    folder = tmp_path / "people"
    folder.mkdir()
    for number, name in enumerate(("expert1", "expert2")):
        rows = [
            {"reply_id": reply.id, criterion: (place + number) % 2, "warmth": 3} for place, reply in enumerate(replies)
        ]
        pl.DataFrame([*rows, {"reply_id": "elsewhere", criterion: 1, "warmth": 2}]).write_csv(folder / f"{name}.csv")
    result = mindgauge.papers_load(BENCHMARK, data=data, mapping=MAP, ratings=folder, out=tmp_path / "run")
    assert result.ratings == {"expert1": 12, "expert2": 12}
    assert any(
        "1 subject that no reply is called ('elsewhere') and criteria that the rubric does not have (warmth)" in note
        for note in result.notes
    )
    with Store(tmp_path / "run") as store:
        ratings = [rating for rating in store.ratings(BENCHMARK) if rating.rater == "expert2"]
    assert {rating.rater_kind.value for rating in ratings} == {"person"}
    assert {(r.subject, r.value) for r in ratings} == {
        (reply.id, rubric.read(str((place + 1) % 2))) for place, reply in enumerate(replies)
    }
    again = mindgauge.papers_load(BENCHMARK, data=data, mapping=MAP, ratings=[folder])
    assert again.run != mindgauge.papers_load(BENCHMARK, data=data, mapping=MAP).run


def test_ratings_of_other_replies_get_one_line(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    pl.DataFrame([{"id": f"x{n}", "rater": rater, "warmth": n % 5} for n in range(9) for rater in "AB"]).write_csv(path)
    with pytest.raises(DataError, match="no rating in it is about these replies on their criteria"):
        mindgauge.papers_load(BENCHMARK, data=data, mapping=MAP, ratings=path, out=tmp_path / "run")
