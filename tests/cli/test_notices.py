"""What a command says before its work begins is not said again beside its result."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from mindgauge.cli import main
from tests import in_process
from tests.conftest import obliging
from tests.stub import Stub
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path


def notes(text: str) -> Counter[str]:
    return Counter(line for line in text.splitlines() if line.lower().startswith("note: "))


@pytest.mark.parametrize("name", ["help_or_harm/response", "help_or_harm/crisis_type", later("trustmh")])
def test_a_note_stands_once_on_the_terminal_and_in_a_result_that_goes_elsewhere(tmp_path: Path, name: str) -> None:
    table, seen = tmp_path / "texts.csv", tmp_path / "seen"
    table.write_text("id,user\n1,I feel alone tonight\n1,\n2,I cannot sleep\n", encoding="utf-8")
    with Stub(obliging) as stub:
        command = [
            "mindgauge",
            "run",
            name,
            "--data",
            str(table),
            "--model",
            stub.model,
            "--out",
            str(tmp_path / "r"),
            "--full",
        ]
        with seen.open("a", encoding="utf-8") as out, seen.open("a", encoding="utf-8") as error:
            terminal = mock.patch.multiple(sys, argv=command, stdout=out, stderr=error)
            with terminal, pytest.raises(SystemExit, match="0"):
                main()
        apart = in_process.mindgauge(*command[1:])
    read = notes(seen.read_text(encoding="utf-8"))
    assert f"Note: {table}: 2 texts of your own" in read
    assert set(read.values()) == {1}
    assert apart.returncode == 0
    for text in (apart.stdout, apart.stderr):
        assert f"Note: {table}: 2 texts of your own" in notes(text)
