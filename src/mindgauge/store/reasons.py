"""Why calls failed, told apart by what went wrong and not by the call that it went wrong in.

Servers put the id of a request, a time or a count into what they say, and an answer that cannot be read is quoted. Two
failures have one reason if they differ in nothing else. The status that a message begins with stays: 429 is not 500.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_STATUS = re.compile(r"\A\d{3}: ")
_ANSWER = re.compile(r"(?<=: )[{\[<].*", re.DOTALL)
"""What quotes an answer: it ends a message."""
_IDENT = re.compile(r"[\w-]*\d(?:[\w-]|[,.]\d)*|[\w-]{24,}")
"""A number, a word with a digit in it, or one so long that it is none."""


class CallFailures(NamedTuple):
    """Calls to one model that failed for one reason."""

    model: str
    example: str
    """What was said most often."""
    calls: int
    variants: int
    """In how many ways it was said: more than one where ids, numbers or quoted answers differ."""

    @property
    def words(self) -> str:
        """The same in words: `bot (12 times, worded alike): 500: request 7 was lost`."""
        times = f"{self.calls:,} {'time' if self.calls == 1 else 'times'}"
        return f"{self.model} ({times}{', worded alike' if self.variants > 1 else ''}): {self.example}"


def reason(error: str) -> str:
    """Return what went wrong, without what is of one call alone: ids, numbers, and the answer that is quoted."""
    status = _STATUS.match(error)
    start = status[0] if status else ""
    return start + _IDENT.sub("#", _ANSWER.sub("#", error[len(start) :]))


def grouped(rows: Iterable[tuple[str, str, int]]) -> list[CallFailures]:
    """Put failures together by model and reason, the most frequent first.

    Args:
        rows: model, what was said, and in how many calls.
    """
    groups: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for model, error, calls in rows:
        groups[model, reason(error)][error] += calls
    failures = [
        CallFailures(model, min(messages, key=lambda error: (-messages[error], error)), messages.total(), len(messages))
        for (model, _), messages in groups.items()
    ]
    return sorted(failures, key=lambda group: (-group.calls, group.model, group.example))
