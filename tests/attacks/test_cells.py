"""No file that we write carries characters that a terminal, a spreadsheet or a parser obeys, whatever its names and texts are."""

from __future__ import annotations

import ast
import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import mindgauge
from mindgauge.commands.export import FORMATS, QUESTIONS
from mindgauge.models.scripted import Scripted
from mindgauge.records.files.texts import neutralised
from mindgauge.records.text import APART, shown, visible, xml
from tests.benchmarks.test_own_folder import HEAD, least, rating

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(mindgauge.__file__).parent
ODD = "\x1b[31m\x00\x07\x9b\x7f\x85\u061c\u202e\u2066\u200b\ufeff\u2028"
IN_NAMES = re.sub("[\x00\x85\u2028]", "", ODD)
"""Without null characters, and breaks of lines, which no criterion's name can have where a judge is to write it."""
OBEYED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
KEPT = "想哭 🙂 👩\u200d👧 naïve café"


def _name(word: str) -> str:
    return json.dumps(f"{word}{IN_NAMES}", ensure_ascii=True).replace("\\u007f", "\\u007F")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of export of a run, and what else is written of it, where all names and texts are hostile."""
    folder = tmp_path_factory.mktemp("cells")
    levels = ", ".join(f"{{ value = {json.dumps(level)}, text.en = {_name(level)} }}" for level in ("no", "yes"))
    rubric = f'{HEAD}[[criteria]]\nname = {_name("warm")}\nscale = "ordinal"\ntext.en = {_name("Warm?")}\nlevels = [{levels}]\nunsafe = ["no"]\n'
    rows = [
        {
            "id": f"s{n}{ODD}",
            "user": f"=I slept badly {n}{ODD}\nbefore the exam. {KEPT}",
            "tag.topic": f"exam{ODD}{n % 2}",
        }
        for n in range(4)
    ]
    card = f"title = {_name('Warm')}\nmeasures = {_name('Warmth')}\n"
    place = least(folder / "warmth", card__toml=card, rubric__toml=rubric, samples__csv="", samples__jsonl="".join(f"{json.dumps(row)}\n" for row in rows))  # fmt: skip
    odd = IN_NAMES
    run = folder / "run"

    def judged(request: Any) -> str:
        return str(rating("no")(request)).replace("I am here.", f"I am here {odd} {KEPT}.")

    mindgauge.run(str(place), model=Scripted(f"a{odd}", judged), judge=Scripted(f"j{odd}", judged), out=run, qualify=False)  # fmt: skip
    mindgauge.report([run], out=folder / "report.html")
    for to in {*FORMATS} - {QUESTIONS, "decisions"}:  # of decisions nobody made one here
        mindgauge.export(run, to=to, out=folder / to, licence="mit" if to == "hub" else None)
    mindgauge.export(str(place), to=QUESTIONS, out=folder / "questions.csv")
    mindgauge.gate_init(run, out=folder / "gate.toml")
    mindgauge.gate(run, policy=folder / "gate.toml", junit=folder / "gate.xml", markdown=folder / "gate.md")
    mindgauge.list(str(place), to="benchmarkcard", out=folder / "cards")
    mindgauge.annotate_new(folder / "work", items=run, annotators=["ana", "ben"], training=0)
    for to in ("csv", "label-studio", "potato"):
        mindgauge.annotate_export(folder / "work", to=to, out=folder / f"labels-{to}", everything=True)
    ratings = pl.DataFrame(
        {"subject": ["a", "b"], f"warm{odd}": [f"low{odd}", "high"], f"h{odd}": ["high", f"low{odd}"]}
    )
    ratings.write_csv(folder / "in.tsv", separator="\t")
    mindgauge.ratings(folder / "in.tsv", out=folder / "ratings.csv")
    return folder


def _texts(folder: Path, *endings: str) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in endings and path.is_file() and "warmth" not in path.parts:
            yield path, path.read_text("utf-8-sig")


def test_no_cell_of_a_csv_file_carries_hidden_characters(written: Path) -> None:
    files = dict(_texts(written, ".csv"))
    assert len(files) > 10
    for path, text in files.items():
        cells = {cell for row in csv.reader(text.splitlines(keepends=True)) for cell in row}
        assert not {cell for cell in cells if OBEYED.search(cell)}, path
        assert not {cell for cell in cells if cell.startswith("=")}, path
    assert any(KEPT in text for text in files.values())


def test_no_markdown_and_no_page_carries_hidden_characters(written: Path) -> None:
    assert len(list(_texts(written, ".md"))) >= 4
    for path, text in _texts(written, ".md", ".yaml", ".html"):
        found = OBEYED.search(text.replace(APART, ""))
        assert found is None, (path, text[max(0, found.start() - 80) : found.end() + 20])


def test_every_xml_file_and_picture_can_be_parsed(written: Path) -> None:
    files = dict(_texts(written, ".xml", ".svg"))
    assert {"gate.xml", "config.xml"} <= {path.name for path in files}
    for path, text in files.items():
        assert not OBEYED.search(
            "".join(part for one in ET.fromstring(text).iter() for part in (one.text or "", *one.attrib.values()))
        ), path


def test_a_cell_keeps_all_that_people_see() -> None:
    text = f"{KEPT}\tno\u00a0break 👍🏽 ⚠️ می\u200cخواهم"
    assert shown(text) == text
    assert neutralised(pl.DataFrame({text: [text, None]})).rows(named=True) == [{text: text}, {text: None}]


def test_a_formula_behind_a_hidden_character_is_none_and_headers_that_become_one_stay_two() -> None:
    rows = neutralised(pl.DataFrame({"a": ["\x1b=1+1"], "a\u200b": [None]}))
    assert rows.row(0) == ("'=1+1", None)
    assert rows.columns == ["a", "a (2)"]


def test_xml_holds_any_text() -> None:
    root = ET.Element("a", b=ODD + KEPT)
    root.text = f"{ODD}\ufffe\ud800{KEPT}"
    again = ET.fromstring(xml(root))
    assert again.attrib["b"] == visible(ODD + KEPT)
    assert again.text == f"{visible(ODD)}\ufffd{KEPT}"


def test_every_writer_of_csv_and_xml_goes_through_one_place() -> None:
    """`neutralised` is where a CSV file is written, by hand or by a folder of an export; `text.xml` writes XML."""
    writers = re.compile(r"(?:csv\.(?:writer|DictWriter)|\.write_csv|tostring)$")
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if (
                writers.search(name)
                and "neutralised(" not in ast.unparse(node)
                and not ast.unparse(node).startswith("tabular.")
            ):
                found.append(path.relative_to(SOURCE).as_posix())
    assert sorted(found) == ["records/text.py", "reports/content.py", "reports/export/folder.py"]
    assert "map(neutralised, frames)" in (SOURCE / "reports/export/folder.py").read_text("utf-8")
