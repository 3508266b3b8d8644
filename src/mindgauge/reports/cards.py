"""The reliability cards of a benchmark as one picture: who is drawn where, in which order, on which scales."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import BLIND_END, GOOD, LIMITED, MODERATE, NOT_ESTIMABLE, Bound
from mindgauge.english import named, words
from mindgauge.reports import card_sheets
from mindgauge.reports.card_phrases import finding
from mindgauge.reports.coefficients import NAMES, agreement, ceiling, main, span
from mindgauge.reports.trust_section import Agreement, Axis, Panel, Row
from mindgauge.rounding import count, decimal, interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.reliability.card import Card
    from mindgauge.reports.content import System
    from mindgauge.reports.standing import Standing

WORST_FIRST = (LIMITED, BLIND_END, MODERATE, NOT_ESTIMABLE, GOOD)


def picture(found: Sequence[tuple[System, Standing]], anchors: set[str]) -> Agreement:
    """Put the cards of one benchmark together.

    Args:
        found: the cards, each with its judge as pictures show it.
        anchors: of the replies that the page shows.
    """
    benchmark = found[0][1].benchmark
    ident = re.sub(r"[^a-z0-9]+", "-", benchmark.casefold()).strip("-")
    cards = [standing.card for _, standing in found]
    by_name = [(judge.label, standing.criterion, standing.card) for judge, standing in found]
    axis = _axis(cards)
    ranked = any(card.rank_systems.verdict != NOT_ESTIMABLE for card in cards)
    rows = [_row(judge, standing, axis, ranked=ranked) for judge, standing in found]
    return Agreement(
        benchmark, finding([(judge.label, standing) for judge, standing in found]), _measure(cards, axis), axis,
        list(_panels(rows, ident)), card_sheets.sheets(by_name, anchors, ident), card_sheets.corrected(by_name, ident),
    )  # fmt: skip


def _axis(cards: Sequence[Card]) -> Axis:
    """Choose scales that hold every interval; bias is in levels if all criteria share a scale, else in percent of it."""
    limits = rule.load(rule.MINDGAUGE)
    ordered = [card for card in cards if card.ordered]
    alike = len({(card.scale[0], card.scale[-1], span(card)) for card in ordered}) == 1
    unit = span(ordered[0]) if alike else 100.0
    largest = max((abs(end) / span(card) for card in ordered for end in _ends(card.estimates.get("bias"))), default=0)
    least = min(end for card in cards for end in (0.0, *_ends(agreement(card)), *_ends(_ceiling(card))))
    return Axis(
        max(-1.0, math.floor(least * 4) / 4), limits.agreement.moderate, limits.agreement.good,
        unit * max(1.15 * largest, 2 * limits.bias.good), unit * limits.bias.good,
        "levels" if alike else "% of the scale",
    )  # fmt: skip


def _ends(bound: Bound | None) -> list[float]:
    return [end for end in (bound.value, bound.low, bound.high) if end is not None] if bound is not None else []


def _ceiling(card: Card) -> Bound:
    return ceiling(card) or Bound(None)


def _row(judge: System, standing: Standing, axis: Axis, *, ranked: bool) -> Row:
    card = standing.card
    unit = 1.0 if axis.unit == "levels" else 100 / span(card)
    bias = card.estimates.get("bias", Bound(None))
    kinder, ends = (
        (-unit, (bias.high, bias.value, bias.low)) if card.falling else (unit, (bias.low, bias.value, bias.high))
    )
    low, value, high = (None if end is None else kinder * end for end in ends)
    return Row(
        judge, standing.criterion, card.n - card.missing, agreement(card), _ceiling(card), Bound(value, low, high), card.verdict,
        card.rank_systems.verdict if ranked else "",
    )  # fmt: skip


def _panels(rows: Sequence[Row], ident: str) -> Iterator[Panel]:
    """Group rows: all judges of one criterion together, else by judge; worst first, rows and panels alike."""
    ordered = sorted(rows, key=_place)
    if len({row.criterion for row in rows}) == 1:
        said = "; ".join(f"{row.judge.label} {_said(row)}" for row in ordered)
        yield Panel(f"agreement-{ident}", None, said, ordered)
        return
    judges = {row.judge.label: row.judge for row in ordered}
    mine = {name: [row for row in ordered if row.judge.label == name] for name in judges}
    for i, name in enumerate(
        sorted(judges, key=lambda name: sum(_place(row)[0] for row in mine[name]) / len(mine[name]))
    ):
        said = "; ".join(f"{words(row.criterion)} {_said(row)}" for row in mine[name])
        yield Panel(f"agreement-{ident}-{i}", judges[name], f"{name}: {said}", mine[name])


def _place(row: Row) -> tuple[int, float, str, str]:
    return WORST_FIRST.index(row.verdict), row.agreement.low or 0.0, row.criterion, row.judge.label


def _said(row: Row) -> str:
    if row.agreement.value is None:
        return row.verdict
    ends = "" if row.agreement.low is None else f", {interval(row.agreement.low, row.agreement.high)}"
    return f"{decimal(row.agreement.value)}{ends} ({row.verdict})"


def _measure(cards: Sequence[Card], axis: Axis) -> str:
    """Say what is drawn, in which units, over how many replies."""
    names = named(list(dict.fromkeys(NAMES[main(card)] for card in cards)), joined="or, for classes,")
    text = f"Agreement with people on single replies: {names} and its 95 % interval over conversations"
    if any(_ceiling(card).value is not None for card in cards):
        text += "; grey, people among themselves"
    if any(card.ordered for card in cards):
        ends = f" from {cards[0].scale[0]} to {cards[0].scale[-1]}" if axis.unit == "levels" else ""
        text += f". Bias: how much kinder the judge's mean is than people's, in {axis.unit}{ends}; grey, within 5 % of the scale"
    if any(card.verdict == NOT_ESTIMABLE for card in cards):
        text += ". Hollow: no verdict possible"
    ns = sorted({card.n - card.missing for card in cards})
    return f"{text}. n {count(ns[0]) if len(ns) == 1 else f'{count(ns[0])} to {count(ns[-1])}'} replies."
