"""`files/DIR`: each request becomes a file, and whoever reads it writes the answer into a file: a person, another program.

    DIR/asked/ID.md       what is asked, exactly as it would be sent
    DIR/answers/ID.txt    the answer

A request without an answer that can be read waits: the run keeps nothing of it, and the next command asks again.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from mindgauge.models.completion import LONGEST_TEXT
from mindgauge.records import Exchange, Status
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError, WaitingError
from mindgauge.records.files import bounds, private
from mindgauge.records.request import BARE, Costless, identity
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from mindgauge.records.request import Request, Setup

_DIGITS = 16
"""Of a call's key in the name of its files."""


class ByHand(Costless):
    """A model whose requests and answers are files in a folder."""

    def __init__(self, name: str, folder: str, setup: Setup = BARE) -> None:
        """Describe the model; nothing is written before it is entered.

        Args:
            name: how the user calls it; part of every call's key, and so of the names of files.
            folder: where the files are.
            setup: what is shown in addition to the messages of a request.

        Raises:
            UsageError: the files cannot be there.
        """
        self.name = name
        self.setup = setup
        try:
            self._folder = Path(folder).expanduser()
        except RuntimeError as error:
            raise UsageError(f"{name}: no home folder is known for {Path(folder).parts[0]}") from error
        self._folders = (self._folder, self._folder / "asked", self._folder / "answers")
        self._waiting: dict[str, str] = {}
        """What is wrong with the answer; empty where there is none."""
        self._repairs: set[str] = set()
        self._check()

    async def ask(self, request: Request) -> Exchange:
        """Return the answer to a request, or file the request; see `Model.ask`.

        Raises:
            WaitingError: there is no answer yet.
            UsageError: the request cannot be filed.
        """
        path = self.path(request.key(identity(self)))
        ident = path.stem
        text, problem = _read(path)
        if text:
            self._waiting.pop(ident, None)
            return Exchange(Status.OK, text, model_resolved=self.name, cost=0.0, at=time.time())
        place, content = self._folder / "asked" / f"{ident}.md", self._written(request, ident)
        if _read(place)[0] != content.strip():
            with private.written(place) as file:
                file.write(content.encode(errors="replace"))
        self._waiting[ident] = problem
        if request.repair:
            self._repairs.add(ident)
        raise WaitingError(f"{place} waits for an answer")

    def corrected(self, key: bytes, stored: Exchange | None) -> bool:
        """Say whether the file of an answer that was read has another one now."""
        text = bounds.clean(_read(self.path(key))[0])
        return bool(text and stored and text != stored.text)

    def path(self, key: bytes) -> Path:
        """Return the file of the answer to a call."""
        return self._folder / "answers" / f"{key.hex()[:_DIGITS]}.txt"

    def _written(self, request: Request, ident: str) -> str:
        """Write a request: what is expected, its messages, each in marks with its role, and on the last line its parameters."""
        form = "text" if request.schema is None else "one JSON object, in the form that the request shows"
        parts = [f"Write your answer ({form}) to answers/{ident}.txt"]
        parts += [
            f"<{ident} {message.role}>\n{message.content}\n</{ident} {message.role}>"
            for message in self.setup.opened(request.messages)
        ]
        facts = {"parameters": {**request.parameters, **self.setup.parameters}, "schema": request.schema}
        parts.append(f"For programs: {json.dumps(facts, ensure_ascii=False)}")
        return "\n\n".join(parts) + "\n"

    @property
    def waiting(self) -> str:
        """Say how many requests wait for an answer, and where; empty where none does."""
        if not self._waiting:
            return ""
        wait = "wait" if len(self._waiting) > 1 else "waits"
        where = f"{self._folder / 'asked'} {wait} for an answer in {self._folder / 'answers'}"
        line = f"{self.name}: {plural(len(self._waiting), 'request')} in {where}"
        if unread := [problem for problem in self._waiting.values() if problem]:
            line += f"; {plural(len(unread), 'answer')} cannot be read: {named(unread)}"
        if repairs := sorted(self._repairs & self._waiting.keys()):
            line += f"; {plural(len(repairs), 'answer')} had no readable verdict; filed again as {named(repairs)}"
        return line

    def _check(self) -> None:
        """See, before anything is written, whether the folders can be there."""
        for path in self._folders:
            with private.writing(path):
                private.refuse_link(path)
                place = next(place for place in (path, *path.parents, Path()) if place.exists())
            if not place.is_dir():
                raise UsageError(f"{place}: this is a file, and {self.name} needs a folder; name another")

    async def __aenter__(self) -> Self:
        self._check()
        for path in self._folders:
            private.folder(path)
        return self


def _read(path: Path) -> tuple[str, str]:
    """Return an answer, and what is wrong with its file."""
    try:
        return bounds.content(path, LONGEST_TEXT, links=False).decode("utf-8-sig").strip(), ""
    except FileNotFoundError:
        return "", ""
    except (OSError, UnicodeDecodeError) as error:
        return "", f"{path}: {getattr(error, 'strerror', 'it is not UTF-8')}"
