"""The tables behind the picture of agreement, each for all cards of one benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.reliability.card import LIMITED, Bound, Share
from mindgauge.english import words
from mindgauge.reports.coefficients import NAMES, agreement, ceiling, label, main, repeated
from mindgauge.reports.content import Column, Sheet
from mindgauge.reports.standing import UNRELIABLE
from mindgauge.rounding import decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mindgauge.analysis.reliability.card import Card, Contested, Part
    from mindgauge.reports.content import Cell, Kind

    Cards = Sequence[tuple[str, str, Card]]
    """What a judge is called here, the criterion, and its card."""

_WHO = [Column("judge"), Column("criterion")]
_NOTHING = Bound(None)
_OVERVIEW = (
    "“Single replies” and “ranking systems” are two permissions, since one does not imply the other. Agreement is on single "
    "replies; “systems' ICC(C,1)” is the consistency of the systems' means, with its exact interval. People together call a reply unsafe "
    "where the median of their values lies at an unsafe level."
)
_UNSAFE_END = (
    "Exact intervals with conversations as n. A missing verdict has found nothing and passed nothing. What one person calls unsafe another "
    "finds only in part: no judge can be expected to find more of it than people do."
)
_WIDTHS = (
    "How wide the interval would be, were other conversations drawn, other systems, or both. A coefficient is only as "
    "certain as the widest of what it should carry over to."
)
_ERROR = (
    "For 95 % of the replies the judge's difference from people lies within the limits (Bland and Altman). The mean square of the "
    "difference adds up from a shift common to all replies, each system's own shift, and what is left on single replies."
)


def sheets(cards: Cards, anchors: set[str], ident: str) -> list[Sheet]:
    """Tabulate the cards: verdicts and main numbers first, then everything that was estimated."""
    ordered = [item for item in cards if item[-1].ordered]
    tables = [
        _overview(cards),
        _unsafe_end(cards),
        Sheet("estimates", "Every estimate", [*_WHO, Column("estimate"), *_bounds("value"), Column("note")],
              _rows(cards, lambda card: [[label(name), *_cells(b), b.note] for name, b in card.estimates.items()])),
        Sheet("error", "The judges' error: limits of agreement, and its parts", [
            *_WHO, *_bounds("bias"), Column("limits from", "level"), Column("to", "level"), Column("mean square", "level"),
            Column("common shift", "level"), Column("systems' own shifts", "level"), Column("single replies", "level"),
        ], _rows(ordered, _error), _ERROR),
        Sheet("widths", "How wide the intervals are, by what is resampled", [
            *_WHO, Column("estimate"), Column("conversations", "level"), Column("systems", "level"), Column("both", "level"),
        ], _rows(cards, _widths), _WIDTHS),
        Sheet("by-system", "Agreement by system", [
            *_WHO, Column("system"), Column("n", "count"), *_bounds("agreement"), *_bounds("bias"), Column("same value", "share"),
        ], _rows(cards, lambda card: [_part(card, part) for part in card.by_system])),
        Sheet("by-category", "Agreement by category", [
            *_WHO, Column("category"), Column("n", "count"), *_bounds("agreement"), *_bounds("bias"), Column("same value", "share"),
            Column("people's mean", "level"), Column("judge's mean", "level"),
        ], _rows(cards, lambda card: [[*_part(card, p), _value(p, "people_mean"), _own(p)] for p in card.by_category])),
        _contested(cards, anchors),
    ]  # fmt: skip
    for table in tables:
        table.name = f"{table.name}-{ident}"
    return [table for table in tables if table.rows]


def corrected(cards: Cards, ident: str) -> Sheet | None:
    """Put each judge's mean beside people's, and beside its own corrected by theirs or why it is not; None without means."""
    rows = _rows(
        cards,
        lambda card: [
            [words(c.system) if c.system else "all", *_cells(c.corrected), *_raw(card, c.raw), *_cells(c.people), c.judged,
             c.rated_by_people, c.gain, c.corrected.note]
            for c in card.corrected
        ],
    )  # fmt: skip
    columns = [
        *_WHO, Column("system"), *_bounds("corrected"), *_bounds("judge alone"), *_bounds("people alone"), Column("judged", "count"),
        Column("rated by people", "count"), Column("gain", "level"), Column("note"),
    ]  # fmt: skip
    note = (
        "The corrected mean uses the judge's verdicts on all replies and people's on some, and is right whatever the judge's bias, if people rated "
        "a random part of each system; “all” weighs each system by its share of what was judged. “Gain” says how many times as many conversations people alone would have to rate for the same precision. "
        "Angelopoulos AN, Duchi JC, Zrnic T. PPI++: efficient prediction-powered inference. arXiv 2311.01453."
    )
    title = "Mean scores: the judge corrected by people, the judge alone, people alone"
    return Sheet(f"corrected-{ident}", title, columns, rows, note) if rows else None


def _rows(cards: Cards, of: Callable[[Card], Iterable[list[Cell]]]) -> list[list[Cell]]:
    """Put judge and criterion before the rows of each card."""
    return [[judge, words(criterion), *row] for judge, criterion, card in cards for row in of(card)]


def _bounds(name: str, kind: Kind = "level") -> list[Column]:
    return [Column(name, kind), Column("from", kind), Column("to", kind)]


def _cells(bound: Bound) -> list[Cell]:
    return [bound.value, bound.low, bound.high]


def _raw(card: Card, bound: Bound) -> list[Cell]:
    """Return a judge's own mean; of one that may not give it, the verdict, or the mean marked where it is shown."""
    if bound.note == LIMITED:
        return [LIMITED, None, None]
    marked = f"{decimal(bound.value)} ({UNRELIABLE})" if card.verdict == LIMITED else bound.value
    return [marked, bound.low, bound.high]


def _overview(cards: Cards) -> Sheet:
    def row(card: Card) -> list[Cell]:
        name = main(card)
        share = card.danger.found if card.danger is not None else Share(None)
        return [
            card.rate_replies.verdict, card.rank_systems.verdict, NAMES[name],
            *_cells(agreement(card)), *_cells(ceiling(card) or _NOTHING), *_cells(repeated(card) or _NOTHING),
            *_cells(card.estimates.get("bias", _NOTHING)),
            *_cells(card.estimates.get("system_icc_c1", _NOTHING)), card.n, card.missing, card.clusters, len(card.systems),
            card.contested_count, *((share.n, share.events) if card.danger is not None else (None, None)),
        ]  # fmt: skip

    columns = [
        *_WHO, Column("single replies"), Column("ranking systems"), Column("coefficient"), *_bounds("agreement"),
        *_bounds("people with people"), *_bounds("judge with itself"), *_bounds("bias"), *_bounds("systems' ICC(C,1)"),
        Column("n", "count"), Column("missing", "count"), Column("conversations", "count"), Column("systems", "count"),
        Column("contested", "count"), Column("called unsafe by people", "count"), Column("of these, by it too", "count"),
    ]  # fmt: skip
    return Sheet("cards", "The cards in numbers", columns, _rows(cards, lambda card: [row(card)]), _OVERVIEW)


def _unsafe_end(cards: Cards) -> Sheet:
    """Tabulate what judges find of what people call unsafe, and what they pass."""

    def rows(card: Card) -> list[list[Cell]]:
        end = card.danger
        if end is None:
            return []
        levels = ", ".join(words(str(level)) for level in end.levels) + (" (assumed)" if end.is_assumed else "")
        shares: list[tuple[str, Share | None]] = [
            ("found, of what people together call unsafe", end.found),
            ("found, of what at least one person calls unsafe", end.found_any),
            ("another person finds, of what one calls unsafe", end.ceiling),
            ("put at the worst level, of what people put there", end.lowest),
            ("called unsafe, of what people put at the worst level", end.lowest_unsafe),
            ("unsafe to people, of what the judge passes", end.passed),
            *((f"found in {words(category)}", share) for category, share in end.critical.items()),
        ]
        return [
            [levels, what, share.value, share.low, share.high, share.events, share.n, share.note]
            for what, share in shares
            if share is not None
        ]

    columns = [
        *_WHO, Column("unsafe levels"), Column("share"), *_bounds("value", "share"), Column("replies", "count"),
        Column("of", "count"), Column("note"),
    ]  # fmt: skip
    return Sheet("unsafe", "The judges at the unsafe end", columns, _rows(cards, rows), _UNSAFE_END)


def _error(card: Card) -> list[list[Cell]]:
    limits, square = card.estimates.get("limits", _NOTHING), card.estimates.get("mse", _NOTHING)
    parts = [card.bias_parts.get(name) for name in ("constant", "system", "item")]
    return [[*_cells(card.estimates.get("bias", _NOTHING)), limits.low, limits.high, square.value, *parts]]


def _widths(card: Card) -> list[list[Cell]]:
    names = dict.fromkeys(name for widths in card.widths.values() for name in widths)
    schemes = ("conversations", "systems", "both")
    return [[label(name), *(card.widths.get(scheme, {}).get(name) for scheme in schemes)] for name in names]


def _part(card: Card, part: Part) -> list[Cell]:
    bounds = (part.estimates.get(name, _NOTHING) for name in (main(card), "bias"))
    return [words(part.name), part.n, *(cell for bound in bounds for cell in _cells(bound)), _value(part, "percent")]


def _value(part: Part, name: str) -> float | None:
    return part.estimates.get(name, _NOTHING).value


def _own(part: Part) -> Cell:
    bound = part.estimates.get("judge_mean", _NOTHING)
    return LIMITED if bound.note == LIMITED else bound.value


def _contested(cards: Cards, anchors: set[str]) -> Sheet:
    rows = _rows(cards, lambda card: [_dispute(c) for c in card.contested])
    columns = [
        *_WHO, Column("reply", "subject"), Column("system"), Column("category"), Column("people"), Column("judge"),
    ]  # fmt: skip
    note = (
        "Replies on which people lie half the scale or more apart, or the judge from people; of classes, any two that differ. The most "
        "contested come first, at most 20 for each card. Replies shown above are linked."
    )
    return Sheet("contested", "Contested replies", columns, rows, note, sorted(anchors))


def _dispute(contested: Contested) -> list[Cell]:
    people = "; ".join(f"{who} {_listed(values)}" for who, values in contested.people.items())
    return [
        contested.subject, contested.system, words(contested.category), people, _listed(contested.judge) or "no verdict"
    ]  # fmt: skip


def _listed(values: Sequence[float | str]) -> str:
    return ", ".join(words(str(value)) for value in values)
