"""What a ratings file may look like, and what is said of one that cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from mindgauge.analysis.reliability.ratings import Ratings, read
from mindgauge.records.errors import DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [
    {"subject": f"reply {i}", "criterion": "safety", "rater": rater, "value": (i + shift) % 5 + 1}
    for i in range(10)
    for shift, rater in enumerate(("anna", "judge"))
]


def table(rows: list[dict[str, Any]] | None = None, **columns: object) -> pl.DataFrame:
    return pl.DataFrame(rows or ROWS).with_columns(**{name: pl.lit(value) for name, value in columns.items()})


def numbers(found: Ratings) -> list[float | None]:
    return found.frame["number"].to_list()


def write(frame: pl.DataFrame, path: Path) -> Path:
    match path.suffix:
        case ".csv":
            frame.write_csv(path)
        case ".tsv":
            frame.write_csv(path, separator="\t")
        case ".jsonl":
            frame.write_ndjson(path)
        case ".parquet":
            frame.write_parquet(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_kind_of_file_gives_the_same_ratings(ending: str, tmp_path: Path) -> None:
    frame = table().with_columns(pl.when(pl.col("value") < 5).then("value").alias("value"))
    found = read([write(frame, tmp_path / f"ratings.{ending}")])
    assert found.frame.equals(read([frame]).frame)
    assert found.frame["status"].to_list().count("unparsable") == 4
    assert found.scales["safety"].shown == [1, 2, 3, 4]


def test_a_scale_that_is_given_is_not_taken_from_the_values() -> None:
    found = read([table()], scale={"safety": "0:10"})
    assert (found.scales["safety"].low, found.scales["safety"].high) == (0, 10)
    assert not any("no scale given" in note for note in found.notes)
    assert any("no scale given" in note for note in read([table()]).notes)


def test_one_value_that_all_gave_is_not_taken_for_unsafe() -> None:
    found = read([table(value=5)])
    assert found.scales["safety"].unsafe is None
    assert not any("unsafe" in note for note in found.notes)


def test_levels_in_words_have_the_order_that_is_given() -> None:
    words = {1: "poor", 2: "poor", 3: "fair", 4: "good", 5: "good"}
    frame = table().with_columns(pl.col("value").replace_strict(words))
    found = read([frame], scale={"*": "poor,fair,good"}).scales["safety"]
    assert found.ordered and found.words == ("poor", "fair", "good")
    assert not read([frame]).scales["safety"].ordered


def test_numbers_that_are_classes_are_named_nominal() -> None:
    assert not read([table()], nominal=["safety"]).scales["safety"].ordered


def test_many_different_numbers_are_a_continuum() -> None:
    frame = table().with_columns(value=pl.int_range(pl.len()) * 1.7)
    assert not read([frame], scale={"*": "0:100"}).scales["safety"].levels


def test_values_off_the_scale_count_as_missing_and_are_named() -> None:
    frame = table([*ROWS, {"subject": "late", "criterion": "safety", "rater": "anna", "value": 0}])
    found = read([frame], scale={"*": "1:5"})
    assert found.frame.filter(pl.col("subject") == "late").select("number", "status").row(0) == (None, "unparsable")
    [note] = [note for note in found.notes if "off the scale" in note]
    assert "1 values are off the scale 1:5 (1 × 0; first: line 21)" in note


def test_a_subject_that_several_systems_answer_is_taken_with_the_system() -> None:
    frame = pl.concat([table(system="a"), table(system="b")])
    found = read([frame])
    assert found.frame["subject"].n_unique() == 20
    assert found.frame["cluster"].n_unique() == 10


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (table().drop("value"), "no column value"),
        (table().drop("value"), "found subject, criterion, rater"),
        (table().clear(), "0 rows"),
        (table([*ROWS, ROWS[0]]), "1 row repeats a subject, criterion, rater and run"),
        (table([*ROWS, ROWS[0]]), "lines 1, 21"),
        (table([*ROWS, ROWS[0] | {"rater": None}]), "1 row has no rater (first: line 21)"),
        (table(rater_kind="martian"), "unknown rater_kind 'martian'"),
        (table(run=0.5), "run must be a whole number"),
        (table().with_columns(value=pl.when(pl.col("subject") == "reply 3").then(pl.lit("four")).otherwise(pl.col("value").cast(pl.String))), "numbers and words are mixed (2 of 20 values"),
        (table().with_columns(value=pl.concat_list("value")), "lists or objects"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_gets_one_line(frame: pl.DataFrame, said: str) -> None:
    with pytest.raises(DataError) as error:
        read([frame])
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.csv", b"", "0 rows"),
        ("r.csv", b"subject,criterion,rater,value\n", "0 rows"),
        ("r.csv", b"subject,criterion,rater,value\na,b,caf\xe9,1\n", "not UTF-8"),
        ("r.csv", b'subject,criterion,rater,value\na,b,"c,1\n', "r.csv"),
        ("r.jsonl", b'{"subject": "a", "criterion": "b", "rater": "c", "value": 1}\n{"subject": \n', "r.jsonl:2: broken JSON"),
        ("r.jsonl", b"[1]\n", "expected an object"),
        ("r.jsonl", b"", "r.jsonl"),
        ("r.parquet", b"PAR1 no", "not a Parquet file"),
        ("r.xlsx", b"PK", "not a workbook that can be read"),
    ],
)  # fmt: skip
def test_a_broken_file_gets_one_line(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        read([path])
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("scale", ["5", "5:1", "1:1", "a:b", "low,,high", "low,low"])
def test_a_scale_that_cannot_be_read_is_refused(scale: str) -> None:
    with pytest.raises(UsageError, match="--scale"):
        read([table()], scale={"*": scale})


def test_a_scale_that_no_value_is_on_is_doubted() -> None:
    with pytest.raises(DataError, match="is --scale right"):
        read([table()], scale={"*": "10:20"})


def test_nothing_to_read_is_refused() -> None:
    with pytest.raises(UsageError, match="name a run"):
        read([])


def test_other_words_for_a_kind_of_rater_are_understood() -> None:
    assert set(read([table(rater_kind="Human")]).frame["rater_kind"]) == {"person"}
    assert set(read([table(rater_kind="LLM")]).frame["rater_kind"]) == {"model"}


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("r.csv", "{header}\n{rows}r9,safety,anna,many\n", 22),
        ("r.csv", '{header}\n"a\nb",safety,anna,3\n\n{rows}r9,safety,anna,many\n', 25),
        ("r.csv", "{header}\n,,,\n{rows}r9,safety,anna,many\n", 23),
        ("r.csv", "\n\n{header}\r{rows}r9,safety,anna,many\n", 24),
    ],
)
def test_a_fault_names_the_line_on_which_its_row_begins(name: str, text: str, line: int, tmp_path: Path) -> None:
    rows = "".join(f"s{n},safety,anna,{1 + n % 5}\n" for n in range(20))
    path = tmp_path / name
    path.write_text(text.format(header="subject,criterion,rater,value", rows=rows), newline="")
    with pytest.raises(DataError, match=rf"such as 'many', line {line}\)"):
        read([path])


def test_a_value_off_the_scale_takes_none_of_another_file_with_it(tmp_path: Path) -> None:
    for name, values in (("anna", [9, 2, 3]), ("ben", [1, 2, 4])):
        table = [{"subject": f"s{n}", "criterion": "safety", "rater": name, "value": v} for n, v in enumerate(values)]
        pl.DataFrame(table).write_csv(tmp_path / f"{name}.csv")
    found = read([tmp_path / "anna.csv", tmp_path / "ben.csv"], scale={"*": "1:5"})
    assert found.frame.filter(pl.col("number").is_null()).select("subject", "rater").rows() == [("s0", "anna")]
    assert any("1 values are off the scale 1:5 (1 × 9; first: line 2)" in note for note in found.notes)
