"""Parts of ratings are their places in one table: what stands in them is what stands in those rows."""

from __future__ import annotations

import polars as pl

from mindgauge.analysis.drawn import COLUMNS
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.records.rubric import Criterion, Level, Scale

KIND = Criterion("kind", Scale.ORDINAL, levels=(Level("no"), Level("yes")))
ROWS = pl.DataFrame({
    "subject": ["d", "c", "b", "a"], "cluster": ["2", "1", "2", "1"], "value": ["yes", None, "no", "yes"],
    "target": [None, "no", "yes", "other"], "status": ["ok", "failed", "ok", "ok"], "run": [0, 0, 3, 3],
    "reply_run": pl.Series([None, None, 5, None], dtype=pl.Int64), "tag.language": ["zh", None, "en", "zh"],
})  # fmt: skip


def test_ratings_are_parted_in_the_order_of_what_stands_in_them() -> None:
    parts = RatingPart.of(ROWS).by("tag.language", "cluster")
    assert [(key, part.rows["subject"].to_list()) for key, part in parts] == [
        (("en", "2"), ["b"]), (("zh", "1"), ["a"]), (("zh", "2"), ["d"]),
    ]  # fmt: skip
    assert RatingPart.of(ROWS.with_columns(pl.lit(None, pl.String).alias("cluster"))).by("cluster") == []


def test_a_part_is_the_table_of_its_rows() -> None:
    part = RatingPart.of(ROWS).where(RatingPart.of(ROWS).among("tag.language", ["zh"]))
    table, alone = part.table(KIND, ["language"]), RatingPart.of(part.rows).table(KIND, ["language"])
    for found in (table, alone):
        assert found.code.tolist() == [1, 1]
        assert found.target.tolist() == [-1, -1]
        assert (found.cluster.tolist(), found.subject.tolist(), found.repeats.tolist()) == ([1, 0], [1, 0], [0, 1])
        assert found.tags["language"].tolist() == ["zh", "zh"]
    whole = RatingPart.of(ROWS).table(KIND, ["language"])
    assert whole.code.tolist() == [1, -1, 0, 1]
    assert whole.repeats.tolist() == [0, 0, 2, 1], "a repeat is that of the reply, where there is one"
    assert whole.tags["language"].tolist() == ["zh", "", "en", "zh"]


def test_what_was_drawn_keeps_its_weight_in_any_order() -> None:
    drawn = ROWS.with_columns(pl.lit(None, kind).alias(name) for name, kind in COLUMNS.items()).with_columns(
        probability=pl.Series([0.1, 0.2, 0.3, 0.4]), draw=pl.lit("first"), conversations=pl.lit(2.0)
    )
    part = RatingPart.of(drawn).by_cluster()
    assert part.rows["subject"].to_list() == ["c", "a", "d", "b"]
    table = part.table(KIND)
    assert table.drawn is not None
    assert (table.drawn.weight[0] / table.drawn.weight[1]).round(9) == 2.0, "c had half of a's chance"
