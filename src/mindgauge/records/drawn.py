"""How something came to people: drawn by lot, with a known probability, from a stratum of a frame."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.rounding import count

if TYPE_CHECKING:
    from collections.abc import Mapping

DRAWN = "drawn"
"""Where it stands in the provenance of a rating or a reply."""
COLUMNS = ("probability", "stratum", "stratum_size", "frame", "conversations", "draw")
"""Of a file whose rows were drawn, in this order; `weight`, one over the probability, may stand in its place."""
WEIGHT = "weight"
KNOWN = "drawn with known probabilities"
"""How a selection begins that is a draw; any other is no lot."""
IN_SIGHT = "opened in the reader, with judges' verdicts in sight"
"""The selection of what a person chose to read, and rated, where models' names and judges' verdicts stand beside it."""


class Drawn(msgspec.Struct, frozen=True, omit_defaults=True):
    """With which probability, from which stratum, in which draw. What is 0 is not known."""

    probability: float
    stratum: str = ""
    stratum_size: int = 0
    """Subjects of the stratum in the frame."""
    frame: int = 0
    """Subjects of the frame."""
    conversations: float = 0.0
    """Of the frame, in effect: Kish's number, where some hold more replies than others."""
    draw: str = ""
    """The draw's own name; ratings of two draws are not put together."""

    @property
    def selection(self) -> str:
        """Say why just this was rated, to whoever does not weigh it."""
        whole = f" from {count(self.frame)}" if self.frame else ""
        return f"{KNOWN}{whole}{f', draw {self.draw}' if self.draw else ''}"

    @property
    def provenance(self) -> dict[str, Any]:
        """Return what a rating keeps of it."""
        return {"selection": self.selection, DRAWN: msgspec.to_builtins(self)}

    @property
    def cells(self) -> tuple[float | int | str, ...]:
        """Return the cells of `COLUMNS`."""
        return tuple(getattr(self, name) for name in COLUMNS)


def of_row(row: Mapping[str, Any], place: str) -> Drawn | None:
    """Read a row's probability, or its weight, and what else stands there of its draw; None where neither does.

    Raises:
        DataError: a number is none, a probability lies outside of 0 to 1, or probability and weight contradict each other.
    """
    cells = {name: row[name] for name in (*COLUMNS, WEIGHT) if row.get(name) not in (None, "")}
    if "probability" not in cells and WEIGHT not in cells:
        return None
    numbers = {name: _number(cells[name], name, place) for name in cells if name not in ("stratum", "draw")}
    probability = numbers["probability"] if "probability" in numbers else 1 / (numbers[WEIGHT] or math.nan)
    if not 0 < probability <= 1:
        name = "probability" if "probability" in numbers else WEIGHT
        raise DataError(
            f"{place}: {name} {cells[name]!r}; a probability of being drawn is above 0 and at most 1, and a weight one over it"
        )
    if WEIGHT in numbers and not math.isclose(numbers[WEIGHT] * probability, 1, rel_tol=1e-3):
        raise DataError(
            f"{place}: weight {cells[WEIGHT]!r} is not one over the probability {cells['probability']!r}; leave one out"
        )
    return Drawn(
        probability, str(cells.get("stratum", "")), int(numbers.get("stratum_size", 0)), int(numbers.get("frame", 0)),
        numbers.get("conversations", 0.0), str(cells.get("draw", "")),
    )  # fmt: skip


def _number(cell: object, name: str, place: str) -> float:
    try:
        number = float(str(cell))
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise DataError(f"{place}: {name} must be a number, not {str(cell)!r}")
    return number
