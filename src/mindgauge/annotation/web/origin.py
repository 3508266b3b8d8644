"""A host of its own for each person to whom this machine serves a page: cookies know hosts, and no ports.

A cookie of `127.0.0.1` goes to every server on it that the browser opens, and each may set or push out such cookies.
Browsers know `NAME.localhost` for this machine (RFC 6761), and its cookies are its own: who does not know the name can
neither lead a browser to it nor ask for it. Whoever knows theirs does not know another's.
"""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import urlsplit

from mindgauge.models.address import loopback

_HANDLE = 8
_END = ".localhost"


def own_host(secret: bytes, person: str) -> str:
    """Return the host under which a person reaches a page: the same as long as the secret is, and never to be guessed."""
    handle = _digest(secret, "person", person)[:_HANDLE]
    return f"{handle}{_digest(secret, 'host', handle)}{_END}"


def is_own(secret: bytes, host: str) -> bool:
    """Whether a host is some person's, as `own_host` makes them."""
    handle, mark = host[:_HANDLE], host[_HANDLE:]
    return hmac.compare_digest(mark.encode(), f"{_digest(secret, 'host', handle)}{_END}".encode())


def own_address(secret: bytes, person: str, url: str) -> str:
    """Return an address with the person's host in the place of this machine's; one that names another stays."""
    parts = urlsplit(url)
    _, colon, port = parts.netloc.rpartition("]")[2].partition(":")
    return f"{parts.scheme}://{own_host(secret, person)}{colon}{port}" if is_here(parts.hostname or "") else url


def is_here(host: str) -> bool:
    """Whether a host is this machine by a name that is no secret: knowing the port is enough to ask under it."""
    name = host.lower().removesuffix(".")
    return loopback(name) or name in {"0.0.0.0", "::"} or name.endswith(_END) or name.startswith("::ffff:")  # noqa: S104


def _digest(secret: bytes, *parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), key=secret, digest_size=12).hexdigest()
