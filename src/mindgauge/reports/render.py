"""The page: templates, style sheet and pictures put together into one file that asks nothing of a network.

Where there are many benchmarks, each one's part of a section is folded behind its finding.

Markdown in a reply becomes HTML: links are their text and their address, pictures their description, and HTML is text. Nothing
of it leads anywhere or runs.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge.records import english
from mindgauge.records.rounding import plural
from mindgauge.records.short_names import shortened
from mindgauge.records.text import shown
from mindgauge.reports import content, texts
from mindgauge.reports.draw import canvas, drawing
from mindgauge.reports.language import memory, spoken
from mindgauge.reports.language.spoken import speaking
from mindgauge.reports.sections import STATEMENT_HEADS
from mindgauge.reports.texts import marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import jinja2
    from jinja2.bccache import Bucket
    from jinja2.runtime import Context
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markupsafe import Markup

    from mindgauge.reports.content import Passage
    from mindgauge.reports.language.translator import Translator
    from mindgauge.reports.sections import Report


TEMPLATES = Path(__file__).parent / "templates"
MOST_ROWS = 250
"""Rows of a table that the page shows; the CSV holds all."""
_METHODS = '<section id="how"'
_UNIT = re.compile(r"(\d|n) (?=%|\d)")


def page(report: Report, json_name: str, translator: Translator | None = None) -> str:
    """Write the whole page, in the language of a translator if there is one."""
    import jinja2
    from markupsafe import Markup, escape

    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    linked = memory.Links(marked=translator is None)
    template = environment().get_template("report.html.j2")
    with speaking(translator):
        # Its hidden characters go at the end: among them are the marks of what stays English.
        html = jinja2.Template.render(
            template, r=report, style=style, json_name=json_name, linked=linked, reader=report.reader
        )
    # Addresses stand in full where it is said how the run was made, and nowhere else.
    findings, mark, methods = html.partition(_METHODS)
    names = {str(escape(address)): str(escape(name)) for address, name in report.names.items()}
    written = shortened(findings, names) + mark + methods
    return shown(written if translator is None else spoken.PageTranslator(translator)(written))


def _compiled() -> jinja2.BytecodeCache:
    """Return where compiled templates lie: where Python's own lie, under the same conditions.

    Compiling them takes a fifth of a small report. Jinja compiles again what has changed, or was written by another Python;
    the name tells its own release and ours apart. Where nothing can be written, they are compiled each time.
    """
    import jinja2

    class Cache(jinja2.FileSystemBytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            with contextlib.suppress(OSError):
                super().load_bytecode(bucket)

        def dump_bytecode(self, bucket: Bucket) -> None:
            if not sys.dont_write_bytecode:
                with contextlib.suppress(OSError):
                    Path(self.directory).mkdir(exist_ok=True)
                    super().dump_bytecode(bucket)

    return Cache(str(TEMPLATES / "__pycache__"), f"%s-{version('jinja2')}-{version('mindgauge')}.jinja")


@functools.cache
def environment() -> jinja2.Environment:
    """Return the templates' environment: everything is escaped, no page has hidden characters, and a misspelt name is an error."""
    import jinja2

    class ShownTemplate(jinja2.Template):
        def render(self, *names: Any, **content: Any) -> str:
            return shown(super().render(*names, **content))

    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled(),
    )
    env.template_class = ShownTemplate
    env.filters |= {
        "drawn": drawing.drawn,
        "ribbon": drawing.ribbon,
        "ribbon_key": drawing.ribbon_key,
        "typeset": typeset,
        "prose": _prose(),
        "of_page": content.of_page,
        "formatted": passage_html,
        "by_criterion": texts.by_criterion,
        "csv": content.data_link,
        "words": english.words,
        "sentence": english.sentence,
        "raised": english.raised,
        "ended": english.ended,
    }
    env.tests["long"] = content.is_long
    env.globals |= {
        "colour_number": lambda system: int(system.number) % len(canvas.COLOURS),
        "shape": canvas.shape,
        "shade": shade,
        "most_rows": MOST_ROWS,
        "statement_heads": STATEMENT_HEADS,
        "weak_parts": weak_parts,
        "compared_parts": compared_parts,
        "each_wording": wordings,
    }
    return env


def typeset(text: str) -> str:
    """Keep a number and its unit on one line."""
    return _UNIT.sub("\\1\N{NO-BREAK SPACE}", text)


@functools.cache
def _prose() -> Callable[[Context, str], Markup]:
    """Return the filter of a page's sentences: as `typeset`, and each term of the glossary is linked where it stands first."""
    import jinja2

    @jinja2.pass_context
    def prose(context: Context, text: str) -> Markup:
        links: memory.Links = context["linked"]
        return links(typeset(text))

    return prose


def shade(n: int, row: list[int]) -> str:
    """Return how dark a cell is: its share of its row, in percent of the darkest."""
    total = sum(row)
    return f"{round(100 * n / total)}" if total else "0"


def weak_parts(report: Report) -> list[dict[str, Any]]:
    """Part where it is weak; confusions that stand in the profile are left there."""
    elsewhere = report.profile.confused if report.profile else []
    findings = {task.benchmark: task.finding for task in report.tasks}
    parts = []
    for name, title in report.titles.items():
        figures = [f for f in report.weak.figures if f.benchmark == name]
        flows = [f for f in report.weak.flows if f.benchmark == name]
        confusions = [c for c in report.weak.confusions if c.benchmark == name and name not in elsewhere]
        if figures or flows or confusions:
            headings = [*(f.finding for f in figures), *(f.finding for f in flows)] or [
                findings.get(name, "what was answered to each class")
            ]
            parts.append({
                "title": title, "finding": headings[0], "figures": figures, "flows": flows, "confusions": confusions
            })  # fmt: skip
    return parts


def compared_parts(report: Report) -> list[dict[str, Any]]:
    """Part the comparison of systems."""
    contrasts = report.paired.contrasts if report.paired else []
    parts = []
    for name, title in report.titles.items():
        task_contrasts = [c for c in contrasts if c.benchmark == name]
        if task_contrasts:
            remainder = f"; and {plural(len(task_contrasts) - 1, 'more measure')}" if len(task_contrasts) > 1 else ""
            finding = f"{task_contrasts[0].finding}{remainder}"
            parts.append({"title": title, "finding": finding, "contrasts": task_contrasts})
    return parts


def wordings(report: Report) -> dict[str, dict[str, str]]:
    """Return where each prompt's text stands: in the first benchmark that has it."""
    by_text: dict[str, dict[str, str]] = {}
    for instrument in report.how.instruments:
        for kind, language, ident, text in instrument.prompts:
            place = f"{instrument.benchmark.replace('/', '-')}-{kind}-{language}-{ident[:8]}"
            by_text.setdefault(text, {"anchor": f"prompt-{place}", "title": report.titles[instrument.benchmark]})
    return by_text


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
        for is_text, piece in self.pieces:
            if not is_text:
                parts.append(piece)
                continue
            content = piece
            while content:
                if not rest:
                    span = next(spans)
                    rest = span.text
                taken, content = content[: len(rest)], content[len(rest) :]
                rest = rest[len(taken) :]
                assert span is not None
                parts.append(f"<mark>{escape(taken)}</mark>" if span.marked else escape(taken))
        return "".join(parts)


def passage_html(passage: Passage) -> Markup:
    """Write a passage as the person saw it."""
    from markupsafe import Markup

    quotes = [part.text for part in passage.parts if part.marked]
    return Markup(markdown_html("".join(part.text for part in passage.parts), quotes))  # noqa: S704 - tags are ours, texts escaped


def markdown_html(text: str, quotes: Iterable[str] = ()) -> str:
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


_SCROLL = '<div class="scroll" role="region" tabindex="0" aria-label="A table of the reply">'


def _edge(token: Token, name: str, pieces: _Pieces) -> None:
    """Open or close a block; a heading is a paragraph here, since the page's outline is not the reply's."""
    opens = token.nesting == 1
    if name == "heading":
        pieces.tag(f'<p class="heading {token.tag}">' if opens else "</p>")
        return
    tag = _BLOCKS.get(name, "div")
    start = f' start="{int(token.attrs["start"])}"' if opens and "start" in token.attrs else ""
    before, after = (_SCROLL, "</div>") if name == "table" else ("", "")
    pieces.tag(f"{before}<{tag}{start}>" if opens else f"</{tag}>{after}")


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
