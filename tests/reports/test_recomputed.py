"""Every sentence of the first page of four reports follows from the run's database, as a script of its own has it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mindgauge.commands.load import papers_load
from mindgauge.reports.page import ReportFiles, write
from tests.reports import suite_run
from tests.reports.conftest import JUDGES, plant_rated
from tests.reports.recomputed import Page


def faults(files: ReportFiles) -> list[str]:
    page = Page(files.path.parent, json.loads(files.json.read_text(encoding="utf-8")))
    assert list(page.texts())
    return page.faults()


def test_help_or_harm_from_the_released_files(help_or_harm_files: ReportFiles) -> None:
    assert faults(help_or_harm_files) == []


@pytest.mark.long
def test_mentalbench_from_the_released_files(tmp_path: Path) -> None:
    data = Path(os.environ.get("MINDGAUGE_DATA", "/nowhere")) / "mentalbench"
    if not data.is_dir():
        pytest.skip("MINDGAUGE_DATA names no folder with mentalbench")
    papers_load("mentalbench", data=data, out=tmp_path / "run")
    assert faults(write([tmp_path / "run"])) == []


@pytest.mark.long
def test_a_suite(tmp_path: Path) -> None:
    run = suite_run.run(tmp_path / "run", tasks=("knowledge", "severity", "emotional_support", "sycophancy_pas"))
    assert faults(write([run])) == []


def test_psycrisis(crisis_files: ReportFiles) -> None:
    assert faults(crisis_files) == []


def test_replies_that_people_read_in_part_by_a_judge_s_choice(selected_files: ReportFiles) -> None:
    assert faults(selected_files) == []


@pytest.mark.long
@pytest.mark.parametrize("selection", ["", "lowest by a judge"])
def test_replies_that_people_read_in_part(tmp_path: Path, selection: str) -> None:
    assert faults(write([plant_rated(tmp_path / "run", JUDGES, by_people=25, selection=selection)])) == []


def test_a_wrong_number_is_found(crisis_files: ReportFiles) -> None:
    content = json.loads(crisis_files.json.read_text(encoding="utf-8"))
    content["people"][0] = content["people"][0].replace("called 8 of them", "called 7 of them")
    content["answers"][0]["facts"].append("It is a fine model.")
    found = Page(crisis_files.path.parent, content).faults()
    assert len(found) == 2
    assert any("expected" in fault for fault in found)
    assert any("no rule for" in fault for fault in found)
