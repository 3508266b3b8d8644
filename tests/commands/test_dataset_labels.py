"""`dataset label`, `check`, `gold`: a panel labels, people check blind what was drawn, and what comes of it is released with figures."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import mindgauge
from mindgauge.annotation.project import Annotation
from mindgauge.commands.dataset.transform import DatasetTransformed
from mindgauge.models.scripted import Scripted
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import DataError, MindgaugeError, UsageError
from tests.annotation.rounds_of_work import everybody_works
from tests.in_process import mindgauge as mindgauge_command
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiohttp import web

    from mindgauge.annotation import tasks
    from mindgauge.records.request import Request
    from mindgauge.records.rubric import Criterion

LEVELS = ("calm", "hint", "plain")
SURE = {"fine": 0.92, "fair": 0.8, "poor": 0.6}
"""How often each judge says what a text was written to be."""
WORDS = [
    "night",
    "work",
    "mother",
    "sleep",
    "friend",
    "alone",
    "school",
    "money",
    "talk",
    "week",
    "door",
    "rain",
    "walk",
    "house",
    "phone",
    "letter",
    "garden",
    "bread",
]
RUBRIC = """
id = "nights_risk"
version = "1"
source = "ours"

[[criteria]]
name = "risk"
scale = "nominal"
text.en = "How plain is a risk in what this person says?"
levels = [
  { value = "calm", text.en = "No sign." },
  { value = "hint", text.en = "A hint." },
  { value = "plain", text.en = "Said in plain words." },
]
"""
RECIPE = """
name = "nights"
licence = "CC-BY-4.0"
[[source]]
name = "forum"
files = "posts.csv"
licence = "CC-BY-4.0"
columns = {text = "post", group = "author"}
[[step]]
do = "exact"
[[step]]
do = "split"
parts = {train = 0.5, test = 0.5}
passages = false
"""


def meant(text: str) -> str:
    found = re.search(r"note \d+, (calm|hint|plain)", text)
    assert found is not None
    return found[1]


def said(rater: str, text: str, sure: float) -> str:
    drawn = random.Random(f"{rater} {text}")
    return meant(text) if drawn.random() < sure else drawn.choice(LEVELS)


def judging(body: dict[str, Any], _: int) -> web.StreamResponse:
    """Label as often right as the judge's name says; `odd` never gives an answer that can be read."""
    asked = words(body)
    text = asked[asked.rindex("note ") :].partition("\n")[0]
    model = body["model"]
    if model == "odd":
        return says("I would rather not.")
    return says(json.dumps({"risk": said(f"{model} {body.get('seed')}", text, SURE[model])}))


@pytest.fixture(scope="module")
def server() -> Iterator[Stub]:
    with Stub(judging) as stub:
        yield stub


def build(folder: Path, posts: int = 120) -> Path:
    drawn = random.Random(1)
    rows = [
        (f"note {n}, {drawn.choices(LEVELS, [6, 3, 1])[0]} {' '.join(drawn.choices(WORDS, k=20))}", f"author {n % 40}")
        for n in range(posts)
    ]
    folder.mkdir(exist_ok=True)
    pl.DataFrame(rows, ["post", "author"], orient="row").write_csv(folder / "posts.csv")
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    (folder / "risk.toml").write_text(RUBRIC, encoding="utf-8")
    mindgauge.dataset_build(folder / "recipe.toml", out=folder / "nights")
    return folder


def judges(server: Stub, *names: str) -> list[str]:
    return [f"{server.url}#{name}" for name in names]


def people_label(project: Path, sure: float = 0.95) -> None:
    """Let everybody work until nothing is left, in discussion and adjudication, too; what the owner decides is right."""

    def rule(name: str, now: tasks.Assignment, _: Criterion) -> str:
        text = now.item.messages[-1].content
        return meant(text) if name == "owner" else said(name, text, sure)

    with Annotation.open(project) as annotation:
        everybody_works(annotation, rule)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory, server: Stub) -> Path:
    """By the command line: three judges, three runs each; two people, two batches; gold into the data set."""
    folder = build(tmp_path_factory.mktemp("labelled"))
    for command in (
        ["label", folder / "nights", "--rubric", folder / "risk.toml", "--runs", 3, "--out", folder / "panel",
         *(part for judge in judges(server, *SURE) for part in ("--judge", judge))],
    ):  # fmt: skip
        done = mindgauge_command("dataset", *command)
        assert done.returncode == 0, done.stderr
    mindgauge.dataset_check(
        folder / "panel", annotators=["ana", "ben"], number=40, disputed=10, batch=30, training=0, out=folder / "people"
    )
    people_label(folder / "people")
    done = mindgauge_command("dataset", "label", folder / "nights", "--panel", folder / "panel", "--people", folder / "people")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "reaches the gate of 0.4" in " ".join(done.stdout.split())
    return folder


def items_of(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "nights" / "items.parquet")


def test_gold_is_people_s_alone_and_the_panel_s_label_stands_beside_it(labelled: Path) -> None:
    items = items_of(labelled)
    assert items["panel_label"].null_count() + (items["panel_status"] == "ok").sum() == items.height
    assert (items["gold_status"].is_not_null()).sum() == 50
    for row in items.iter_rows(named=True):
        both = {said(name, row["text"], 0.95) for name in ("ana", "ben")}
        if row["gold_status"] is None:
            assert row["gold"] is None
        elif len(both) == 1:
            assert (row["gold"], row["gold_status"]) == (both.pop(), "ok")
        else:
            assert (row["gold"], row["gold_status"]) == (None, "tie")


def test_people_see_nothing_of_the_panel(labelled: Path) -> None:
    kept = b"".join(path.read_bytes() for path in (labelled / "people").rglob("*") if path.is_file())
    for word in (*(f"#{judge}" for judge in SURE), "panel_label", "panel_agreement", "outcome"):
        assert word.encode() not in kept
    with Annotation.open(labelled / "people") as project:
        drawn = [(item.drawn, item) for item in project.items()]
    assert all(place is not None for place, _ in drawn)
    assert not any(level in (place.stratum if place else "") for place, _ in drawn for level in LEVELS)


def test_a_score_of_labels_alone_says_what_there_is(labelled: Path) -> None:
    done = mindgauge_command("score", labelled / "people")
    assert done.returncode == 0, done.stderr
    assert " ".join(done.stdout.split()).startswith(
        "Here are labels by ana and ben; no model answered and no judge rated"
    )
    assert mindgauge_command("reliability", labelled / "people").returncode == 0


def test_the_disputed_come_first_and_stand_for_themselves(labelled: Path) -> None:
    with Annotation.open(labelled / "people") as project:
        items = [item for item in project.items() if item.drawn is not None]
    first = [item for item in items if item.drawn and item.drawn.stratum.startswith("disputed")]
    assert {item.batch for item in first} == {1}
    agreement = dict(items_of(labelled).select("text", "panel_agreement").rows())
    worst = [agreement.pop(item.messages[0].content) for item in first]
    assert (len(worst), max(worst)) == (10, min(max(worst), *agreement.values()))
    assert {item.drawn.probability for item in first if item.drawn} == {1.0}
    by_stratum: dict[str, list[Any]] = {}
    for item in items:
        by_stratum.setdefault(item.drawn.stratum if item.drawn else "", []).append(item.drawn)
    for places in by_stratum.values():
        assert places[0].probability == pytest.approx(len(places) / places[0].stratum_size)
    assert sum(places[0].stratum_size for places in by_stratum.values()) == 120


def test_the_release_says_how_far_labels_can_be_trusted(labelled: Path, tmp_path: Path) -> None:
    mindgauge.dataset_release(labelled / "nights", to="hub", out=tmp_path / "hub")
    card = (tmp_path / "hub" / "README.md").read_text(encoding="utf-8")
    record = json.loads((labelled / "nights" / "dataset.json").read_text(encoding="utf-8"))["labels"]
    assert record["checked"] == 50
    assert record["gold"] + record["undecided"] == 50
    assert sum(entry["people"]["value"] or 0 for entry in record["classes"]) == pytest.approx(1)
    assert "before any discussion, weighted to all items | 0." in card
    assert "do not agree enough" not in card
    assert "half of 3 models say (fair, fine, poor; 3 runs each" in card
    assert "127.0.0.1" not in card
    assert "| calm | calm | " in card
    assert "| calm | plain | 0 %" not in card
    released = pl.concat([pl.read_parquet(file) for file in (tmp_path / "hub" / "data").iterdir()])
    assert released.sort("id").equals(items_of(labelled).drop("origin").sort("id"))


def test_what_is_made_of_labelled_items_leaves_their_labels_behind(labelled: Path, tmp_path: Path) -> None:
    made = mindgauge.dataset_transform(labelled / "nights", form=["noise:word:0.10"], out=tmp_path / "nights")
    assert isinstance(made, DatasetTransformed) and made.labels is None and made.items > 0
    assert not {"gold", "gold_status", "panel_label", "panel_status", "panel_agreement"} & set(items_of(tmp_path).columns)  # fmt: skip
    assert "gold" in items_of(labelled).columns


def test_the_same_again_gives_the_same_bytes(labelled: Path, tmp_path: Path) -> None:
    again = mindgauge.dataset_gold(
        labelled / "nights", panel=labelled / "panel", people=labelled / "people", out=tmp_path / "again"
    )
    for name in ("items.parquet", "dataset.json"):
        assert (tmp_path / "again" / name).read_bytes() == (labelled / "nights" / name).read_bytes()
    assert again.table["label"].to_list()[:3] == [*LEVELS]


def test_a_panel_goes_on_where_it_stopped_and_an_unreadable_judge_is_no_class(server: Stub, tmp_path: Path) -> None:
    folder = build(tmp_path, 30)
    options: dict[str, Any] = {"rubric": folder / "risk.toml", "out": folder / "panel"}
    mindgauge.dataset_label(folder / "nights", judge=judges(server, "fine"), **options)
    asked = len(server.bodies)
    result = mindgauge.dataset_label(folder / "nights", judge=judges(server, "fine", "odd"), **options)
    assert {body["model"] for body in server.bodies[asked:]} == {"odd"}
    counts = {entry.label: entry.items for entry in result.labels}  # type: ignore[union-attr]
    assert counts == {"(unreadable)": 30}


@pytest.mark.long
def test_a_gate_that_is_not_reached_keeps_the_labels_here(server: Stub, tmp_path: Path) -> None:
    folder = build(tmp_path, 60)
    mindgauge.dataset_label(folder / "nights", judge=judges(server, *SURE), rubric=folder / "risk.toml", out=folder / "panel")  # fmt: skip
    with pytest.raises(UsageError, match="draw 6 or more, 2 of each"):
        mindgauge.dataset_check(folder / "panel", annotators="ana", number=3, disputed=0, out=folder / "few")
    mindgauge.dataset_check(folder / "panel", annotators=["ana", "ben"], number=30, disputed=5, training=0, out=folder / "people")  # fmt: skip
    parts: dict[str, Any] = {"panel": folder / "panel", "people": folder / "people"}
    with pytest.raises(DataError, match="no batch is closed yet"):
        mindgauge.dataset_gold(folder / "nights", **parts)
    people_label(folder / "people", sure=0.0)
    result = mindgauge.dataset_gold(folder / "nights", **parts)
    assert result.passed is False
    with pytest.raises(
        MindgaugeError, match=r"not released: Fleiss' kappa, nominal, among people .* below the gate of 0.4"
    ):
        mindgauge.dataset_release(folder / "nights", to="folder", out=tmp_path / "out")
    mindgauge.dataset_release(folder / "nights", to="folder", out=tmp_path / "out", below_gate=True)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert card.index("People do not agree enough on the labels") < card.index("## Sources")


def test_what_does_not_belong_together_is_refused_in_one_line(labelled: Path, server: Stub, tmp_path: Path) -> None:
    other = build(tmp_path, 30)
    with pytest.raises(DataError, match="labels of other items"):
        mindgauge.dataset_gold(other / "nights", panel=labelled / "panel", people=labelled / "people")
    mindgauge.dataset_label(other / "nights", judge=judges(server, "poor"), rubric=other / "risk.toml", out=other / "panel")  # fmt: skip
    with pytest.raises(DataError, match="not drawn from what this panel says now"):
        mindgauge.dataset_gold(other / "nights", panel=other / "panel", people=labelled / "people")
    with pytest.raises(UsageError, match="no run of a panel here"):
        mindgauge.dataset_gold(other / "nights", panel=other / "nights", people=labelled / "people")
    with pytest.raises(UsageError, match="no data set here"):
        mindgauge.dataset_label(tmp_path, judge="replay/none", rubric=other / "risk.toml", out=tmp_path / "no")
    with pytest.raises(UsageError, match="name one benchmark with a closed question"):
        mindgauge.dataset_label(other / "nights", judge="replay/none", benchmark="mentalbench", out=tmp_path / "no")


def test_a_dialogue_is_labelled_and_checked_turn_by_turn_as_it_was_held(server: Stub, tmp_path: Path) -> None:
    folder = build(tmp_path, 4)
    talks = [
        {"id": f"d{n}", "messages": [
            {"role": "user", "content": f"I could not sleep, {n} nights now."}, {"role": "assistant", "content": "What kept you awake?"},
            {"role": "user", "content": f"note {n}, {LEVELS[n % 3]} {WORDS[n]} {WORDS[-n]}"}, {"role": "assistant", "content": "I see."},
        ]}
        for n in range(12)
    ]  # fmt: skip
    (folder / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)), encoding="utf-8")
    (folder / "recipe.toml").write_text(
        'name = "t"\n[[source]]\nname = "s"\nfiles = "talks.jsonl"\nlicence = "MIT"\nholds = "dialogues"\n[[step]]\ndo = "cut"\n',
        encoding="utf-8",
    )
    mindgauge.dataset_build(folder / "recipe.toml", out=folder / "talks")
    mindgauge.dataset_label(folder / "talks", judge=judges(server, "fine"), rubric=folder / "risk.toml", out=folder / "panel")  # fmt: skip
    mindgauge.dataset_check(folder / "panel", annotators=["ana", "ben"], number=12, training=0, out=folder / "people")
    with Annotation.open(folder / "people") as project:
        assert {tuple(m.role for m in item.messages) for item in project.items()} == {("user", "assistant", "user")}
    people_label(folder / "people", sure=1.0)
    mindgauge.dataset_gold(folder / "talks", panel=folder / "panel", people=folder / "people")
    items = pl.read_parquet(folder / "talks" / "items.parquet")
    assert items["gold"].to_list() == [meant(text) for text in items["text"]]


def test_texts_that_stand_twice_and_dialogues_that_end_with_an_answer_are_refused(tmp_path: Path) -> None:
    folder = build(tmp_path, 6)
    recipe = RECIPE.replace('[[step]]\ndo = "exact"\n', "")
    posts = pl.read_csv(folder / "posts.csv")
    pl.concat([posts, posts]).write_csv(folder / "posts.csv")
    (folder / "recipe.toml").write_text(recipe, encoding="utf-8")
    mindgauge.dataset_build(folder / "recipe.toml", out=folder / "twice")
    options: dict[str, Any] = {"judge": "replay/none", "rubric": folder / "risk.toml", "out": folder / "no"}
    with pytest.raises(DataError, match='6 items with the text of another; build it with a step `do = "exact"`'):
        mindgauge.dataset_label(folder / "twice", **options)
    talk = {"messages": [{"role": "user", "content": "note 1, calm"}, {"role": "assistant", "content": "Go on."}]}
    (folder / "talks.jsonl").write_text(json.dumps(talk), encoding="utf-8")
    (folder / "recipe.toml").write_text(
        'name = "t"\n[[source]]\nname = "s"\nfiles = "talks.jsonl"\nlicence = "MIT"\nholds = "dialogues"\n',
        encoding="utf-8",
    )
    mindgauge.dataset_build(folder / "recipe.toml", out=folder / "talks")
    with pytest.raises(DataError, match="dialogues that end with an answer"):
        mindgauge.dataset_label(folder / "talks", **options)


def test_the_page_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks_of = Path(__file__).parents[2] / "docs" / "tasks"
    page = "".join((tasks_of / f"{name}_dataset.md").read_text(encoding="utf-8") for name in ("build", "label"))
    recipe, rubric = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[:2]
    monkeypatch.chdir(tmp_path)
    for name, content in (("posts.csv", page.partition("```text\n")[2].partition("```")[0]), ("recipe.toml", recipe), ("risk.toml", rubric)):  # fmt: skip
        Path(name).write_text(content, encoding="utf-8")
    mindgauge.dataset_build("recipe.toml", out="nights")
    commands = [
        line
        for line in page.partition("## Label in three steps")[2].splitlines()
        if line.startswith("mindgauge dataset ")
    ]
    assert [command.split()[2] for command in commands[:4]] == ["label", "label", "label", "release"]

    def judge(body: dict[str, Any], _: int) -> web.StreamResponse:
        signs = ["slept since", "alone tonight", "hours until"][: 1 if "mistral" in body["model"] else 3]
        risky = any(sign in body["messages"][-1]["content"] for sign in signs)
        return says(json.dumps({"risk": "hint" if risky else "calm"}))

    def rule(_: str, now: tasks.Assignment, __: Criterion) -> str:
        return "calm" if "river" in now.item.messages[-1].content else "hint"

    with Stub(judge) as stub:
        for command in commands[:4]:
            if " --people " in command:
                with Annotation.open(Path("nights-people")) as annotation:
                    everybody_works(annotation, rule)
            typed = re.sub(r"--judge \S+/(\S+)", rf"--judge {stub.url}#\1", command)
            done = mindgauge_command(*typed.split()[1:])
            assert done.returncode == 0, done.stderr
    items = pl.read_parquet("nights/items.parquet")
    assert all(f"`{column}`" in page for column in items.columns)
    assert dict(items.group_by("gold").len().rows()) == {"hint": 3, "calm": 1}
    assert items["panel_label"].equals(items["gold"], check_names=False)
    assert "nobody labelled an item twice.\n\n`gold` is" in Path("nights-hub/README.md").read_text(encoding="utf-8")


def test_failed_calls_are_counted_in_the_result_until_they_are_repeated(tmp_path: Path) -> None:
    folder = build(tmp_path, 12)
    faulty = [True]

    def answer(request: Request) -> str | Exchange:
        text = request.messages[-1].content
        if faulty[0] and "note 3," in text:
            return Exchange(Status.FAILED, "the server is busy", "")
        return json.dumps({"risk": meant(text[text.rindex("note ") :])})

    def label() -> str:
        result = mindgauge.dataset_label(
            folder / "nights", judge=Scripted("a", answer), rubric=folder / "risk.toml", out=tmp_path / "panel"
        )
        return " ".join(result.summary())

    assert "1 call failed" in label()
    faulty[0] = False
    assert "call failed" not in label()
