"""Reliability cards in the terminal: one line each, what to know of each, and the scores they correct."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli.render import table
from mindgauge.reports.coefficients import label, main
from mindgauge.rounding import NONE, bounded, decimal

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import Bound, Card, Design, Reliability

_SIGNED = {"bias", "limits"}


def show(found: Reliability, *, full: bool) -> None:
    """Print cards: verdicts and headline numbers, reasons and warnings, corrected scores; with `full`, everything."""
    table(f"Reliability of judges  ({found.source})", _COLUMNS, [_row(card) for card in found.cards])
    for card in found.cards:
        print(f"\n{card.judge}, {card.criterion}: {card.verdict}")
        for said in [*card.reasons, *card.warnings] if full else [*card.reasons, *card.warnings][:4]:
            print(f"  - {said}")
        if full:
            _full(card)
    corrected = [
        [
            c.judge, c.criterion, s.system or "all", str(s.judged), _bound(s.raw), str(s.rated_by_people),
            _bound(s.people), _bound(s.corrected), "" if s.gain is None else decimal(s.gain),
        ]
        for c in found.cards
        for s in c.corrected
    ]  # fmt: skip
    if corrected:
        print()
        columns = [
            "judge",
            "criterion",
            "system",
            "judged",
            "judge alone",
            "by people",
            "people alone",
            "corrected",
            "gain",
        ]
        table("Mean scores: the judge alone, and corrected by the subjects that people rated too", columns, corrected)
    if found.designs:
        print()
        columns = [
            "criterion",
            "people",
            "systems",
            "conversations",
            "dependability",
            "people needed",
            "conversations needed",
            "variance by",
        ]
        rows = [_design(design) for design in found.designs]
        table(f"How many it takes: what would bring dependability to {decimal(found.designs[0].target)}", columns, rows)
    print(f"\nRule: {found.rule}")
    for note in found.notes:
        print(f"note: {note}")


_COLUMNS = [
    "judge", "criterion", "may rate single replies", "may rank systems", "agreement", "people with people", "bias",
    "systems' ICC(C,1)", "n", "missing",
]  # fmt: skip


def _design(design: Design) -> list[str]:
    parts = ", ".join(f"{name} {decimal(part.value)}" for name, part in design.components.items())
    needed = (design.raters_needed, design.conversations_needed)
    return [
        design.criterion, str(design.raters), str(design.systems), str(design.conversations), _bound(design.dependability),
        *("no number does" if n is None else str(n) for n in needed), parts,
    ]  # fmt: skip


def _row(card: Card) -> list[str]:
    name = main(card)
    estimates = card.estimates
    return [
        card.judge, card.criterion, card.rate_replies.verdict, card.rank_systems.verdict, _bound(estimates.get(name)),
        _bound(estimates.get(f"ceiling_{name}")), _bound(estimates.get("bias"), signed=True),
        _bound(estimates.get("system_icc_c1")), str(card.n), str(card.missing),
    ]  # fmt: skip


def _full(card: Card) -> None:
    rows = [[label(name), _bound(bound, signed=name in _SIGNED), bound.note] for name, bound in card.estimates.items()]
    table("", ["estimate", "value and 95 % interval", ""], rows)
    if card.widths:
        names = list(dict.fromkeys(name for widths in card.widths.values() for name in widths))
        table(
            "Width of the interval, by what is resampled",
            ["estimate", *card.widths],
            [[label(name), *(decimal(widths.get(name)) for widths in card.widths.values())] for name in names],
        )
    parts = ", ".join(f"{name} {decimal(value, 3)}" for name, value in card.bias_parts.items() if value is not None)
    if parts:
        print(f"  mean square of judge minus people: {parts}")
    for title, column, found in (
        ("By system", "system", card.by_system),
        ("By category", "category", card.by_category),
    ):
        if found:
            names = list(dict.fromkeys(name for part in found for name in part.estimates))
            rows = [[part.name, str(part.n), *(_bound(part.estimates.get(name)) for name in names)] for part in found]
            table(title, [column, "n", *map(label, names)], rows)
    if card.contested:
        rows = [
            [c.subject, c.system, "; ".join(f"{who} {', '.join(map(str, v))}" for who, v in c.people.items()), ", ".join(map(str, c.judge))]
            for c in card.contested
        ]  # fmt: skip
        table(f"Contested: {len(rows)} of {card.contested_count}", ["subject", "system", "people", "judge"], rows)


def _bound(bound: Bound | None, *, signed: bool = False) -> str:
    return NONE if bound is None else bounded(bound.value, bound.low, bound.high, signed=signed)
