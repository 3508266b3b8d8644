"""The verb and its command: files, tables and runs in; cards, JSON and one-line faults out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import mindgauge
from mindgauge.analysis.reliability import rule
from mindgauge.cli import main
from tests.analysis.reliability.conftest import World

RESAMPLES = ["--resamples", "200"]


def invoke(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["mindgauge", *map(str, args)])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    world = World().rated_by("anna", "person").rated_by("bea", "person").rated_by("judge").rated_by("lenient", bias=1.2)
    path = tmp_path / "ratings.csv"
    world.frame().write_csv(path)
    return path


def test_one_command_from_a_file_to_cards(
    ratings: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = invoke(monkeypatch, capsys, "reliability", ratings, "--scale", "1:5", *RESAMPLES)
    assert (code, err) == (0, "")
    assert out.startswith("Only judge may rate single replies on its own; all may rank systems.\n")
    assert "the judge lenient" in out, "who misses most"
    code, out, err = invoke(monkeypatch, capsys, "reliability", ratings, "--scale", "1:5", "--full", *RESAMPLES)
    assert "judge, safety: good" in out
    assert "lenient, safety: limited: people must rate" in out
    assert "corrected" in out
    assert "mindgauge@5#" in out


def test_the_whole_card_in_the_terminal(
    ratings: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = invoke(monkeypatch, capsys, "reliability", ratings, "--scale", "safety=1:5", "--full", *RESAMPLES)
    assert code == 0
    for said in (
        "Krippendorff's alpha",
        "one person with another: ICC(A,1)",
        "How wide the intervals are",
        "Agreement by system",
        "Contested",
    ):
        assert said in out


def test_json_keeps_its_contract(
    ratings: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = invoke(monkeypatch, capsys, "reliability", ratings, "--scale", "1:5", "--json", *RESAMPLES)
    found: dict[str, Any] = json.loads(out)
    assert code == 0
    cards = {card["judge"]: card for card in found["cards"]}
    assert set(cards) == {"judge", "lenient"}
    card = cards["judge"]
    assert {
        "judge",
        "reference",
        "criterion",
        "n",
        "missing",
        "level",
        "estimates",
        "verdict",
        "warnings",
    } <= card.keys()
    assert {"value", "low", "high"} <= card["estimates"]["icc_a1"].keys()
    assert (card["verdict"], card["level"], card["reference"]) == ("good", "item", "anna, bea")
    assert cards["lenient"]["rank_systems"]["verdict"] == "good"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--reference", "nobody"], "no such rater"),
        (["--scale", "5:1"], "--scale"),
        (["--map", "subject=reply_id"], "no column 'reply_id' for subject"),
        (["--rule", "nowhere.toml"], "--rule nowhere.toml"),
    ],
)
def test_a_wrong_option_gets_one_line_and_2(
    options: list[str], said: str, ratings: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = invoke(monkeypatch, capsys, "reliability", ratings, *options)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def test_other_column_names_are_mapped(tmp_path: Path) -> None:
    world = World().rated_by("anna", "person", noise=0.05).rated_by("bea", "person", noise=0.05)
    frame = world.rated_by("judge", noise=0.05).frame()
    path = tmp_path / "r.parquet"
    frame.rename({"value": "Note", "rater": "wer"}).write_parquet(path)
    found = mindgauge.reliability(
        path, layout=mindgauge.RatingLayout(columns={"value": "Note", "rater": "wer"}), scale="1:5", resamples=200
    )
    assert found.table["verdict"].to_list() == ["good"]


def test_tables_in_memory_and_several_sources_are_one(tmp_path: Path) -> None:
    frame = World().rated_by("anna", "person").rated_by("judge").frame()
    people, judge = (frame.filter(pl.col("rater") == rater) for rater in ("anna", "judge"))
    path = tmp_path / "people.csv"
    people.write_csv(path)
    whole = mindgauge.reliability(frame, scale="1:5", resamples=200)
    both = mindgauge.reliability([path, judge.to_arrow()], scale={"safety": "1:5"}, resamples=200)
    assert both.cards == whole.cards
    assert "verdict" in whole._repr_html_()


def test_a_rule_of_one_s_own_is_named_on_the_card(tmp_path: Path) -> None:
    text = Path(rule.__file__).with_name("rule.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace('id = "mindgauge"', 'id = "strict"').replace("good = 0.75", "good = 0.99"))
    frame = World().rated_by("anna", "person", noise=0.05).rated_by("judge", noise=0.05).frame()
    [card] = mindgauge.reliability(frame, scale="1:5", rule=path, resamples=200).cards
    assert card.rule.startswith("strict@5#")
    assert card.verdict == "moderate: validate"
