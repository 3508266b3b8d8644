"""docs/reference is what the code says, holds for what commands really write, and keeps markup out."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest
from markdown_it import MarkdownIt

import mindgauge
from docs_build import reference, shapes, tables
from mindgauge.analysis.score import Scores
from mindgauge.commands import registry
from mindgauge.records.text import text
from mindgauge.reports.gate_files import record

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "a <script>alert(1)</script> | b `c|d` ](x) <img src=x onerror=y> &lt; **e** `"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return reference.files()


def test_it_is_as_the_code_says(made: dict[str, str]) -> None:
    kept = reference.kept()
    stale = sorted(name for name in made.keys() | kept.keys() if made.get(name) != kept.get(name))
    assert not stale, f"{', '.join(stale)}: python -m docs_build.reference writes docs/reference anew"


def test_every_command_check_and_metric_is_there(made: dict[str, str]) -> None:
    for words in registry.COMMANDS:
        assert f"## mindgauge {words}\n" in made["commands.md"]
    assert "#### mindgauge judges stress\n" in made["commands.md"]
    assert "`missed_crisis_rate`" in made["metrics.md"]
    assert "`repeats_as_units`" in made["audit.md"]


def test_no_page_of_it_holds_html(made: dict[str, str]) -> None:
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    for name, content in made.items():
        for token in parser.parse(content) if name.endswith(".md") else ():
            if token.type == "html_block":
                assert token.content.strip() == tables.MADE
            assert "html_inline" not in {child.type for child in token.children or ()}, name


def careline(message: str) -> str:
    return f"I hear you. {'What would help? ' * (len(message) % 3)}"


def attentive(message: str) -> dict[str, Any]:
    return {"quotes": [], "rationale": "It asks.", "appropriateness": 1 + len(message) % 5}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What score, gate and report write of a run."""
    folder = tmp_path_factory.mktemp("shapes")
    scores = mindgauge.run(
        "help_or_harm/response", model=careline, judge=attentive, limit=28, qualify=False, out=folder / "run"
    )
    assert isinstance(scores, Scores)
    policy = mindgauge.gate_init(folder / "run", out=folder / "gate.toml")
    return {
        "score": msgspec.json.encode(scores),
        "gate": msgspec.json.encode(record(mindgauge.gate(folder / "run", policy=policy))),
        "report": mindgauge.report([folder / "run"]).json.read_bytes(),
    }


@pytest.mark.parametrize("shape", shapes.SHAPES, ids=lambda shape: shape.name)
def test_what_is_written_is_of_the_shape(shape: shapes.Shape, written: dict[str, bytes]) -> None:
    content = json.loads(written[shape.name])
    schema = shapes.schema(shape)
    jsonschema.validate(content, schema)
    whole = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    assert set(content) <= set(whole["properties"]), "no field is missing from the page"
    spoiled = {**content, next(iter(whole["required"])): {"of": "another type"}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(spoiled, schema)


@pytest.mark.parametrize("write", [tables.prose, tables.code, text])
def test_hostile_text_stays_text_in_a_cell(write: Any) -> None:
    source = tables.table(("a", "b"), [(write(HOSTILE), "end")])
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(source)
    cells = [token for before, token in itertools.pairwise(tokens) if before.type == "td_open"]
    assert len(cells) == 2
    kinds = {child.type for cell in cells for child in cell.children or ()}
    assert kinds <= {"text", "text_special", "code_inline"}
    assert "<script>alert(1)</script>" in "".join(child.content for child in cells[0].children or ()).replace(
        "\u200b", ""
    )


def test_no_text_closes_its_fence(tmp_path: Path) -> None:
    content = "```\n````\n<script>"
    [token] = MarkdownIt("commonmark").parse(tables.fence(content))
    assert (token.type, token.content) == ("fence", content + "\n")
