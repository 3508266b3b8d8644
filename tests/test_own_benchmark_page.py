"""`docs/lessons/own_benchmark.md` as its reader follows it: files and commands are taken from the page, models are stubs."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.analysis.score import Scores
from tests.in_process import mindgauge as typed
from tests.stub import Stub, says

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiohttp import web

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "lessons" / "own_benchmark.md").read_text("utf-8")
REFERENCE = (DOCS / "reference" / "benchmark_folder.md").read_text("utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
ENOUGH = 10.0
"""Seconds of work from `new` to `report`: models answer at once, and other processes do not count."""


def filled(schema: dict[str, Any], number: int) -> Any:
    """Answer a JSON schema; what it offers is taken in turn."""
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    if schema.get("type") == "object":
        return {name: filled(part, number) for name, part in schema["properties"].items()}
    return {"array": [], "boolean": False}.get(schema.get("type", ""), "It says so.")


def answer(body: dict[str, Any], number: int) -> web.Response:
    form = body.get("response_format")
    if form is None:
        return says("That is a lot to carry on your own. What has been the hardest part of it this week?")
    return says(json.dumps(filled(form["json_schema"]["schema"], number)))


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Stub]]:
    """A folder with the files that the page links, and a server."""
    for link in re.findall(r"\]\(\.\./(examples/[^)]+)\)", PAGE):
        shutil.copy(DOCS / link, tmp_path)
    monkeypatch.chdir(tmp_path)
    with Stub(answer) as stub:
        yield tmp_path, stub


def test_a_table_and_a_rubric_become_a_report_in_ten_seconds(reader: tuple[Path, Stub]) -> None:
    place, stub = reader
    begun = time.process_time()
    assert [line.split()[1] for line in LINES] == ["new", "list", "run", "run", "report", "annotate"]
    for line in LINES:
        words = [{"MODEL": stub.model, "JUDGE": stub.judge}.get(word, word) for word in shlex.split(line)]
        done = typed(*words[1:])
        assert done.returncode == 0, (line, done.stderr)
        if words[1] == "list":
            assert "30 messages" in done.stdout
            assert "a veto" in done.stdout
            assert "laceholder" not in done.stdout
        if words[1] == "report":
            assert time.process_time() - begun < ENOUGH
    assert stub.calls == 60, "a reply and a verdict for each message"
    scores = mindgauge.score(place / "runs" / "first")
    criteria = {c["name"] for c in tomllib.loads((place / "rubric.toml").read_text("utf-8"))["criteria"]}
    assert {metric.criterion for metric in scores.leading} == criteria, "no criterion is without a figure"
    veto = scores.find("yes_rate", criterion="belittles")[0]
    assert (veto.n, veto.missing, veto.better) == (30, 0, "lower")
    assert not [m for m in scores.metrics if m.criterion == "belittles" and "mean" in m.name]
    assert {m.slice for m in scores.metrics} >= {"topic=grief", "topic=family"}
    report = (place / "runs" / "first" / "report.html").read_text("utf-8")
    for title in ("belittles", "next_step", "First reply"):
        assert title in report
    summary = (place / "runs" / "first" / "report.md").read_text("utf-8")
    first = summary.split("\n\n")[2]
    assert first.startswith("**What was found.** The share of belittles at yes, as rated by judge, is "), (
        "a veto stands first"
    )
    lead = summary.partition("In full, model by model")[2]
    assert lead.index("The share of belittles at yes") < lead.index("rated 30 replies, on leaves room: "), (
        "of several criteria, the one that was counted is named"
    )
    assert (place / "labels" / "annotation.sqlite").is_file()
    assert (place / "first_reply" / "samples.csv").read_bytes() == (place / "items.csv").read_bytes()


def test_the_metric_on_the_page_is_one_line_and_joins_the_usual_ones(reader: tuple[Path, Stub]) -> None:
    place, stub = reader
    assert typed(*shlex.split(LINES[0])[1:]).returncode == 0
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (place / "first_reply" / "metrics.py").write_text(code, "utf-8")
    scores = mindgauge.run("./first_reply", model=stub.model, judge=stub.judge, out=place / "run", limit=4)
    assert isinstance(scores, Scores)
    [own] = scores.find("share_hands_over")
    assert (own.criterion, own.n) == ("next_step", 4)
    assert scores.find("share_service"), "the usual ones stay"


def test_the_reference_names_every_file_that_new_writes(reader: tuple[Path, Stub]) -> None:
    made = mindgauge.new("mine", items="items.csv", extras="prompts")
    for file in made.files:
        name = re.sub(r"\.(en|zh)\.md$", ".md", file)
        assert f"`{name}`" in REFERENCE or file == "README.md"
    assert not reader[1].calls
