"""`files/DIR`: each request becomes a file, and whoever reads it writes the answer into a file: a person, another program.

    DIR/asked/ID.md       what is asked, exactly as it would be sent
    DIR/answers/ID.txt    the answer

A request without an answer waits: the run keeps nothing of it, and the next command asks again.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from mindgauge.models.completion import LONGEST_TEXT
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import UsageError, WaitingError
from mindgauge.records.files import bounds, private
from mindgauge.records.request import BARE, FREE, identity
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from mindgauge.records.request import Price, Request, Setup

_DIGITS = 16
"""Of a call's key in the name of its files."""


class ByHand:
    """A model whose requests and answers are files in a folder."""

    host = ""
    price: Price | None = FREE
    max_tokens = 4096
    context: int | None = None
    own_machine = False
    at_once: int | None = None

    def __init__(self, name: str, folder: str, setup: Setup = BARE) -> None:
        """Describe the model; nothing is written before it is entered.

        Args:
            name: how the user calls it; part of every call's key, and so of the names of files.
            folder: where the files are.
            setup: what is shown in addition to the messages of a request.
        """
        self.name = name
        self.setup = setup
        self._folder = Path(folder).expanduser()
        self._waiting: set[str] = set()

    async def ask(self, request: Request) -> Exchange:
        """Return the answer to a request, or file the request; see `Model.ask`.

        Raises:
            WaitingError: there is no answer yet.
            UsageError: the request cannot be filed.
        """
        ident = request.key(identity(self)).hex()[:_DIGITS]
        path = self._folder / "answers" / f"{ident}.txt"
        error = ""
        try:
            text = bounds.content(path, LONGEST_TEXT).decode("utf-8-sig").strip()
        except FileNotFoundError:
            text = ""
        except (OSError, UnicodeDecodeError) as problem:
            text = ""
            error = f"{path}: {problem.strerror if isinstance(problem, OSError) else 'it is not UTF-8'}"
        if text or error:
            self._waiting.discard(ident)
            status = Status.FAILED if error else Status.OK
            return Exchange(status, text, model_resolved=self.name, cost=0.0, error=error, at=time.time())
        asked = self._folder / "asked" / f"{ident}.md"
        if not asked.exists():  # one that is there is the same request, and may be open in an editor
            with private.written(asked) as file:
                file.write(self._written(request, ident).encode(errors="replace"))
        self._waiting.add(ident)
        raise WaitingError(self.waiting)

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
        return f"{self.name}: {plural(len(self._waiting), 'request')} in {where}"

    async def __aenter__(self) -> Self:
        for path in (self._folder, self._folder / "asked", self._folder / "answers"):
            private.refuse_link(path)
            try:
                private.folder(path)
            except OSError as error:
                raise UsageError(f"{path}: cannot write here ({error.strerror})") from error
        return self

    async def __aexit__(self, *_: object) -> None:
        pass
