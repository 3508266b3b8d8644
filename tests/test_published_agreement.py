"""The worked example of docs/tasks/ratings.md, on the released files."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("MINDGAUGE_DATA", ROOT.parent / "shared" / "data")) / "empathy"


def example() -> Any:
    place = ROOT / "docs/examples/published_agreement/recompute.py"
    spec = importlib.util.spec_from_file_location("recompute", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the released ratings of empathy in {DATA}")
def test_every_published_cell_is_what_the_page_says() -> None:
    recompute = example()
    cells = recompute.cells(DATA)
    assert all(recompute.same(cell.occurring, cell) for cell in cells)
    pairs = [cell for cell in cells if cell.first in recompute.EXPERTS]
    groups = [cell for cell in cells if cell.first not in recompute.EXPERTS]
    assert (len(pairs), len(groups)) == (63, 21)
    (other,) = [cell for cell in pairs if not recompute.same(cell.declared, cell)]
    assert (other.criterion, other.published, round(other.declared, 2)) == ("self_oriented", 0.82, 0.79)
    assert sum(not recompute.same(cell.declared, cell) for cell in groups) == 16
    assert max(groups, key=lambda cell: abs(cell.declared - cell.published)).criterion == "m_practical"
