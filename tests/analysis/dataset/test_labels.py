"""A panel's labels by strict majority, the draw that people check, and figures of the panel against what was planted."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.analysis.dataset import checked
from mindgauge.analysis.dataset.checked import TIE, UNDECIDED, UNREADABLE
from mindgauge.records.errors import UsageError
from mindgauge.records.rubric import Criterion, Level, Scale
from tests.analysis.dataset.label_trial import CRITERION, LEVELS, beside, planted, trial
from tests.thinned import examples


def verdicts(said: dict[str, list[list[str | None]]]) -> pl.DataFrame:
    """Item → judge by judge, what each of its runs says; None where it cannot be read."""
    rows = [
        (ident, f"judge {judge}", "ok" if value else "unparsable", value)
        for ident, judges in said.items()
        for judge, runs in enumerate(judges)
        for value in runs
    ]
    return pl.DataFrame(rows, {"id": pl.String, "rater": pl.String, "status": pl.String, "value": pl.String}, orient="row")  # fmt: skip


def test_more_than_half_of_the_runs_and_of_the_judges_decide() -> None:
    said: dict[str, list[list[str | None]]] = {
        "all": [["a", "a", "a"], ["a", "a", "b"], ["a", "a", "a"]],
        "two": [["a", "a", "b"], ["a", "b", "a"], ["b", "b", "b"]],
        "judges tie": [["a", "a", "a"], ["b", "b", "b"], ["c", "c", "c"]],
        "runs tie": [["a", "b", "c"], ["a", "a", "a"], ["b", "b", "b"]],
        "most, not half": [["a", "b", "c"], ["a", "a", "a"], ["a", "b", None]],
        "silent": [[None, None, None], [None, None, "a"], ["a", "a", None]],
        "one speaks": [["a", "a", None], [None, None, None], ["a", "a", "a"]],
    }
    result = checked.panel_labels(verdicts(said), [*said, "never asked"])
    outcome = dict(result.items.select("id", "outcome").rows())
    assert outcome == {
        "all": "a", "two": "a", "judges tie": TIE, "runs tie": TIE, "most, not half": TIE, "silent": UNREADABLE,
        "one speaks": "a", "never asked": UNREADABLE,
    }  # fmt: skip
    agreement = dict(result.items.select("id", "panel_agreement").rows())
    assert agreement == pytest.approx({
        "all": 8 / 9, "two": 5 / 9, "judges tie": 1 / 3, "runs tie": 4 / 9, "most, not half": 5 / 9, "silent": 1 / 3,
        "one speaks": 5 / 9, "never asked": 0,
    })  # fmt: skip
    assert result.members.filter(id="two").row(0)[1:] == ("a", "a", "b")
    assert result.members.filter(id="runs tie").row(0)[1:] == (None, "a", "b")


@pytest.mark.long
def test_intervals_hold_what_was_planted_and_corrected_shares_have_no_bias() -> None:
    result = trial(80, seed=5)
    assert all(value >= 0.93 for value in result.coverage.values()), result.coverage
    errors, raw = np.array(result.errors["calm"]), np.array(result.raw["calm"])
    assert abs(errors.mean()) < 3 * errors.std() / np.sqrt(len(errors))
    assert raw.mean() < -0.03


@examples(40)
@given(st.integers(0, 10**6), st.integers(8, 200), st.integers(0, 60))
def test_a_draw_knows_how_probable_each_item_was(seed: int, number: int, disputed: int) -> None:
    labels, groups, _ = planted(300, np.random.default_rng(seed))
    drawn = checked.check(labels, groups, number, disputed, seed)
    assert drawn.equals(checked.check(labels, groups, number, disputed, seed))
    assert drawn["id"].n_unique() == drawn.height <= number + disputed
    assert (1 / drawn["probability"]).sum() == pytest.approx(300)
    sizes = drawn.group_by("stratum").agg(pl.len(), pl.col("stratum_size").first(), pl.col("probability").first())
    assert sizes.select((pl.col("len") / pl.col("stratum_size") - pl.col("probability")).abs().max()).item() < 1e-12
    first = drawn["stratum"].str.starts_with(checked.DISPUTED)
    assert first.to_list() == sorted(first.to_list(), reverse=True)


def test_all_labelled_is_exact_and_a_stratum_without_labels_has_no_number() -> None:
    labels, groups, truth = planted(200, np.random.default_rng(2))
    rows = beside(labels, groups, truth, checked.check(labels, groups, 200, 0, 0))
    outcomes = labels.items["outcome"]
    for entry in checked.classes(rows, outcomes, CRITERION)[:3]:
        share = float((truth["people"] == entry.label).mean())  # type: ignore[arg-type]
        assert (entry.people.low, entry.people.value, entry.people.high) == pytest.approx((share,) * 3)
        assert entry.people.note == checked.EXACT
    rows = rows.filter(pl.col("outcome") != "hint")
    for entry in checked.classes(rows, outcomes, CRITERION):
        reason = checked.OF_PANEL if entry.label == TIE else checked.UNSEEN
        assert (entry.people.value, entry.people.note) == (None, reason)
    cells = checked.confusion(rows, outcomes, CRITERION)
    assert {cell.panel for cell in cells} == {"calm", "plain", TIE}
    assert all(cell.share.value is not None for cell in cells)


def test_the_first_of_the_disputed_are_no_sample_of_all_items_nor_of_the_other_disputed() -> None:
    labels, groups, truth = planted(200, np.random.default_rng(2))
    chosen = checked.check(labels, groups, 40, 20, 0)
    whole = beside(labels, groups, truth.with_columns(a="people", b="people"), chosen)
    outcomes, disputed = labels.items["outcome"], pl.col("stratum").str.starts_with(checked.DISPUTED)
    of_one = whole["outcome"] == whole["outcome"][0]
    for part in (whole.filter(disputed), pl.concat([whole[1:10], whole.filter(~disputed)])):
        agreement = checked.among_people(part, ["a", "b"], CRITERION)
        assert (agreement.value, agreement.note, checked.reaches(agreement, 0)) == (None, checked.UNSEEN, None)
        assert all(entry.people.value is None for entry in checked.classes(part, outcomes, CRITERION))
    alone = whole.filter(of_one & disputed)
    cells = checked.confusion(alone[1:], alone["outcome"], CRITERION)
    assert all(cell.share.value is None for cell in cells)
    assert all(cell.share.value is not None for cell in checked.confusion(alone, alone["outcome"], CRITERION))
    assert checked.among_people(whole, ["a", "b"], CRITERION).value == 1


def test_what_people_leave_open_stays_in_n() -> None:
    labels, groups, truth = planted(200, np.random.default_rng(3))
    truth = truth.with_columns(people=pl.when(pl.int_range(pl.len()) % 4 == 0).then(pl.lit(UNDECIDED)).otherwise("people"))  # fmt: skip
    rows = beside(labels, groups, truth, checked.check(labels, groups, 200, 0, 0))
    classes = {entry.label: entry for entry in checked.classes(rows, labels.items["outcome"], CRITERION)}
    assert classes[UNDECIDED].people.value == pytest.approx(0.25)
    assert classes[UNDECIDED].recall.written("share") == "not known (no label that a panel could find)"
    assert sum(entry.people.value or 0 for entry in classes.values()) == pytest.approx(1)


def test_a_panel_that_says_one_thing_alone_finds_all_of_it_without_an_interval() -> None:
    rows = pl.DataFrame({"outcome": "calm", "people": ["calm", "hint"] * 4, "cluster": [*"abcdefgh"], "stratum": "by lot 1", "stratum_size": 30.0})  # fmt: skip
    calm, hint = checked.classes(rows, pl.Series(["calm"] * 30), CRITERION)
    assert (calm.recall.value, calm.recall.low, calm.recall.note) == (1, None, checked.ALWAYS)
    assert (hint.recall.value, hint.recall.low, hint.recall.note) == (0, None, checked.UNSAID)


def test_agreement_of_people_is_that_of_all_items_not_of_those_the_panel_disputes() -> None:
    generator = np.random.default_rng(4)
    gaps = []
    for seed in range(30):
        labels, groups, truth = planted(600, generator)
        hard = labels.items["panel_agreement"].to_numpy() < 1
        codes = truth["people"].replace_strict({level: n for n, level in enumerate(LEVELS)}, return_dtype=pl.Int64).to_numpy()  # fmt: skip
        people = [np.where(generator.random(600) < np.where(hard, 0.5, 0.02), generator.integers(0, 3, 600), codes) for _ in range(2)]  # fmt: skip
        rows = truth.with_columns(**{name: pl.Series(np.array(LEVELS)[said]) for name, said in zip("ab", people, strict=True)})  # fmt: skip
        every = beside(labels, groups, rows, checked.check(labels, groups, 600, 0, 0))
        drawn = beside(labels, groups, rows, checked.check(labels, groups, 120, 80, seed))
        whole, part = (checked.among_people(table, ["a", "b"], CRITERION) for table in (every, drawn))
        bare = checked.among_people(drawn.with_columns(stratum_size=drawn.height, frame=drawn.height, stratum=pl.lit("")), ["a", "b"], CRITERION)  # fmt: skip
        gaps.append(((part.value or 0) - (whole.value or 0), (bare.value or 0) - (whole.value or 0)))
    weighted, unweighted = np.array(gaps).T
    assert abs(weighted.mean()) < 3 * weighted.std() / np.sqrt(len(weighted)) + 0.005
    assert unweighted.mean() < -0.05


def test_people_who_all_say_the_same_reach_every_gate_and_one_alone_reaches_none() -> None:
    labels, groups, truth = planted(60, np.random.default_rng(6))
    rows = beside(labels, groups, truth, checked.check(labels, groups, 60, 0, 0))
    same = rows.with_columns(a=pl.lit("calm"), b=pl.lit("calm"))
    assert checked.reaches(checked.among_people(same, ["a", "b"], CRITERION), 0.9) is True
    alone = checked.among_people(same, ["a"], CRITERION)
    assert (alone.value, checked.reaches(alone, 0)) == (None, None)


def test_an_order_is_held_to_ordinal_alpha() -> None:
    order = Criterion("risk", Scale.ORDINAL, tuple(Level(level, {}) for level in LEVELS))
    assert checked.coefficient(order) == "Krippendorff's alpha, ordinal"
    near = pl.DataFrame({"x": ["calm", "hint", "plain"] * 8, "y": ["hint", "hint", "plain"] * 8})
    groups = [str(n) for n in range(24)]
    ordinal, nominal = (checked.among_members(near, groups, criterion).value or 0 for criterion in (order, CRITERION))
    assert ordinal > nominal


@given(st.lists(st.integers(1, 300), min_size=1, max_size=8), st.integers(1, 400))
def test_a_share_of_the_draw_is_alike_and_never_more_than_there_is(sizes: list[int], number: int) -> None:
    if number < 2 * len(sizes):
        with pytest.raises(UsageError):
            checked.allocated(sizes, number)
        return
    numbers = checked.allocated(sizes, number)
    assert all(got <= size for got, size in zip(numbers, sizes, strict=True))
    assert sum(numbers) == min(number, sum(sizes)) or number - sum(numbers) < len(sizes)
    assert all(got == size or got >= number // len(sizes) for got, size in zip(numbers, sizes, strict=True))
