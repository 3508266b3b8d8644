"""A host of its own for each person to whom this machine serves a page: cookies know hosts, and no ports.

A cookie of `127.0.0.1` goes to every server on it that the browser opens, and every one may set or push out such cookies.
`NAME.localhost` is this machine, too, in browsers without any resolver (RFC 6761), and its cookies are its own. Who does
not know the name can neither lead a browser to it nor ask for it; whoever knows theirs does not know another's.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from urllib.parse import urlsplit

UNFOUND = "Chrome, Edge and Firefox open this address; a browser that does not find it (an older Safari) cannot."
_HANDLE = 8
_END = ".localhost"


def own_host(secret: bytes, person: str) -> str:
    """Return the host under which a person reaches a page: the same as long as the secret is, and never to be guessed."""
    handle = _digest(secret, "person", person)[:_HANDLE]
    return f"{handle}{_digest(secret, 'host', handle)}{_END}"


def is_own(secret: bytes, host: str) -> bool:
    """Whether a host is some person's, as `own_host` makes them."""
    handle, said = host[:_HANDLE], host[_HANDLE:]
    return hmac.compare_digest(said.encode(), f"{_digest(secret, 'host', handle)}{_END}".encode())


def own_address(secret: bytes, person: str, url: str) -> str:
    """Return an address with the person's host in the place of this machine's; one that names another stays."""
    parts = urlsplit(url)
    if not is_here(parts.hostname or ""):
        return url
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{own_host(secret, person)}{port}"


def is_here(host: str) -> bool:
    """Whether a host is this machine by any name that everybody knows: with the port, whoever asks can name it."""
    host = host.lower().removesuffix(".")
    if host == "localhost" or host.endswith(_END):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def _digest(secret: bytes, *parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), key=secret, digest_size=12).hexdigest()
