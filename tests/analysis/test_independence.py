"""Who is independent: adjudicators, consensus and repeats are found in made-up studies, and honest people are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.analysis import independence
from mindgauge.records.errors import UsageError
from tests.thinned import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Levels = NDArray[np.intp]

SEEDS = st.integers(0, 2**32 - 1)
CUTS = ([0.0], [1.3], [2.0], [-0.5, 0.8], [-1.2, -0.4, 0.4, 1.2])
"""Levels of a latent severity: half, a tenth and a fortieth are harmful, three levels, five."""


def rated(
    generator: np.random.Generator, n: int, noise: Sequence[float], severity: Sequence[float], cuts: Sequence[float]
) -> Levels:
    """Draw what honest people say: a severity of the reply, everybody's own error, and everybody's own standard."""
    seen = generator.normal(size=(n, 1)) + generator.normal(size=(n, len(noise))) * noise + np.asarray(severity)
    return np.asarray(np.searchsorted(cuts, seen), dtype=np.intp)


def frame(values: Levels, raters: Sequence[str], criterion: str = "harm") -> pl.DataFrame:
    n, k = values.shape
    return pl.DataFrame(
        {
            "subject": np.repeat([f"s{i}" for i in range(n)], k), "cluster": None, "criterion": criterion,
            "rater": np.tile(np.array(list(raters)), n), "run": 0, "number": values.ravel().astype(float),
            "value": values.ravel().astype(str),
        },
        schema_overrides={"cluster": pl.String},
    )  # fmt: skip


def kinds(values: Levels, raters: Sequence[str]) -> dict[str, str]:
    dependent, _ = independence.detect(frame(values, raters), raters)
    return {entry.rater: entry.how for entry in dependent}


@given(
    SEEDS, st.integers(30, 500), st.integers(2, 5), st.sampled_from(CUTS),
    st.lists(st.floats(0.1, 1.5), min_size=5, max_size=5), st.lists(st.floats(-0.8, 0.8), min_size=5, max_size=5),
)  # fmt: skip
@examples(90)
def test_honest_people_are_independent(
    seed: int, n: int, people: int, cuts: list[float], noise: list[float], severity: list[float]
) -> None:
    """Any prevalence, any agreement, any standards; errors that differ by up to a factor of 15."""
    generator = np.random.default_rng(seed)
    values = rated(generator, n, noise[:people], severity[:people], cuts)
    assert kinds(values, "abcde"[:people]) == {}


@given(SEEDS, st.sampled_from([[0.0], [0.7], [-0.5, 0.8], [-1.2, -0.4, 0.4, 1.2]]), st.integers(1, 4))
@examples(30)
def test_an_adjudicator_is_found(seed: int, cuts: list[float], overruled: int) -> None:
    """Two people who differ on a quarter of 1,000 replies or more, and one who decides; now and then against both."""
    generator = np.random.default_rng(seed)
    values = rated(generator, 1000, [0.7, 0.7], [0.0, 0.0], cuts)
    decided = np.where(generator.random(1000) < 0.5, values[:, 0], values[:, 1])
    decided[generator.choice(1000, overruled - 1, replace=False)] = 0
    assert kinds(np.column_stack([values, decided]), ["anna", "bea", "dana"]) == {"dana": "adjudicator"}


def test_the_evidence_is_said_in_one_sentence() -> None:
    generator = np.random.default_rng(4)
    values = rated(generator, 400, [0.6, 0.6], [0.0, 0.0], [0.0])
    decided = np.where(generator.random(400) < 0.5, values[:, 0], values[:, 1])
    [entry], suspected = independence.detect(frame(np.column_stack([values, decided]), "abd"), "abd")
    split = int((values[:, 0] != values[:, 1]).sum())
    assert entry.evidence.startswith(
        f"d agrees on {400 - split} of {400 - split} subjects on which the others agree and sides with one of them on {split} of {split} on which they differ"
    )
    assert (entry.agreed, entry.unanimous, entry.sided, entry.split) == (400 - split, 400 - split, split, split)
    assert entry.p is not None and entry.p < 2e-4
    assert suspected == []


def test_few_disagreements_are_a_suspicion_and_an_easy_criterion_is_none() -> None:
    generator = np.random.default_rng(2)
    values = rated(generator, 220, [0.4, 0.4], [0.0, 0.0], [0.0])
    decided = np.where(generator.random(220) < 0.5, values[:, 0], values[:, 1])
    dependent, suspected = independence.detect(frame(np.column_stack([values, decided]), "abd"), "abd")
    assert dependent == [] and [entry.rater for entry in suspected] == ["d"]
    easy = rated(generator, 5000, [0.05] * 3, [0.0] * 3, [2.5])
    assert independence.detect(frame(easy, "abc"), "abc") == ([], [])


def test_who_decides_only_what_others_dispute_is_an_adjudicator() -> None:
    generator = np.random.default_rng(8)
    values = rated(generator, 200, [0.6, 0.6], [0.0, 0.0], [0.0])
    table = frame(np.column_stack([values, generator.integers(0, 2, 200)]), ["a", "b", "dana"])
    split = [f"s{i}" for i in np.flatnonzero(values[:, 0] != values[:, 1])]
    table = table.filter((pl.col("rater") != "dana") | pl.col("subject").is_in(split))
    [entry] = independence.detect(table, ["a", "b", "dana"])[0]
    assert entry.how == "adjudicator"
    assert entry.evidence == f"dana rated {len(split)} subjects of these others, who differ on {len(split)} of them"


@given(SEEDS, st.sampled_from(["majority", "median", "mean", "rounded mean"]), st.integers(2, 4))
@examples(40)
def test_a_consensus_that_contains_its_raters_is_found(seed: int, rule: str, people: int) -> None:
    from mindgauge.stats.dependence import RULES

    generator = np.random.default_rng(seed)
    people = max(people, 3) if rule == "majority" else people
    often_alone = (rule, people) == ("rounded mean", 4)  # it departs from three who agree, as an honest person does
    n = 5000 if often_alone else 500
    values = rated(generator, n, [0.6] * people, [0.0] * people, [-1.2, -0.4, 0.4, 1.2]).astype(float)
    result = RULES[rule](values)
    table = np.column_stack([values, result])[np.isfinite(result)]
    names = [*"abcd"[:people], "joint"]
    rows = frame(table, names).with_columns(value=pl.col("number").cast(pl.String))
    dependent, _ = independence.detect(rows, names)
    assert [(entry.rater, entry.how) for entry in dependent] == [("joint", "consensus")]
    assert " of the others on " in dependent[0].evidence


@pytest.mark.parametrize("cuts", [[0.0], [-0.5, 0.8], [-1.2, -0.4, 0.4, 1.2]])
def test_one_person_under_two_names_is_found(cuts: list[float]) -> None:
    generator = np.random.default_rng(6)
    values = rated(generator, 800, [0.6] * 3, [0.0] * 3, cuts)
    again = np.where(generator.random(800) < 0.004, 0, values[:, 0])
    assert kinds(np.column_stack([values, again]), ["anna", "bea", "chi", "zoe"]) == {"zoe": "repeat"}


def test_names() -> None:
    assert independence.repeats_by_name(["gpt run 1", "gpt run 2", "gpt-seed-7", "anna", "expert1", "expert2"]) == {
        "gpt": ["gpt run 1", "gpt run 2", "gpt-seed-7"]
    }
    assert independence.repeats_by_name(["rater 1", "rater 2", "H1", "H2", "clinician_3"]) == {}
    assert independence.numbered(["gpt_2", "gpt_1", "llama 2", "llama 3", "o1", "o3"]) == {"gpt": ["gpt_1", "gpt_2"]}
    assert independence.by_name("Adjudicated label") and not independence.by_name("expert 1")


def test_by_hand() -> None:
    table = frame(rated(np.random.default_rng(0), 40, [0.5] * 3, [0.0] * 3, [0.0]), ["anna", "bea", "consensus"])
    who = independence.settle(table, ["anna", "bea", "consensus"], ["bea"])
    assert who.independent == ["anna"]
    assert {entry.rater: entry.how for entry in who.dependent} == {"bea": "by hand", "consensus": "by name"}
    with pytest.raises(UsageError, match="--adjudicator 'bae': no such rater; did you mean bea"):
        independence.settle(table, ["anna", "bea"], ["bae"])


@pytest.mark.long
def test_false_alarms_are_rare() -> None:
    """Studies at the edge of what is allowed: one person errs a third as often, others differ in standards."""
    generator = np.random.default_rng(11)
    alarms = 0
    for study in range(60):
        cuts = CUTS[study % len(CUTS)]
        values = rated(generator, 400, [0.8, 0.8, 0.3], [0.3, -0.3, 0.0], cuts)
        alarms += bool(kinds(values, "abc"))
    assert alarms == 0
