"""Marks, words and axes as SVG in pixels; the style sheet gives each colour its shade for light, dark and paper."""

from __future__ import annotations

import contextlib
import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.regex import regex
from mindgauge.records.text import shown
from mindgauge.reports.language.spoken import in_words, same_marks
from mindgauge.reports.language.translator import unmarked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mindgauge.reports.content import System

WIDE, NARROW = 680, 320
"""Pixels across. The page shows the narrow drawing where the wide one does not fit."""
INK, MUTED, GREY, PAPER = "#1c2226", "#57616a", "#d8dde1", "#ffffff"
# Okabe and Ito's set, which people with colour blindness can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#8c6d1f")
SHAPES = (
    "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "M-.88,-.88H.88V.88H-.88Z",
    "M0,-1.1L1.05,.85H-1.05Z",
    "M0,-1.25L1.1,0L0,1.25L-1.1,0Z",
    "M0,1.1L1.05,-.85H-1.05Z",
    "M-.4,-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "M-.55,-1H.55L1.15,0L.55,1H-.55L-1.15,0Z",
    "M-.4,-1.1L0,-.5L.4,-1.1L1.1,-.4L.5,0L1.1,.4L.4,1.1L0,.5L-.4,1.1L-1.1,.4L-.5,0L-1.1,-.4Z",
)
"""Circle, square, triangle and so on, about one pixel around 0."""
SIZE, SMALL, LINE = 14, 12, 17
LETTER, SMALL_LETTER = 7.2, 7.0
"""Pixels that a letter takes, at most on average; the reader's font is not known here."""
DASHES = ("", "9 4", "2 3", "9 4 2 4")
_STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 1000)
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)

_WIDE = "[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
_CLOSING = "，。；：、？！）》」”%"
_HAN, _TAIL = f"(?:[“（《「]{{0,8}}+{_WIDE})", rf"[{_CLOSING}]*\s*"
_PIECE = regex(rf"{_HAN}{_TAIL}|(?P<word>(?:(?!{_HAN})[^\s/_.#:-])+)[/_.#:-]*{_TAIL}|[/_.#:-]+\s*")
"""What ends where a line may."""

Coordinates = tuple[float, float]


class Style(NamedTuple):
    """How a mark looks: its colour and its outline."""

    shade: str
    outline: str


UNNAMED = Style(MUTED, SHAPES[0])
"""For what is no system."""


def colour(system: System) -> str:
    """Return a system's colour."""
    return COLOURS[system.number % len(COLOURS)]


def shape(system: System) -> str:
    """Return a system's outline; beyond eight systems, colours come again with other shapes."""
    return SHAPES[(system.number + system.number // len(COLOURS)) % len(SHAPES)]


def style(system: System | None) -> Style:
    """Return how a system's marks look."""
    return UNNAMED if system is None else Style(colour(system), shape(system))


def broken(text: str, letters: int) -> list[str]:
    """Break a name into lines of about so many letters: at blanks, or else after the signs that join parts of names.

    A line of Chinese may end behind any sign, unless the next one closes something.
    """
    said = in_words(text)
    lines = [""]
    for word in _pieces(unmarked(said), letters):
        if lines[-1] and room(lines[-1]) + room(word.rstrip()) > letters:
            lines.append("")
        lines[-1] += word
    return [same_marks(said, line.strip()) for line in lines]


def _pieces(text: str, letters: int) -> Iterator[str]:
    """Cut a name where a line may end, and what is longer than a line."""
    for piece in _PIECE.finditer(text):
        word = piece["word"] or ""
        last = max(0, len(word.rstrip(_CLOSING)) - 1) // letters * letters
        yield from (word[place : place + letters] for place in range(0, last, letters))
        yield piece[0][last:]


def room(text: str) -> int:
    """Return how many letters' room a text takes: a Chinese sign that of two."""
    return len(unmarked(text)) + len(re.findall(_WIDE, text))


def cut(text: str, letters: int) -> str:
    """Shorten a name to so many letters; a Chinese sign counts as two."""
    said = in_words(text)
    plain = unmarked(said)
    while plain and room(plain) > letters:
        plain = f"{plain.removesuffix('…')[:-1]}…"
    return same_marks(said, plain)


def axis_title(measure: str) -> str:
    """Return the first clause of a subtitle as the title of an axis."""
    clause = re.split(r"[.,;:] ", measure.removesuffix("."), maxsplit=1)[0].removeprefix("The ")
    return f"{clause[:1].lower()}{clause[1:]}{')' * (clause.count('(') - clause.count(')'))}"


def level_ticks(low: float, high: float, spaces: int) -> range:
    """Return the whole levels to rule between two ends: each, or of many so few that there are at most so many spaces."""
    step = next((step for step in _STEPS if step * spaces >= high - low), _STEPS[-1])
    return range(int(low), int(high) + 1, step)


class LinearAxis(NamedTuple):
    """Values from `low` to `high` across pixels from `left` to `right`."""

    low: float
    high: float
    left: float
    right: float

    def at(self, value: float) -> float:
        """Return where a value stands; what lies beyond an end stands at that end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.left + share * (self.right - self.left)


class Canvas:
    """Parts of a picture, the first drawn behind those that follow."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(
        self, words: str, x: float, y: float, *, anchor: str = "start", shade: str = INK, size: int = SIZE,
        bold: bool = False, aside: str = "",
    ) -> None:  # fmt: skip
        """Write words on the line `y`, with what is said aside in small letters behind them."""
        place = f'x="{_px(x)}" y="{_px(y)}" font-size="{size}" text-anchor="{anchor}" fill="{shade}"'
        weight = ' font-weight="600"' if bold else ""
        behind = escape(in_words(shown(aside)))
        aside_span = f'<tspan dx="7" font-size="{SMALL}" fill="{MUTED}">{behind}</tspan>' if aside else ""
        self.parts.append(f"<text {place}{weight}>{escape(in_words(shown(words)))}{aside_span}</text>")

    def small(self, words: str, x: float, y: float, *, anchor: str = "start") -> None:
        """Write words that stand back: small, and muted."""
        self.text(words, x, y, anchor=anchor, shade=MUTED, size=SMALL)

    def lines(self, words: str, x: float, y: float, letters: int, *, shade: str = INK, size: int = SIZE) -> float:
        """Write words in lines of about so many letters, the first on the line `y`; return the line after the last."""
        for line in broken(words, letters):
            self.text(line, x, y, shade=shade, size=size)
            y += LINE if size == SIZE else LINE - 2
        return y

    def line(
        self, start: Coordinates, end: Coordinates, shade: str = GREY, *, thick: float = 1, dash: str = ""
    ) -> None:
        """Draw a straight line."""
        ends = f'x1="{_px(start[0])}" y1="{_px(start[1])}" x2="{_px(end[0])}" y2="{_px(end[1])}"'
        self.parts.append(f'<line {ends} stroke="{shade}" stroke-width="{thick:g}"{_dashed(dash)}/>')

    def polyline(self, points: Sequence[Coordinates], shade: str, *, thick: float = 2, dash: str = "") -> None:
        """Draw a line through points."""
        places = " ".join(f"{_px(x)},{_px(y)}" for x, y in points)
        self.parts.append(
            f'<polyline points="{places}" fill="none" stroke="{shade}" stroke-width="{thick:g}" stroke-linejoin="round"{_dashed(dash)}/>'
        )

    def area(self, rings: Sequence[Sequence[Coordinates]], shade: str, opacity: float) -> None:
        """Fill what lies between closed lines."""
        path = "".join("M" + "L".join(f"{_px(x)},{_px(y)}" for x, y in ring) + "Z" for ring in rings)
        self.parts.append(f'<path d="{path}" fill="{shade}" fill-rule="evenodd" fill-opacity="{opacity:g}"/>')

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, *, opacity: float = 1, stroke: str = ""
    ) -> None:
        """Draw a rectangle."""
        line = f' stroke="{stroke}"' if stroke else ""
        faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        place = f'x="{_px(x)}" y="{_px(y)}" width="{_px(max(width, 0))}" height="{_px(height)}"'
        self.parts.append(f'<rect {place} fill="{fill}"{faint}{line}/>')

    def mark(
        self, look: Style, x: float, y: float, *, hollow: bool = False, size: float = 5, opacity: float = 1,
        stroke: float = 0.4,
    ) -> None:  # fmt: skip
        """Draw a point; its outline is as thick as `stroke` times its size."""
        faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        self.parts.append(
            f'<path d="{look.outline}" transform="translate({_px(x)},{_px(y)}) scale({size:g})" '
            f'fill="{PAPER if hollow else look.shade}" stroke="{look.shade}" stroke-width="{stroke:g}"{faint}/>'
        )

    @contextlib.contextmanager
    def link(self, address: str) -> Iterator[None]:
        """Make what is drawn meanwhile a link, for who points at it; who does not finds the same in the table. None without an address."""
        if address:
            self.parts.append(f'<a href="{escape(address)}" tabindex="-1"><title>Read these in the reader</title>')
        yield
        if address:
            self.parts.append("</a>")

    def head(self, x: float, y: float, outline: str, shade: str) -> None:
        """Draw the head of an arrow."""
        self.parts.append(f'<path d="{outline}" transform="translate({_px(x)},{_px(y)})" fill="{shade}"/>')

    def estimate(
        self, look: Style, axis: LinearAxis, bounds: tuple[float, float | None, float | None], y: float, *, hollow: bool
    ) -> None:
        """Draw a value as a point on the line `y`, over its interval where it has one."""
        value, low, high = bounds
        if low is not None and high is not None:
            self.line((axis.at(low), y), (axis.at(high), y), look.shade, thick=2)
        self.mark(look, axis.at(value), y, hollow=hollow)

    def key(
        self, entries: Iterable[tuple[str, Callable[[float, float], None]]], sample: float, width: int, y: float
    ) -> float:
        """Say what marks mean, beside each other as far as there is room; return where that ends.

        Args:
            entries: words, and what draws their sample from a place on a line of writing.
            sample: how wide a sample is.
            width: of the picture.
            y: the first line of writing.
        """  # fmt: skip
        x = 0.0
        for words, draw in entries:
            wide = sample + 12 + room(in_words(words)) * LETTER
            if x and x + wide > width:
                x, y = 0.0, y + LINE + 3
            draw(x, y)
            self.small(words, x + sample + 6, y)
            x += wide + 12
        return y + 8

    def svg(self, width: int, height: float) -> str:
        """Return the picture as a part of a page, which gives it a text alternative."""
        frame = f'width="{width}" height="{height:.0f}" viewBox="0 0 {width} {height:.0f}"'
        return f"<svg {frame}>{''.join(self.parts)}</svg>"


class RowChart:
    """Rows from the top down: words at the left or, with `above`, over the marks; `y` is the lower edge of the last one."""

    gap = 14

    def __init__(self, letters: int, *, above: bool, y: float = 6.0) -> None:
        self.canvas = Canvas()
        self.letters, self.above, self.y = letters, above, y
        self.extents: list[tuple[float, float]] = []
        """From where to where each row is ruled."""

    def head(self, words: str) -> None:
        """Write what stands over a group of rows."""
        self.y += 26
        self.canvas.text(words, 0, self.y - 8, bold=True)

    def row(self, label: str, note: str, marks: float) -> float:
        """Write a row's words and make room for marks so many pixels high; return their upper edge."""
        lines = broken(label, self.letters)
        inline = bool(note) and room(lines[-1]) + 1 + room(in_words(note)) <= self.letters + 1
        notes = broken(note, self.letters + 5) if note and not inline else []
        high = LINE * len(lines) + (LINE - 2) * len(notes)
        if self.above:
            first, top, depth = self.y + 16, self.y + high + 6, high + marks + 6
        else:
            depth = max(high, marks)
            first, top = self.y + (depth - high) / 2 + 13, self.y + (depth - marks) / 2
        for number, line in enumerate(lines):
            aside = note if inline and number == len(lines) - 1 else ""
            self.canvas.text(line, 0, first + LINE * number, aside=aside)
        for number, line in enumerate(notes):
            self.canvas.small(line, 0, first + LINE * len(lines) - 1 + (LINE - 2) * number)  # fmt: skip
        self.extents.append((top - 4, top + marks + 4) if self.above else (self.y - 2, self.y + depth + self.gap - 2))
        self.y += depth + self.gap
        return top

    def rule(
        self, axis: LinearAxis, ticks: Sequence[float], write: Callable[[float], str], *, strong: float | None = None
    ) -> None:
        """Rule the rows behind their marks and write what the rules stand for below them; the `strong` one is darker."""  # fmt: skip
        behind = Canvas()
        for tick in ticks:
            x = axis.at(tick)
            for top, bottom in self.extents:
                behind.line((x, top), (x, bottom), MUTED if tick == strong else GREY)
            self.canvas.small(write(tick), x, self.y + 14, anchor="middle")
        self.canvas.parts[:0] = behind.parts

    def ends(self, axis: LinearAxis, low: str, high: str) -> None:
        """Say what the ends of an axis mean."""
        self.canvas.small(low, max(axis.left - 10, 0), self.y + 32)
        self.canvas.small(high, axis.right + 10, self.y + 32, anchor="end")

    def title(self, axis: LinearAxis, words: str) -> int:
        """Write what an axis measures, in lines where there is little room; return how many."""
        lines = broken(words, int((axis.right - axis.left + 20) / SMALL_LETTER))
        for number, line in enumerate(lines):
            self.canvas.small(line, (axis.left + axis.right) / 2, self.y + 32 + 15 * number, anchor="middle")
        return len(lines)


class Plot(NamedTuple):
    """Where an area with two axes stands, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def at(self, x: float, y: float) -> Coordinates:
        """Return where two shares of the way stand: to the right, and up."""
        return self.left + x * (self.right - self.left), self.bottom - y * (self.bottom - self.top)

    def rule(self, canvas: Canvas, across: Sequence[tuple[float, str]], up: Sequence[tuple[float, str]]) -> None:
        """Rule the area at shares of the way, and write what each rule stands for, unless that is empty."""
        for share, _ in across:
            canvas.line(self.at(share, 0), self.at(share, 1))
        self.marks(canvas, across)
        for share, words in up:
            canvas.line(self.at(0, share), self.at(1, share))
            canvas.small(words, self.left - 7, self.at(0, share)[1] + 4, anchor="end")

    def marks(self, canvas: Canvas, across: Iterable[tuple[float, str]]) -> None:
        """Write what stands where across, without a rule."""
        for share, words in across:
            if words:
                canvas.small(words, self.at(share, 0)[0], self.bottom + 18, anchor="middle")

    def title(self, canvas: Canvas, across: str, up: str) -> None:
        """Write what the axes measure: below the middle, and over the upper left corner."""
        middle = (self.left + self.right) / 2
        canvas.small(across, middle, self.bottom + 36, anchor="middle")
        canvas.small(up, self.left - 42, self.top - 10)


def plots(
    canvas: Canvas, systems: Sequence[System], width: int, ratio: float, foot: float = 46
) -> tuple[list[Plot], float]:
    """Write each system's name over a plot of its own, beside and below each other; return them and where the last row ends.

    Args:
        canvas: to write on.
        systems: who is drawn.
        width: of the whole, in pixels.
        ratio: height by width of one.
        foot: room below one, for what its axis says.
    """
    across = 1 if width == NARROW else 2 if len(systems) in {1, 2, 4} else 3
    cell_width = width / across if len(systems) > 1 else min(width, 460)
    wide = cell_width - 56
    step = 46 + wide * ratio + foot
    places = []
    for number, system in enumerate(systems):
        edge, top = number % across * cell_width, number // across * step
        canvas.mark(style(system), edge + 8, top + 12)
        canvas.text(cut(system.label, int((cell_width - 30) / LETTER)), edge + 22, top + 17)
        places.append(Plot(edge + 42, top + 46, edge + 42 + wide, top + 46 + wide * ratio))
    return places, step * -(-len(systems) // across)


def _px(place: float) -> str:
    """Write a number of pixels: a tenth is as fine as anybody sees."""
    text = f"{place:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""
