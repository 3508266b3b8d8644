"""A reply as the person saw it, as HTML: a safe subset of Markdown, with marks across its parts.

Links are their text and their address, pictures their description, HTML is text: nothing of it leads anywhere or runs.
"""

from __future__ import annotations

import functools
from html import escape
from typing import TYPE_CHECKING

from mindgauge.reports.texts import marked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markupsafe import Markup

    from mindgauge.reports.content import Passage

_BLOCKS = {
    "paragraph": "p", "blockquote": "blockquote", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li", "table": "table", "thead": "thead",
    "tbody": "tbody", "tr": "tr", "th": "th", "td": "td",
}  # fmt: skip
_SPANS = {"strong": "strong", "em": "em", "s": "s"}


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False})


class _Pieces:
    """Tags, which are ours, and texts, which are not, in the order of the page."""

    def __init__(self) -> None:
        self.pieces: list[tuple[bool, str]] = []

    def tag(self, html: str) -> None:
        self.pieces.append((False, html))

    def text(self, content: str) -> None:
        self.pieces.append((True, content))

    def html(self, quotes: Iterable[str]) -> str:
        """Return the page's part, with quotes marked wherever their letters stand in the texts."""
        spans = iter(marked("".join(content for is_text, content in self.pieces if is_text), quotes))
        span, rest = None, ""
        parts: list[str] = []
        for is_text, content in self.pieces:
            if not is_text:
                parts.append(content)
                continue
            while content:
                if not rest:
                    span = next(spans)
                    rest = span.text
                taken, content = content[: len(rest)], content[len(rest) :]  # noqa: PLW2901 - what is left of it
                rest = rest[len(taken) :]
                assert span is not None
                parts.append(f"<mark>{escape(taken)}</mark>" if span.marked else escape(taken))
        return "".join(parts)


def formatted(passage: Passage) -> Markup:
    """Write a passage as the person saw it."""
    from markupsafe import Markup

    quotes = [part.text for part in passage.parts if part.marked]
    return Markup(html("".join(part.text for part in passage.parts), quotes))  # noqa: S704 - tags are ours, texts escaped


def html(text: str, quotes: Iterable[str] = ()) -> str:
    """Write a text in Markdown as HTML."""
    pieces = _Pieces()
    for token in _parser().parse(text):
        _block(token, pieces)
    return pieces.html(quotes)


def _block(token: Token, pieces: _Pieces) -> None:
    name = token.type.removesuffix("_open").removesuffix("_close")
    if token.type == "inline":
        _inline(token.children or [], pieces)
    elif token.type in {"fence", "code_block"}:
        pieces.tag("<pre><code>")
        pieces.text(token.content)
        pieces.tag("</code></pre>")
    elif token.type == "hr":
        pieces.tag("<hr>")
    elif token.nesting == 0:
        pieces.text(token.content)
    elif not token.hidden:
        _edge(token, name, pieces)


def _edge(token: Token, name: str, pieces: _Pieces) -> None:
    """Open or close a block; a heading is a paragraph here, since the page's outline is not the reply's."""
    opens = token.nesting == 1
    if name == "heading":
        pieces.tag(f'<p class="heading {token.tag}">' if opens else "</p>")
        return
    tag = _BLOCKS.get(name, "div")
    start = f' start="{int(token.attrs["start"])}"' if opens and "start" in token.attrs else ""
    wrap = name == "table"
    pieces.tag(('<div class="scroll" role="region" tabindex="0" aria-label="A table of the reply">' if wrap and opens else "") + (f"<{tag}{start}>" if opens else f"</{tag}>") + ("</div>" if wrap and not opens else ""))  # fmt: skip


def _inline(tokens: Iterable[Token], pieces: _Pieces) -> None:
    addresses: list[str] = []
    for token in tokens:
        name = token.type.removesuffix("_open").removesuffix("_close")
        if name == "link" and token.nesting == 1:
            addresses.append(str(token.attrs.get("href", "")))
            pieces.tag('<span class="link">')
        elif name == "link":
            address = addresses.pop()
            pieces.tag('</span><span class="aside">')
            pieces.text(f" ({address})" if address and token.info != "auto" else "")
            pieces.tag("</span>")
        elif name in _SPANS:
            pieces.tag(f"<{'/' * (token.nesting == -1)}{_SPANS[name]}>")
        elif name == "code_inline":
            pieces.tag("<code>")
            pieces.text(token.content)
            pieces.tag("</code>")
        elif name in {"softbreak", "hardbreak"}:
            pieces.tag("<br>")
        elif name == "image":
            pieces.tag('<span class="aside">')
            pieces.text(f"[picture: {token.content or 'not described'}]")
            pieces.tag("</span>")
        else:
            pieces.text(token.content)
