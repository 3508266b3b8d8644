"""From a template to an answer: HTML in the visitor's language, in English and Chinese words (`words/<language>/<section>.toml`).

A text may have named slots, `{place}`, which `in_words` fills; what fills them is never read as a slot itself.
"""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from mindgauge.annotation.records import Answered
from mindgauge.raters.quotes import chinese
from mindgauge.raters.window import Unit
from mindgauge.records.rounding import decimal, percent
from mindgauge.records.rubric.criterion import Texts, in_language
from mindgauge.records.shell import command_line
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from starlette.requests import Request

    from mindgauge.annotation.page.access import Visitor
    from mindgauge.annotation.records import Item, Label
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion


class Line(NamedTuple):
    """One message; `hidden` stands for what was answered and is not shown."""

    side: str
    """`user`, `assistant` or `system`."""
    text: str
    hidden: bool = False


class ShownTurn(NamedTuple):
    """A message of the person, and what was answered; number 0 has what came before the person spoke."""

    number: int
    lines: list[Line]


def in_turns(item: Item) -> list[ShownTurn]:
    """Return the turns of an item's dialogue, without a reply or message that is judged by itself."""
    turns: list[ShownTurn] = []
    number = 0
    for message in item.messages:
        if message.role == "user":
            number += 1
        if not turns or turns[-1].number != number:
            turns.append(ShownTurn(number, []))
        turns[-1].lines.append(Line(message.role, message.content))
        if item.unit == Unit.CLIENT:
            turns[-1].lines.append(Line("assistant", "", hidden=True))
    return turns


LANGUAGES = {"en": "English", "zh": "中文"}
"""The languages of the interface, each by its own name; the first is taken where nothing else is known."""


@functools.cache
def words(language: str) -> dict[str, dict[str, str]]:
    """Return section → name → text in a language; English where there is no such language."""
    folder = (
        resources.files("mindgauge.annotation.page")
        / "words"
        / (language if language in LANGUAGES else next(iter(LANGUAGES)))
    )
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8")) for file in files}


def in_words(text: str, **slots: object) -> str:
    """Fill the named slots of a text."""
    return text.format(**slots)


class Worded(NamedTuple):
    """A text and the language that it is in; empty where that is not known."""

    text: str
    lang: str


def worded(texts: Texts, language: str) -> Worded:
    """Pick the wording for a language, and say which language it is in."""
    text = in_language(texts, language)
    return Worded(text, next((code for code in (language, *texts) if texts.get(code) == text), ""))


def called(criterion: Criterion, value: Value | None, language: str) -> str:
    """Name a level as people read it: in the Chinese interface with its Chinese name, where it has one."""
    level = next((level for level in criterion.levels if level.value == value), None)
    plain = str(value).replace("_", " ")
    own = next((alias for alias in level.aliases if chinese(alias * 2)), "") if level and language == "zh" else ""
    return f"{own}（{plain}）" if own and own != plain else plain


def said(criterion: Criterion, label: Label, language: str) -> str:
    """Name what was answered: a level, or why there is none."""
    if label.answered is Answered.OK:
        return called(criterion, label.value, language)
    return words(language)["item"].get(label.answered.value, "")


# From a template to an answer: HTML in the visitor's language.


class _Environment(Environment):
    """As Jinja's, but `words.section.items` is the text called `items`, not the method of a dict."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


environment = _Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
environment.filters["visible"] = visible
environment.filters["in_turns"] = in_turns
environment.filters["decimal"] = decimal
environment.filters["percent"] = percent
environment.globals["command_line"] = command_line


def page(
    request: Request, template: str, visitor: Visitor | None, status: int = 200, **content: object
) -> HTMLResponse:
    """Render `templates/<template>.html.j2`.

    Besides `content`, a template has `words` (section → name → text, in the visitor's language), `language`, `visitor`,
    `csrf` (of the visitor's session; every form carries it in a hidden field of this name) and `annotation`.
    """
    spoken = language(request, visitor)
    html = environment.get_template(f"{template}.html.j2").render(
        words=words(spoken),
        language=spoken,
        visitor=visitor,
        csrf=visitor.csrf if visitor else "",
        annotation=request.app.state.annotation,
        **content,
    )
    return HTMLResponse(html, status)


def go_on(request: Request, path: str) -> Response:
    """Lead on from a form that was taken: a redirect, or 204 for the page's script, which cannot see where one leads."""
    if request.headers.get("accept") == "application/json":
        return Response(status_code=204, headers={"Location": path})
    return RedirectResponse(path, 303)


def language(request: Request, visitor: Visitor | None) -> str:
    """Return the language of the page: what the visitor chose, else the first that their browser asks for."""
    if visitor and visitor.person.language in LANGUAGES:
        return visitor.person.language
    for wanted in request.headers.get("accept-language", "").split(","):
        code = wanted.strip().lower().partition(";")[0].partition("-")[0]
        if code in LANGUAGES:
            return code
    return next(iter(LANGUAGES))
