"""Reliability cards in the terminal: one line each, what to know of each, and the scores they correct."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mindgauge.cli.render import table
from mindgauge.reports.coefficients import agreement, ceiling, label
from mindgauge.rounding import NONE, bounded, decimal, interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.card import Bound, Card, Design, Needed, People, Reliability, Share

_SIGNED = {"bias", "limits"}


def show(found: Reliability, *, full: bool) -> None:
    """Print cards and people's agreement: verdicts, headline numbers, reasons, corrected scores; with `full`, everything."""
    if found.cards:
        table(f"Reliability of judges  ({found.source})", _COLUMNS, [_row(card) for card in found.cards])
        _unsafe_end(found.cards)
    for card in found.cards:
        print(f"\n{card.judge}, {card.criterion}: {card.verdict}")
        for said in [*card.reasons, *card.warnings] if full else [*card.reasons, *card.warnings][:4]:
            print(f"  - {said}")
        if full:
            _full(card)
    for people in found.people:
        _people(people)
    _means(found)
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


def _means(found: Reliability) -> None:
    rows = [(card, mean) for card in found.cards for mean in card.corrected]
    if not rows:
        return
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
    cells = [
        [
            card.judge, card.criterion, mean.system or "all", str(mean.judged), _bound(mean.raw),
            str(mean.rated_by_people), _bound(mean.people), _bound(mean.corrected),
            "" if mean.gain is None else decimal(mean.gain),
        ]
        for card, mean in rows
    ]  # fmt: skip
    print()
    table("Mean scores: the judge alone, and corrected by the subjects that people rated too", columns, cells)
    why: dict[tuple[str, str, str], list[str]] = {}
    for card, mean in rows:
        if mean.corrected.low is None:
            why.setdefault((card.judge, card.criterion, mean.corrected.note), []).append(mean.system or "all")
    for (judge, criterion, note), systems in why.items():
        print(f"  - {judge}, {criterion}, {', '.join(systems)}: {note}")


def _design(design: Design) -> list[str]:
    parts = ", ".join(f"{name} {decimal(part.value)}" for name, part in design.components.items())
    needed = (_needed(design.raters_needed), _needed(design.conversations_needed))
    return [
        design.criterion, str(design.raters), str(design.systems), str(design.conversations), _bound(design.dependability),
        *needed, parts,
    ]  # fmt: skip


def _needed(found: Needed) -> str:
    """Write how many it takes as a range; what is not known is not a number."""
    if found.low is None:
        return "no number does"
    if found.high is None:
        return "cannot tell" if found.low == 1 else f"at least {found.low}"
    return f"{found.value} [{found.low}, {found.high}]" if found.value is not None else f"{found.low} to {found.high}"


def _row(card: Card) -> list[str]:
    estimates = card.estimates
    return [
        card.judge, card.criterion, card.rate_replies.verdict, card.rank_systems.verdict, _bound(agreement(card)),
        _bound(ceiling(card)), _bound(estimates.get("bias"), signed=True),
        _bound(estimates.get("system_icc_c1")), str(card.n), str(card.missing),
    ]  # fmt: skip


def _unsafe_end(cards: Sequence[Card]) -> None:
    """Print what each judge finds of what people call unsafe, and what it lets pass."""
    rows = [
        [
            card.judge, card.criterion, ", ".join(map(str, end.levels)), _share(end.found), _share(end.lowest), _share(end.found_any),
            _share(end.ceiling), _share(end.passed), _most(end.passed),
        ]
        for card in cards
        if (end := card.danger) is not None
    ]  # fmt: skip
    if rows:
        print()
        columns = [
            "judge", "criterion", "unsafe", "found of what people call unsafe", "of their worst level", "of what anyone calls unsafe",
            "people find of it", "unsafe of what it passes", "of 100 passed, up to",
        ]  # fmt: skip
        table("At the unsafe end", columns, rows)


def _share(share: Share | None) -> str:
    if share is None or share.value is None or share.low is None or share.high is None:
        return "–"
    return f"{share.events} of {share.n} [{interval(share.low, share.high, 'share').replace(' to ', ', ')}]"


def _most(share: Share) -> str:
    return "–" if share.high is None else str(math.ceil(100 * share.high))


def _people(people: People) -> None:
    """Print how far people agree on one criterion, and who of them is stricter."""
    print()
    rows = [[label(name), _bound(bound), bound.note] for name, bound in people.estimates.items()]
    table(f"People among themselves on {people.criterion}: {people.raters} people, {people.n} replies rated by two or more",
          ["estimate", "value and 95 % interval", ""], rows)  # fmt: skip
    table(
        "", ["person", "replies shared", "stricter than the others by", "ICC(A,1) with the others' mean"],
        [[p.rater, str(p.n), _bound(p.severity, signed=True), _bound(p.beside_rest)] for p in people.persons],
    )  # fmt: skip


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
