"""docs/tasks/python.md runs as it stands there, in a notebook's event loop too, and every public function's result is fit to print."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl
import pytest

import mindgauge
from mindgauge.analysis.pairing import SystemComparison
from mindgauge.analysis.profile.records import Profile
from mindgauge.analysis.reliability.card import LIMITED, Reliability
from mindgauge.analysis.score import Scores
from mindgauge.commands.demo import Demonstration
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.command_result import LINES, WIDTH, Tabular
from mindgauge.store import Store
from tests.benchmarks.help_or_harm.conftest import Copy, small  # fixtures
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["small"]
PAGES = [Path(__file__).parent.parent / "docs" / "tasks" / name for name in ("python.md", "python_more.md")]
"""One session: the second page goes on where the first ends."""
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
NAME = "help_or_harm/response"
NOT_RUN = {"annotate_serve", "demo", "logs_sample", "logs_show", "logs_watch", "papers_fetch", "view"}
"""Two serve until they are stopped, one asks the authors' servers, one takes minutes, three take logs: a sentence names each."""
AS_TEXT: Any = str
COMMANDS = sorted(
    name
    for name in mindgauge.__all__
    if inspect.isfunction(getattr(mindgauge, name)) and ".commands." in getattr(mindgauge, name).__module__
)


def fit(result: object) -> str:
    """Return what a result prints, once it is seen to be short and no dump, as it prints and as a notebook shows it."""
    assert isinstance(result, Tabular)
    text = str(result)
    assert text == repr(result)
    lines = text.splitlines()
    assert 1 <= len(lines) <= LINES
    assert max(map(len, lines)) <= WIDTH
    assert not re.search(r"\w\(\w+=", text), text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert isinstance(result.table, pl.DataFrame)
    html = result._repr_html_()
    assert html
    assert "<script>" not in html
    return text


@pytest.mark.parametrize("running", [pytest.param(True, id="in a loop"), later(False)])
def test_the_page_runs_and_every_result_is_fit_to_print(
    running: bool, small: Copy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    shutil.copytree(small.data, here / "released")
    results: dict[str, list[Any]] = {}

    def recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            results.setdefault(name, []).append(result)
            return result

        return call

    for name in COMMANDS:
        monkeypatch.setattr(mindgauge, name, recorded(name, getattr(mindgauge, name)), raising=False)
    session: dict[str, Any] = {}

    def run() -> None:
        for number, block in enumerate(BLOCKS):
            exec(compile(block, f"python.md, block {number}", "exec"), session)

    async def notebook() -> None:
        run()

    asyncio.run(notebook()) if running else run()
    assert {*COMMANDS} - results.keys() == NOT_RUN
    for name, returned in results.items():
        for result in returned:
            assert fit(result), name
    [*_, demonstrated] = results["score"]
    assert "not to be trusted" in fit(Demonstration(demonstrated, "report.html"))
    assert "too busy" in str(session["scores"])
    assert "too busy" in session["scores"]._repr_html_()
    assert "how far to trust it is not known" in session["scores"]._repr_html_()
    assert [NAME in str(result) for result in results["run"][:2]] == [True, True]
    assert_documented(session)


def assert_documented(session: dict[str, Any]) -> None:
    """Check that the first columns are those that the page names."""
    tables = {
        "`run`, `rate`, `score`": session["scores"].table, "`compare`: `.standings`": session["comparison"].standings,
        "`compare`: `.table`": session["comparison"].table, "`reliability`": session["cards"].table, "`profile`": session["profile"].table,
    }  # fmt: skip
    rows = {row[0].strip(): row[1] for row in re.findall(r"^\| ([^|]*`[^|]*) \| ([^|]+) \|$", TEXT, re.MULTILINE)}
    assert rows.keys() == tables.keys()
    for result, table in tables.items():
        named = re.findall(r"`(\w+)`", rows[result])
        assert table.columns[: len(named)] == named
        assert {"value", "low", "high", "n"} <= set(named)


def test_the_page_says_what_is_not_run() -> None:
    for name in NOT_RUN:
        assert f"`mindgauge.{name}(" in TEXT


def test_every_name_is_completed() -> None:
    assert {*mindgauge.__all__} <= {*dir(mindgauge)}


# -- results with little in them, and with what somebody put there -----------------------------------------------------


def careline(message: str) -> str:
    return f"I hear you. {'What would help? ' * (len(message) % 3)}"


def attentive(message: str) -> dict[str, Any]:
    return {"quotes": [], "rationale": "It asks.", "appropriateness": 1 + len(message) % 5}


@pytest.fixture
def judged(tmp_path: Path) -> Scores:
    scores = mindgauge.run(NAME, model=careline, judge=attentive, limit=28, qualify=False, out=tmp_path / "run")
    assert isinstance(scores, Scores)
    return scores


def test_nothing_rated_is_said_and_has_the_same_columns(tmp_path: Path, judged: Scores) -> None:
    asked = mindgauge.run(NAME, model=careline, limit=7, out=tmp_path / "asked")
    assert isinstance(asked, Scores)
    empty = msgspec.structs.replace(judged, metrics=[], models=[], judges=[], statuses={}, statuses_by=[])
    for scores in (empty, asked):
        assert scores.table.schema == judged.table.schema
    assert "Nothing is rated yet" in fit(empty)
    fit(asked)


def test_empty_comparisons_cards_and_profiles_print_too() -> None:
    fit(SystemComparison([], [], [], [], []))
    fit(Reliability("ratings.csv", "mindgauge@5", [], [], [], []))
    fit(Profile("suite", [], [], "", [], [], ["Knowledge (trustmh/knowledge): no data"], []))


def test_what_somebody_called_something_is_one_short_harmless_line(judged: Scores) -> None:
    name = "bot\x1b[31m\n<script>alert(1)</script> " + "very " * 200
    scores = [msgspec.structs.replace(score, model=name) for score in judged.metrics]
    odd = msgspec.structs.replace(judged, models=[name], metrics=scores, notes=[name] * 30)
    assert "more notes" in fit(odd)


def test_a_run_that_is_gone_prints_no_judge_s_number(judged: Scores) -> None:
    shutil.rmtree(judged.run)
    text = fit(judged)
    assert "not there any more" in text
    assert "mean" not in text


def test_a_judge_that_people_contradict_gets_its_verdict_and_no_number(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    mindgauge.run(NAME, model=careline, judge=attentive, limit=112, qualify=False, out=folder)
    with Store(folder, write=True) as store:
        values = {rating.subject: int(rating.value or 0) for rating in store.ratings(NAME)}
        for subject, value in values.items():
            for person in ("ana", "ben"):
                label = Rating(subject, "appropriateness", person, RaterKind.PERSON, 0, Status.OK, 6 - value)
                store.add_rating(NAME, label)
    text = fit(mindgauge.score(folder))
    mean = next(line for line in text.splitlines() if "mean appropriateness" in line and "attentive" in line)
    assert LIMITED in mean
    assert "[" not in mean
    assert LIMITED in mindgauge.score(folder)._repr_html_()
    assert "agrees too little with people" in text


def test_a_score_that_is_none_is_null_in_the_table(tmp_path: Path) -> None:
    def mute(message: str) -> str:
        return "I would rather not say."

    scores = mindgauge.run(NAME, model=careline, judge=mute, limit=14, qualify=False, out=tmp_path / "run")
    mean = scores.table.filter(name="mean", slice="all").row(0, named=True)
    assert mean["void"]
    assert (mean["value"], mean["low"], mean["worst"]) == (None, None, None)
    assert (mean["n"], mean["missing"]) == (14, 14)
    assert "no score" in fit(scores)


def test_what_is_printed_first_is_what_the_benchmark_goes_by(judged: Scores) -> None:
    assert judged.table.head(len(judged.leading))["name"].to_list() == [score.name for score in judged.leading]
    [mean] = judged.find("mean")
    line = judged.__str__().splitlines()[1]
    assert line.startswith("careline: mean appropriateness ")
    assert f"{mean.value:.2f} [{mean.low:.2f}, {mean.high:.2f}], n 28" in line


# -- functions as models, and metrics of one's own ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (lambda message: message, "a lambda has no name"),
        (3, "int is no model"),
        (lambda message, mood: mood, "lambda"),
    ],
)
def test_what_is_no_model_is_told_in_a_line(model: Any, why: str) -> None:
    with pytest.raises(mindgauge.MindgaugeError, match=why):
        mindgauge.run(NAME, model=model)


def test_a_class_with_reply_is_a_model_too(tmp_path: Path) -> None:
    class Bot:
        def reply(self, message: str) -> str:
            return f"I read {len(message)} letters."

    scores = mindgauge.run(NAME, model=Bot, judge=["rule/outside_help"], limit=7, out=tmp_path / "run")
    assert isinstance(scores, Scores)
    assert scores.models == ["Bot"]
    assert scores.statuses == {"ok": 14}


def test_a_metric_of_one_s_own_is_the_mean_of_what_ratings_are_worth(judged: Scores) -> None:
    high = mindgauge.metric(
        lambda value: value >= 4, name="high", share=True, better="higher", title="the share of {} at 4"
    )
    with Store(Path(judged.run)) as store:
        values = [int(rating.value or 0) for rating in store.ratings(NAME)]
    scores = mindgauge.score(judged.run, metrics=high)
    [own] = scores.find("high")
    assert own.value is not None
    assert own.value == pytest.approx(sum(value >= 4 for value in values) / len(values))
    assert own.low is not None
    assert own.high is not None
    assert own.low < own.value < own.high
    assert (own.unit, own.title) == ("share", "the share of appropriateness at 4")
    assert str(scores).splitlines()[1].startswith("careline: the share of appropriateness at 4")
    assert scores.find("mean") == judged.find("mean")


def test_a_metric_that_no_rating_tells_anything_is_said_to_be_undefined(judged: Scores) -> None:
    scores = mindgauge.score(judged.run, metrics=mindgauge.metric(lambda value: None, name="silent"))
    [silent] = scores.find("silent")
    assert (silent.value, silent.low, silent.high) == (None, None, None)
    assert silent.n == judged.find("mean")[0].n
    assert silent.note
    assert str(scores).splitlines()[1].startswith(f"careline: silent appropriateness not defined, n {silent.n}")


def test_a_metric_may_look_at_targets_and_be_about_a_criterion(tmp_path: Path) -> None:
    def guess(message: str) -> dict[str, Any]:
        return {
            "quotes": [],
            "rationale": "a guess",
            "label": "no_crisis",
            "crisis_type": "no_crisis",
            "category": "no_crisis",
        }

    scores = mindgauge.run("help_or_harm/crisis_type", model=guess, limit=14, out=tmp_path / "run")
    assert isinstance(scores, Scores)
    [accuracy] = scores.find("accuracy_of_read", model="guess")
    hits = mindgauge.metric(lambda value, target: value == target, name="hits")
    of_none = mindgauge.metric(lambda value: 1, name="of_none", criteria="another")
    scored = mindgauge.score(tmp_path / "run", metrics=[hits, of_none])
    assert scored.find("hits", model="guess")[0].value == pytest.approx(accuracy.value)
    assert not scored.find("of_none")


def test_missing_ratings_bound_an_own_metric_too(tmp_path: Path) -> None:
    def moody(message: str) -> dict[str, Any]:
        if len(message) % 4 == 0:
            raise ValueError("not today")
        return attentive(message)

    mindgauge.run(NAME, model=careline, judge=moody, limit=28, qualify=False, out=tmp_path / "run")
    own = mindgauge.metric(lambda value: value / 5, name="scaled", better="higher")
    [score] = mindgauge.score(tmp_path / "run", metrics=[own]).find("scaled")
    assert score.missing
    assert score.worst is not None
    assert score.best is not None
    assert score.value is not None
    assert score.worst < score.value < score.best
    assert score.n == 28


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        (lambda: mindgauge.metric(lambda value: value), "needs a name"),
        (lambda: mindgauge.metric(lambda: 1, name="none"), r"takes \(value\) or \(value, target\), not \(\)"),
        (lambda: mindgauge.metric(lambda value: value, name="m", better="more"), "'higher' or 'lower', not 'more'"),
        (lambda: mindgauge.metric(lambda value: value.upper(), name="m"), r"raised AttributeError: .* on 1;"),
        (lambda: mindgauge.metric(AS_TEXT, name="m"), "returned '1' on 1, not a number"),
        (lambda: mindgauge.metric(lambda value: value, name="m", share=True), "worth 0 or 1, not 2"),
        (lambda: mindgauge.metric(lambda value: value, name="mean"), "has a metric mean already"),
    ],
)  # fmt: skip
def test_a_metric_that_is_none_is_told_in_a_line(metric: Callable[[], Any], why: str, judged: Scores) -> None:
    with pytest.raises(mindgauge.MindgaugeError, match=why) as raised:
        mindgauge.score(judged.run, metrics=metric())
    assert "\n" not in str(raised.value)
