"""Filled forms come back as spreadsheet programs save them; what is no form is refused, and nothing of it is read."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from mindgauge.commands.judges.rationales import rationales_export, rationales_import
from mindgauge.records.errors import DataError
from mindgauge.store import Store
from tests.commands.judges.forms import as_excel, as_workbook, chain, fill, judged, rows

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark


@pytest.fixture
def run(care: Benchmark, tmp_path: Path) -> Path:
    return judged(tmp_path, lambda n: chain({"value": 1 + n % 3, "rationale": '=HYPERLINK("x")'}, {"value": "no"}))


@pytest.mark.parametrize("kind", [";", "\t", ",", ".xlsx"])
def test_a_form_that_a_spreadsheet_saved_says_the_same(run: Path, kind: str) -> None:
    rationales_export(run, people=1)
    path = run / "rationales" / "form_1.csv"
    comment = "two lines;\r\nand, a comma"
    four = {"rationality": "4.0", "traceability": "4" if kind == ".xlsx" else "4,0", "consistency": "4"}
    fill(path, **four, comment=comment)
    if kind == ".xlsx":
        path = as_workbook(path)
    else:
        as_excel(path, kind)
    found = rationales_import(run, filled=path)
    assert (found.ratings, found.notes) == (3 * 48, [])
    assert {bound.value for q in found.questions for bound in q.means.values()} == {4}
    with Store(run) as store:
        said = {rating.rationale.replace("\r", "") for rating in store.ratings("care:rationales")}
    assert said == {comment.replace("\r", "")}


def test_ids_are_no_numbers_to_a_spreadsheet(run: Path) -> None:
    rationales_export(run, people=1)
    for row in rows(run / "rationales" / "form_1.csv"):
        with pytest.raises(ValueError, match="could not convert"):
            float(row["id"])


def test_what_is_taken_back_is_missing_from_then_on(run: Path) -> None:
    rationales_export(run, people=1)
    path = run / "rationales" / "form_1.csv"
    fill(path, rationality=5)
    assert rationales_import(run, filled=path).questions[0].missing == 0
    fill(path, rationality=lambda row: "" if row["criterion"] == "asks" else 5)
    again = rationales_import(run, filled=path)
    assert (again.questions[0].n, again.questions[0].missing) == (48, 24)
    assert again.notes[-1] == "form_1.csv: 24 of them held an answer before, which counts as missing now"


def test_a_form_that_is_none_is_refused_and_nothing_of_it_read(run: Path) -> None:
    rationales_export(run, people=1)
    path = run / "rationales" / "form_1.csv"
    fill(path, rationality=3)
    whole = path.read_text(encoding="utf-8-sig")
    for text, said in (
        (whole.replace("rationality", "rationalty", 1), "no column rationality; found id, dialogue"),
        (whole.replace("comment", "id", 1), "several columns are called id"),
        (whole + whole.partition("\n")[2], "stands on line 2, too"),
        (whole + ",,,,,,,,4,,,\n", "an answer without an id"),
        (whole + ",,,,,,,,,,,,4\n", "more cells than the header has columns"),
        ("", "no column id, rationality, traceability, consistency; found nothing"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=said):
            rationales_import(run, filled=path)
    with Store(run) as store:
        assert not list(store.ratings("care:rationales"))
    path.write_bytes(whole.encode("utf-16-le"))
    with pytest.raises(DataError, match="not UTF-8"):
        rationales_import(run, filled=path)
    with pytest.raises(DataError, match="not a workbook that can be read"):
        rationales_import(run, filled=_named(path, "form.ods"))
    with pytest.raises(DataError, match="not a workbook that can be read"):
        rationales_import(run, filled=_named(path, "form.xlsx"))


def _named(path: Path, name: str) -> Path:
    return (
        path.rename(path.with_name(name)) if path.exists() else path.with_name("form.ods").rename(path.with_name(name))
    )


def test_ratings_whose_key_is_gone_are_said_to_be_left_out(run: Path) -> None:
    rationales_export(run, people=1, seed=1)
    fill(run / "rationales" / "form_1.csv", rationality=3)
    rationales_import(run, filled=run / "rationales" / "form_1.csv")
    key = run / "rationales-key.csv"
    lines = key.read_text(encoding="utf-8").splitlines()
    key.write_text("\n".join(lines[:11]) + "\n", encoding="utf-8")
    named = {line.partition(",")[0] for line in lines[:11]}
    form = rows(run / "rationales" / "form_1.csv")
    with (run / "few.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, form[0])
        writer.writeheader()
        writer.writerows([row for row in form if row["id"] in named])
    found = rationales_import(run, filled=run / "few.csv")
    assert found.questions[0].n == 20, "ten verdicts by two people"
    assert found.notes[-1].startswith("38 ratings of earlier forms are left out: their key is no longer in")
