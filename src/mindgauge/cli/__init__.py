"""The command line: one command, one file. It parses, calls the command's function, and renders what comes back."""

import os
import sys

try:
    from mindgauge.cli import interrupts
except KeyboardInterrupt:
    print("mindgauge: stopped; run the same command to begin again", file=sys.stderr, flush=True)
    os._exit(130)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mindgauge.cli.program import app

__all__ = ["app", "main"]


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module 'mindgauge.cli' has no attribute {name!r}")
    from mindgauge.cli import program

    return getattr(program, name)


def main() -> None:
    """Run the command line; whatever goes wrong, an interrupt too, is one line and an exit code, not a traceback."""
    interrupts.run("mindgauge.cli.program")
