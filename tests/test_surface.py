"""The package's surface is what it says it is, and importing it costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mindgauge


def test_all_is_sorted_and_importable() -> None:
    assert sorted(mindgauge.__all__) == [*mindgauge.__all__]
    assert all(getattr(mindgauge, name) is not None for name in mindgauge.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mindgauge.nothing  # noqa: B018 - the access is the test


def test_help_needs_no_heavy_import() -> None:
    code = "import sys; sys.argv = ['mindgauge', '--help']\nfrom mindgauge.cli import main\ntry: main()\nexcept SystemExit: pass\nprint([m for m in ('polars.dataframe', 'numpy._core', 'scipy.special._ufuncs', 'aiohttp', 'rich', 'jinja2') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip().endswith("[]")
    assert "run" in said
