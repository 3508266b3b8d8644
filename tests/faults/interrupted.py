"""Runs that are interrupted at random lines and gone on with: `python -m tests.faults.interrupted FOLDER TIMES`.

Each command is a process forked from this one, which ends without cleaning up what the interrupt left.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mindgauge
from tests.faults.campaign import Work, content, made
from tests.faults.server import Server

if TYPE_CHECKING:
    from types import FrameType

OURS = tuple(f"{Path(mindgauge.__file__).parent}/{room}/" for room in ("store", "runs", "commands", "raters"))
SMALL = Work(2)
LOADED = (
    "aiohttp",
    "mindgauge.analysis.score",
    "mindgauge.benchmarks.help_or_harm",
    "mindgauge.commands.run",
    "mindgauge.models.chat_endpoint",
    "polars",
)
"""What each of the processes would load anew."""


class AtLine:
    """Raises an interrupt at the n-th line of what makes a run, and counts lines."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def interrupt(server: Server, run: Path, number: int) -> int:
    """Make a run in a process of its own, interrupted at a line; return how many lines it had."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        tracer = AtLine(number)
        with contextlib.suppress(BaseException):  # SQLite makes another error of it
            sys.settrace(tracer)
            made(server, run, SMALL)
        sys.settrace(None)
        os.write(theirs, str(number - tracer.left).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(theirs)
    with os.fdopen(ours) as reader:
        return int(reader.read())


def main(folder: Path, times: int) -> None:
    """Interrupt runs up to three times each, finish them, and compare each with one to which nothing happened."""
    draw = random.Random(0)
    whole = 0
    for name in LOADED:
        importlib.import_module(name)
    with Server() as server:
        lines = interrupt(server, folder / "whole", 0)
        expected = content(folder / "whole")
        assert len(expected) > SMALL.questions
        for number in range(times):
            run = folder / str(number)
            places = [draw.randint(1, lines) for _ in range(draw.randint(1, 3))]
            for place in (*places, 0):
                interrupt(server, run, place)
            if content(run) == expected:
                whole += 1
            else:
                sys.stderr.write(f"{run}: {places}\n")
    sys.stdout.write(f"{whole} whole\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
