"""Clean data raises no alarm, and every check finds its fault where it is planted, as often as it is planted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.analysis.audit import checks
from mindgauge.analysis.audit.dependence import STRAIGHT
from mindgauge.analysis.audit.view import View
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame
from tests.analysis.audit import plants_of_ratings, plants_of_texts
from tests.analysis.audit.clean import (
    INPUTS,
    alarms,
    change_text,
    change_values,
    clean,
    found,
    labelled,
    usual,
    usual_labels,
)
from tests.thinned import examples, sampled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.analysis.audit.plants_of_texts import Plant

PLANTS: dict[str, Callable[[], Plant]] = plants_of_texts.PLANTS | plants_of_ratings.PLANTS
SEEDS = st.integers(0, 2**32 - 1)


@given(
    SEEDS, st.integers(5, 150), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.floats(0, 1.2)
)  # fmt: skip
@examples(60)
def test_clean_ratings_raise_no_alarm(
    seed: int, items: int, systems: int, raters: int, criteria: int, halo: float
) -> None:
    material = clean(
        seed,
        items=items,
        systems=tuple(f"system {n}" for n in range(systems)),
        raters={f"rater {n}": ("person", "model")[n % 2] for n in range(raters)},
        criteria=tuple(f"criterion {n}" for n in range(criteria)),
        halo=halo,
    )
    assert alarms(material) == []


@given(SEEDS, st.integers(30, 400), st.integers(2, 6))
@examples(60)
def test_clean_labels_raise_no_alarm(seed: int, items: int, labels: int) -> None:
    assert alarms(labelled(seed, items=items, labels=tuple("ABCDEF"[:labels]))) == []


def test_every_check_has_its_plant() -> None:
    idents = [check.id for check in checks.CHECKS]
    assert sorted(idents) == sorted(set(idents))
    assert set(idents) == PLANTS.keys()


@pytest.mark.parametrize("ident", sorted(PLANTS))
def test_a_planted_fault_is_found(ident: str) -> None:
    plant = PLANTS[ident]()
    assert found(ident, plant.before) == []
    (check,) = (check for check in checks.CHECKS if check.id == ident)
    findings = check.findings(View(plant.after), "here")
    assert sum(finding.count for finding in findings) == plant.times
    where = [place for finding in findings for place in finding.where]
    assert set(plant.where) <= set(where)
    for finding in findings:
        assert finding.subject == "here"
        assert finding.effect and finding.message
        assert len(finding.where) <= 11


@pytest.mark.parametrize("ident", sampled(sorted(PLANTS), 8))
def test_a_whole_audit_has_what_a_check_finds(ident: str) -> None:
    plant = PLANTS[ident]()
    findings = checks.run(plant.after, "here")
    assert sum(finding.count for finding in findings if finding.id == ident) == plant.times
    assert {finding.subject for finding in findings} == {"here"}


@given(st.sets(st.integers(0, 359), min_size=1, max_size=30), st.sampled_from(["0", "6", "-1", "99"]))
@examples(25)
def test_values_off_the_scale_are_counted_and_placed(rows: set[int], value: str) -> None:
    chosen = (pl.col("rater") == "H2") & (pl.col("criterion") == "empathy") & pl.col("row").is_in(list(rows))
    (finding,) = found("out_of_scale", change_values(CLEAN, chosen, value))
    assert finding.count == len(rows)
    assert finding.places[: len(rows)][:10] == [f"H2.csv:{row}" for row in sorted(rows)][:10]
    assert len(rows) <= 10 or finding.places[10] == f"… and {len(rows) - 10} more"


@given(st.sets(st.integers(1, 119), min_size=1, max_size=40))
@examples(25)
def test_copies_are_counted_and_placed(rows: set[int]) -> None:
    material = CLEAN
    for row in rows:
        material = change_text(material, INPUTS, row, CLEAN.texts["text"][0])
    (finding,) = found("duplicate_texts", material)
    assert finding.count == len(rows)
    assert finding.places[:10] == [f"{INPUTS}:{row}" for row in sorted(rows)][:10]


@pytest.mark.long
@given(st.integers(300, 600), st.integers(0, 2), st.sampled_from([-1, 1]), SEEDS)
@examples(8)
def test_a_shift_of_one_level_is_found_wherever_it_begins(start: int, criterion: int, shift: int, seed: int) -> None:
    material = clean(seed, items=300)
    name = material.ratings["criterion"].unique(maintain_order=True)[criterion]
    moved = (pl.col("value").cast(pl.Int64) + shift).clip(1, 5).cast(pl.String)
    later = (pl.col("rater") == "two") & (pl.col("criterion") == name) & (pl.col("row") >= start)
    (finding,) = found("drift", change_values(material, later, moved))
    assert finding.message.startswith("two shifts on")
    told = {fact.removeprefix("two, ").partition(":")[0] for fact in finding.places}
    assert name in told
    assert told <= {name, STRAIGHT}, "how often all criteria are equal shifts with one of them"


def test_a_shift_that_all_raters_share_is_a_fact_about_the_rows() -> None:
    moved = (pl.col("value").cast(pl.Int64) - 1).clip(1, 5).cast(pl.String)
    findings = found("drift", change_values(usual(), pl.col("row") >= 180, moved))
    assert len(findings) == 4
    assert {finding.severity for finding in findings} == {"note"}


def test_whoever_is_always_right_is_no_copy() -> None:
    table = usual_labels().ratings
    right = table.filter(pl.col("rater") == "H1").with_columns(rater_kind=pl.lit("model"))
    gold = right.with_columns(rater=pl.lit("gold"), rater_kind=pl.lit("gold"))
    material = usual_labels()._replace(
        ratings=pl.concat([gold, *(right.with_columns(rater=pl.lit(name)) for name in "ab")])
    )
    assert found("identical_raters", material) == []
    assert found("model_vote_in_human_labels", material) == []


def test_easier_rows_are_no_copies() -> None:
    """All three agree nearly always in the second half, since the replies there are plain."""
    generator = np.random.default_rng(0)
    for study in range(8):
        severity = generator.normal(size=(300, 1)) * np.where(np.arange(300) < 150, 1.0, 3.0)[:, None]
        spread = np.where(np.arange(300)[:, None] < 150, 0.6, 0.02)
        values = (severity + spread * generator.normal(size=(300, 3)) > 0).astype(int)
        assert found("copied_after", _of(values, "HIJ")) == [], study
        copied = np.column_stack([values[:, 0], np.where(np.arange(300) < 150, values[:, 1], values[:, 0])])
        two = found("copied_after", _of(copied, "HI"))
        assert {result.severity for result in two} <= {"note"}, "of two people nobody can tell"


def _of(values: np.ndarray[tuple[int, ...], np.dtype[np.int64]], names: str) -> Material:
    rows: list[tuple[object, ...]] = [
        (f"s{row}", "harm", name, "person", 0, "ok", str(value), None, None, "people.csv", row)
        for row, line in enumerate(values)
        for name, value in zip(names, line, strict=True)
    ]
    return Material(frame([], TEXTS), frame(rows, RATINGS), {}, {})


def test_drift_is_rare_by_chance() -> None:
    """The family's error is set to 0.1 %; with no effect limit in the way, 300 materials may show a few at most."""
    from mindgauge.analysis.audit import dependence
    from mindgauge.analysis.audit.view import View

    draw = np.random.default_rng(5)
    courses = dependence.courses(View(clean(items=60)))
    limit = dependence.critical(courses)
    false = 0
    for _ in range(300):
        orders = draw.permutation(len(courses[0].residual))
        false += max(dependence.statistic(course.residual[orders][None, :])[0][0] for course in courses) > limit
    assert false <= 3  # P(more than 3 of 300 at .001) < .001


CLEAN = usual()
