"""Commands that are printed to be copied into a shell."""

from __future__ import annotations

import shlex
from pathlib import PurePath


def command_line(*words: object) -> str:
    """Return a command of ours as a POSIX shell reads it: `mindgauge report 'my runs/today'`.

    Every message that names a file, a folder, a model or a rule in a command builds the command here, since names have
    blanks, quotes and brackets.

    Args:
        words: what follows `mindgauge`; a path that begins with a dash has `./` put before it, else it reads as an option.
    """
    typed = (f"./{word}" if isinstance(word, PurePath) and str(word).startswith("-") else str(word) for word in words)
    return shlex.join(["mindgauge", *typed])
