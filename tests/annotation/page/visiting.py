"""A browser without a window: people who come in by their links, and post forms as the page has them."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import httpx2

from mindgauge.annotation import people, submissions, tasks
from mindgauge.annotation.page.serve import create_app
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.annotation.web.guard import own_host

if TYPE_CHECKING:
    from fastapi import FastAPI

    from mindgauge.annotation.project import Annotation


def here(annotation: Annotation, port: int = 8765, name: str = "") -> str:
    """Return the address under which this machine serves a project to a person."""
    person = annotation.named(name).id if name else ""
    return f"http://{own_host(annotation.secret, person)}:{port}"


class Calls(httpx2.BaseTransport):
    """Calls an application in this thread; starlette's TestClient crosses to two threads of its own for each request."""

    def __init__(self, app: FastAPI) -> None:
        self.app = httpx2.ASGITransport(app)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        return asyncio.run(self.answer(request))

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self.app.handle_async_request(request)
        return httpx2.Response(answer.status_code, headers=answer.headers, content=await answer.aread())


class Browser(httpx2.Client):
    """A client that follows no redirects and, once somebody is in, knows what their forms carry."""

    def __init__(self, app: FastAPI, url: str = "") -> None:
        super().__init__(transport=Calls(app), base_url=url or here(app.state.annotation), follow_redirects=False)
        self.app = app
        self.annotation: Annotation = app.state.annotation
        self.name = self.csrf = ""

    def come_in(self, annotation: Annotation, name: str, *, noticed: bool = True) -> Browser:
        """Exchange a new link; read the notice if the person is to have read it."""
        person = annotation.named(name)
        answer = self.post("/join", data={"token": people.invite(annotation, person.id)})
        assert answer.status_code == 303
        self.name, self.csrf = name, forms_csrf(self.get("/notice").text)
        if noticed:
            assert self.hand_in("/notice").status_code == 303
        return self

    def hand_in(self, path: str, **fields: str) -> httpx2.Response:
        """Post a form of this session."""
        return self.post(path, data={"csrf": self.csrf, **fields})


def forms_csrf(html: str) -> str:
    """Return what the forms of a page carry."""
    found = re.search(r'name="csrf" value="([^"]+)"', html)
    assert found
    return found[1]


def browser(annotation: Annotation) -> Browser:
    """Open the page of a project, with nobody in."""
    return Browser(create_app(annotation))


def label_apart(annotation: Annotation, until: Phase) -> None:
    """Let everybody answer everything, each with a level of their own, until a batch has come to a phase."""
    levels = annotation.rubric().criteria[0].values
    while annotation.batches()[-1].phase is not until:
        for number, person in enumerate(annotation.annotators()):
            at = tasks.current(annotation, person)
            if isinstance(at, tasks.Assignment) and at.phase is not until:
                answer = Answer("category", Answered.OK, levels[number])
                form = f"{person.name}-{at.phase}-{at.item.id}"
                submissions.submit(annotation, person, at.item.id, at.phase, at.turn, form, [answer])
