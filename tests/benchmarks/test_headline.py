"""After a run of any benchmark, terminal and report state what it goes by, of every system; nothing says that nothing was rated."""

from __future__ import annotations

import contextlib
import io
import json
import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.cli import app
from mindgauge.models.scripted import Scripted
from mindgauge.records.rounding import decimal, percent
from tests.reports import suite_run
from tests.thinned import sampled

if TYPE_CHECKING:
    from mindgauge.analysis.score import Score
    from mindgauge.reports.page import ReportFiles

NAMES = benchmarks.names()
LIMIT = 10
NOTHING = ("Nothing of it has been rated", "Nothing measured yet", "Nothing has been asked yet")


class Ran(NamedTuple):
    scores: Scores
    terminal: str
    files: ReportFiles


@pytest.fixture(scope="module", params=sampled(NAMES, 10))
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Two models of known skill answer our own samples, and a judge rates their replies where there are any."""
    task = benchmarks.find_one(request.param)
    folder = tmp_path_factory.mktemp("headline") / "run"
    judge = [] if task.closed else [Scripted(suite_run.JUDGE, suite_run._verdict)]
    models = [suite_run.model(name) for name in suite_run.MODELS]
    scores = mindgauge.run(task.name, model=models, judge=judge, out=folder, limit=LIMIT)
    assert isinstance(scores, Scores)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        app(["score", str(folder), "--full"], standalone_mode=False)
    return Ran(scores, out.getvalue(), mindgauge.report(folder))


def of(ran: Ran, model: str) -> list[Score]:
    """Return what the benchmark goes by, of one model, where it has a value."""
    return [s for s in ran.scores.leading if s.model == model and s.value is not None]


def test_a_benchmark_goes_by_metrics_of_its_own(ran: Ran) -> None:
    task = benchmarks.find_one(ran.scores.benchmark)
    assert task.headline
    assert set(task.headline) <= {metric.name for metric in task.metrics}
    assert all(of(ran, model) for model in suite_run.MODELS), "our own samples are enough for it"


def written(score: Score) -> set[str]:
    """Return how a value may be rounded."""
    if score.unit == "share":
        return {percent(score.value)}
    return {decimal(score.value), decimal(score.value, 1)}


def test_the_terminal_states_it_of_every_system(ran: Ran) -> None:
    for model in suite_run.MODELS:
        of_all = (row.partition(" all ")[2] for row in ran.terminal.splitlines() if row.startswith(model))
        values = [re.split(r" {2,}", cells.strip())[0] for cells in of_all if cells]
        stated = {text for score in of(ran, model) for text in written(score)}
        assert stated & {*values}, f"no headline of {model} in the terminal"


def test_the_report_states_it_of_every_system(ran: Ran) -> None:
    content = json.loads(ran.files.json.read_text(encoding="utf-8"))
    for answer in content["answers"]:
        facts = " ".join(answer["facts"])
        assert any(text in facts for score in of(ran, answer["system"]["model"]) for text in written(score)), facts


def test_nothing_says_that_nothing_was_rated(ran: Ran) -> None:
    for text in (ran.terminal, *(path.read_text(encoding="utf-8") for path in (ran.files.path, ran.files.markdown))):
        assert not [said for said in NOTHING if said in text]


def test_the_summary_says_the_same_as_the_page(ran: Ran) -> None:
    content = json.loads(ran.files.json.read_text(encoding="utf-8"))
    markdown = ran.files.markdown.read_text(encoding="utf-8").replace("\\", "")
    for answer in content["answers"]:
        assert all(" ".join(fact.split()) in markdown for fact in answer["facts"])
