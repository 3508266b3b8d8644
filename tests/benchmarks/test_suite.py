"""Suites: what they are made of, how values are scaled, and that every headline can be computed."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge import benchmarks
from mindgauge.analysis import scoring_views
from mindgauge.benchmarks import suite
from mindgauge.benchmarks.suite import Suite, Task, TaskMetric
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

TRUSTMH = Suite.load(suite.HERE / "trustmh")
TASK = '{ name = "a", title = "A", benchmark = "x/a", headline = [{ metric = "m", criterion = "c" }], better = "higher", low = 0, high = 1, defined = "ours" }'


def written(folder: Path, text: str) -> Path:
    (folder / "suite.toml").write_text(text, encoding="utf-8")
    return folder


def task(better: str, low: float, high: float) -> Task:
    return Task("t", "T", "x/t", (TaskMetric("m", "c"),), better, low, high, "ours")  # type: ignore[arg-type]


# -- scaling ----------------------------------------------------------------------------------------------------------


def test_scaled_is_the_share_of_the_way_to_the_better_end() -> None:
    assert task("higher", -1, 1).scaled(0.5) == 0.75
    assert task("lower", -1, 1).scaled(0.5) == 0.25
    assert task("lower", 0, 0.5).scaled(0.125) == 0.75
    assert task("higher", 0, 1).scaled(-0.3) == 0, "no better than chance"
    assert task("lower", 0, 0.5).scaled(-0.01) == 1, "less than the noise"


@given(
    st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1e3, 1e3), st.floats(0.001, 1e3), st.sampled_from(["higher", "lower"])
)  # fmt: skip
def test_scaled_lies_between_0_and_1_and_keeps_the_order(
    first: float, second: float, low: float, width: float, better: str
) -> None:
    one = task(better, low, low + width)
    scaled = [one.scaled(value) for value in (first, second)]
    assert all(0 <= value <= 1 for value in scaled)
    if first <= second:
        assert (scaled[0] <= scaled[1]) if better == "higher" else (scaled[0] >= scaled[1])
    assert {one.scaled(low), one.scaled(low + width)} == {0, 1}


# -- the file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = 'x", "suite.toml: cannot be used as a suite"),
        ("title = 'x'\ndimensions = []", "length >= 1"),
        (f"title = 'x'\n[[dimensions]]\nname = 'D'\ntasks = [{TASK}]\nweight = 2", "unknown field `weight`"),
        (f"title = 'x'\n[[dimensions]]\nname = 'D'\ntasks = [{TASK}, {TASK}]", "a is there twice"),
        (
            f"title = 'x'\n[[dimensions]]\nname = 'D'\ntasks = [{TASK.replace('higher', 'up')}]",
            "Invalid enum value 'up'",
        ),
        (
            f"title = 'x'\n[[dimensions]]\nname = 'D'\ntasks = [{TASK.replace('low = 0', 'low = 1')}]",
            "a: low is 1 and high 1; low must be less",
        ),
    ],
)
def test_a_bad_file_is_refused_with_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"suite\.toml") as refused:
        Suite.load(written(tmp_path, text))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_family_without_a_suite_has_none(tmp_path: Path) -> None:
    assert suite.find("psycrisis") is None
    assert suite.members_elsewhere("psycrisis") == ()
    with pytest.raises(UsageError, match=r"suite\.toml"):
        Suite.load(tmp_path)


# -- TrustMH-Bench ----------------------------------------------------------------------------------------------------


def test_the_suite_is_the_source_s() -> None:
    text = (suite.HERE / "trustmh" / "published.toml").read_text(encoding="utf-8")
    (rows,) = (list(table["rows"]) for table in tomllib.loads(text)["table"] if table["name"] == "ranks")
    assert [task.published for task in TRUSTMH.tasks] == rows, "19 tasks, in the order of the published ranks"
    (published,) = (table["columns"] for table in tomllib.loads(text)["table"] if table["name"] == "derived.mean_ranks")
    theirs = [{task.published.partition(":")[0] for task in dimension.tasks} for dimension in TRUSTMH.dimensions]
    assert theirs == [{name.replace("Anti-Syc.", "Anti-Sycophancy")} for name in published], (
        "each holds the tasks of one"
    )
    assert [len(dimension.tasks) for dimension in TRUSTMH.dimensions] == [5, 3, 2, 1, 2, 2, 3, 1]
    assert suite.names() == ["trustmh"]
    assert suite.members_elsewhere("trustmh") == ("help_or_harm/crisis_type",)


@pytest.mark.parametrize("one", TRUSTMH.tasks, ids=lambda one: one.name)
def test_every_headline_can_be_computed(one: Task) -> None:
    benchmark = benchmarks.find_one(one.benchmark)
    tags = {*benchmark.slices, *benchmark.metric_tags, *(tag for group in benchmark.groups.values() for tag in group)}
    for part in one.headline:
        question = scoring_views.find(benchmark, part.criterion, "model")
        assert question is not None
        metrics = [metric for metric in question.metrics if metric.name == part.metric and not metric.label]
        assert [metric.better for metric in metrics] == [one.better], part.metric
        assert set(part.where) <= tags, "a tag that ratings do not carry"
        samples = benchmark.samples(None)
        assert all(any(s.tags.get(tag) == value for s in samples) for tag, value in part.where.items())
