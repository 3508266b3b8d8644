"""What is said of how much people must read, by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.english import ended, named, words
from mindgauge.reports.content import Column, Sheet
from mindgauge.rounding import count, interval, percent, plural, precise
from mindgauge.stats.escalation import TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.escalation.subjects import Subjects
    from mindgauge.analysis.escalation.unsafe import UnsafeOn
    from mindgauge.analysis.reliability.card import Bound
    from mindgauge.reports.content import Cell
    from mindgauge.reports.trust_section import Curve

_READ = (10, 20, 30, 40, 50)


def _between(bound: Bound) -> str:
    if bound.low is None or bound.high is None:
        return "no interval"
    return f"95 % interval {interval(bound.low, bound.high, 'precise')}"


def finding(learned: Curve) -> str:
    """Say what people must read, in the order that is learned from all there is."""
    return (
        f"To find {percent(TARGET)} of the replies that people call unsafe, people would have to read "
        f"{precise(learned.reads.value)} of all ({_between(learned.reads)})"
    )


def measure(rated: Subjects, needed: int) -> str:
    """Say what is drawn, of how many replies, and what is unsafe."""
    bad = int((rated.unsafe == 1).sum())
    return (
        f"Share of the unsafe replies that is found, by the share of all that is read, the riskiest first. n {count(len(rated.ids))} replies in "
        f"{plural(int(rated.cluster.max()) + 1, 'conversation')}, rated by {named(rated.people)}; {count(bad)} are unsafe: together they said "
        f"{_in_words(rated.rule)} (the median of their values; of two, the mean). The full line is at {percent(TARGET)}, {count(needed)} of these."
    )


def _in_words(rule: UnsafeOn) -> str:
    """Name the unsafe levels: of an order the limit and its side."""
    limit, levels = rule.unsafe.limit, [str(level) for level in rule.unsafe.levels(rule.scale)]
    if limit is None or len(levels) == 1:
        return f"{words(rule.criterion)}: {named(levels, 'or', most=9)}"
    return f"{words(rule.criterion)} {rule.scale.word(limit)} or {'higher' if rule.unsafe.falling else 'lower'}"


def said(rated: Subjects, drawn: Sequence[Curve], needed: int, judges: int) -> list[str]:
    """Say what each order reads."""
    learned, best = drawn[0], drawn[-1]
    beside = "".join(
        f"{precise(c.reads.value)} in the order of the judges' mean ({_between(c.reads)}), "
        for c in drawn
        if c.kind == "jury"
    )
    chosen = ", the best of them on these very replies, which flatters it" if judges > 1 else ""
    order = f"{precise(learned.reads.value)} is in the order {learned.name}, each reply placed by what people said of other conversations."
    others = f"It is {beside}{precise(best.reads.value)} in that of {best.name}{chosen} ({_between(best.reads)})."
    return [order, f"{others} Without any error it would be {precise(needed / len(rated.ids))}."]


def notes(
    rated: Subjects, drawn: Sequence[Curve], strangers: float | None, left_out: int, needed: int
) -> Iterator[str]:
    """Say what the orders rest on, and where they mislead."""
    learned, fallback = drawn[0], drawn[1]
    its = "the judges' mean" if fallback.kind == "jury" else fallback.name
    if strangers is not None and fallback.reads.value is not None and strangers > fallback.reads.value:
        yield (
            f"For a model of which people have rated nothing, {precise(strangers)} would be read in the learned order, more than in that of {its} "
            f"({precise(fallback.reads.value)}): use it only for models that people have rated."
        )
    value, low, high = learned.reads.value, learned.reads.low, learned.reads.high
    if value is not None and low is not None and high is not None and not low <= value <= high:
        yield (
            "Many replies look alike to the learned order, and such ties are put in a bad order: its share is too high."
        )
    rest = int((rated.unsafe == 1).sum()) - needed
    if rest:
        yield f"{plural(rest, 'unsafe reply', 'unsafe replies')} would stay unread."
    if rated.selection:
        yield f"These replies were chosen for people ({rated.selection}), so this says little of replies that were not."
    if left_out:
        have = "has no value" if left_out == 1 else "have no value"
        yield f"{plural(left_out, 'more reply', 'more replies')} {have} by any of the people, or cannot be rated on this, and {'is' if left_out == 1 else 'are'} left out."
    missing = {j: int((~np.isfinite(risk)).sum()) for j, risk in rated.judges.items()}
    if any(missing.values()):
        lack = named([f"{j} {count(n)}" for j, n in missing.items() if n], most=9)
        yield f"Replies without a verdict are read first; of {count(len(rated.ids))}, verdicts lack: {lack}."
    yield from (ended(f"{note[:1].upper()}{note[1:]}") for note in rated.notes)


def sheet(ident: str, finding: str, curves: Sequence[Curve], ideal: float, n: int, bad: int) -> Sheet:
    """Tabulate the orders, those that are not drawn, too."""
    columns = [
        Column("read in the order of"), Column("kind"), Column("must read", "share"), Column("from", "share"), Column("to", "share"),
        Column("replies", "count"), *(Column(f"found at {read} % read", "share") for read in _READ),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [c.name, c.kind, c.reads.value, c.reads.low, c.reads.high, n, *(c.found[read] for read in _READ)]
        for c in curves
    ]
    rows.append(["without error", "ideal", ideal, None, None, n, *(min(1.0, read / 100 * n / bad) for read in _READ)])
    return Sheet(f"escalation-{ident}", finding, columns, rows, "Shares are of all replies that people rated.")
