"""The reliability cards of a benchmark as one picture, and the tables behind it, which the terminal prints, too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import BLIND_END, GOOD, LIMITED, MODERATE, NOT_ESTIMABLE, Bound, Share
from mindgauge.records.english import named, words
from mindgauge.records.instruments import SAME_NOT, with_instruments
from mindgauge.records.rounding import counts, decimal, interval
from mindgauge.reports.content import ReportTable, heads, slug
from mindgauge.reports.rater_tables import bound_cells, card_rows, named_tables, of_judges, of_people
from mindgauge.reports.reliability_gate import (
    UNRELIABLE,
    agreement,
    ceiling,
    finding,
    in_sentence,
    label,
    main,
    repeated,
    span,
)
from mindgauge.reports.sections import AgreementPanel, AgreementSection, Axis, JudgeRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.analysis.reliability.card import CardPart, ManyFacets, People, ReliabilityCard
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.reliability_gate import RunCard

    Cards = Sequence[tuple[str, str, ReliabilityCard]]
    """What a judge is called here, the criterion, and its card."""


WORST_FIRST = (LIMITED, BLIND_END, MODERATE, NOT_ESTIMABLE, GOOD)


def picture(
    judged: Sequence[tuple[System, RunCard]],
    anchors: set[str],
    people: Sequence[People] = (),
    facets: Sequence[ManyFacets] = (),
) -> AgreementSection:
    """Put the cards of one benchmark together.

    Args:
        judged: the cards, each with its judge as pictures show it.
        anchors: of the replies that the page shows.
        people: how far people agree among themselves, criterion by criterion.
        facets: of people and criteria.
    """
    benchmark = judged[0][1].benchmark
    ident = slug(benchmark)
    cards = [standing.card for _, standing in judged]
    by_name = [(judge.label, standing.criterion, standing.card) for judge, standing in judged]
    axis = _axis(cards)
    ranked = any(card.rank_systems.verdict != NOT_ESTIMABLE for card in cards)
    rows = [_row(judge, standing, axis, ranked=ranked) for judge, standing in judged]
    return AgreementSection(
        benchmark, finding([(judge.label, standing) for judge, standing in judged]), _measure(cards, axis), axis,
        list(_panels(rows, ident)), [*sheets(by_name, anchors, ident), *of_people(people, facets, ident)], corrected(by_name, ident),
    )  # fmt: skip


def _axis(cards: Sequence[ReliabilityCard]) -> Axis:
    """Choose scales that hold every interval; bias is in levels if all criteria share a scale, else in percent of it."""
    limits = rule.load(rule.MINDGAUGE)
    ordered = [card for card in cards if card.ordered]
    alike = len({(card.scale[0], card.scale[-1], span(card)) for card in ordered}) == 1
    unit = span(ordered[0]) if alike else 100.0
    largest = max((abs(end) / span(card) for card in ordered for end in _ends(card.estimates.get("bias"))), default=0)
    lowest = min(end for card in cards for end in (0.0, *_ends(agreement(card)), *_ends(_ceiling(card))))
    return Axis(
        max(-1.0, math.floor(lowest * 4) / 4), limits.agreement.moderate, limits.agreement.good,
        unit * max(1.15 * largest, 2 * limits.bias.good), unit * limits.bias.good,
        "levels" if alike else "% of the scale",
    )  # fmt: skip


def _ends(bound: Bound | None) -> list[float]:
    return [end for end in (bound.value, bound.low, bound.high) if end is not None] if bound is not None else []


def _ceiling(card: ReliabilityCard) -> Bound:
    return ceiling(card) or Bound(None)


def _row(judge: System, standing: RunCard, axis: Axis, *, ranked: bool) -> JudgeRow:
    card = standing.card
    unit = 1.0 if axis.unit == "levels" else 100 / span(card)
    bias = card.estimates.get("bias", Bound(None))
    kinder, ends = (
        (-unit, (bias.high, bias.value, bias.low)) if card.falling else (unit, (bias.low, bias.value, bias.high))
    )
    low, value, high = (None if end is None else kinder * end for end in ends)
    return JudgeRow(
        judge, standing.criterion, card.n - card.missing, agreement(card), _ceiling(card), Bound(value, low, high), card.verdict,
        card.rank_systems.verdict if ranked else "",
    )  # fmt: skip


def _panels(rows: Sequence[JudgeRow], ident: str) -> Iterator[AgreementPanel]:
    """Group rows: all judges of one criterion together, else by judge; worst first, rows and panels alike."""
    ordered = sorted(rows, key=_place)
    if len({row.criterion for row in rows}) == 1:
        summary = "; ".join(f"{row.judge.label} {_said(row)}" for row in ordered)
        yield AgreementPanel(f"agreement-{ident}", None, summary, ordered)
        return
    judges = {row.judge.label: row.judge for row in ordered}
    by_judge = {name: [row for row in ordered if row.judge.label == name] for name in judges}
    for i, name in enumerate(
        sorted(judges, key=lambda name: sum(_place(row)[0] for row in by_judge[name]) / len(by_judge[name]))
    ):
        summary = "; ".join(f"{words(row.criterion)} {_said(row)}" for row in by_judge[name])
        yield AgreementPanel(f"agreement-{ident}-{i}", judges[name], f"{name}: {summary}", by_judge[name])


def _place(row: JudgeRow) -> tuple[int, float, str, str]:
    return WORST_FIRST.index(row.verdict), row.agreement.low or 0.0, row.criterion, row.judge.label


def _said(row: JudgeRow) -> str:
    if row.agreement.value is None:
        return row.verdict
    ends = "" if row.agreement.low is None else f", {interval(row.agreement.low, row.agreement.high)}"
    return f"{decimal(row.agreement.value)}{ends} ({row.verdict})"


def _measure(cards: Sequence[ReliabilityCard], axis: Axis) -> str:
    """Say what is drawn, in which units, over how many replies."""
    names = named(list(dict.fromkeys(in_sentence(card) for card in cards)), joined="or, for classes,")
    text = f"Agreement with people on single replies: {names} and its 95 % interval over conversations"
    if any(_ceiling(card).value is not None for card in cards):
        text += "; grey, people among themselves"
    if any(card.ordered for card in cards):
        ends = f" from {cards[0].scale[0]} to {cards[0].scale[-1]}" if axis.unit == "levels" else ""
        text += f". Bias: how much kinder the judge's mean is than people's, in {axis.unit}{ends}; grey, within 5 % of the scale"
    if any(card.verdict == NOT_ESTIMABLE for card in cards):
        text += ". Hollow: no verdict possible"
    return f"{text}. n {counts(card.n - card.missing for card in cards)} replies."


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
_SLICES = (
    "Where a judge misses more unsafe replies than elsewhere. p is by permutation among replies that as many people call unsafe, and adjusted "
    "for all slices of the card (Westfall and Young 1993). The slices with the smallest p come first."
)
_WIDTHS = (
    "How wide the interval would be, were other conversations drawn, other systems, or both. A coefficient is only as "
    "certain as the widest of what it should carry over to."
)
_ERROR = (
    "For 95 % of the replies the judge's difference from people lies within the limits (Bland and Altman). The mean square of the "
    "difference adds up from a shift common to all replies, each system's own shift, and what is left on single replies."
)


_MOST_SLICES = 5


def sheets(cards: Cards, anchors: set[str], ident: str, slices: int | None = _MOST_SLICES) -> list[ReportTable]:
    """Tabulate the cards: verdicts and main numbers first, then everything that was estimated.

    Args:
        cards: what to tabulate.
        anchors: of the replies that the page shows.
        ident: of the tables.
        slices: how many of each card, those with the smallest p; None for all.
    """
    ordered = [item for item in cards if item[-1].ordered]
    tables = [
        _overview(cards),
        _unsafe_end(cards),
        ReportTable("slices", "What the judges find in each slice", heads(
            "judge | criterion | known of the reply | slice | n:count | called unsafe by people:count | "
            "of these, by it too:count | missed:count | found:share± | p, adjusted:p"
        ), card_rows(cards, lambda card: [
            [words(part.by), part.value, part.replies, part.n, part.found, part.missed, *((part.found / part.n, part.low, part.high) if part.n else (None, None, None)), part.p]
            for part in (card.danger.slices[:slices] if card.danger is not None else [])
        ]), _SLICES),
        ReportTable("estimates", "Every estimate", heads("judge | criterion | estimate | value:level± | note"),
              card_rows(cards, lambda card: [[label(name, ordered=card.ordered), *bound_cells(b), b.note] for name, b in card.estimates.items()])),
        ReportTable("error", "The judges' error: limits of agreement, and its parts", heads(
            "judge | criterion | bias:level± | limits from:level | to:level | mean square:level | common shift:level | "
            "systems' own shifts:level | single replies:level"
        ), card_rows(ordered, _error), _ERROR),
        ReportTable("widths", "How wide the intervals are, by what is resampled", heads(
            "judge | criterion | estimate | conversations:level | systems:level | both:level"
        ), card_rows(cards, _widths), _WIDTHS),
        ReportTable("by-system", "Agreement by system", heads(
            "judge | criterion | system | n:count | agreement:level± | bias:level± | same value:share"
        ), card_rows(cards, lambda card: [_part(card, part) for part in card.by_system])),
        ReportTable("by-category", "Agreement by category", heads(
            "judge | criterion | category | n:count | agreement:level± | bias:level± | same value:share | "
            "people's mean:level | judge's mean:level"
        ), card_rows(cards, lambda card: [[*_part(card, p), _value(p, "people_mean"), LIMITED if p.estimates.get("judge_mean", _NOTHING).note == LIMITED else _value(p, "judge_mean")] for p in card.by_category])),
        _contested(cards, anchors),
    ]  # fmt: skip
    return [*named_tables(tables, ident), *of_judges(cards, ident)]


def corrected(cards: Cards, ident: str) -> ReportTable | None:
    """Put each judge's mean beside people's, and beside its own corrected by theirs or why it is not; None without means."""
    rows = card_rows(
        cards,
        lambda card: [
            [words(c.system) if c.system else "all", *bound_cells(c.corrected), *bound_cells(c.people), *_raw(card, c.raw), c.judged,
             c.rated_by_people, c.gain, c.corrected.note]
            for c in card.corrected
        ],
    )  # fmt: skip
    columns = heads(
        "judge | criterion | system | corrected:level± | people alone:level± | judge alone:level± | judged:count | "
        "rated by people:count | gain:level | note"
    )
    note = (
        "The corrected mean uses the judge's verdicts on all replies and people's on some, and is right whatever the judge's bias, if people rated "
        "a random part of each system; “all” weighs each system by its share of what was judged. “Gain” says how many times as many conversations people alone would have to rate for the same precision. "
        "Angelopoulos AN, Duchi JC, Zrnic T. PPI++: efficient prediction-powered inference. arXiv 2311.01453."
    )
    differing = dict.fromkeys(
        judge for judge, _, card in cards if any(warning.startswith(SAME_NOT) for warning in card.warnings)
    )
    title = corrected_title(differing)
    return ReportTable(f"corrected-{ident}", title, columns, rows, " ".join([*_seen(cards), note])) if rows else None


def _seen(cards: Cards) -> Iterator[str]:
    """Yield which judges may have seen the labels that correct them, why, and what shows of it."""
    doubts = dict.fromkeys((judge, *c.seen.split("; ")) for judge, _, card in cards for c in card.corrected if c.seen)
    for reason in dict.fromkeys(reason for _, reason, *_ in doubts):
        judges = ", ".join(dict.fromkeys(judge for judge, reason_of, *_ in doubts if reason_of == reason))
        yield f"It cannot be excluded that these judges have seen the labels, since {reason}: {judges}."
    if doubts:
        yield "Of a judge that was written, tuned or chosen on these labels only the mean by people alone is right."
    for judge, _, *signs in doubts:
        for sign in signs:
            yield f"A sign of that with {judge}: {sign}."


def corrected_title(differing: Iterable[str]) -> str:
    """Return the title of corrected means, with the judges that worked with another instrument than people."""
    return with_instruments("Mean scores: the judge corrected by people, people alone, the judge alone", differing)


def _raw(card: ReliabilityCard, bound: Bound) -> list[Cell]:
    """Return a judge's own mean; of one that may not give it, the verdict, or the mean marked where it is shown."""
    if bound.note == LIMITED:
        return [LIMITED, None, None]
    marked = f"{decimal(bound.value)} ({UNRELIABLE})" if card.verdict == LIMITED else bound.value
    return [marked, bound.low, bound.high]


def _overview(cards: Cards) -> ReportTable:
    def row(card: ReliabilityCard) -> list[Cell]:
        name = main(card)
        share = card.danger.found if card.danger is not None else Share(None)
        return [
            card.rate_replies.verdict, card.rank_systems.verdict, label(name, ordered=card.ordered),
            *bound_cells(agreement(card)), *bound_cells(ceiling(card) or _NOTHING), *bound_cells(repeated(card) or _NOTHING),
            *bound_cells(card.estimates.get("bias", _NOTHING)),
            *bound_cells(card.estimates.get("system_icc_c1", _NOTHING)), card.n, card.missing, card.clusters, len(card.systems),
            card.contested_count, *((share.n, share.events) if card.danger is not None else (None, None)),
        ]  # fmt: skip

    columns = heads(
        "judge | criterion | single replies | ranking systems | coefficient | agreement:level± | "
        "people with people:level± | judge with itself:level± | bias:level± | systems' ICC(C,1):level± | n:count | "
        "missing:count | conversations:count | systems:count | contested:count | called unsafe by people:count | "
        "of these, by it too:count"
    )
    return ReportTable("cards", "The cards in numbers", columns, card_rows(cards, lambda card: [row(card)]), _OVERVIEW)


def _unsafe_end(cards: Cards) -> ReportTable:
    """Tabulate what judges find of what people call unsafe, and what they pass."""

    def rows(card: ReliabilityCard) -> list[list[Cell]]:
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
            ("found, of unsafe stock replies", end.found_stock),
            ("found, of the other unsafe replies", end.found_fitted),
            *((f"found in {words(category)}", share) for category, share in end.critical.items()),
        ]
        return [
            [levels, meaning, share.value, share.low, share.high, share.events, share.n, share.note]
            for meaning, share in shares
            if share is not None
        ]

    columns = heads("judge | criterion | unsafe levels | share | value:share± | replies:count | of:count | note")
    return ReportTable("unsafe", "The judges at the unsafe end", columns, card_rows(cards, rows), _UNSAFE_END)


def _error(card: ReliabilityCard) -> list[list[Cell]]:
    limits, square = card.estimates.get("limits", _NOTHING), card.estimates.get("mse", _NOTHING)
    parts = [card.bias_parts.get(name) for name in ("constant", "system", "item")]
    return [[*bound_cells(card.estimates.get("bias", _NOTHING)), limits.low, limits.high, square.value, *parts]]


def _widths(card: ReliabilityCard) -> list[list[Cell]]:
    names = dict.fromkeys(name for widths in card.widths.values() for name in widths)
    schemes = ("conversations", "systems", "both")
    return [
        [label(name, ordered=card.ordered), *(card.widths.get(scheme, {}).get(name) for scheme in schemes)]
        for name in names
    ]


def _part(card: ReliabilityCard, part: CardPart) -> list[Cell]:
    bounds = (part.estimates.get(name, _NOTHING) for name in (main(card), "bias"))
    return [
        words(part.name),
        part.n,
        *(cell for bound in bounds for cell in bound_cells(bound)),
        _value(part, "percent"),
    ]


def _value(part: CardPart, name: str) -> float | None:
    return part.estimates.get(name, _NOTHING).value


def _contested(cards: Cards, anchors: set[str]) -> ReportTable:
    rows = card_rows(
        cards,
        lambda card: [
            [
                c.subject,
                c.system,
                words(c.category),
                "; ".join(f"{person} {_listed(given)}" for person, given in c.people.items()),
                _listed(c.judge) or "no verdict",
            ]
            for c in card.contested
        ],
    )
    columns = heads("judge | criterion | reply:subject | system | category | people | judge")
    note = (
        "Replies on which people lie half the scale or more apart, or the judge from people; of classes, any two that differ. The most "
        "contested come first, at most 20 for each card. Replies shown above are linked."
    )
    return ReportTable("contested", "Contested replies", columns, rows, note, sorted(anchors))


def _listed(values: Sequence[float | str]) -> str:
    return ", ".join(words(str(value)) for value in values)
