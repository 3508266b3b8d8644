"""What the terminal shows while the page is served: a line per request, and faults by their kind and place."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import TYPE_CHECKING

from mindgauge.web.errors import described

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS = "mindgauge.web"
_OTHERS = logging.WARNING
"""From which level on other packages are heard."""
_POOLS = "sqlalchemy.pool"
"""It tells of each connection that a server has ended; of each request that fails for it, we do."""


class _Line(logging.Formatter):
    """One line for each record. Of other packages it says who complains, and of an error what kind it is and where.

    What they would say can hold a statement with its parameters, which are people's words and ids.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        if not record.name.startswith(_OURS):
            error = record.exc_info[1] if record.exc_info else None
            message = f"{record.levelname.lower()} of {record.name}" + (f": {described(error)}" if error else "")
            record = logging.LogRecord(record.name, record.levelno, "", 0, message, None, None)
        return super().format(record)


@contextlib.contextmanager
def lines() -> Iterator[None]:
    """Write what is logged to standard error, and nowhere else."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    handler.addFilter(lambda record: not record.name.startswith(_POOLS))
    root, own = logging.getLogger(), logging.getLogger(_OURS)
    before = root.handlers[:], root.level, own.level
    root.handlers[:] = [handler]
    root.setLevel(_OTHERS)
    own.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.handlers[:], level, own.level = before
        root.setLevel(level)
