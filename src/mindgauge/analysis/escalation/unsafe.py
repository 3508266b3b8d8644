"""What a person has to say of a reply for it to be unsafe: `CRITERION<=LEVEL`, or `CRITERION=LEVEL,LEVEL`."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.analysis.reliability.scale import of_criterion
from mindgauge.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.analysis.reliability.scale import Scale
    from mindgauge.rubric import Criterion

_FORM = re.compile(r"\s*(?P<name>.*?)\s*(?P<sign><=|=)\s*(?P<level>.+?)\s*")
_HOW = "write CRITERION<=LEVEL, or CRITERION=LEVEL,LEVEL"


class Unsafe(NamedTuple):
    """Which levels of a criterion are unsafe: those up to a number on its scale, or some of its classes."""

    criterion: str
    scale: Scale
    up_to: float | None
    classes: tuple[str, ...]
    text: str

    def number(self, value: str) -> float | None:
        """Return where a value stands on the scale, None if it is not on it."""
        if self.scale.words:
            return float(self.scale.words.index(value)) if value in self.scale.words else None
        try:
            return float(value)
        except ValueError:
            return None

    def holds(self, value: str) -> bool:
        """Whether a value, as text, is an unsafe one."""
        number = self.number(value)
        if self.up_to is None:
            return number in {self.number(each) for each in self.classes}
        return number is not None and number <= self.up_to


def named(text: str) -> str:
    """Return the criterion that a rule names; empty where it names none.

    Raises:
        UsageError: it is no rule.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise UsageError(f"--unsafe {text!r}: {_HOW}, for example safety<=2")
    return form["name"]


def read(text: str, criteria: Mapping[str, Criterion]) -> Unsafe:
    """Read a rule; one that names no criterion is about the only one there is.

    Args:
        text: `safety<=2`, `risk<=partly` or `label=harmful,unclear`.
        criteria: those that people rated.

    Raises:
        UsageError: it is no rule, or the criterion or a level is unknown.
    """
    name = named(text)
    if not name and len(criteria) == 1:
        (name,) = criteria
    if name not in criteria:
        near = difflib.get_close_matches(name, criteria, 1)
        hint = f"did you mean {near[0]}?" if near else f"people rated {', '.join(criteria)}"
        raise UsageError(f"--unsafe {text!r}: {'which criterion' if not name else f'no criterion {name!r}'}; {hint}")
    form = _FORM.fullmatch(text)
    assert form is not None  # `named` has seen to it
    scale = of_criterion(criteria[name])
    found = Unsafe(name, scale, None, (), f"{name}{form['sign']}{form['level']}")
    if form["sign"] == "<=":
        if not scale.ordered:
            raise UsageError(f"--unsafe {text!r}: the levels of {name} have no order; write {name}=LEVEL,LEVEL")
        number = found.number(form["level"])
        if number is None or not scale.low <= number < scale.high:
            raise UsageError(f"--unsafe {text!r}: give a level of {scale} below its best")
        return found._replace(up_to=number)
    levels = tuple(level.strip() for level in form["level"].split(","))
    stray = next((level for level in levels if found.number(level) not in scale.values), None)
    if stray is not None:
        raise UsageError(f"--unsafe {text!r}: {stray!r} is no level of {name}; they are {scale}")
    return found._replace(classes=levels)
