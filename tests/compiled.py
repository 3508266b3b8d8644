"""Libraries that stand before the system's, compiled from their source."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def library(source: Path, folder: Path) -> str:
    """Compile a C file for LD_PRELOAD, and return where it lies; skip the test where that cannot be done."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip(f"{source.name} needs Linux and a C compiler")
    path = folder / f"{source.stem}.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(path), str(source), "-ldl"], check=True)
    return str(path)
