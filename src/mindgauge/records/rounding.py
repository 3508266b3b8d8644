"""How numbers are written, everywhere: in the terminal, in reports, in Markdown, in messages.

One rule. A share is written in whole percents, any other number with two decimals. What is not 0 is never written as 0,
what is not all never as 100 %, and what is not a whole number never as one: a share gets the bound that it does not
reach (`<1 %`, `>99 %`), another number the decimals that it takes (0.004, 0.998). The two ends of an interval that has
a width are never written alike. Numbers that differ by less than `NOISE` differ by a computer's rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind: TypeAlias = Literal["share", "precise", "level", "points"]
"""A share in whole percents, or with one decimal; a mean, coefficient or difference; a difference of shares."""

NONE = "–"
"""What stands where there is no number."""
NO_INTERVAL = "no interval"
NOISE = 1e-12
_MOST = 12
"""Decimals at which `NOISE` begins."""
_DIGITS: dict[Kind, int] = {"share": 0, "precise": 1, "level": 2, "points": 1}
_UNIT: dict[Kind, str] = {"share": " %", "precise": " %", "level": "", "points": " points"}


def count(n: int) -> str:
    """Write a count, thousands apart."""
    return f"{n:,}"


def counts(numbers: Iterable[int]) -> str:
    """Write the least and the largest of some counts; one where they are alike."""
    ordered = sorted(numbers)
    return count(ordered[0]) if ordered[0] == ordered[-1] else f"{count(ordered[0])} to {count(ordered[-1])}"


def plural(n: int, singular: str, plural_form: str = "") -> str:
    """Write a count with its noun."""
    return f"{count(n)} {singular if n == 1 else plural_form or singular + 's'}"


def percent(share: float | None, digits: int = 0) -> str:
    """Write a share as a percent; of whole percents 0.004 is `<1 %`, 0.996 is `>99 %`.

    Args:
        share: 0 to 1, or None.
        digits: decimals of the percent.
    """
    return NONE if share is None else f"{_percents(share, digits)} %"


def precise(share: float | None) -> str:
    """Write a share as a percent with one decimal."""
    return percent(share, 1)


def decimal(value: float | None, digits: int = 2, *, signed: bool = False) -> str:
    """Write a mean, a coefficient or a difference, with a true minus sign.

    Args:
        value: the number, or None.
        digits: decimals; more where the number would look whole and is not.
        signed: whether a plus stands before what is above 0.
    """
    return NONE if value is None else _decimals(value, digits, signed=signed)


def points(difference: float | None, *, signed: bool = False) -> str:
    """Write a difference of two shares in percentage points with one decimal."""
    return write(difference, "points", signed=signed)


def write(value: float | None, kind: Kind = "level", *, signed: bool = False) -> str:
    """Write a number of some kind, with its unit."""
    return NONE if value is None else _number(value, kind, _DIGITS[kind], signed=signed) + _UNIT[kind]


def interval(low: float | None, high: float | None, kind: Kind = "level", *, signed: bool = False) -> str:
    """Write an interval, `0.31 to 0.42` or `<1 to 12 %`, with as many decimals as tell its ends apart."""
    if low is None or high is None:
        return NO_INTERVAL
    first, second = _ends(low, high, kind, signed=signed)
    return f"{first} to {second}{_UNIT[kind]}"


def ends(low: float, high: float, kind: Kind = "level", *, signed: bool = False) -> tuple[str, str]:
    """Write the ends of an interval apart, as two columns have them: `<1 %` and `12 %`."""
    first, second = _ends(low, high, kind, signed=signed)
    return first + _UNIT[kind], second + _UNIT[kind]


def bounded(
    value: float | None, low: float | None, high: float | None, kind: Kind = "level", *, signed: bool = False
) -> str:
    """Write an estimate with its interval, `0.36 [0.31, 0.42]`; without one, the estimate alone."""
    estimate = write(value, kind, signed=signed)
    if value is None or low is None or high is None:
        return estimate
    first, second = _ends(low, high, kind, signed=signed)
    return f"{estimate} [{first}, {second}]"


def p_value(p: float | None) -> str:
    """Write a p-value with three decimals: `<0.001` below them, since it is never 0, and `>0.999` above."""
    if p is None:
        return NONE
    if p < 0.001:
        return "<0.001"
    return ">0.999" if 0.9995 <= p < 1 - NOISE else f"{p:.3f}"


def p_equals(p: float) -> str:
    """Write a p-value in a sentence: `p = 0.012`, `p < 0.001`."""
    text = p_value(p)
    return f"p {text[0]} {text[1:]}" if text[0] in "<>" else f"p = {text}"


def dollars(cost: float | None) -> str:
    """Write an amount in US dollars with four decimals."""
    if cost is None:
        return NONE
    text = _least(cost, 4)
    return f"<${text[1:]}" if text.startswith("<") else f"${text}"


def spending(known: float | None, unpriced: int) -> str:
    """Write what calls cost in all, where the cost of some may not be known; empty where nothing of it is.

    Args:
        known: the dollars of all calls whose cost is known.
        unpriced: how many calls are of unknown cost.
    """
    if not unpriced:
        return dollars(known or 0.0)
    return f"{dollars(known)}, and {plural(unpriced, 'call')} of unknown cost" if known else ""


def seconds(time: float | None, digits: int = 0) -> str:
    """Write a time in seconds."""
    return NONE if time is None else f"{_least(time, digits)} s"


def duration(seconds: float) -> str:
    """Write a time on the clock in the two largest units that it has."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def megabytes(size: float, digits: int = 1) -> str:
    """Write a size in bytes as megabytes."""
    return f"{_least(size / 1e6, digits)} MB"


def _least(value: float, digits: int) -> str:
    """Write an amount; what is less than its last decimal shows, and not nothing, by that bound."""
    text = f"{value:,.{digits}f}"
    return f"<{10.0**-digits:.{digits}f}" if value > 0 and not float(text.replace(",", "")) else text


def _number(value: float, kind: Kind, digits: int, *, signed: bool = False) -> str:
    if kind in {"share", "precise"}:
        return _percents(value, digits)
    return _decimals(100 * value if kind == "points" else value, digits, signed=signed)


def _percents(share: float, digits: int) -> str:
    if share < 0:
        return _decimals(100 * share, digits)
    smallest = 10.0**-digits
    if share > NOISE and round(100 * share, digits) <= 0:
        return f"<{smallest:.{digits}f}"
    if share < 1 - NOISE and round(100 * share, digits) >= 100:
        return f">{100 - smallest:.{digits}f}"
    return _plain(100 * share, digits)


def _decimals(value: float, digits: int, *, signed: bool = False) -> str:
    if abs(value - round(value)) > NOISE * max(1.0, abs(value)):
        while digits < _MOST and float(f"{value:.{digits}f}").is_integer():
            digits += 1
    text = _plain(value, digits)
    return f"+{text}" if signed and value > NOISE else text


def _plain(value: float, digits: int) -> str:
    """Write a number with so many decimals, with a true minus sign, and none before nothing."""
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def _ends(low: float, high: float, kind: Kind, *, signed: bool) -> tuple[str, str]:
    """Write two ends, alike only where they are equal."""
    equal = high - low <= NOISE * max(1.0, abs(low))
    for digits in range(_DIGITS[kind], _MOST + 1):
        ends = _number(low, kind, digits, signed=signed), _number(high, kind, digits, signed=signed)
        if equal or ends[0] != ends[1]:
            break
    return ends
