"""Disks that can be filled and locked."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.annotation.conftest import database_url, postgres_url  # fixtures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["database_url", "postgres_url"]


class Disk:
    """A file system of its own, in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def mount(self, options: str) -> None:
        path = str(self.path)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"file systems cannot be mounted here ({done.stderr.strip()})")

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)

    def change(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.path)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    found = Disk(tmp_path / "disk")
    found.path.mkdir()
    found.mount("size=64m")
    try:
        yield found
    finally:
        found.unmount()
