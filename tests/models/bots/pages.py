"""The files that stand on a page of the docs: fenced blocks whose first line, a comment, names one."""

from __future__ import annotations

import re
from pathlib import Path

OWN_BOTS = Path(__file__).parents[3] / "docs" / "tasks" / "own_bots.md"
_BLOCK = re.compile(r"```(?:toml|python|js)\n(?:#|//) (\S+)\n(.*?)```", re.DOTALL)


def files(page: Path = OWN_BOTS) -> dict[str, str]:
    """Return the files of a page, by name."""
    return dict(_BLOCK.findall(page.read_text(encoding="utf-8")))
