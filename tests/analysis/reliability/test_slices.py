"""A judge that is blind in one slice of the replies: found in whatever is known of them, and said on the card."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import GOOD
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.ratings import read
from mindgauge.analysis.reliability.slices import objection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.analysis.reliability.card import Danger, ReliabilityCard

N = 400


def frame(blind: str = "", n: int = N, seed: int = 0) -> pl.DataFrame:
    """Three people with little error and a judge that knows the truth, but where it is blind."""
    random = np.random.default_rng(seed)
    truth = random.choice([1.0, 2.0, 3.0, 4.0, 5.0], n, p=[0.06, 0.09, 0.2, 0.3, 0.35])
    known = pl.DataFrame(
        {
            "subject": [f"reply {i}" for i in range(n)], "criterion": "safety", "system": [f"s{i}" for i in random.integers(0, 4, n)],
            "language": np.where(random.random(n) < 0.15, "zh", "en"), "turn": 1 + np.arange(n) % 12, "source": random.choice(["forum", "line", "clinic"], n),
            "reply": ["so it goes " * int(k) for k in random.lognormal(3, 0.6, n)], "Age": random.integers(18, 80, n), "verdict": np.where(truth < 3, "bad", "fine"),
        }
    )  # fmt: skip
    length = known["reply"].str.len_chars().to_numpy()
    places = {
        "": np.zeros(n, dtype=bool), "language: zh": (known["language"] == "zh").to_numpy(), "turn: > 1": (known["turn"] > 10).to_numpy(),
        "reply length": length > np.quantile(length, 0.875), "source: line": (known["source"] == "line").to_numpy(), "position": np.arange(n) >= 0.875 * n,
    }  # fmt: skip
    people = {
        name: np.clip(truth + random.choice([-1, 0, 1], n, p=[0.06, 0.88, 0.06]), 1, 5) for name in ("ana", "ben", "cy")
    }
    verdicts = people | {"judge": np.where(places[blind] & (truth <= 2), 4.0, truth)}
    kinds = dict.fromkeys(people, "person") | {"judge": "model"}
    return pl.concat(known.with_columns(rater=pl.lit(name), rater_kind=pl.lit(kinds[name]), value=pl.Series(values)) for name, values in verdicts.items())  # fmt: skip


def card_of(*tables: pl.DataFrame) -> ReliabilityCard:
    ratings = read(tables, scale={"*": "1:5"}, unsafe=["safety<=2"])
    [card] = cards(ratings, CardOptions(rule.load(rule.MINDGAUGE), resamples=10)).cards
    return card


def end_of(card: ReliabilityCard) -> Danger:
    assert card.danger is not None
    return card.danger


@pytest.mark.parametrize("blind", ["language: zh", "turn: > 1", "reply length", "source: line", "position"])
def test_a_judge_blind_in_one_slice_is_not_good_and_the_slice_is_named(blind: str) -> None:
    card = card_of(frame(blind))
    assert card.verdict != GOOD
    [reason] = [reason for reason in card.reasons if "in the slice" in reason]
    assert f"in the slice “{blind}" in reason
    worst = end_of(card).slices[0]
    assert worst.missed >= worst.n - 1 >= 3
    assert worst.p < 0.01
    assert worst.high < 0.65


def test_a_sound_judge_is_good_and_every_column_is_looked_at() -> None:
    card = card_of(frame())
    assert card.verdict == GOOD
    slices = end_of(card).slices
    assert {part.by for part in slices} == {
        "language", "system", "turn", "source", "reply length", "position in the table",
    }, "numbers of many values and verdicts are no slices, and who rated everything is none"  # fmt: skip
    assert all(part.found + part.missed == part.n <= part.replies < N for part in slices)
    assert sum(part.n for part in slices if part.by == "language") == end_of(card).found.n


def test_the_largest_slice_that_could_hide_half_is_said() -> None:
    card = card_of(frame())
    unseen = end_of(card).unseen
    assert unseen is not None
    assert unseen.low <= 0.5
    assert unseen.replies == max(part.replies for part in end_of(card).slices if part.low <= 0.5)
    assert [warning for warning in card.warnings if f"it finds {unseen.found} of {unseen.n}" in warning]  # fmt: skip


def test_who_rated_is_a_slice_where_not_everybody_rated_everything() -> None:
    table = frame()
    half = pl.col("subject").str.slice(6).cast(pl.Int64) % 2 == 0
    slices = end_of(card_of(table.filter((pl.col("rater") != "ana") | half))).slices
    assert [part.replies for part in slices if part.by == "rater"] == [N // 2]


def test_a_slice_in_which_a_judge_finds_nothing_counts_however_small_it_is() -> None:
    table = frame()
    unsafe = table.filter(pl.col("value") <= 2).group_by("subject").len().filter(pl.col("len") == 4)["subject"].sort()
    rare = pl.when(pl.col("subject").is_in(unsafe[:3].implode())).then(pl.lit("rare")).otherwise("source")
    blind = (pl.col("rater") == "judge") & (pl.col("source") == "rare")
    table = table.with_columns(source=rare).with_columns(value=pl.when(blind).then(4.0).otherwise("value"))
    many = [pl.Series(f"extra {i}", np.random.default_rng(i).choice(["a", "b", "c", "d"], N)) for i in range(30)]
    table = pl.concat(part.with_columns(many) for part in table.partition_by("rater", maintain_order=True))
    end = end_of(card_of(table))
    assert objection(end, 0.0) == (
        f"it finds none of the 3 unsafe replies in the slice “source: rare”, and misses {end.found.n - end.found.events - 3} of "
        f"{end.found.n - 3} elsewhere"
    )


def test_a_card_over_a_study_with_unequal_probabilities_tests_no_slice() -> None:
    part = pl.when(pl.col("subject").str.ends_with("1")).then(0.5).otherwise(0.4)
    end = end_of(card_of(frame("language: zh").with_columns(probability=part, draw=pl.lit("one"))))
    assert end.weighted
    assert (end.slices, end.unseen) == ([], None)
    alike = end_of(card_of(frame("language: zh").with_columns(probability=pl.lit(0.5), draw=pl.lit("one"))))
    assert alike.slices and not alike.weighted, "with one probability for all nothing is weighted"


def test_ratings_in_several_files_know_what_the_files_say(tmp_path: Path) -> None:
    paths = []
    for part in frame("source: line").partition_by("rater"):
        paths.append(tmp_path / f"{part['rater'][0]}.csv")
        part.drop("reply").write_csv(paths[-1])
    ratings = read(paths, scale={"*": "1:5"}, unsafe=["safety<=2"])
    assert {"turn", "source"} < {*ratings.attributes.columns}
    assert ratings.attributes["subject"].is_unique().all()
    [card] = cards(ratings, CardOptions(rule.load(rule.MINDGAUGE), resamples=10)).cards
    assert any("source" in reason for reason in card.reasons)


def words_of(table: pl.DataFrame) -> Sequence[str]:
    return [name for name in read([table]).attributes.columns if name != "subject"]


def test_what_differs_between_raters_of_a_reply_is_not_known_of_the_reply() -> None:
    table = frame(n=60)
    assert "source" in words_of(table)
    mood = pl.when(pl.col("rater") == "ana").then(pl.lit("calm")).otherwise(pl.lit("tired")).alias("source")
    assert "source" not in words_of(table.with_columns(mood))
