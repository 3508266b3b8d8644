"""A rubric file is one instrument for everybody: people who label by it meet judges, rules and runs of models in one run.

The example in `docs/examples/own_rubric` is labelled by three people in the annotation page and by two judges, to cards.
"""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.annotation import tasks
from mindgauge.annotation.project import Annotation
from mindgauge.benchmarks import rubric_defaults
from mindgauge.benchmarks.metrics import STATUS_RATES, mean_level
from mindgauge.benchmarks.standalone_rubric import alone
from mindgauge.records import RaterKind
from mindgauge.records.errors import RubricError, UsageError
from mindgauge.records.rubric import Rubric, Scale
from mindgauge.runs.forecast import DryRun
from mindgauge.store import Store
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
            while isinstance(now := tasks.current(project, project.named(name)), tasks.Assignment):
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


@pytest.mark.long
def test_the_report_has_the_rubric_in_full(people_first: Path) -> None:
    result = mindgauge.report(people_first)
    page = (people_first / "report.html").read_text(encoding="utf-8") if result else ""
    for criterion in CRITERIA.values():
        assert criterion.text["en"] in page and criterion.text["zh"] in page
        assert all(level.text["en"] in page for level in criterion.levels)
    assert "first reply" in page
    assert "this project wrote itself" not in page and f"what people were given to label: {REPLIES}" in page


@pytest.mark.long
def test_judges_first_and_people_into_their_run(tmp_path: Path, server: Stub) -> None:
    rated = in_process.mindgauge(
        "rate", "--rubric", RUBRIC, "--replies", REPLIES, "--judge", f"{server.url}#careful", "--out", tmp_path / "run",
    )  # fmt: skip
    assert rated.returncode == 0, rated.stderr
    mindgauge.report(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "this project wrote itself" not in page and "messages and replies that existed already" in page
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
    command = (
        "run", "--rubric", RUBRIC, "--data", REPLIES, "--model", f"{server.url}#careline", "--judge",
        f"{server.url}#careful", "--judge", "rule/refusal", "--out", tmp_path / "run",
    )  # fmt: skip
    ran = in_process.mindgauge(*command)
    assert ran.returncode == 0, ran.stderr
    assert "0 new calls, 24 kept" in in_process.mindgauge(*command).stdout
    scores = mindgauge.score(tmp_path / "run")
    assert {metric.criterion for metric in scores.metrics} >= CRITERIA.keys()
    with Store(tmp_path / "run") as store:
        samples = list(store.samples("first_reply"))
    assert len(samples) == len({row.user for row in ROWS})
    assert {sample.tags["language"] for sample in samples} == {"en", "zh"}, "told by the letters"
    asked = [words(body) for body in server.bodies if "最近总是睡不着" in words(body) and "response_format" in body]
    assert asked and all("现在评定这条回复" in text for text in asked), "asked in the language of the sample"


def test_what_a_person_says_is_rated_by_people_and_by_models(tmp_path: Path, server: Stub) -> None:
    messages = tmp_path / "messages.csv"
    messages.write_text("user\n" + "\n".join(dict.fromkeys(f'"{row.user}"' for row in ROWS)), encoding="utf-8")
    made = in_process.mindgauge(
        "annotate", "new", tmp_path / "labels", "--rubric", RUBRIC, "--items", messages, "--annotators", "ana,ben",
        "--gate", 0, "--training", 0, "--limit", 4,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    with Annotation.open(tmp_path / "labels") as project:
        for name in ("ana", "ben"):
            seat = Seat(project, name)
            while isinstance(tasks.current(project, project.named(name)), tasks.Assignment):
                answers = {f"answer__{c.name}": str(c.values[0]) for c in CRITERIA.values()}
                assert seat.post("/item/submit", **answers).status_code == 303
    rated = in_process.mindgauge("rate", "--replies", tmp_path / "labels", "--judge", f"{server.url}#careful")
    assert rated.returncode == 0, rated.stderr
    figures = {
        m.criterion: m
        for m in mindgauge.score(tmp_path / "labels").metrics
        if m.name == "accuracy" and m.slice == "all"
    }
    assert figures.keys() == CRITERIA.keys(), "people's gold is the target of what models say"
    assert {figure.n for figure in figures.values()} == {4}
    assert mindgauge.reliability(tmp_path / "labels", resamples=100).cards
    about = ("run", "--rubric", RUBRIC, "--about", "messages", "--data", messages, "--model", f"{server.url}#hasty")
    ran = in_process.mindgauge(*about, "--out", tmp_path / "run")
    assert ran.returncode == 0, ran.stderr
    assert {m.criterion for m in mindgauge.score(tmp_path / "run").leading} == CRITERIA.keys()


def test_judges_are_compared_and_put_under_stress_by_the_rubric(
    people_first: Path, tmp_path: Path, server: Stub
) -> None:
    compared = mindgauge.judges_compare(
        rubric=RUBRIC,
        replies=people_first,
        judge=f"{server.url}#careful",
        out=tmp_path / "c",
        method=["general", "rule"],
    )
    assert not isinstance(compared, DryRun)
    assert {agreement.criterion for agreement in compared.agreements} == CRITERIA.keys()
    assert alone(tmp_path / "c" / "rubric.toml").rubric.hash == Rubric.load(RUBRIC).hash
    stressed = mindgauge.judges_stress(
        f"{server.url}#careful", rubric=RUBRIC, replies=REPLIES, limit=2, probes=["verbosity"], out=tmp_path / "s"
    )
    assert not isinstance(stressed, DryRun) and stressed.benchmark == "first_reply"
    assert in_process.mindgauge("status", tmp_path / "s").returncode == 0


@pytest.mark.long
def test_a_salvaged_run_keeps_its_rubric(people_first: Path, tmp_path: Path) -> None:
    assert in_process.mindgauge("status", people_first, "--salvage", tmp_path / "new").returncode == 0
    assert in_process.mindgauge("score", tmp_path / "new").returncode == 0


# -- what bad input gets ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("rate", "psycrisis", "--rubric", RUBRIC, "--replies", REPLIES, "--judge", "x/y"), "leave out psycrisis, or the rubric"),
        (("rate", "--replies", REPLIES, "--judge", "x/y"), "name a benchmark, or a rubric of your own with --rubric FILE"),
        (("run", "--model", "x/y"), "name a benchmark, or a rubric of your own with --rubric FILE"),
        (("run", "psycrisis", "--rubric", RUBRIC, "--model", "x/y"), "leave out psycrisis, or the rubric"),
        (("run", "psycrisis", "--about", "messages", "--model", "x/y"), "it goes with --rubric"),
        (("run", "--rubric", RUBRIC, "--about", "people", "--data", REPLIES, "--model", "x/y"), "'people' is not one of 'replies', 'messages'"),
        (("run", "--rubric", RUBRIC, "--model", "x/y"), "name a table of them with --data FILE"),
        (("run", "--rubric", "gone.toml", "--data", REPLIES, "--model", "x/y"), "gone.toml: cannot read the rubric"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_one_line(options: tuple[object, ...], reason: str, tmp_path: Path) -> None:
    refused = in_process.mindgauge(*options, folder=tmp_path)
    assert refused.returncode in {1, 2}
    assert reason in refused.stderr and refused.stderr.count("\n") == 1


def test_another_rubric_is_refused_in_a_run_that_has_its_own(people_first: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(
        RUBRIC.read_text(encoding="utf-8").replace("Nothing in it does.", "Nothing at all."), encoding="utf-8"
    )
    with pytest.raises(UsageError, match="with other words than first_reply@1 in"):
        mindgauge.rate(rubric=other, replies=people_first, judge="x/y")


def test_an_id_that_is_no_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rubric.toml"
    for ident in ("../../out", "", "a b", "x:anchors"):
        path.write_text(
            RUBRIC.read_text(encoding="utf-8").replace('"first_reply"', json.dumps(ident)), encoding="utf-8"
        )
        with pytest.raises(RubricError, match="names its runs and tables"):
            alone(path)


def test_an_id_of_a_benchmark_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rubric.toml"
    path.write_text(RUBRIC.read_text(encoding="utf-8").replace('"first_reply"', '"psycrisis"'), encoding="utf-8")
    with pytest.raises(RubricError, match="psycrisis' is a benchmark's name; give your rubric one of its own"):
        mindgauge.rate(rubric=path, replies=REPLIES, judge="x/y")


WORDED = """
id = "worded"
version = "1"
source = "written for this test"
[[criteria]]
name = "heard"
scale = "ordinal"
text.en = "Is the person heard?"
levels = [{value = "no"}, {value = "yes"}]
protocols.grief = [{en = "The loss is passed over."}, {en = "The loss is named."}]
protocols.exam = [{en = "The fear is passed over."}, {en = "The fear is named."}]
"""


@pytest.mark.parametrize(
    ("rows", "options", "reason"),
    [
        ("I miss her,So long,grief\nIt is tomorrow,Good luck,work", (), "1 of 2 samples have no known category ('work')"),
        ("I miss her,So long,grief\nIt is tomorrow,Good luck,", (), "1 of 2 samples have no known category (the cell is empty)"),
        ("I miss her,So long,grief", ("--protocol", "recognised"), "needs a question that finds the category"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["rate", "run"])
def test_a_wording_that_nobody_can_choose_is_refused(
    command: str, rows: str, options: tuple[str, ...], reason: str, tmp_path: Path, server: Stub
) -> None:
    (tmp_path / "worded.toml").write_text(WORDED, encoding="utf-8")
    table = tmp_path / "table.csv"
    table.write_text(f"user,reply,category\n{rows}\n", encoding="utf-8")
    asked = ("--replies", table) if command == "rate" else ("--data", table, "--model", f"{server.url}#careline")
    refused = in_process.mindgauge(
        command, "--rubric", tmp_path / "worded.toml", *asked, "--judge", f"{server.url}#careful", *options,
        "--out", tmp_path / "run",
    )  # fmt: skip
    assert refused.returncode in {1, 2}
    assert reason in refused.stderr or "table.csv:3: unknown category 'work'" in refused.stderr


# -- what a rubric alone gives ----------------------------------------------------------------------------------------


def every_rubric() -> Iterator[Rubric]:
    yield Rubric.load(RUBRIC)
    yield from (benchmarks.find_one(name).rubric for name in benchmarks.names())


@pytest.mark.parametrize("rubric", list(every_rubric()), ids=lambda rubric: rubric.id)
@pytest.mark.parametrize("closed", [False, True])
def test_no_criterion_is_without_a_metric_and_no_veto_is_averaged(rubric: Rubric, closed: bool) -> None:
    metrics, headline = rubric_defaults.metrics(rubric, closed=closed), rubric_defaults.headline(rubric, closed=closed)
    assert metrics == rubric_defaults.metrics(rubric, closed=closed), "two runs of one rubric have metrics in common"
    for criterion in rubric.criteria:
        own = {metric.name: metric for metric in metrics if metric.criteria and metric.suits(criterion)}
        assert own.keys() & set(headline), criterion.name
        averaged = criterion.scale is Scale.ORDINAL and len(criterion.values) > 2 and not criterion.veto
        numbers = all(isinstance(value, int) for value in criterion.values)
        assert (mean_level.name in own) == (averaged and numbers and not criterion.options), criterion.name
        if criterion.veto:
            assert next(metric.better for metric in own.values()) == "lower"
        if len(criterion.values) > 2:
            assert own.keys() >= {f"share_{value}" for value in criterion.values}
    assert {metric.name for metric in metrics} >= {metric.name for metric in STATUS_RATES}


MANY_KINDS = """
id = "kinds"
version = "1"
source = "written for this test"
[[criteria]]
name = "grade"
scale = "ordinal"
veto = true
text.en = "How grave is it?"
levels = [{value = 0, text.en = "grave"}, {value = 1, text.en = "some"}, {value = 2, text.en = "none"}]
[[criteria]]
name = "flag"
scale = "ordinal"
text.en = "Is it there?"
levels = [{value = 0, text.en = "it is not"}, {value = 1, text.en = "it is"}]
[[criteria]]
name = "danger"
scale = "ordinal"
unsafe = ["high", "some"]
text.en = "How dangerous?"
levels = [{value = "none", text.en = "not at all"}, {value = "low", text.en = "hardly"}, {value = "some", text.en = "so"}, {value = "high", text.en = "very"}]
[[criteria]]
name = "topic"
scale = "nominal"
unsafe = ["b"]
text.en = "What is it about?"
levels = [{value = "a", text.en = "this"}, {value = "b", text.en = "that"}]
"""


def test_a_rubric_of_every_kind_of_scale_comes_to_scores_and_a_report(tmp_path: Path) -> None:
    (tmp_path / "kinds.toml").write_text(MANY_KINDS, encoding="utf-8")
    enums = {c.name: c.values for c in Rubric.load(tmp_path / "kinds.toml").criteria}

    def judge(body: dict[str, Any], _: int) -> web.StreamResponse:
        place = len(words(body))
        return says(json.dumps({"quotes": [], "rationale": "so", **{n: v[place % len(v)] for n, v in enums.items()}}))

    with Stub(judge) as stub:
        mindgauge.rate(rubric=tmp_path / "kinds.toml", replies=REPLIES, judge=stub.judge, out=tmp_path / "run")
    figures = {(m.criterion, m.name): m for m in mindgauge.score(tmp_path / "run").leading if m.model == "careline-0"}
    assert {name for name, _ in figures} == enums.keys()
    assert ("grade", "share_at_most_0") in figures and ("grade", "mean") not in figures
    assert ("flag", "share_at_least_1") in figures and ("danger", "unsafe_rate") in figures
    with Store(tmp_path / "run") as store:
        given = [r.value for r in store.ratings("kinds") if r.criterion == "danger"]
    whole = [m for m in mindgauge.score(tmp_path / "run").metrics if m.name == "unsafe_rate" and m.slice == "all"]
    assert sum(m.value * m.n for m in whole if m.value is not None) == sum(value in {"some", "high"} for value in given)
    mindgauge.report(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    for sentence in (
        "The share of grade at 0 is",
        "The share of flag at 1 is",
        "The share of danger at high or some is",
        "On topic,",
    ):
        assert sentence in page


def test_a_language_without_prompts_is_asked_in_english_and_said(tmp_path: Path, server: Stub) -> None:
    path, said_before = tmp_path / "r.jsonl", list[str]()
    path.write_text(
        json.dumps({"user": "Ich schlafe kaum.", "reply": "Seit wann?", "language": "de-AT"}), encoding="utf-8"
    )
    mindgauge.rate(
        rubric=RUBRIC, replies=path, judge=f"{server.url}#careful", out=tmp_path / "run", notice=said_before.append
    )
    assert (
        "first_reply: 1 sample is in 'de', in which there is not a prompt or a wording of the rubric" in said_before[0]
    )
    assert "You assess one reply" in words(server.bodies[-1])
