"""What only the owner of a system knows: a small TOML file."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from pathlib import Path

_Stated: TypeAlias = str | list[str]
LONGEST = 600
"""Characters of one statement: the card is a page."""


class OwnerFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the owner states; nothing of it is measured. Each is a text, or a list of them."""

    owner: str = ""
    intended_use: _Stated = ""
    not_intended_use: _Stated = ""
    populations: _Stated = ""
    raters: _Stated = ""
    """Who they are, and which training they had."""
    limits: _Stated = ""
    incidents: _Stated = ""
    licences: _Stated = ""
    expires: datetime.date | None = None

    def stated(self, name: str) -> list[str]:
        """Return the statements on one thing."""
        content: _Stated = getattr(self, name)
        texts = [content] if isinstance(content, str) else content
        return [" ".join(text.split()) for text in texts if text.strip()]


def read(path: Path) -> OwnerFacts:
    """Read what an owner states.

    Raises:
        DataError: it cannot be read, is no TOML, or states something else; the message says what may stand there.
    """
    try:
        content = bounds.toml(path)
    except OSError as error:
        raise DataError(f"--card-facts {path}: cannot read it ({error.strerror})") from error
    except ValueError as error:
        raise DataError(f"--card-facts {path}: not TOML ({error})") from error
    fields = ", ".join(OwnerFacts.__struct_fields__)
    if isinstance(content.get("expires"), datetime.datetime):
        raise DataError(f"--card-facts {path}: expires is a day, as in expires = 2027-03-31")
    try:
        facts = msgspec.convert(content, OwnerFacts)
    except ValueError as error:
        raise DataError(f"--card-facts {path}: {error}; it may state {fields}") from error
    for name in content:
        texts = facts.stated(name) if name != "expires" else []
        if any(len(text) > LONGEST for text in texts):
            raise DataError(f"--card-facts {path}: {name} has more than {LONGEST} characters; a card is one page")
    return facts
