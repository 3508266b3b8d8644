"""One person before the labelling page, by HTTP: what a browser without a script does."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from tests.annotation.page.visiting import browser

if TYPE_CHECKING:
    from httpx2 import Response

    from mindgauge.annotation.project import Annotation

Fields = dict[str, "str | list[str]"]


class _Forms(HTMLParser):
    """The forms of a page: action → fields as they stand, and all values that buttons and radios can send."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, Fields] = {}
        self.values: dict[str, dict[str, list[str]]] = {}
        self._action = ""
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = dict(attrs)
        name, value = has.get("name") or "", has.get("value") or ""
        if tag == "form":
            self._action = has.get("action") or ""
            self.fields.setdefault(self._action, {})
            self.values.setdefault(self._action, {})
        elif tag == "textarea":
            self._area = name
            self.fields[self._action][name] = ""
        elif tag == "button" or has.get("type") == "radio":
            self.values.setdefault(self._action, {}).setdefault(name, []).append(value)
            if "checked" in has:
                self.fields[self._action][name] = value
        elif tag == "input" and name:
            there = self.fields[self._action].get(name)
            self.fields[self._action][name] = (
                value if there is None else [*([there] if isinstance(there, str) else there), value]
            )

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._action][self._area] = data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""


class Seat:
    """One person at the labelling page."""

    def __init__(self, project: Annotation, name: str, language: str = "en") -> None:
        self.person = project.named(name)
        project.set_language(self.person.id, language)
        self.client = browser(project).come_in(project, name)

    def get(self, path: str = "/item") -> Response:
        return self.client.get(path)

    def form(self, action: str, page: str = "") -> Fields:
        """The fields of a form on the page, without an answer where none is chosen."""
        forms = _Forms()
        forms.feed(page or self.get().text)
        fields = forms.fields[action]
        fields.pop("quotes", None)  # stands there only without a script, beside what a script needs
        return fields

    def choices(self, action: str, name: str) -> list[str]:
        forms = _Forms()
        forms.feed(self.get().text)
        return forms.values[action][name]

    def post(self, action: str, **more: Any) -> Response:
        """Post a form of the page as it stands, with these fields changed."""
        return self.client.post(
            action, data={**self.form(action), **{k.replace("__", ":"): v for k, v in more.items()}}
        )

    def decide(self, *answers: str) -> Response:
        """Answer nodes, a screen each."""
        for answer in answers:
            response = self.post("/item/decide", answer=answer)
            assert response.status_code == 303, response.text
        return response


def text(response: Response) -> str:
    """What a page says, without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", response.text)).split())
