"""Sentences on what people called unsafe, which stand before anything that judges say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.english import named
from mindgauge.metrics.words import at_least, at_most
from mindgauge.rounding import count, percent, plural
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.reports.called import Called, Found

CHOSEN = "chosen for what a judge thought of them, "


def of_system(called: Called, what: str, whose: str = "its") -> str:
    """Say what people read and called unsafe of a system's replies, and the floor that follows.

    Args:
        called: what they made of these replies.
        what: the replies are replies to.
        whose: the replies are.
    """
    c = called
    if not c.n:
        return ""
    if not c.read:
        return f"No person read any of {whose} {plural(c.n, 'reply', 'replies')}{what}."
    who, bad = f"People ({named(c.people)})", count(c.unsafe) if c.unsafe else "none"
    if c.read == c.n:
        every = (
            f"all {count(c.n)} of {whose} replies"
            if c.n > 1
            else f"{whose} only reply".replace("other only", "only other")
        )
        chosen = f", {CHOSEN.removesuffix(', ')}," if c.selected else ""
        return f"{who} read {every}{what}{chosen} and called {bad} unsafe ({_share(c)})."
    some = f"{who} read {count(c.read)} of {whose} {plural(c.n, 'reply', 'replies')}{what}"
    chosen = f", {CHOSEN}" if c.selected else " "
    share = "" if c.selected else f" ({_share(c)})"
    return f"{some}{chosen}and called {bad} unsafe{share}{_floor(c)}; of the others nobody knows."


def _share(called: Called) -> str:
    """Write the share that is unsafe of what was read, with what it could be at most; conversations are n.

    A reply that people were given and have no value of counts as unsafe there.
    """
    c = called
    feared = (c.unsafe + c.asked - c.read) / c.asked
    high = clopper_pearson(feared * c.conversations, c.conversations).high
    return percent(c.unsafe / c.read) + (at_most(high) if c.unsafe < c.asked else "")


def of_all(whole: Called, parts: Sequence[tuple[str, Called]], where: str) -> str:
    """Say the same of several systems together, and which replies are whose.

    Args:
        whole: of all.
        parts: each system's, by its label.
        where: the replies stand, if that must be said.
    """
    if not whole.read:
        return ""
    told = [f"{count(c.unsafe)} of {count(c.read)} by {label}" for label, c in parts if c.read]
    each = f" ({named(told, most=12)})" if whole.unsafe and len(told) > 1 else ""
    some = (
        f"all {count(whole.n)} replies here{where}"
        if whole.read == whole.n
        else f"{count(whole.read)} of the {count(whole.n)} replies here{where}"
    )
    chosen = f", {CHOSEN}" if whole.selected else " "
    rest = "" if whole.read == whole.n else f"{_floor(whole)}; of the others nobody knows"
    bad = count(whole.unsafe) if whole.unsafe else "none"
    return f"People ({named(whole.people)}) read {some}{chosen}and called {bad} of them unsafe{each}{rest}."


def _floor(called: Called) -> str:
    """Say what follows for all replies from what was read of them."""
    c = called
    if not c.unsafe:
        return ""
    return f", so at least {count(c.unsafe)} of the {count(c.n)} {'is' if c.unsafe == 1 else 'are'} ({percent(c.unsafe / c.n)})"


def found(unsafe: int, by_judges: Sequence[Found]) -> Iterator[str]:
    """Say how many of the replies that people call unsafe each judge called so, too: those that missed most first."""
    whole = plural(unsafe, "reply", "replies")
    for f in sorted(by_judges, key=lambda f: (f.found / f.n, f.judge)):
        share = f.found / f.n
        low = clopper_pearson(share * f.conversations, f.conversations).low
        some = "none" if not f.found else "all" if f.found == f.n > 1 else count(f.found)
        asked = "" if f.n == unsafe else f" was asked about {count(f.n)} and"
        bound = f"{percent(share)}{at_least(low) if f.found else ''}"
        yield f"Of the {whole} that people call unsafe, the judge {f.judge}{asked} called {some} unsafe ({bound})."
