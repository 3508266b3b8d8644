"""Why one attempt at a call brought no answer."""

from __future__ import annotations

from enum import Enum, auto


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
