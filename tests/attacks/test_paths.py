"""Names of files and folders that hold bytes which are no text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.in_process import mindgauge

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("words", [["report"], ["score", "--json"], ["audit"], ["annotate", "status"]])
def test_a_name_that_is_no_text_is_one_line(tmp_path: Path, words: list[str]) -> None:
    done = mindgauge(*words, os.fsdecode(b"caf\xff"), folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "no UTF-8 text" in done.stderr


def test_a_table_whose_name_is_no_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xff.csv")).write_text(
        "id,label,text\n1,a,Hello there.\n2,b,Good night.\n", encoding="utf-8"
    )
    done = mindgauge("audit", tmp_path, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
