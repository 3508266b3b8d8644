"""Names that are safe in paths and configs, and people's names that do not leave the house."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_ANONYMOUS = re.compile(r"H\d+")
_LONGEST = 80


def config_name(name: str) -> str:
    """Return a safe file name as it stands in the name of a config or split."""
    return re.sub(r"\W", "_", name)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Give every name one that is safe as a file name, without folders in it, on any system.

    Names that would be the same then, in a config's spelling too, get part of their hash.
    """
    distinct = sorted(set(names))
    plain = {name: _UNSAFE.sub("_", name).lstrip("._-")[:_LONGEST] or "unnamed" for name in distinct}
    uses = Counter(config_name(safe).casefold() for safe in plain.values())
    return {
        name: safe if uses[config_name(safe).casefold()] == 1 else f"{safe}_{_short_hash(name)}"
        for name, safe in plain.items()
    }


def pseudonyms(people: Iterable[str]) -> dict[str, str]:
    """Call people H1, H2, … in the order of their names; who is called so already keeps that name."""
    persons = sorted(set(people))
    free = (name for number in count(1) if (name := f"H{number}") not in persons)
    return {person: person if _ANONYMOUS.fullmatch(person) else next(free) for person in persons}


def file_only(source: object) -> str | None:
    """Return where a record was read from; of a path on somebody's machine only the file's name."""
    if source is None:
        return None
    text = str(source)
    private = text.startswith(("/", "~", "\\")) or re.match(r"[A-Za-z]:", text) or ".." in text.split("/")
    return re.split(r"[/\\]", text)[-1] if private else text


def _short_hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]
