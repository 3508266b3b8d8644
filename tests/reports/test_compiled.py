"""Compiled templates are kept as Python keeps its own, and a page never depends on whether they are."""

import sys
from pathlib import Path

import pytest

from mindgauge.reports import render


def compiled(folder: Path) -> int:
    return len([*folder.glob("__pycache__/*.jinja")])


@pytest.mark.parametrize("kept", [True, False])
def test_a_template_is_compiled_once_where_python_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    monkeypatch.setattr(render, "TEMPLATES", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", not kept)
    file = tmp_path / "one.j2"
    for text in ("first {{ 1 + 1 }}", "second {{ 1 + 2 }}"):
        file.write_text(text)
        for _ in range(2):
            environment = render.environment.__wrapped__()
            assert environment.get_template("one.j2").render() == text[: text.index("{")] + str(
                3 if "2" in text[-6:] else 2
            )
    assert compiled(tmp_path) == int(kept)


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "TEMPLATES", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "one.j2").write_text("read")
    (tmp_path / "__pycache__").write_text("a file in its place")
    assert render.environment.__wrapped__().get_template("one.j2").render() == "read"
