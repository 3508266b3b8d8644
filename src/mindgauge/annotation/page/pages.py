"""From a template to an answer: HTML in the visitor's language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from mindgauge.annotation.page.words import LANGUAGES, words
from mindgauge.records.rounding import decimal, percent
from mindgauge.records.visible import visible

if TYPE_CHECKING:
    from starlette.requests import Request

    from mindgauge.annotation.page.access import Visitor


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
environment.filters["decimal"] = decimal
environment.filters["percent"] = percent


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
