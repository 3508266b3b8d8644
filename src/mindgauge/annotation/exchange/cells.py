"""What stands in a cell: a name, a point in time, a number of seconds."""

from __future__ import annotations

from datetime import UTC, datetime

from mindgauge.records.errors import DataError

_MILLISECONDS = 1e11
"""A point in time beyond this is in milliseconds: in seconds it were in the year 5138."""
_LONGEST = 60
"""Characters of a name in a message."""


def plain(cell: object) -> str:
    """Write a cell as text: a whole number without its point, nothing as an empty text."""
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def number(cell: object) -> float | None:
    """Read a number; None where it is none."""
    try:
        return float(plain(cell))
    except ValueError:
        return None


def moment(cell: object, place: str) -> float | None:
    """Read a point in time.

    Raises:
        DataError: it is none.
    """
    if cell is None or cell == "":
        return None
    try:
        if isinstance(cell, datetime):
            time = cell
        elif isinstance(cell, int | float) or str(cell).replace(".", "", 1).isdigit():
            since = float(str(cell))
            time = datetime.fromtimestamp(since / 1000 if since > _MILLISECONDS else since, UTC)
        else:
            time = datetime.fromisoformat(str(cell).strip())
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise DataError(
            f"{place}: {short(str(cell))} is not a date and time; write it like 2026-01-31T09:30:00Z"
        ) from error


def written(seconds: float) -> str:
    """Write a point in time as ISO 8601 has it, to the microsecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def length(seconds: object, place: str) -> float:
    """Read how long something took, in seconds.

    Raises:
        DataError: it is no such number.
    """
    value = number(seconds) if plain(seconds) else 0.0
    if value is None or not 0 <= value < float("inf"):
        raise DataError(f"{place}: {short(plain(seconds))} is no number of seconds")
    return value


def short(name: str) -> str:
    """Quote a name, or its beginning, in a message."""
    return repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")
