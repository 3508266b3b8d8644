"""A tiny encoder, made once, and files of labelled dialogues."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.raters.classifiers import encoders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Keep torch to one thread: a model so small gains nothing by more, and tests run side by side."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an encoder with random weights."""
    return encoders.write(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as JSONL."""

    def file(rows: list[dict[str, Any]], name: str = "dialogues.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    return file
