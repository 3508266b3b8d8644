"""Limits that a system sets for a process: each is one line, or the command works."""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "item,ana,ben\n" + "".join(f"i{n},{n % 3 + 1},{n % 2 + 1}\n" for n in range(30))
PROGRAM = (sys.executable, "-m", "mindgauge")


@pytest.mark.parametrize(("mib", "code"), [(600, 1), (1_499, 1), (1_500, 0)])
def test_too_little_address_space_is_one_line(tmp_path: Path, mib: int, code: int) -> None:
    """With 600 MiB polars waited for ever, with 1,000 it ended the process."""
    (tmp_path / "r.csv").write_text(TABLE, encoding="utf-8")
    done = subprocess.run(
        [*PROGRAM, "reliability", "r.csv", "--rater", "columns", "--reference", "ana", "--reference", "ben"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20)),
    )
    assert done.returncode == code, done.stderr
    if code:
        assert done.stderr == (
            f"mindgauge: `ulimit -v` allows this command {mib:,} MiB, and it needs 1,500; raise the limit, then run the same "
            "command again\n"
        )
