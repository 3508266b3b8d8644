"""What can go wrong, said in one line. The command line prints the line and exits with the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class MindgaugeError(Exception):
    """Something asked for could not be done; the message says what and what to do about it."""

    exit_code = 1


class UsageError(MindgaugeError):
    """The request itself is wrong: an unknown name, an unreadable file, a plan that does not fit."""

    exit_code = 2


class OwnCodeError(UsageError):
    """Python of the user's own raised something, or returned something else than it must."""


class RubricError(UsageError):
    """A rubric that cannot be used as an instrument."""


class DataError(UsageError):
    """A file or folder that does not hold what was expected of it."""


class FaultsError(DataError):
    """Everything that is wrong with what a user wrote, each in a line of its own."""

    def __init__(self, heading: str, lines: Iterable[str]) -> None:
        self.heading, self.lines = heading, tuple(lines)
        super().__init__(f"{heading}: {'; '.join(self.lines)}")


class HiddenContentWarning(UserWarning):
    """Sheets, rows or columns of a workbook are hidden, and so left out."""


class MissingDataError(DataError):
    """A released file that is not there; the message says how to get it."""


class UnclearRatingsError(DataError):
    """Ratings that are there, and that cannot be told apart or compared as they stand."""


class EndpointError(MindgaugeError):
    """A model cannot be reached, refuses our key, or does not speak the protocol."""


class WaitingError(MindgaugeError):
    """Requests were filed for a person or another program, and their answers have not come yet."""


class BudgetError(MindgaugeError):
    """The next call could cost more than the user allowed."""
