"""People who label, as `web.py` needs them: each with cookies and forms of their own, following the pages as a browser does.

They read what a page asks from its HTML, choose an answer at random, and hand it in. A connection that breaks is tried
again with the same form, as `page.js` does, until an answer comes.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import aiohttp

AGAIN = 0.2
"""Seconds until a broken connection is tried again."""
ASKED = ("/join", "/notice", "/item/decide", "/item/submit")
"""The forms that are filled in; others (skip, undo, language) are left alone."""


@dataclass
class Form:
    """One form of a page: what it carries anyway, and what can be chosen."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    choices: dict[str, list[str]] = field(default_factory=dict)

    def filled(self, chance: random.Random) -> dict[str, str]:
        """Choose one of each set of radio buttons, and one button."""
        chosen = {name: chance.choice(values) for name, values in self.choices.items()}
        return self.fields | chosen | dict([chance.choice(self.buttons)] if self.buttons else [])


class Forms(HTMLParser):
    """The forms of a page, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take up forms, and what belongs to the last."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(given.get("action", "")))
        if not self.found or not given.get("name"):
            return
        form, name, value = self.found[-1], given["name"], given.get("value", "")
        if tag == "button" and "formaction" not in given:
            form.buttons.append((name, value))
        elif tag == "input" and given.get("type") == "radio":
            form.choices.setdefault(name, []).append(value)
        elif tag == "input" and given.get("type") != "checkbox":
            form.fields[name] = value

    @classmethod
    def asked(cls, html: str) -> Form | None:
        """Return the form that a page wants filled in, if it has one."""
        return next((form for form in cls(html).found if urlsplit(form.action).path in ASKED), None)


@dataclass
class Seen:
    """What all annotators together saw of the server."""

    posts: list[float] = field(default_factory=list)
    """Seconds from an answer to the redirection."""
    kept: list[float] = field(default_factory=list)
    """Of these, where the answer completed an item and its label was kept."""
    pages: list[float] = field(default_factory=list)
    told: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Form → (person, item): what people were told is kept."""
    broken: int = 0
    """Connections that broke or were refused."""
    stale: int = 0
    """Answers that the server had already, or no longer wanted."""
    faults: int = 0
    """Answers of the server that begin with 5."""


class Annotator:
    """One person with a browser."""

    def __init__(self, name: str, base: str, seen: Seen, think: tuple[float, float]) -> None:
        self.name, self.base, self.seen, self.think = name, base, seen, think
        self.chance = random.Random(name)
        # A loopback address has no name, and cookies are otherwise kept for names alone.
        self.http = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))

    async def label(self, link: str, wanted: int) -> None:
        """Come in by an invitation, and label so many items."""
        async with self.http:
            form = Forms.asked(await self._page(link))
            done = 0
            while done < wanted:
                if form is None:
                    raise SystemExit(f"{self.name}: nothing to fill in after {done} of {wanted} items")
                page, seconds = await self._hand_in(form)
                following = Forms.asked(page)
                if "item" in form.fields and form.fields["item"] != (following.fields.get("item") if following else ""):
                    self.seen.told[form.fields["form"]] = (self.name, form.fields["item"])
                    self.seen.kept.append(seconds)
                    done += 1
                form = following

    async def _hand_in(self, form: Form) -> tuple[str, float]:
        """Answer after some thought; return the page that follows, and the seconds that the answer took."""
        if form.action.startswith("/item"):
            await asyncio.sleep(self.chance.uniform(*self.think))
        status, where, _, seconds = await self._send("POST", form.action, form.filled(self.chance))
        if status == 409:
            self.seen.stale += 1
            where = "/item"
        elif status != 303:
            raise SystemExit(f"{self.name}: {form.action} answered {status}")
        if form.action.startswith("/item"):
            self.seen.posts.append(seconds)
        return await self._page(where), seconds

    async def _page(self, where: str) -> str:
        began = time.perf_counter()
        while True:
            status, following, text, _ = await self._send("GET", where, None)
            if status not in {302, 303, 307}:
                break
            where = following
        if status != 200:
            raise SystemExit(f"{self.name}: {urlsplit(where).path} answered {status}")
        self.seen.pages.append(time.perf_counter() - began)
        return text

    async def _send(self, method: str, where: str, data: dict[str, str] | None) -> tuple[int, str, str, float]:
        """Ask until an answer comes: its status, where it leads, its text, and the seconds it took."""
        headers = {"Origin": self.base, "Sec-Fetch-Site": "same-origin"}
        while True:
            began = time.perf_counter()
            try:
                async with self.http.request(
                    method, urljoin(self.base, where), data=data, headers=headers, allow_redirects=False
                ) as response:
                    text = await response.text()
            except (aiohttp.ClientError, ConnectionError, TimeoutError):
                self.seen.broken += 1
                await asyncio.sleep(AGAIN)
                continue
            if response.status < 500:
                return response.status, response.headers.get("Location", ""), text, time.perf_counter() - began
            self.seen.faults += 1
            await asyncio.sleep(AGAIN)
