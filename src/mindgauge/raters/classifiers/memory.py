"""When memory runs out: how torch says so, and one line where smaller batches do not help."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mindgauge.records.errors import MindgaugeError

if TYPE_CHECKING:
    from collections.abc import Iterator


def ran_out(error: Exception) -> bool:
    """Whether there was too little memory: torch's own error on a GPU, its allocator's words on a CPU, or Python's."""
    import torch

    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


@contextlib.contextmanager
def enough() -> Iterator[None]:
    """Say in one line that memory ran out where smaller batches do not help."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not ran_out(error):
            raise
        raise MindgaugeError("out of memory for the encoder itself; choose a smaller one, or --device cpu") from error
