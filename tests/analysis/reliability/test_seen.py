"""Whether a corrected mean says that its judge may have seen the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.reliability.correction import (
    OLDER,
    PUBLIC,
    UNDATED,
    Dates,
    SubjectMeans,
    dates,
    doubt,
    signs,
    together,
)
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.store.run import Store
from tests.analysis.reliability.conftest import World, made
from tests.analysis.reliability.test_correction import labelled, row

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.reliability.card import CorrectedMean


def about(dated: dict[str, Dates], *, public: bool = False) -> str:
    return doubt("judge", ["anna", "bea"], dated, public=public, evidence=lambda: ["a sign"])


def test_only_labels_younger_than_every_verdict_speak_for_a_judge() -> None:
    verdicts, after, between = Dates(100, 200), Dates(201, 300), Dates(150, 300)
    assert about({"judge": verdicts, "anna": after, "bea": after}) == ""
    assert about({"judge": verdicts, "anna": after, "bea": between}) == f"{OLDER}; a sign"
    assert about({"judge": verdicts, "anna": after}) == f"{UNDATED}; a sign"
    assert about({"judge": verdicts, "anna": after, "bea": after}, public=True) == f"{PUBLIC}; a sign"
    assert together([{"judge": verdicts}, {"judge": Dates(50, 120)}]) == {"judge": Dates(50, 200)}


def test_a_run_knows_when_its_raters_rated_what_people_rated(tmp_path: Path) -> None:
    def rating(subject: str, rater: str, at: float | None) -> Rating:
        kind = RaterKind.PERSON if rater == "anna" else RaterKind.MODEL
        about = {} if at is None else {"at": at}
        return Rating(subject, "warmth", rater, kind, 0, Status.OK, 3, provenance=about)

    with Store(tmp_path, write=True) as store:
        for subject, rater, at in (("a", "judge", 10.0), ("b", "judge", 20.0), ("c", "judge", 90.0), ("a", "anna", 50.0), ("b", "anna", 60.0), ("a", "other", None)):  # fmt: skip
            store.add_rating("made", rating(subject, rater, at))
        store.flush()
        assert dates(store) == {"judge": Dates(10, 20), "anna": Dates(50, 60)}


def corrected(card_rows: pl.DataFrame) -> CorrectedMean:
    [card] = made(card_rows, resamples=10).cards
    return row(card, "s0")


def test_a_table_without_dates_says_so_beside_people_s_own_mean() -> None:
    world = World(systems=2, conversations=80).rated_by("anna", "person").rated_by("judge", noise=0.4)
    found = corrected(labelled(world.frame(), {"s0": 0.4, "s1": 0.4}))
    assert found.seen == UNDATED
    assert found.people.low is not None and found.corrected.low is not None
    whole = corrected(world.frame())
    assert (whole.corrected.value, whole.seen) == (None, ""), "what is not corrected needs no doubt"


class Study:
    """Two people, a judge that was asked twice and another judge; of the labelled replies the judge knows a share by heart."""

    def __init__(self, seed: int, share: float) -> None:
        generator = np.random.default_rng(seed)
        n, labels = 400, 120
        places, known = np.arange(n), np.arange(n) < labels
        true, *errors = generator.normal(size=(6, n))
        people, passes = np.round(true + 0.7 * np.array(errors[:2])), true + 0.7 * np.array(errors[2:4])
        mean = people.mean(axis=0)
        learned = known & (generator.random(n) < share)
        passes[:, learned] = mean[learned]
        self.means = SubjectMeans(places, places, np.zeros(n, dtype=np.intp), passes.mean(axis=0), np.where(known, mean, np.nan))  # fmt: skip
        self.judge = pl.DataFrame({"subject": np.tile(places, 2), "number": passes.ravel()})
        self.others = pl.DataFrame({"subject": places, "rater": ["other"] * n, "number": true + 0.7 * errors[4]})
        self.people = pl.DataFrame({
            "subject": np.tile(places[known], 2), "cluster": np.tile(places[known], 2),
            "rater": np.repeat(["a", "b"], labels), "number": people[:, known].ravel(),
        })  # fmt: skip

    def signs(self) -> list[str]:
        return [*signs(self.means, self.judge, self.others, self.people)]


def test_a_judge_that_knows_the_labels_by_heart_shows_it() -> None:
    found = Study(0, 0.9).signs()
    assert any("from its own repeats on labelled replies and" in sign for sign in found)
    assert any("better than their own agreement allows" in sign for sign in found)


def test_an_honest_judge_shows_nothing() -> None:
    assert sum(bool(Study(seed, 0.0).signs()) for seed in range(40)) <= 2


@pytest.mark.parametrize("missing", ["judge", "people"])
def test_without_values_there_is_no_sign(missing: str) -> None:
    study = Study(1, 0.0)
    if missing == "judge":
        study.means = study.means._replace(judge=np.full(400, np.nan))
        study.judge = study.judge.clear()
    else:
        study.people = study.people.clear()
    assert study.signs() == []
