"""The ledger of sizes: each figure has a budget, which may fall. Who lets one rise says why in the same commit, next to it.

`python -m tests.test_size` prints every figure beside its budget.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import mindgauge
from docs_build import reference
from mindgauge.cli.program import counted

SOURCE = Path(mindgauge.__file__).parent
ROOT = Path(__file__).parent.parent
BUDGETS = {
    "lines of src/mindgauge": 132_900,  # the aim was 131,000: folds of exchange, Inspect, stress, clients and training stay above theirs
    "lines of analysis": 27_250,
    "lines of annotation": 7_550,
    "lines of benchmarks": 20_550,
    "lines of cli": 4_050,
    "lines of commands": 10_000,
    "lines of models": 7_000,
    "lines of raters": 4_850,
    "lines of records": 12_900,
    "lines of reports": 20_450,
    "lines of runs": 6_600,
    "lines of stats": 9_150,
    "lines of store": 2_700,
    "files": 571,
    "classes that carry values": 783,
    "commands": 36,
    "options": 421,
    "options that `run --help` shows": 13,
    "words of documents": 53_900,
    "lines of README.md": 110,
    "words of SECURITY.md": 1_200,
    "words of CHANGELOG.md": 1_200,
    "words of the longest page": 1_300,
}
"""Figure → what it may be at most."""
SLACK = 0.02
"""How far a budget may be above its figure: it follows when a figure falls."""
CARRIERS = {"NamedTuple", "Struct", "TypedDict", "dataclass", "Tabular"}
"""Bases and decorators of classes that carry values."""


@cache
def figures() -> dict[str, int]:
    """Return every figure of the ledger as it is now."""
    code = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    rooms: Counter[str] = Counter()
    for path, text in code.items():
        room, *inside = path.relative_to(SOURCE).parts
        rooms[room if inside else ""] += text.count("\n")
    words = {path: len(path.read_text(encoding="utf-8").split()) for path in documents()}
    commands, options, shown = counted()
    return {
        "lines of src/mindgauge": rooms.total(),
        **{f"lines of {room}": lines for room, lines in sorted(rooms.items()) if room},
        "files": len(code),
        "classes that carry values": sum(map(carriers, code.values())),
        "commands": commands,
        "options": options,
        "options that `run --help` shows": shown,
        "words of documents": sum(words.values()),
        "lines of README.md": (ROOT / "README.md").read_text(encoding="utf-8").count("\n"),
        "words of SECURITY.md": words[ROOT / "SECURITY.md"],
        "words of CHANGELOG.md": words[ROOT / "CHANGELOG.md"],
        "words of the longest page": max(count for path, count in words.items() if path.parent != ROOT),
    }


def documents() -> list[Path]:
    """Return the pages that people write: all but the generated reference."""
    generated = {reference.FOLDER / name for name in reference.files()}
    return [path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if path not in generated]


def carriers(code: str) -> int:
    """Return how many classes of a file carry values."""
    classes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ClassDef)]
    return sum(bool(CARRIERS & {_name(base) for base in (*node.bases, *node.decorator_list)}) for node in classes)


def _name(base: ast.expr) -> str:
    base = base.func if isinstance(base, ast.Call) else base
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


@pytest.mark.parametrize("figure", BUDGETS)
def test_no_figure_is_above_its_budget_and_no_budget_far_above_its_figure(figure: str) -> None:
    now, budget = figures()[figure], BUDGETS[figure]
    assert now <= budget, f"{figure}: {now:,}, and the budget is {budget:,}; make less, or say here why it rises"
    assert budget - now <= max(2, SLACK * now), f"{figure}: {now:,}; lower its budget from {budget:,}"


def test_every_figure_has_a_budget() -> None:
    assert set(figures()) == set(BUDGETS)


if __name__ == "__main__":
    for figure, now in figures().items():
        print(f"{now:>9,} {BUDGETS[figure]:>9,}  {figure}")  # noqa: T201 - what it is for
