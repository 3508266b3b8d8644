"""`mindgauge new`: what it writes runs as it is, says that its rubric is a placeholder, and takes nobody's place."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.records.errors import DataError, FaultsError, UsageError
from mindgauge.records.rubric import Rubric
from tests.benchmarks.test_own_folder import RUBRIC, rating
from tests.in_process import mindgauge as typed

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = 'Nr;Nachricht;Thema\n1;"Ich schlafe schlecht; die Prüfung ist bald.";Schule\n2;Meine Schwester meldet sich nicht mehr.;Familie\n'


@pytest.fixture
def items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "items.csv"
    path.write_text(ITEMS, "utf-8")
    return path


def scored(place: str, out: Path) -> Scores:
    scores = mindgauge.run(
        place, model=mindgauge.Scripted("a", rating()), judge=mindgauge.Scripted("j", rating()), out=out, qualify=False
    )
    assert isinstance(scores, Scores)
    return scores


def test_what_is_written_runs_at_once_and_says_that_its_rubric_is_a_placeholder(items: Path, tmp_path: Path) -> None:
    done = typed("new", "mine", "--from", "items.csv")
    assert done.returncode == 0, done.stderr
    assert "The rubric is a placeholder" in done.stdout
    assert "user = 'Nachricht'" in done.stdout
    assert "columns that are not read: Nr, Thema" in done.stdout
    assert (tmp_path / "mine" / "samples.csv").read_bytes() == items.read_bytes()
    scores = scored("./mine", tmp_path / "run")
    assert {m.criterion for m in scores.leading} == {"acknowledges", "fit", "kind", "harms"}
    assert any("its rubric is a placeholder" in note for note in scores.notes)
    mindgauge.report([tmp_path / "run"])
    for file in ("report.html", "report.md"):
        assert "its rubric is a placeholder" in (tmp_path / "run" / file).read_text("utf-8"), file
    assert "its rubric is a placeholder" in typed("list", "./mine").stdout


def test_a_criterion_that_is_written_is_no_placeholder_any_more(items: Path, tmp_path: Path) -> None:
    mindgauge.new("mine", items=items)
    path = tmp_path / "mine" / "rubric.toml"
    text = path.read_text("utf-8")
    path.write_text(text.replace("Placeholder: does", "Does", 1), "utf-8")
    [remark] = benchmarks.asked_one("./mine").remarks
    assert "3 of its 4 criteria are placeholders (fit, kind, harms)" in remark
    path.write_text(text.replace("Placeholder: ", ""), "utf-8")
    assert not benchmarks.asked_one("./mine").remarks


def test_every_slot_of_the_card_is_explained_and_every_line_can_be_taken_in(items: Path, tmp_path: Path) -> None:
    mindgauge.new("mine", items=items)
    text = (tmp_path / "mine" / "card.toml").read_text("utf-8")
    uncommented = "\n".join(
        line.removeprefix("# ")
        if line.startswith("# ") and " = " in line and line[2:3].islower() and "column" not in line
        else line
        for line in text.splitlines()
    )
    card = tomllib.loads(uncommented)
    assert {"title", "closed", "measures", "does_not_measure", "languages", "licence", "citation"} <= card.keys()
    (tmp_path / "mine" / "card.toml").write_text(uncommented, "utf-8")
    assert benchmarks.asked_one("./mine").card.does_not_measure
    columns = (tmp_path / "mine" / "columns.toml").read_text("utf-8").replace("# tag.", "tag.")
    (tmp_path / "mine" / "columns.toml").write_text(columns, "utf-8")
    assert [s.tags["thema"] for s in benchmarks.asked_one("./mine").samples(None)] == ["Schule", "Familie"]


@pytest.mark.parametrize("values", [["calm", "low", "low"], ["0", "2", "2"]])
def test_a_column_of_targets_makes_a_closed_question_of_its_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"text": [f"A day like number {n}." for n in range(3)], "gold": values})
    frame.write_excel(tmp_path / "items.xlsx")
    made = mindgauge.new("state", items="items.xlsx", columns={"target": "gold"})
    assert (made.closed, made.criteria, made.placeholder) == (True, ("label",), True)
    criterion = benchmarks.asked_one("./state").rubric.criteria[0]
    assert criterion.values == (("calm", "low") if values[0] == "calm" else (0, 1, 2))
    scores = mindgauge.run("./state", model=mindgauge.Scripted("a", rating("low")), out=tmp_path / "run")
    assert isinstance(scores, Scores)
    assert scores.find("accuracy")[0].n == 3


def test_a_rubric_of_the_user_s_is_the_same_instrument_in_the_folder(items: Path, tmp_path: Path) -> None:
    (tmp_path / "warmth.toml").write_text(RUBRIC, "utf-8")
    made = mindgauge.new("mine", items=items, rubric="warmth.toml")
    assert not made.placeholder
    assert benchmarks.asked_one("./mine").rubric.hash == Rubric.load(tmp_path / "warmth.toml").hash


def test_prompts_are_written_where_they_are_asked_for(items: Path, tmp_path: Path) -> None:
    assert not [name for name in mindgauge.new("plain", items=items).files if name.startswith("judge")]
    made = mindgauge.new("own", items=items, extras="prompts")
    assert {"judge.en.md", "judge.zh.md", "judge.split.en.md"} <= set(made.files)
    plain, own = (benchmarks.asked_one(f"./{name}") for name in ("plain", "own"))
    assert plain.prompts == own.prompts, "they begin as the usual ones"
    path = tmp_path / "own" / "judge.en.md"
    path.write_text(path.read_text("utf-8").replace("{rubric}", "Mind the weather.\n\n{rubric}"), "utf-8")
    assert "Mind the weather." in benchmarks.asked_one("./own").prompts["judge"]["en"].text


def test_nothing_is_overwritten_and_nothing_is_left_of_what_failed(items: Path, tmp_path: Path) -> None:
    mindgauge.new("mine", items=items)
    before = {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    done = typed("new", "mine", "--from", "items.csv")
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()} == before
    (tmp_path / "gaps.csv").write_text("id,user\n1,Hello.\n2,\n3,\n", "utf-8")
    with pytest.raises(FaultsError, match=r"samples.csv:3: no text.*also line 4"):
        mindgauge.new("gaps", items="gaps.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gaps.csv", "items.csv", "mine"]
    (tmp_path / "empty").mkdir()
    assert mindgauge.new("empty", items=items).samples == 2


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"items": "nothing.csv"}, DataError, "no such file"),
        ({"items": "items.csv", "columns": {"user": "Frage"}}, DataError, "no column 'Frage'"),
        (
            {"items": "items.csv", "columns": {"usr": "Nachricht"}},
            UsageError,
            "'usr' is not one of Mindgauge's columns",
        ),
        ({"items": "items.csv", "columns": {"target": "Nr"}, "rubric": "items.csv"}, UsageError, "not a rubric"),
        ({"items": "items.csv", "extras": "pictures"}, UsageError, "--with pictures: write prompts"),
        ({"columns": {"user": "Frage"}}, UsageError, "name the table with --from"),
        ({"items": "single.csv", "columns": {"target": "t"}}, DataError, "1 different values"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line(
    items: Path, tmp_path: Path, options: dict[str, object], error: type[Exception], words: str
) -> None:
    (items.parent / "single.csv").write_text("user,t\nHi.,a\nHo.,a\n", "utf-8")
    with pytest.raises(error, match=words):
        mindgauge.new("mine", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "mine").exists()


def test_the_result_is_told_as_json(items: Path) -> None:
    done = typed("new", "mine", "--from", "items.csv", "--json")
    told = json.loads(done.stdout)
    assert (told["samples"], told["columns"]) == (2, {"user": "Nachricht"})
    assert items.is_file()


def test_without_a_table_there_are_two_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert mindgauge.new("mine").samples == 2
    assert scored("mine", tmp_path / "run").find("share_yes")[0].n == 2
