"""`replay/FILE`: replies that exist already, given again as if a model wrote them.

FILE is a replies file (`reply` and `user` or `messages`, optionally `run`; `columns.toml` beside it may name them), or the directory of an earlier run,
whose calls are then answered as they were answered there, verdicts of judges included.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.records import REASONING, Exchange, Sample, Status
from mindgauge.records.errors import DataError
from mindgauge.records.files import tables, texts
from mindgauge.records.request import Costless
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from mindgauge.records.request import Request


COLUMNS = ("reply", "user", "messages", "run", REASONING)


class Replay(Costless):
    """Answers from a file; what the file does not hold is `failed`."""

    def __init__(self, name: str) -> None:
        """Read the file.

        Raises:
            DataError: there is no such file, or it holds no replies.
        """
        self.name = name
        path = Path(name.removeprefix("replay/")).expanduser()
        self._store = Store(path) if tables.is_run(path) else None
        if self._store and not manifest.read(path).get("plan", {}).get("text", True):
            raise DataError(f"{path}: kept without text, so there is nothing to replay")
        self._replies = {} if self._store else _read(path)

    async def ask(self, request: Request) -> Exchange:
        """Look the answer up: by the question as asked, or by the dialogue it is about."""
        return self._from_run(request) if self._store else self._from_file(request)

    def _from_file(self, request: Request) -> Exchange:
        idents = [Sample.of(request.messages).id, *([request.sample.id] if request.sample else [])]
        for ident in idents:
            entry = self._replies.get((ident, request.run), self._replies.get((ident, None)))
            if entry is not None:
                text, reasoning = entry
                status = Status.OK if text.strip() else Status.UNPARSABLE
                return Exchange(
                    status, text, "stop", model_resolved=self.name, cost=0.0, at=time.time(), reasoning=reasoning
                )
        return Exchange(Status.FAILED, error=f"{self.name} holds no reply to this, run {request.run}", at=time.time())

    def _from_run(self, request: Request) -> Exchange:
        assert self._store is not None
        query = "SELECT key FROM calls WHERE prompt = ? AND text IS NOT NULL"
        for (key,) in self._store.select(query, (request.prompt_hash,)):
            exchange = self._store.exchange(key)
            if exchange is not None:
                return exchange
        if request.sample is not None:
            query = (
                "SELECT status, text, finish_reason, coalesce(json_extract(provenance, ?), '') FROM replies "
                "WHERE sample = ? AND run = ? AND status != 'failed'"
            )
            parameters = f"$.{REASONING}", request.sample.id, request.run
            for status, text, reason, reasoning in self._store.select(query, parameters):
                return Exchange(Status(status), text, reason, cost=0.0, at=time.time(), reasoning=reasoning)
        return Exchange(Status.FAILED, error=f"{self.name} holds no answer to this", at=time.time())

    async def __aexit__(self, *_: object) -> None:
        if self._store is not None:
            self._store.close()


def _read(path: Path) -> dict[tuple[str, int | None], tuple[str, str]]:
    """Return replies, each with the model's reasoning where the file has a column of it."""
    replies: dict[tuple[str, int | None], tuple[str, str]] = {}
    column_map = tables.beside(path, COLUMNS)
    for line, row in tables.open_table(path, column_map.layout).rows(column_map.columns):
        place = f"{path}:{line}"
        text = row.get("reply", "")
        if not isinstance(text, str):
            raise DataError(f"{place}: reply must be text, found {type(text).__name__}")
        run = texts.whole(row["run"], place, "run") if row.get("run") is not None else None
        reasoning = str(row.get(REASONING) or "")
        replies.setdefault((Sample.of(texts.dialogue(row, place)).id, run), (text, reasoning))
    if not replies:
        raise DataError(f"{path}: no replies in it")
    return replies
