"""What people may be called: labels go by names, beside those of other raters."""

from __future__ import annotations

import unicodedata

LONGEST = 80
RESERVED = "gold"
"""What a data set's own labels are called among the raters of a run."""


def tidy(name: str) -> str:
    """Return a name as it is kept: composed letters, no blanks at its ends."""
    return unicodedata.normalize("NFC", name).strip()


def readable(name: str) -> bool:
    """Whether a name can be read: 1 to 80 characters, none of them invisible."""
    return bool(name) and len(name) <= LONGEST and name.isprintable()


def reserved(name: str) -> bool:
    """Whether it is what something else is called."""
    return name.casefold() == RESERVED
