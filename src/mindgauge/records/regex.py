"""Regular expressions that are compiled when they are first used: together they would take a fifth of a short command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr, cast

if TYPE_CHECKING:
    from re import Pattern


def regex(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """Return what `re.compile` would, for a pattern that short commands load and seldom use."""
    return cast("Pattern[AnyStr]", _Uncompiled(pattern, flags))


class _Uncompiled:
    """Stands for a pattern: what is asked of it, the pattern answers."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the pattern, and keep it, since it is the next time asked for, too."""
        answer = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, answer)
        return answer
