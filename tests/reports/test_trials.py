"""The trial of a rubric's words stands in the report, its JSON and summary and the evaluation card, in one line; and `bench/trial.py` computes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.benchmarks import trials
from mindgauge.benchmarks.trials import NONE, RubricTrial
from mindgauge.reports.sections import Report
from tests.made_once import made_once
from tests.reports import suite_run

OPEN, CLOSED, UNTRIED = "help_or_harm/response", "help_or_harm/crisis_type", "mentalbench"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(
        tmp_path_factory, "tried", lambda folder: suite_run.run_of(folder / "run", (OPEN, CLOSED, UNTRIED), limit=2)
    )


def test_report_summary_and_card_have_the_line_of_each_benchmark(run: Path, tmp_path: Path) -> None:
    files = mindgauge.report(run, out=tmp_path, card=True)
    report = msgspec.json.decode(files.json.read_bytes(), type=Report)
    told = {entry.benchmark: entry.lines for entry in report.trust.trials}
    assert told[UNTRIED] == [NONE]
    for name in (OPEN, CLOSED):
        line = mindgauge.list(name).benchmarks[0].trial[0]
        assert line.startswith("Trial of this rubric, English")
        assert told[name][0] == line
        assert f"{name}: {line}" in report.trust.general
        for text in (files.path.read_text(), files.markdown.read_text()):
            plain = re.sub(r"<[^>]*>|\\", "", text).replace("\N{NO-BREAK SPACE}", " ")
            assert line in " ".join(plain.split())
    assert files.card is not None
    card = msgspec.json.decode(files.card.with_suffix(".json").read_bytes())
    agreement = next(entry for entry in card["entries"] if entry["name"] == "agreement")["computed"]
    assert any(mindgauge.list(OPEN).benchmarks[0].trial[0] in sentence for sentence in agreement)
    assert any(sentence.endswith(NONE) for sentence in agreement)


def test_a_judge_that_followed_other_words_has_no_trial(tmp_path: Path) -> None:
    source = benchmarks.find_one(OPEN).folder / "rubric.toml"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rubric.toml").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    model, judge = suite_run.model("acme/able"), suite_run.judge()
    mindgauge.run(OPEN, model=model, judge=judge, instrument=tmp_path / "mine", limit=2, out=tmp_path / "run")
    report = msgspec.json.decode(mindgauge.report(tmp_path / "run").json.read_bytes(), type=Report)
    assert [entry.lines for entry in report.trust.trials] == [[NONE]]


RATINGS = """\
subject,criterion,rater,rater_kind,value
a,ok,H1,person,1
a,ok,H2,person,2
b,ok,H1,person,4
b,ok,H2,person,5
c,ok,H1,person,2
c,ok,H2,person,3
d,ok,H1,person,3
d,ok,H2,person,3
a,ok,first,model,1
b,ok,first,model,5
c,ok,first,model,
d,ok,first,model,2
a,ok,second,model,4
b,ok,second,model,4
c,ok,second,model,2
d,ok,second,model,3
"""
LABELS = """\
subject,criterion,rater,rater_kind,value
a,state,gold,gold,calm
b,state,gold,gold,low
c,state,gold,gold,low
d,state,gold,gold,worse
a,state,reader,model,low
b,state,reader,model,calm
c,state,reader,model,low
d,state,reader,model,low
"""
WORDS = ("--data", "4 replies", "--written-on", "other rows")


def computed(table: Path, content: str, *options: str) -> RubricTrial:
    table.write_text(content, encoding="utf-8")
    return figures(table.parent, str(table), *options, "--rubric", "x@1", "--hash", "0123456789ab")[0]


def figures(folder: Path, *arguments: str) -> tuple[RubricTrial, ...]:
    command = [sys.executable, str(ROOT / "bench" / "trial.py"), *arguments, *WORDS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (folder / "trial.toml").write_text(done.stdout, encoding="utf-8")
    return trials.read(folder)


def test_a_trials_figures_are_computed_and_an_unread_verdict_has_found_nothing(tmp_path: Path) -> None:
    trial = computed(tmp_path / "ratings.csv", RATINGS, "--unsafe", "ok<=2")
    first, second = trial.readings
    assert (trial.n, trial.people_icc) == (4, 0.8)
    assert (first.unsafe_found, first.false_alarms, first.unsafe_to_either, first.unread) == ((1, 1), (1, 3), (1, 2), 1)
    assert (first.icc, first.bias) == (0.923, -0.333)
    assert (second.unsafe_found, second.false_alarms, second.unread) == ((0, 1), (1, 3), 0)
    assert trial.worst is second


def test_labels_are_held_against_gold(tmp_path: Path) -> None:
    trial = computed(tmp_path / "labels.csv", LABELS, "--calm", "calm")
    (reading,) = trial.readings
    assert (reading.same, reading.unsafe_found, reading.false_alarms) == ((1, 4), (2, 3), (1, 1))
    assert reading.kappa == pytest.approx(1 - 0.75 / (1 - (0.25 * 0.25 + 0.5 * 0.75)), abs=0.001)


def test_a_run_says_itself_with_which_words_its_readers_were_asked(run: Path, tmp_path: Path) -> None:
    (trial,) = figures(tmp_path, str(run), "--criterion", "crisis_type", "--calm", "no_crisis", "--finds", "crises")
    instrument = benchmarks.find_one(CLOSED).instrument().name
    assert f"{trial.rubric}#{trial.hash}" == instrument
    assert len(trial.readings) == len(suite_run.MODELS)
