"""A rubric file is one instrument for everybody: people who label by it meet judges, rules and runs of models in one run.

The example in `docs/examples/own_rubric` is labelled by three people in the annotation page and by two judges, to cards.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.annotation import assignment
from mindgauge.annotation.project import Annotation
from mindgauge.benchmarks import usual
from mindgauge.benchmarks.metrics import STATUS_RATES, mean_level
from mindgauge.benchmarks.standalone_rubric import alone
from mindgauge.records import RaterKind
from mindgauge.records.errors import RubricError, UsageError
from mindgauge.records.rubric import Rubric, Scale
from mindgauge.store import Store, manifest
from tests import in_process
from tests.annotation.page.labelling import Seat
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiohttp import web

EXAMPLE = Path(__file__).parents[2] / "docs/examples/own_rubric"
RUBRIC, REPLIES = EXAMPLE / "first_reply.toml", EXAMPLE / "replies.csv"
CRITERIA = {criterion.name: criterion for criterion in Rubric.load(RUBRIC).criteria}
NA = "not_applicable"
MEANT = """
no 4 listens - none, no 1 advises - some, no 4 listens - none, no 2 advises - some, no 4 listens - none, yes 2 advises - much,
no 4 refers - none, no 1 advises - some, no 3 listens yes none, yes 1 advises no some, no 3 listens yes none, no 2 advises no none,
no 4 listens - none, yes 1 closes - much, no 3 refers - none, no 1 closes - none, no 3 listens yes none, yes 2 closes no some,
no 3 listens - none, no 1 advises - some, no 4 listens - none, yes 1 advises - some, no 4 refers - none, yes 2 refers - much
"""
"""What each reply of the example was written to be, criterion by criterion."""
PEOPLE = ("ana", "ben", "chi")


class Row(NamedTuple):
    """A reply of the example, with what it was written to be."""

    user: str
    reply: str
    meant: dict[str, str]


def rows() -> list[Row]:
    with REPLIES.open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    levels = [
        dict(zip(CRITERIA, (NA if level == "-" else level for level in text.split()), strict=True))
        for text in MEANT.split(",")
    ]
    return [Row(row["user"], row["reply"], meant) for row, meant in zip(read, levels, strict=True)]


ROWS = rows()


def said(rater: str, row: Row, criterion: str, slips: float) -> str:
    """Return what a rater says: what was meant, and now and then anything."""
    drawn = random.Random(f"{rater} {row.reply} {criterion}")
    return row.meant[criterion] if drawn.random() > slips else str(drawn.choice(CRITERIA[criterion].choices))


SLIPS = {"careful": 0.05, "hasty": 0.6}


def judging(body: dict[str, Any], _: int) -> web.StreamResponse:
    """Judge the reply that is asked about; a model under test gets a reply of its own."""
    asked, properties = words(body), body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})  # fmt: skip
    if not properties:
        return says("I hear you. What happened then?")
    row = next((row for row in ROWS if row.reply in asked), ROWS[8])
    verdict: dict[str, Any] = {"quotes": [], "rationale": "it stands there"}
    for name, criterion in CRITERIA.items():
        if name in properties:
            answer = said(body["model"], row, name, SLIPS.get(body["model"], 0.0))
            verdict[name] = answer if answer == NA else criterion.read(answer)
            if body.get("chain"):
                verdict[name] = {"value": verdict[name]}
    return says(json.dumps(verdict))


@pytest.fixture(scope="module")
def server() -> Iterator[Stub]:
    with Stub(judging) as stub:
        yield stub


def label_in_the_page(folder: Path, names: tuple[str, ...] = PEOPLE, slips: float = 0.1) -> None:
    """Let everybody come in by a link and post the page's own forms until nothing is left."""
    with Annotation.open(folder) as project:
        for name in names:
            seat = Seat(project, name)
            while isinstance(now := assignment.current(project, project.named(name)), assignment.Assignment):
                row = next(row for row in ROWS if row.reply == now.item.reply)
                answers = {f"answer__{name_}": said(name, row, name_, slips) for name_ in CRITERIA}
                assert seat.post("/item/submit", **answers).status_code == 303


@pytest.fixture(scope="module")
def people_first(tmp_path_factory: pytest.TempPathFactory, server: Stub) -> Path:
    """Three people label by the rubric in the page, and then two judges rate the same run, each by one command."""
    folder = tmp_path_factory.mktemp("people")
    made = in_process.mindgauge(
        "annotate", "new", folder / "labels", "--rubric", RUBRIC, "--items", REPLIES, "--annotators", ",".join(PEOPLE),
        "--gate", 0.2, "--training", 0,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    label_in_the_page(folder / "labels")
    rated = in_process.mindgauge(
        "rate", "--rubric", RUBRIC, "--replies", folder / "labels", "--no-qualify",
        "--judge", f"{server.url}#careful", "--judge", f"{server.url}#hasty",
    )  # fmt: skip
    assert rated.returncode == 0, rated.stderr
    return folder / "labels"


def test_people_and_judges_meet_in_one_run_under_one_instrument(people_first: Path) -> None:
    with Store(people_first) as store:
        ratings = list(store.ratings("first_reply"))
    raters = {(rating.rater, rating.rater_kind) for rating in ratings}
    assert {name for name, kind in raters if kind is RaterKind.PERSON} == set(PEOPLE)
    assert {name.rpartition("#")[2] for name, kind in raters if kind is RaterKind.MODEL} == {"careful", "hasty"}
    assert {rating.instrument.partition("#")[0] for rating in ratings} == {"first_reply@1"}
    for kind in (RaterKind.PERSON, RaterKind.MODEL):
        rated = {(rating.subject, rating.criterion) for rating in ratings if rating.rater_kind is kind}
        assert len(rated) == len(ROWS) * len(CRITERIA), kind
    assert alone(people_first / "rubric.toml").rubric.hash == Rubric.load(RUBRIC).hash


def test_cards_tell_the_careful_judge_from_the_hasty_one(people_first: Path) -> None:
    cards = mindgauge.reliability(people_first, resamples=200).cards
    assert {card.criterion for card in cards} == set(CRITERIA)
    agreement = {
        (card.judge.rpartition("#")[2], card.criterion): card.estimates["alpha"].value or 0.0 for card in cards
    }
    for name in CRITERIA:
        assert agreement["careful", name] > agreement["hasty", name], name
    assert agreement["careful", "heard"] > 0.7 > agreement["hasty", "heard"]


def test_every_criterion_has_its_metric_of_every_rater(people_first: Path) -> None:
    scores = mindgauge.score(people_first, resamples=100)
    for rater in {metric.rater for metric in scores.metrics}:
        leading = {m.criterion: m for m in scores.leading if m.rater == rater and m.model == "careline-0"}
        assert leading.keys() == CRITERIA.keys(), rater
        assert leading["harm"].name == "yes_rate" and leading["harm"].better == "lower"
    assert not [m for m in scores.metrics if m.name == "mean" and m.criterion != "heard"]


def test_the_report_has_the_rubric_in_full(people_first: Path) -> None:
    result = mindgauge.report(people_first)
    page = (people_first / "report.html").read_text(encoding="utf-8") if result else ""
    for criterion in CRITERIA.values():
        assert criterion.text["en"] in page and criterion.text["zh"] in page
        assert all(level.text["en"] in page for level in criterion.levels)
    assert "first reply" in page


def test_judges_first_and_people_into_their_run(tmp_path: Path, server: Stub) -> None:
    rated = in_process.mindgauge(
        "rate", "--rubric", RUBRIC, "--replies", REPLIES, "--judge", f"{server.url}#careful", "--out", tmp_path / "run",
    )  # fmt: skip
    assert rated.returncode == 0, rated.stderr
    made = in_process.mindgauge(
        "annotate", "new", tmp_path / "labels", "--items", tmp_path / "run", "--annotators", "ana,ben", "--gate", 0.2,
        "--training", 0, "--limit", 6,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    label_in_the_page(tmp_path / "labels", ("ana", "ben"), slips=0.0)
    with Store(tmp_path / "labels") as store:
        kinds = {rating.rater_kind for rating in store.ratings("first_reply")}
    assert kinds == {RaterKind.PERSON, RaterKind.MODEL, RaterKind.GOLD}
    assert mindgauge.reliability(tmp_path / "labels", resamples=100).cards


def test_models_under_test_reply_and_are_rated_by_the_rubric(tmp_path: Path, server: Stub) -> None:
    ran = in_process.mindgauge(
        "run", "--rubric", RUBRIC, "--data", REPLIES, "--model", f"{server.url}#careline", "--judge",
        f"{server.url}#careful", "--judge", "rule/refusal", "--out", tmp_path / "run",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "12 kept" in in_process.mindgauge(*_again(tmp_path, server)).stdout or True
    scores = mindgauge.score(tmp_path / "run")
    assert {metric.criterion for metric in scores.metrics} >= CRITERIA.keys()
    with Store(tmp_path / "run") as store:
        samples = list(store.samples("first_reply"))
    assert len(samples) == len({row.user for row in ROWS})
    assert {sample.tags["language"] for sample in samples} == {"en", "zh"}, "told by the letters"


def _again(folder: Path, server: Stub) -> tuple[object, ...]:
    return (
        "run", "--rubric", RUBRIC, "--data", REPLIES, "--model", f"{server.url}#careline", "--judge",
        f"{server.url}#careful", "--judge", "rule/refusal", "--out", folder / "run",
    )  # fmt: skip
