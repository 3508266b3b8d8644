"""Commands that are printed to be copied: a shell reads each as it was meant, whatever names have in them."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mindgauge.records.shell import command_line
from tests.in_process import mindgauge
from tests.reports import suite_run

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(__file__).parents[2] / "src" / "mindgauge"
OPEN = re.compile(r"mindgauge [a-z][^`”();\n]*$")
"""The text before a value, where it is a command of ours that goes on."""
NAMES = ("my runs/today (2)", "it's", "a&b; c", "$HOME", "-dash", "judge one.csv", "criterion<=2", "运行 一", "plain")
TABLE = "item,ana,ben,judge one\n" + "".join(f"i{n},{n % 3 + 1},{n % 2 + 1},{n % 3 + 1}\n" for n in range(40))


def test_a_shell_reads_every_word_as_it_was_given() -> None:
    assert shlex.split(command_line("report", *NAMES)) == ["mindgauge", "report", *NAMES]
    assert shlex.split(command_line("report", Path("-dash")))[2] == "./-dash"


def _spliced(path: Path) -> Iterator[str]:
    """Return the places of a module where a value is put into a command as it is."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            for before, after in zip(node.values, node.values[1:], strict=False):
                text = str(before.value) if isinstance(before, ast.Constant) else ""
                if isinstance(after, ast.FormattedValue) and OPEN.search(text):
                    yield f"{path.relative_to(SOURCES)}:{node.lineno}: {text!r}"


def test_no_message_puts_a_name_into_a_command_unquoted() -> None:
    spliced = [place for path in sorted(SOURCES.rglob("*.py")) for place in _spliced(path)]
    assert not spliced, "build the command with `command_line`"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "my work (1)"
    place.mkdir()
    (place / "clinicians' ratings.csv").write_text(TABLE, encoding="utf-8")
    suite_run.run(place / "first run", ("knowledge", "emotional_support"), 6)
    return place


@pytest.mark.parametrize(
    "typed",
    [
        ["score", "first run"],
        ["status", "first run"],
        ["compare", "first run"],
        [
            "annotate",
            "new",
            "the labels",
            "--items",
            "first run",
            "--benchmark",
            "trustmh/emotional_support",
            "--annotators",
            "ana,ben",
        ],
        ["gate", "init", "first run", "--out", "our gate.toml"],
        ["reliability", "clinicians' ratings.csv", "--rater", "columns", "--reference", "ana", "--reference", "ben"],
    ],
    ids=lambda words: words[0],
)
def test_what_is_printed_to_be_typed_next_names_what_is_there(folder: Path, typed: list[str]) -> None:
    done = mindgauge(*typed, folder=folder)
    assert done.returncode in {0, 1, 3}, done.stderr
    lines = re.findall(r"^(?:Next: |Go on: )?(mindgauge [a-z].*)$", done.stdout, re.MULTILINE)
    assert lines, done.stdout
    for line in lines:
        words = shlex.split(line)
        named = [word for word in words if " " in word and "<" not in word]
        assert named, line
        assert all((folder / word).exists() for word in named), line
