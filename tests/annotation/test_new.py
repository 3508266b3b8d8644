"""`annotate new`: a whole project or none, blind by construction, and a run directory like any other."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from sqlalchemy import inspect, text

from mindgauge import benchmarks
from mindgauge.annotation import people
from mindgauge.annotation.blind import Blind
from mindgauge.annotation.database import Database
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Policy, Role
from mindgauge.cli.program import leaves
from mindgauge.commands.annotate.new import annotate_new
from mindgauge.commands.rate import rate
from mindgauge.commands.score import score
from mindgauge.models.scripted import Scripted
from mindgauge.records import RaterKind, Rating, Reply, Status
from mindgauge.records.errors import DataError, MindgaugeError, UsageError
from mindgauge.records.files import private
from mindgauge.store import Store, manifest
from tests import in_process

if TYPE_CHECKING:
    from mindgauge.records.request import Request

SAFETY, RESPONSE = benchmarks.find_one("dialogue_safety"), benchmarks.find_one("help_or_harm/response")
TEAM = ["ana", "ben", "chi"]
RUBRIC = """
id = "warmth"
version = "3"
source = "for a test"
[[criteria]]
name = "warmth"
scale = "ordinal"
text.en = "How warm is the reply?"
[[criteria.levels]]
value = 1
text.en = "Cold."
[[criteria.levels]]
value = 2
text.en = "Warm."
"""
Written = Callable[..., Path]


def dialogues(count: int, **more: str) -> list[dict[str, Any]]:
    return [
        {"user": f"Week {n} was grey.", "reply": f"What made it so, {n}?", "id": f"d{n}", **more} for n in range(count)
    ]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of an open benchmark: two models, a judge, people, replies without text and with the same words."""
    folder = tmp_path / "run"
    samples = RESPONSE.samples(None, {"language": ("en",)}, limit=6)
    with Store(folder, write=True) as store:
        store.put_samples(RESPONSE.name, samples)
        for model in ("quillmodel-a", "quillmodel-b"):
            for n, sample in enumerate(samples):
                text = "I hear you." if n == 0 else f"{model[-1]} says {n}." if n < 5 else ""
                reply = Reply.of(sample.id, model, 0, Status.OK if text else Status.FILTERED, text)
                store.add_reply(RESPONSE.name, reply)
                rating = Rating(reply.id, "appropriateness", "quilljudge", RaterKind.MODEL, 0, Status.OK, 2)
                store.add_rating(RESPONSE.name, rating)
    plan = {"benchmarks": [RESPONSE.name], "instruments": [RESPONSE.instrument().name], "samples": ["…"]}
    manifest.begin(folder, plan, "typed")
    return folder


def begun(folder: Path) -> Annotation:
    return Annotation.open(folder)


def test_a_file_becomes_a_project_and_a_run(tmp_path: Path, replies_file: Written, database_url: str) -> None:
    path = replies_file(*dialogues(25, model="quillmodel", target="Nonsense", category="odd"))
    made = annotate_new(
        tmp_path / "a/b", benchmark="dialogue_safety", items=path, annotators=TEAM, adjudicator="dana", owner="olga",
        batch=10, gate=0.5, training=4, policy="majority", language="zh", url="https://label.example/", seed=2,
        database=database_url, command="typed",
    )  # fmt: skip
    assert (made.items, made.batches, made.training, made.crisis) == (25, [10, 10, 5], 4, 0)
    assert made.rubric == benchmarks.find_one("dialogue_safety").rubric.name
    assert [(link.name, link.role) for link in made.links] == [
        *((name, Role.ANNOTATOR) for name in TEAM), ("dana", Role.ADJUDICATOR), ("olga", Role.OWNER),
    ]  # fmt: skip
    assert made.table.height == 5
    with begun(tmp_path / "a/b") as a:
        assert (a.project.batch, a.project.gate, a.project.policy) == (10, 0.5, Policy.MAJORITY)
        assert a.project.url == "https://label.example"
        assert [batch.items for batch in a.batches()] == [4, 10, 10, 5]
        for link in made.links:
            assert link.link.startswith("https://label.example/join/")
            invited = people.invited(a, link.link.rpartition("/")[2])
            assert invited is not None
            assert (invited.name, invited.language) == (link.name, "zh")
        items = {item.subject: item for item in a.items() if item.batch}
    with Store(tmp_path / "a/b") as store:
        samples = {sample.id: sample for sample in store.samples(SAFETY.name)}
    assert samples.keys() == items.keys()
    for ident, item in items.items():
        assert (*item.messages, item.reply) == (*samples[ident].messages[:-1], samples[ident].messages[-1].content)
        assert item.tags == {"language": "zh"}
    content = manifest.read(tmp_path / "a/b")
    assert content["command"] == "typed"
    assert content["annotation"]["benchmark"] == "dialogue_safety"
    assert (tmp_path / "a/b/annotation.toml").stat().st_mode & 0o777 == 0o600


def test_a_judge_goes_on_in_the_same_folder(tmp_path: Path, replies_file: Written) -> None:
    path, folder = replies_file(*dialogues(3)), tmp_path / "project"
    annotate_new(folder, benchmark="dialogue_safety", items=path, annotators=TEAM)

    def answer(_: Request) -> str:
        return json.dumps({"category": "Nonsense"})

    rate("dialogue_safety", replies=path, judge=Scripted("judge", answer), out=folder)
    with Store(folder) as store:
        assert [r.rater for r in store.ratings(SAFETY.name) if r.rater_kind is RaterKind.MODEL] == ["judge"] * 3
    assert "annotation" in manifest.read(folder)


def test_a_run_is_copied_whole_and_nothing_of_who_wrote_or_judged_is_shown(tmp_path: Path, run: Path) -> None:
    before = (run / "run.sqlite").read_bytes()
    made = annotate_new(tmp_path / "project", items=run, annotators=TEAM)
    assert made.benchmark == RESPONSE.name
    assert made.items == 2 * 4 + 1
    assert made.notes == ["2 left out: it has no text", "1 left out: another has the same words"]
    with Store(run) as old, Store(tmp_path / "project") as new:
        assert list(old.samples(RESPONSE.name)) == list(new.samples(RESPONSE.name))
        assert list(old.replies(RESPONSE.name)) == list(new.replies(RESPONSE.name))
        assert list(old.ratings(RESPONSE.name)) == list(new.ratings(RESPONSE.name))
        replies = {reply.id: reply for reply in new.replies(RESPONSE.name)}
        with begun(tmp_path / "project") as a:
            for item in (item for item in a.items() if item.batch):
                sample = new.sample(RESPONSE.name, replies[item.subject].sample)
                assert (item.messages, item.reply) == (sample.messages, replies[item.subject].text)
                assert item.tags == {name: sample.tags[name] for name in ("category", "language")}
    assert (run / "run.sqlite").read_bytes() == before
    assert manifest.read(tmp_path / "project")["plan"] == manifest.read(run)["plan"]
    with sqlite3.connect(tmp_path / "project/annotation.sqlite") as labels:
        dump = "\n".join(labels.iterdump())
    labels.close()
    assert "I hear you." in dump
    assert "quill" not in dump


def test_a_queue_comes_first_and_may_name_what_has_the_same_words(tmp_path: Path, run: Path) -> None:
    with Store(run) as store:
        replies = list(store.replies(RESPONSE.name))
    wanted = [replies[6], replies[3], replies[11], replies[9]]  # the first repeats replies[0], the third has no text
    blind = Blind.of(run)
    queue = pl.DataFrame({"review_id": [blind.review(reply.id) for reply in wanted]})
    annotate_new(tmp_path / "project", items=run, annotators=TEAM, order=queue, training=0, limit=5)
    with begun(tmp_path / "project") as a:
        assert {item.subject for item in a.items() if not item.tier} == {replies[0].id, replies[3].id, replies[9].id}
        assert [item.tier for item in a.items()] == sorted(item.tier for item in a.items())
        assert len(a.items()) == 5


def test_a_file_s_own_ids_may_be_the_queue(tmp_path: Path, replies_file: Written) -> None:
    queue = pl.DataFrame({"id": ["d2", "d0"]})
    path = replies_file(*dialogues(4))
    annotate_new(tmp_path / "one", benchmark="dialogue_safety", items=path, annotators=TEAM, order=queue, training=0)
    annotate_new(tmp_path / "two", benchmark="mentalbench", items=path, annotators=TEAM, order=queue, training=0)
    for folder in (tmp_path / "one", tmp_path / "two"):
        with begun(folder) as a:
            assert {item.messages[0].content for item in a.items()[:2]} == {"Week 2 was grey.", "Week 0 was grey."}


def test_a_closed_question_about_a_dialogue_needs_no_reply(tmp_path: Path, replies_file: Written) -> None:
    path = replies_file(
        *({"user": f"Week {n} was grey.", "graphic": "yes" if n else "no", "risk": 1} for n in range(3))
    )
    made = annotate_new(tmp_path / "project", benchmark="help_or_harm/crisis_type", items=path, annotators=TEAM)
    assert (made.items, made.graphic, made.crisis, made.training) == (3, 2, 3, 10)
    with begun(tmp_path / "project") as a:
        assert {item.reply for item in a.items()} == {""}
        assert all(len(item.expected) == 1 for item in a.items(0))


def test_a_rubric_stands_alone_with_anchors_of_its_own(tmp_path: Path, replies_file: Written) -> None:
    (tmp_path / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    anchor = {"messages": [{"role": "user", "content": "Hi"}], "reply": "So?", "ratings": {"warmth": 1}}
    (tmp_path / "known.jsonl").write_text(json.dumps(anchor), encoding="utf-8")
    with_replies = replies_file(*dialogues(3))
    made = annotate_new(
        tmp_path / "one", rubric=tmp_path / "rubric.toml", items=with_replies, annotators=TEAM,
        anchors=tmp_path / "known.jsonl",
    )  # fmt: skip
    assert (made.benchmark, made.rubric, made.items, made.training) == ("", "warmth@3", 3, 1)
    assert made.notes == ["the training round has 1 anchors; there are no more that fit"]
    with begun(tmp_path / "one") as a:
        assert [item.expected for item in a.items(0)] == [{"warmth": 1}]
        assert {item.reply[:4] for item in a.items(1)} == {"What"}
    with Store(tmp_path / "one") as store:
        assert store.count_replies("warmth") == 3
    made = annotate_new(
        tmp_path / "two", rubric=tmp_path / "rubric.toml", items=pl.DataFrame({"user": ["Hi", "So"]}), annotators="ana"
    )
    assert made.items == 2
    assert made.notes[0].startswith("no training round: there are no anchors")
    assert made.notes[1].startswith("one annotator: ")


def test_a_rubric_that_was_changed_is_not_scored_by_before_it_is_taken_up(
    tmp_path: Path, replies_file: Written
) -> None:
    (tmp_path / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    project = tmp_path / "one"
    annotate_new(project, rubric=tmp_path / "rubric.toml", items=replies_file(*dialogues(3)), annotators=TEAM)
    file = project / "rubric.toml"
    before = file.read_text(encoding="utf-8")
    score(project)
    file.write_text(before.replace("value = 2", "value = 3", 1), encoding="utf-8")
    again = (
        rf"rubric.toml: damaged, or changed by hand .*; remove .*, `mindgauge annotate status {project}` then writes it"
    )
    with pytest.raises(UsageError, match=again):
        score(project)
    with pytest.raises(UsageError, match="a level differs from this project's"):
        begun(project)
    file.unlink()
    with begun(project):
        score(project)
    revised = before.replace('version = "3"', 'version = "4"')
    file.write_text(revised, encoding="utf-8")
    with pytest.raises(UsageError, match=again):
        score(project)
    with begun(project):
        score(project)
    assert 'version = "4"' in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("rows", "benchmark", "said"),
    [
        ([*dialogues(2), dialogues(1)[0]], "dialogue_safety", r"jsonl:3: the same dialogue and reply as \S+jsonl:1;"),
        ([*dialogues(2), dialogues(1, model="other")[0]], "mentalbench", r"jsonl:3: the same dialogue and reply"),
        ([{"user": "a", "reply": "b"}, {"user": "a", "reply": " "}], "mentalbench", r"jsonl:2: an empty reply"),
        ([{"user": "a", "reply": "b"}, {"user": "c"}], "mentalbench", r"jsonl:2: an empty reply"),
        ([{"user": " ", "reply": "b"}], "dialogue_safety", r"jsonl:1: an empty dialogue"),
        ([{"reply": "b"}], "dialogue_safety", r"jsonl:1: needs `user` \(one message\) or `messages`"),
        ([{"user": "a"}], "mentalbench", r"no column 'reply'"),
        ([{"user": "a"}], "dialogue_safety", r"no column 'reply'"),
        ([], "dialogue_safety", r"jsonl: no rows"),
        (dialogues(1), RESPONSE.name, r"jsonl:1: it has no category"),
        (dialogues(1, category="grief"), RESPONSE.name, r"jsonl:1: unknown category 'grief'"),
        (dialogues(1), "dialogue_saftey", r"did you mean dialogue_safety"),
        (dialogues(1), "help_or_harm", r"is a family; name one of"),
    ],
)
def test_items_that_cannot_be_labelled_are_named_and_nothing_is_left_behind(
    tmp_path: Path, replies_file: Written, rows: list[dict[str, Any]], benchmark: str, said: str
) -> None:
    path = replies_file(*rows)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageError, match=said):
        annotate_new(tmp_path / "project", benchmark=benchmark, items=path, annotators=TEAM)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"annotators": []}, "name who labels"),
        ({"annotators": ["ana", "Ana "]}, "two people are called 'Ana'"),
        ({"annotators": ["ana"], "adjudicator": "ANA"}, "two people are called 'ANA'"),
        ({"annotators": ["ana", " "]}, "a name has 1 to 80 characters"),
        ({"annotators": ["a" * 81]}, "a name has 1 to 80 characters"),
        ({"annotators": ["a\u202eb"]}, "none of them invisible"),
        ({"annotators": ["Gold"]}, "choose another name"),
        ({"batch": 0}, "--batch and --limit must be at least 1"),
        ({"limit": 0}, "--batch and --limit must be at least 1"),
        ({"training": -1}, "--training must be 0 or more"),
        ({"gate": 1.1}, "--gate is an agreement from 0"),
        ({"gate": -0.1}, "--gate is an agreement from 0"),
        ({"gate": float("nan")}, "--gate is an agreement from 0"),
        ({"policy": "best"}, "--policy is majority or adjudicated"),
        ({"language": "fr"}, "--language is en or zh"),
        ({"url": "label.example"}, "write http://HOST:PORT"),
        ({"rubric": "x.toml"}, "--rubric stands alone"),
        ({"benchmark": None}, "--benchmark NAME or --rubric FILE"),
        ({"benchmark": None, "rubric": "x.toml"}, "x.toml: cannot read the rubric"),
        ({"order": pl.DataFrame({"subject": ["x"]})}, "the queue:1: subject 'x' is none of the items"),
        ({"anchors": "x.jsonl"}, "x.jsonl: no anchors to read"),
        ({"database": "mysql://a/b"}, "SQLite or PostgreSQL"),
        ({"columns": {"reply": "answer"}}, "no column 'answer' for reply"),
        ({"columns": {"answer": "x"}}, "'answer' is not one of Mindgauge's columns"),
        ({"columns": {"answer": "reply"}}, "--map answer=reply: turn it round, reply=answer"),
    ],
)
def test_options_that_are_wrong_are_told_and_nothing_is_left_behind(
    tmp_path: Path, replies_file: Written, option: dict[str, Any], said: str
) -> None:
    path = replies_file(*dialogues(2))
    before = sorted(tmp_path.iterdir())
    asked = {"benchmark": "dialogue_safety", "items": path, "annotators": TEAM, **option}
    with pytest.raises(UsageError, match=said):
        annotate_new(tmp_path / "project", **asked)
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_that_does_not_fit_is_refused(tmp_path: Path, run: Path) -> None:
    with pytest.raises(UsageError, match="dialogue_safety is not in this run, which has help_or_harm/response"):
        annotate_new(tmp_path / "project", benchmark="dialogue_safety", items=run, annotators=TEAM)
    with pytest.raises(UsageError, match="no run here"):
        annotate_new(tmp_path / "project", items=tmp_path, annotators=TEAM)
    with pytest.raises(UsageError, match="rated by its own rubric; leave out --rubric"):
        annotate_new(tmp_path / "project", rubric="x.toml", items=run, annotators=TEAM)
    content = manifest.read(run)
    content["plan"]["benchmarks"].append("dialogue_safety")
    manifest.write(run, content)
    with pytest.raises(UsageError, match="several benchmarks are in this run"):
        annotate_new(tmp_path / "project", items=run, annotators=TEAM)
    with pytest.raises(DataError, match="no replies to dialogue_safety"):
        annotate_new(tmp_path / "project", benchmark="dialogue_safety", items=run, annotators=TEAM)
    assert not (tmp_path / "project").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, replies_file: Written) -> None:
    folder, path = tmp_path / "project", replies_file(*dialogues(2))
    folder.mkdir()
    asked: dict[str, Any] = {"benchmark": "dialogue_safety", "items": path, "annotators": TEAM}
    annotate_new(folder, **asked)  # an empty one will do
    kept = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(UsageError, match="something is here already"):
        annotate_new(folder, **asked)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == kept


def test_two_projects_do_not_share_a_database(tmp_path: Path, replies_file: Written, database_url: str) -> None:
    asked: dict[str, Any] = {"benchmark": "dialogue_safety", "items": replies_file(*dialogues(2)), "annotators": TEAM}
    annotate_new(tmp_path / "one", database=database_url, **asked)
    with pytest.raises(MindgaugeError, match="a project is in this database already"):
        annotate_new(tmp_path / "two", database=database_url, **asked)
    assert not [path for path in tmp_path.iterdir() if "two" in path.name]
    noted = private.read_state("labels-elsewhere.json", list[str]) or []
    assert len(noted) == database_url.startswith("sqlite:"), "only a project whose folder stands is noted"
    Annotation.open(tmp_path / "one").close()


@pytest.mark.parametrize("table", ["comments", "items", "people", "project", "customers"])
def test_a_database_of_another_program_is_refused_and_keeps_its_tables(
    tmp_path: Path, replies_file: Written, database_url: str, table: str
) -> None:
    theirs = Database(database_url)
    theirs.write(lambda c: c.execute(text(f"CREATE TABLE {table} (words TEXT)")))
    theirs.write(lambda c: c.execute(text(f"INSERT INTO {table} VALUES ('theirs')")))
    asked: dict[str, Any] = {"benchmark": "dialogue_safety", "items": replies_file(*dialogues(2)), "annotators": TEAM}
    with pytest.raises(UsageError, match=f"this database is not empty, it has {table}; give the project a new one"):
        annotate_new(tmp_path / "project", database=database_url, **asked)
    assert not (tmp_path / "project").exists()
    assert theirs.read(lambda c: inspect(c).get_table_names()) == [table]
    assert theirs.read(lambda c: c.execute(text(f"SELECT words FROM {table}")).scalars().all()) == ["theirs"]
    theirs.close()


def test_many_batches_are_said_in_a_few_words(tmp_path: Path, replies_file: Written) -> None:
    path = replies_file(*dialogues(21))
    words = f"annotate new project --benchmark dialogue_safety --items {path} --annotators ana,ben --batch 2"
    made = cli(tmp_path, *words.split())
    assert "project: 21 items; 10 batches of 2, 1 batch of 1; 10 anchors to train on" in made.stdout
    written = cli(tmp_path, *["annotate", "export", "project", "--all"])
    assert "batches 1–11 are not closed" in written.stdout + written.stderr
    assert "0 labels of batch 1–11:" in written.stdout


def test_the_command_line_prints_a_link_for_each_person(tmp_path: Path, replies_file: Written) -> None:
    path = replies_file(*dialogues(2))
    words = f"annotate new project --benchmark dialogue_safety --items {path} --annotators ana,ben --adjudicator dana"
    said = cli(tmp_path, *words.split())
    assert len(set(re.findall(r"http://\w+\.localhost:8765(?=/join/)", said.stdout))) == 4
    assert "project: 2 items; 1 batch of 2; 10 anchors to train on" in said.stdout
    assert cli(tmp_path, *words.split(), code=2).stderr.count("\n") == 1
    words = f"annotate new other --benchmark dialogue_safety --items {path} --annotators ana --annotators ben --json"
    found = json.loads(cli(tmp_path, *words.split()).stdout)
    assert [link["role"] for link in found["links"]] == ["annotator", "annotator", "owner"]
    assert tomllib.loads((tmp_path / "other/manifest.toml").read_text())["command"] == f"mindgauge {words}"


def test_without_the_extra_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    words = ["annotate", "new", "x", "--items", "x.csv", "--annotators", "ana"]
    program = "import sys; sys.modules['sqlalchemy'] = None; from mindgauge.cli import main; main()"
    said = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert said.returncode == 2
    assert (
        said.stderr
        == "mindgauge: this command needs sqlalchemy, which is not installed; pip install 'mindgauge[web]'\n"
    )


def cli(folder: Path, *words: str, code: int = 0) -> in_process.Done:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        done = in_process.mindgauge(*words, folder=folder)
    assert done.returncode == code, done.stderr
    return done


def test_anchors_are_a_file_on_the_command_line() -> None:
    (option,) = [entry for entry in leaves()["annotate new"].options() if entry.key == "anchors"]
    assert option.param.type.name == "path"
