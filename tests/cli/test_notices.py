"""What a command says before its work begins is not said again beside its result."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests import in_process
from tests.conftest import obliging
from tests.stub import Stub

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["help_or_harm/response", "help_or_harm/crisis_type", "trustmh"])
def test_a_note_stands_once_on_the_terminal(tmp_path: Path, name: str) -> None:
    table = tmp_path / "texts.csv"
    table.write_text("id,user\n1,I feel alone tonight\n1,\n2,I cannot sleep\n", encoding="utf-8")
    with Stub(obliging) as stub:
        done = in_process.mindgauge("run", name, "--data", table, "--model", stub.model, "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    lines = Counter(line for line in (done.stderr + done.stdout).splitlines() if line.lower().startswith("note: "))
    assert f"Note: {table}: 2 texts of your own" in lines
    assert set(lines.values()) == {1}
    scored = in_process.mindgauge("score", tmp_path / "r")
    assert name == "trustmh" or f"Note: {table}: 2 texts of your own" in scored.stdout, "alone, a score says it"
