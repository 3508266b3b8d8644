"""Names on blind forms: they say nothing to whoever has no key, and the key stays in the run.

A reply's own id is a hash of its text, its model's name and the like. On a form, everything but the name can be read, so
that with twenty names to choose from it could be found by trying; and so could whatever is computed from it without a
secret: another hash, an order, a lot. So names, orders and lots of forms are computed with a secret of the run, the same
for every form that is made of it.
"""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING, Self

from mindgauge.records import encode
from mindgauge.records.files import private

if TYPE_CHECKING:
    from pathlib import Path

FILE = "blind.key"
"""In a run's folder, readable for its owner only."""
_DIGITS = 16
_NEW_FORMS = "give out new forms"


class Blind:
    """Names, and orders by chance, that follow from a secret."""

    def __init__(self, secret: bytes) -> None:
        """Take the secret, of at most 64 bytes."""
        self._secret = secret

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Return that of a run; its secret is made where it has none.

        Raises:
            UsageError: the secret cannot be written, or is damaged.
        """
        return cls(private.secret(folder / FILE, _NEW_FORMS))

    @classmethod
    def known(cls, folder: Path) -> Self | None:
        """Return that of a run, if any form was ever made of it.

        Raises:
            UsageError: its secret is damaged.
        """
        return cls.of(folder) if (folder / FILE).exists() else None

    def review(self, subject: str) -> str:
        """Return the name of what is read in a review list."""
        return f"r{self._digest('review', subject)}"

    def chance(self, *about: object) -> random.Random:
        """Return a generator for a lot or an order; the same for the same."""
        return random.Random(self._digest("chance", *about))

    def _digest(self, *parts: object) -> str:
        # The names begin with a letter, since spreadsheets read digits, or 1e11, as a number.
        return hashlib.blake2b(encode(parts), key=self._secret, digest_size=_DIGITS // 2).hexdigest()
