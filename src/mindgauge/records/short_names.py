"""Short names: what people call a model that was given by its address."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Map addresses among names to short names: `http://127.0.0.1:8000/v1#careline` to `careline`.

    Where two would bear one name, the host is added; where that does not tell them apart, they stay as they are.
    """
    listed = list(dict.fromkeys(names))
    addresses = {name: place for name in listed if (place := _read(name)) is not None}
    plain = [name for name in listed if name not in addresses]
    bare = Counter([*plain, *(label for _, label in addresses.values())])
    hosted = Counter(addresses.values())
    short: dict[str, str] = {}
    for address, (host, label) in addresses.items():
        if bare[label] == 1:
            short[address] = label
        elif hosted[host, label] == 1:
            short[address] = f"{label} ({host})"
    return short


def shortened(text: str, names: Mapping[str, str]) -> str:
    """Put short names in the place of addresses; an address that only begins like one of them stays.

    Args:
        text: what is said.
        names: address → short name, from `short_names`.
    """
    if not names:
        return text
    longest_first = sorted(names, key=len, reverse=True)
    addresses = "|".join(map(re.escape, longest_first))
    return re.sub(rf"(?:{addresses})(?![\w-])", lambda match: names[match[0]], text)


def _read(name: str) -> tuple[str, str] | None:
    """Return the host and what is asked for there; None for a name that is no address, or names nothing there."""
    if not name.startswith(("http://", "https://")):
        return None
    try:
        address = urlsplit(name)
    except ValueError:
        return None
    return (address.netloc, address.fragment) if address.netloc and address.fragment else None
