"""Text that was written as UTF-8 and read as GB18030, made whole again."""

from __future__ import annotations

import re

_RUN = re.compile("[^\x00-\x7f\ufffd]+")
_LOST = "\ufffd?"
"""A byte that was lost and stands as a question mark; in the one file known to need this, always within a dash."""


def repaired(raw: bytes) -> tuple[str, int, int]:
    """Undo one wrong reading.

    Every run of characters beyond ASCII is written as GB18030 again and read as UTF-8; one that does not come out as
    text stays as it is. Where a byte was lost, an em dash is put.

    Args:
        raw: UTF-8 of the garbled text.

    Returns:
        The text, how many runs were mended, and how many lost bytes were filled in.
    """
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    mended = 0

    def again(match: re.Match[str]) -> str:
        nonlocal mended
        try:
            decoded = match[0].encode("gb18030").decode("utf-8")
        except UnicodeError:
            return match[0]
        mended += 1
        return decoded

    text = _RUN.sub(again, text)
    return text.replace(_LOST, "—"), mended, text.count(_LOST)
