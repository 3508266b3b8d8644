"""Other people's dialogues are cut into items for every benchmark, and each item says which turn of which dialogue it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import mindgauge
from mindgauge.commands.annotate.new import annotate_new
from mindgauge.models.scripted import Scripted
from mindgauge.records.errors import UsageError
from mindgauge.records.files import tables
from mindgauge.store import Store

if TYPE_CHECKING:
    from pathlib import Path

ONE = [
    "user: I have not slept for days.", "chatbot: That sounds exhausting. What keeps you up?",
    "user: My thoughts go round in circles about work.", "chatbot: Just stop thinking about it.",
    "user: I wish it were that easy.",
]  # fmt: skip
TWO = ["user: My sister moved out.", "chatbot: You miss her. When do you feel it most?"]
SAFE = '{"label": "Safe Response"}'


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    folder = tmp_path / "talks"
    folder.mkdir()
    for name, lines in (("one", ONE), ("two", TWO)):
        (folder / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_a_closed_question_is_asked_about_each_reply_with_the_dialogue_before_it(talks: Path, tmp_path: Path) -> None:
    model = Scripted("m", lambda _: SAFE)
    file = tmp_path / "items.csv"
    for _ in range(2):  # the same command again finds its file, and goes on
        scores = mindgauge.rate("dialogue_safety", dialogues=talks, judge=model, write_items=file, out=tmp_path / "run")
    assert scores is not None
    with Store(tmp_path / "run") as store:
        samples = {sample.tags["id"]: sample for sample in store.samples("dialogue_safety")}
    assert set(samples) == {"one:turn:1", "one:turn:2", "two:turn:1"}
    second = samples["one:turn:2"]
    assert [message.content for message in second.messages] == [line.partition(": ")[2] for line in ONE[:4]]
    assert second.cluster == samples["one:turn:1"].cluster != samples["two:turn:1"].cluster
    rows = [row for _, row in tables.open_table(file).rows()]
    assert [(row["dialogue"], row["turn"], row["id"]) for row in rows] == [
        ("one", "1", "one:turn:1"), ("one", "2", "one:turn:2"), ("two", "1", "two:turn:1"),
    ]  # fmt: skip
    again = mindgauge.rate("dialogue_safety", replies=file, judge=model, out=tmp_path / "again")
    assert again is not None
    with Store(tmp_path / "again") as store:
        assert {sample.id for sample in store.samples("dialogue_safety")} == {sample.id for sample in samples.values()}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_items_of_every_unit_are_written(talks: Path, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"items.{suffix}"
    judge = Scripted("m", lambda _: "")
    mindgauge.rate(
        "conversations/risk", dialogues=talks, unit="turn,client,dialogue", judge=judge, write_items=file, dry_run=True,
        out=tmp_path / "run",
    )  # fmt: skip
    rows = [row for _, row in tables.open_table(file).rows()]
    places = sorted((row["dialogue"], row["unit"], int(row["turn"])) for row in rows)
    assert places == [
        ("one", "client", 1), ("one", "client", 2), ("one", "dialogue", 2), ("one", "turn", 1), ("one", "turn", 2),
        ("two", "client", 1), ("two", "dialogue", 1), ("two", "turn", 1),
    ]  # fmt: skip
    assert len({row["cluster"] for row in rows}) == 2


@pytest.mark.parametrize(
    ("name", "unit", "count"),
    [("dialogue_safety", "turn", 3), ("help_or_harm/crisis_type", "client", 4), ("psycrisis", "turn", 3),
     ("psycrisis", "dialogue", 2), ("conversations/risk", "client", 3)],
)  # fmt: skip
def test_people_label_what_transcripts_are_cut_into(
    talks: Path, tmp_path: Path, name: str, unit: str, count: int
) -> None:
    file = tmp_path / "items.parquet"
    project = annotate_new(
        tmp_path / "labels",
        items=talks,
        benchmark=name,
        annotators=["ana", "ben"],
        unit=unit,
        training=0,
        write_items=file,
    )
    assert project.items == count
    assert pl.read_parquet(file)["dialogue"].n_unique() == 2


def test_what_is_not_asked_is_said_in_one_line(talks: Path, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="dialogue_safety is asked about single turns with the dialogue before; use --unit turn"
    ):
        annotate_new(tmp_path / "a", items=talks, benchmark="dialogue_safety", annotators=["ana"], unit="client")
    with pytest.raises(UsageError, match="or, with --unit, transcripts"):
        annotate_new(tmp_path / "a", items=talks, benchmark="psycrisis", annotators=["ana"])
    text = tmp_path / "chat.txt"
    text.write_text("user: Hello\nbot: Hi\n", encoding="utf-8")
    with pytest.raises(UsageError, match="say what of it is labelled with --unit"):
        annotate_new(tmp_path / "a", items=text, benchmark="psycrisis", annotators=["ana"])
    table = tmp_path / "table.csv"
    table.write_text("user,reply\nHello,Hi\n", encoding="utf-8")
    with pytest.raises(UsageError, match="--write-items writes what transcripts are cut into"):
        annotate_new(
            tmp_path / "a", items=table, benchmark="psycrisis", annotators=["ana"], write_items=tmp_path / "i.csv"
        )
    model = Scripted("m", lambda _: SAFE)
    (tmp_path / "items.csv").write_text("theirs", encoding="utf-8")
    for file, problem in (("items.csv", "holds something else"), ("items.txt", "ends with .csv, .jsonl, .parquet")):
        with pytest.raises(UsageError, match=problem):
            mindgauge.rate(
                "dialogue_safety", dialogues=talks, judge=model, write_items=tmp_path / file, out=tmp_path / "r"
            )
    assert (tmp_path / "items.csv").read_text(encoding="utf-8") == "theirs"
