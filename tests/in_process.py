"""Commands as a user types them, without a process of their own: the same entry, arguments, streams and exit code."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

from mindgauge.cli import main

if TYPE_CHECKING:
    from pathlib import Path


class Done(NamedTuple):
    """What a command left: its exit code, and what it printed where."""

    returncode: int
    stdout: str
    stderr: str


def mindgauge(*arguments: object, folder: Path | None = None) -> Done:
    """Run a command in a folder."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.ExitStack() as changed:
        changed.enter_context(mock.patch.object(sys, "argv", ["mindgauge", *map(str, arguments)]))
        changed.enter_context(contextlib.redirect_stdout(out))
        changed.enter_context(contextlib.redirect_stderr(err))
        if folder is not None:
            changed.enter_context(contextlib.chdir(folder))
        code: object = None
        try:
            main()
        except SystemExit as end:
            code = end.code
    said = [stream.buffer.getvalue().decode() for stream in (out, err) if isinstance(stream.buffer, io.BytesIO)]
    return Done(code if isinstance(code, int) else 0 if code is None else 1, *said)
