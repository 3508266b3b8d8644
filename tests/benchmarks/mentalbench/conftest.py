"""The authors' files where they are at hand, and small made-up ones of their schema with nothing of their text."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from mindgauge.benchmarks.mentalbench import released
from mindgauge.benchmarks.mentalbench.cells import ATTRIBUTES
from mindgauge.benchmarks.mentalbench.released import Conversations, empty_replies
from mindgauge.benchmarks.mentalbench.reproduce import Values

if TYPE_CHECKING:
    from mindgauge.benchmarks import Released

SYSTEMS = ("original", "claude", "ds_llama", "ds_qwen", "gemini", "gpt4o", "gpt4omini", "llama_3", "qwen_2", "qwen_3")
BLANK_BEFORE = {"claude", "ds_llama", "ds_qwen", "gpt4o", "gpt4omini", "llama_3"}
PEOPLE, CLAUDE, GPT = (
    "Human_Judge/Human_judge.xlsx",
    "LLMs_as_a_judge/claude_llm_judge.xlsx",
    "LLMs_as_a_judge/gpt-4o_llm_judge.xlsx",
)
ROWS = 12


def cell(*levels: Any, explanation: str = "", **more: Any) -> str:
    """Write a cell; fewer than seven levels repeat."""
    values = dict(zip(ATTRIBUTES, (levels * len(ATTRIBUTES))[: len(ATTRIBUTES)], strict=True)) | more
    return json.dumps(values | ({"Overall": 4.5, "Explanation": explanation} if explanation else {}))


def level(row: int, system: int, attribute: int, rater: int) -> int:
    """Return some level: better systems get higher ones, raters and attributes differ a little."""
    return 1 + min(4, (system + (row * 7 + attribute * 3 + rater * 5 + row * system) % 4) // 3)


def concern(row: int) -> str:
    return f"This is made-up concern number {row + 1}."


def noted(found: Released, part: str) -> list[str]:
    return [note for note in found.notes if part in note]


class Copy:
    """A small copy of the released files; tests damage a column and write the file again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.frames: dict[str, pl.DataFrame] = {}

    def write(self, name: str, frame: pl.DataFrame, sheet: str = "Sheet1") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".csv":
            frame.write_csv(path)
        else:
            frame.write_excel(path, worksheet=sheet)
        self.frames[name] = frame
        return path

    def set(self, name: str, column: str, row: int, value: object) -> None:
        """Put a text, or nothing, into a cell."""
        frame = self.frames[name]
        where = next(header for header in frame.columns if header.strip().endswith(column))
        values = frame[where].to_list()
        values[row] = value
        self.write(name, frame.with_columns(pl.Series(where, values, frame[where].dtype)))


def rated(rater: int, prefix: str, systems: tuple[str, ...] = SYSTEMS, rows: int = ROWS) -> pl.DataFrame:
    """Make a sheet: people (rater 0) with the blanks of their headers, judges with fences and explanations."""
    columns: dict[str, list[Any]] = {
        "ConvID": list(range(1, rows + 1)),
        "context": [concern(row) for row in range(rows)],
    }
    for s, system in enumerate(systems):
        header = " " * (rater == 0 and system in BLANK_BEFORE) + prefix + system
        cells = [
            cell(*(level(row, s, a, rater) for a in range(7)), explanation="So." * bool(rater)) for row in range(rows)
        ]
        columns[header] = [f"```json\n{text}\n```" for text in cells] if rater == 2 else cells
    return pl.DataFrame(columns)


@pytest.fixture
def small(tmp_path: Path) -> Copy:
    copy = Copy(tmp_path / "data")
    copy.write(PEOPLE, rated(0, "human_response_"))
    copy.write(CLAUDE, rated(1, "judge_response_"), "claude-3-7-sonnet-20250219_Fina")
    copy.write(GPT, rated(2, "judge_response_"), "gpt-4o_Final")
    return copy


def values(data: Path) -> dict[str, Values]:
    """Read every rater's values, by rater."""
    files = released.find(data)
    known = Conversations(files)
    found = known.rated(files)
    empty = empty_replies(files, known, found)
    return {one.sheet.rater: Values.of(one, empty) for one in found}


@pytest.fixture(scope="session")
def real() -> Path:
    """The authors' files; `MINDGAUGE_DATA` says where their folder is."""
    repository = Path(__file__).parents[3]
    folder = Path(os.environ.get("MINDGAUGE_DATA") or repository / "../shared/data") / "mentalbench"
    if not all((folder / name).is_file() for name in (PEOPLE, CLAUDE, GPT)):
        pytest.skip(f"the authors' files are not at hand ({folder}); set MINDGAUGE_DATA")
    return folder


@pytest.fixture(scope="session")
def real_values(real: Path) -> dict[str, Values]:
    return values(real)
