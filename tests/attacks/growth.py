"""How the work grows with what it is given: twice the text may take three times as long, and no more."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from tests.attacks.texts import long_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIRST, LAST = 4 * 1024, 512 * 1024
"""Sizes of the first text that is tried and of the last one."""
SOON, ENOUGH = 0.0008, 0.04
"""Seconds that need no second look at the first size, and seconds that can be compared."""
MOST = 3.0
OVERDUE = 20.0
"""Seconds of the processor that no work takes."""


class OverdueError(Exception):
    """Work took longer than any that is compared."""


@contextmanager
def bounded() -> Iterator[None]:
    """End what takes the processor too long, a regular expression, too."""

    def end(*_: object) -> None:
        raise OverdueError

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, OVERDUE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Return the processor's time, the median of some: a busy machine adds to it, and some clocks leave out a part."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        with bounded():
            work()
        taken.append(time.process_time() - began)
    return sorted(taken)[times // 2]


def superlinear(
    read: Callable[[str], object], before: str, atom: str, after: str, first: int = FIRST, soon: float = SOON
) -> str:
    """Say that a text of twice the length takes over three times as long; empty where it does not."""
    told = grows(lambda size: partial(read, long_text(atom, before, after, size)), first, soon, max(soon, ENOUGH))
    return told and f"{before!r} {atom[:40]!r} {after!r}: {told}"


def grows(
    made: Callable[[int], Callable[[], object]],
    first: int = FIRST,
    soon: float = SOON,
    enough: float = ENOUGH,
    last: int = LAST,
) -> str:
    """Say that work of twice the size takes over three times as long; empty where it does not.

    Args:
        made: makes work of a size.
        first: the smallest size, doubled until the work takes long `enough` to be compared.
        soon: seconds of the smallest that nothing has to be compared to.
        enough: seconds that can be compared.
        last: the largest size.
    """
    try:
        return _compared(made, first, soon, enough, last)
    except OverdueError:
        return f"over {OVERDUE:.0f} s"


def _compared(made: Callable[[int], Callable[[], object]], first: int, soon: float, enough: float, last: int) -> str:
    for size in (first // 4, first):  # what is slow in any text need not be tried on a long one
        work = made(size)
        took = seconds(work)
        if took >= soon and (took := seconds(work, 3)) >= soon:
            if took < MOST * seconds(made(size // 2), 3):
                return ""
            break
    else:
        return ""
    while took < enough and size < last:
        size *= 2
        took = seconds(made(size))
    half, whole = made(size // 2 or 1), made(size)
    for _ in range(3):  # a machine that is busy slows one text and not the other, but not three times
        small, large = seconds(half, 3), seconds(whole, 3)
        if large < max(MOST * small, soon):
            return ""
    return f"{small:.4f} s for {size // 2:,}, {large:.4f} s for {size:,}"
