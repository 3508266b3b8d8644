"""A folder to work in, and a way to put files there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("MINDGAUGE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[[str, str], None]:
    def written(name: str, text: str) -> None:
        (folder / name).write_text(text, encoding="utf-8")

    return written
