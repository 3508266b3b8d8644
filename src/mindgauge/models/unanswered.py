"""Why one attempt at a call brought no answer."""

from __future__ import annotations

import math
import random
from enum import Enum, auto

LONGEST_PAUSE = 60.0
"""Seconds; a server that asks for a longer pause is asked again after this long."""
_MOST_DOUBLINGS = 64
"""Of a pause; a busy server may refuse more often than a number has room for."""


class FailureKind(Enum):
    """What is the matter, which decides what to do next."""

    BROKEN = auto()
    """It could not be reached, did not answer in time or to the end, or what it sent is no answer."""
    BUSY = auto()
    """It is well, but has too much to do."""
    FATAL = auto()
    """It refuses us or has no such model, and will say the same to every call."""
    UNSUPPORTED_PARAMETER = auto()
    """It does not take a parameter, and will be asked without it from now on."""


class RetryableError(Exception):
    """This attempt failed in a way that another, or one at another server, may not."""

    def __init__(
        self, reason: str, fault: FailureKind = FailureKind.BROKEN, *, pause: float | None = None, lost: str = ""
    ) -> None:
        """Say why, in the server's words or ours.

        Args:
            reason: one line.
            fault: what is the matter.
            pause: the server's wish, in seconds.
            lost: what to say of a server that has never answered otherwise.
        """
        super().__init__(reason)
        self.fault = fault
        self.pause = pause
        self.lost = lost
        self.seconds = 0.0
        """How long the attempt took."""


def pause_after(problem: RetryableError, failures: int, pause: float) -> float:
    """Return how long to wait, in seconds, after so many failures: the server's wish and a random time.

    Full jitter: after failure k a time between 0 and `pause * 2**k` (Brooker, "Exponential Backoff And Jitter", 2015).
    """
    longest = min(LONGEST_PAUSE, math.ldexp(pause, min(failures, _MOST_DOUBLINGS)))
    return min(LONGEST_PAUSE, problem.pause or 0.0) + random.uniform(0, longest)
