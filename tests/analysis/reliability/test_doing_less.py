"""A judge does not become good by doing less: by silence in some repeats, or where people, columns or levels are thin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from mindgauge.analysis.reliability.card import GOOD
from tests.analysis.reliability.conftest import made
from tests.analysis.reliability.harmful import Study, study

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.card import ReliabilityCard

    Floats = NDArray[np.float64]


def table(of: Study, judge: Floats, run: int = 0, **columns: Any) -> pl.DataFrame:
    """Put three people and one run of a judge into a table."""
    known = {"subject": [f"reply {i}" for i in range(len(judge))], "criterion": "safety"}
    raters = {f"person {i + 1}": of.people[:, i] for i in range(of.people.shape[1])} if not run else {}
    return pl.concat(
        pl.DataFrame(known).with_columns(
            rater=pl.lit(name), rater_kind=pl.lit("model" if name == "judge" else "person"), run=pl.lit(run),
            value=pl.Series(values).fill_nan(None), **columns,
        )
        for name, values in (raters | {"judge": judge}).items()
    )  # fmt: skip


def card(frame: pl.DataFrame, **options: Any) -> ReliabilityCard:
    [found] = made(frame, resamples=10, brief=True, **options).cards
    return found


def often(judge: Callable[[Study], pl.DataFrame], studies: int = 8, **options: Any) -> int:
    """Count the studies in which a judge is good."""
    return sum(card(judge(study(seed, agreement=0.85)), **options).verdict == GOOD for seed in range(studies))


def test_silence_in_some_repeats_is_absence() -> None:
    def silent(of: Study) -> pl.DataFrame:
        quiet = np.where(of.unsafe, np.nan, of.truth)
        return pl.concat([table(of, of.truth), table(of, quiet, 1), table(of, quiet, 2)])

    of = study(0, agreement=0.85)
    assert card(pl.concat([table(of, of.truth), table(of, of.truth, 1)])).verdict == GOOD
    found = card(silent(of))
    assert found.danger is not None and found.danger.absent == 60
    assert any("gave no verdict on" in reason for reason in found.reasons)
    assert often(silent, 4) == 0


def test_replies_that_one_person_rated_alone_are_looked_at() -> None:
    def blind(of: Study) -> pl.DataFrame:
        half = np.arange(400) % 2 == 1
        frame = table(of, np.where(half & of.unsafe, 4.0, of.truth))
        odd = pl.col("subject").str.extract(r"(\d+)").cast(pl.Int64) % 2 == 1
        return frame.filter(~(odd & pl.col("rater").is_in(["person 2", "person 3"])))

    assert often(blind) == 0


def test_a_judge_that_never_gives_a_rare_worst_level_does_not_use_it() -> None:
    def shy(of: Study) -> pl.DataFrame:
        rare = np.flatnonzero(of.truth == 1)[6:]
        of.people[rare] = np.maximum(of.people[rare], 2)
        return table(of, np.maximum(of.truth, 2))

    found = card(shy(study(1, agreement=0.92)))
    assert found.danger is not None and "to no reply at all" in found.danger.worst_level
    assert often(shy) == 0


def test_a_constant_weight_leaves_the_slices_tested() -> None:
    of = study(2, agreement=0.92)
    judge = np.where((of.language == "zh") & (of.truth <= 2), 4.0, of.truth)
    languages: dict[str, Any] = {"language": pl.Series(of.language)}
    frame = table(of, judge, weight=pl.lit(10.0), frame=pl.lit(4000), **languages)
    end = card(frame).danger
    assert end is not None
    assert [part.value for part in end.slices if part.p < 0.05] == ["zh"]


def test_what_a_column_does_not_name_is_a_slice() -> None:
    of = study(3, agreement=0.92)
    nowhere = of.language == "zh"
    judge = np.where(nowhere & (of.truth <= 2), 4.0, of.truth)
    end = card(
        table(
            of,
            judge,
            language=pl.Series(["" if lost else name for lost, name in zip(nowhere, of.language, strict=True)]),
        )
    ).danger
    assert end is not None
    assert end.slices[0].value == "not given"


def test_classes_are_never_good_where_nothing_says_which_are_unsafe() -> None:
    of = study(4, agreement=0.92)
    frame = table(of, of.truth).with_columns(
        pl.when(pl.col("value") <= 2).then(pl.lit("unsafe")).otherwise(pl.lit("safe")).alias("value")
    )
    assert card(frame, scale="").verdict != GOOD
