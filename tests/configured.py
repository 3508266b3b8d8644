"""What a command is told by `[run]` of a configuration, where it is no option."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def configured(folder: Path, **values: object) -> list[str]:
    """Write a configuration beside a folder, and return the option that names it."""
    path = folder.with_name(f"{folder.name}-run.toml")
    path.write_text("[run]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()), "utf-8")
    return ["--config", str(path)]
