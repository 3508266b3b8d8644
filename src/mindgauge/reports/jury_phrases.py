"""What is said of several judges together: like how many independent ones they err, and what their mean gains.

These are two sentences, since neither follows from the other: judges that know nothing err independently.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mindgauge.english import named, words
from mindgauge.rounding import count, decimal, interval, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.panel.card import Panel

_NOTHING = 1e-9
"""A gain that is rounding."""


def finding(panels: dict[str, Panel]) -> str:
    """Say in one line what the judges are together on the criteria of a benchmark."""
    members = sorted({len(p.members) for p in panels.values()})
    many = f"{count(members[-1])} judges" if len(members) == 1 else f"Up to {count(members[-1])} judges"
    known = {name: panel for name, panel in panels.items() if panel.errors.skill.value is not None}
    follow = {n: p.independent.value for n, p in known.items() if p.errors.follows and p.independent.value is not None}
    if known and not any(panel.errors.follows for panel in known.values()):
        return f"{many} together do not surely follow people"
    if not follow:
        return f"{many} together, beside people"
    only = f" on {named([words(name) for name in follow])}" if len(follow) < len(known) else ""
    low, high = min(follow, key=follow.__getitem__), max(follow, key=follow.__getitem__)
    least = "at least " if not all(panels[name].errors.floored for name in follow) else ""
    if decimal(follow[low]) == decimal(follow[high]):
        return f"{many} err like {least}{decimal(follow[low])} independent ones{only}"
    return f"{many} err like {least}{decimal(follow[low])} ({words(low)}) to {decimal(follow[high])} ({words(high)}) independent ones{only}"


def together(panel: Panel) -> Iterator[str]:
    """Say like how many independent judges the members err, and how near to people their mean is, in two sentences.

    Where they do not surely follow people, only that is said: independent noise is no second opinion.
    """
    who, errors = named(panel.members, most=9), panel.errors
    if errors.skill.value is None:
        why = errors.skill.note or panel.independent.note
        yield f"How near {who} together come to people is not known ({why})."
        return
    if not errors.follows:
        yield (
            f"{who} together do not surely follow people: put on people's scale, their mean misses people's value by {_root(errors.jury)} "
            f"(root mean square), saying the same each time misses it by {_root(errors.constant)}. That several of them agree says nothing."
        )
        return
    yield _independence(panel, who)
    yield _error(panel)


def _independence(panel: Panel, who: str) -> str:
    worth = panel.independent
    if worth.value is None:
        return f"Like how many independent judges {who} err is not known ({worth.note})."
    if not panel.errors.floored:
        least = f" (lower bound {decimal(worth.low)})" if worth.low is not None else ""
        return (
            f"Given people's value, {who} err like {decimal(worth.value)} independent judges or more{least}: no reply was rated by two "
            "people, so people's own error, which all judges seem to share, stays in it."
        )
    ends = f" ({interval(worth.low, worth.high)})" if worth.low is not None else ""
    return (
        f"Given people's value, {who} err like {decimal(worth.value)} independent judges{ends}: the more alike they err, the less it says "
        "that several agree."
    )


def _error(panel: Panel) -> str:
    errors = panel.errors
    said = (
        f"Put on people's scale, their mean misses people's value by {_root(errors.jury)} (root mean square), one of them by "
        f"{_root(errors.average)} on average, the one that is best on other conversations by {_root(errors.best)}, and saying the same each "
        f"time by {_root(errors.constant)}"
    )
    gain = errors.gain
    if gain.value is None:
        return f"{said}."
    ends = f" ({percent(gain.low)} to {percent(gain.high)})".replace("-", "−") if gain.low is not None else ""
    less = "smaller" if gain.value >= 0 else "larger"
    if abs(gain.value) < _NOTHING:
        return f"{said}; the mean is no nearer than the best one."
    shown = percent(abs(gain.value))
    if gain.low is not None and gain.high is not None and gain.low <= 0 <= gain.high:
        return f"{said}; that its squared error is {shown} {less} than that of the best one may be chance{ends}."
    return f"{said}; its squared error is {shown} {less} than that of the best one{ends}."


def _root(square: float | None) -> str:
    return "–" if square is None else decimal(math.sqrt(max(square, 0.0)))
