"""Addresses as users type them: `http://a:8000/v1,http://b:8000/v1#name` is one model on two servers."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from mindgauge.records.errors import UsageError
from mindgauge.records.redaction import addresses

SCHEMES = ("http://", "https://")
_PORTS = {"http": 80, "https": 443}


class ServerAddress(NamedTuple):
    """What makes two addresses the same server."""

    host: str
    port: int
    path: str


def is_listed(spec: str) -> bool:
    """Whether a specification lists addresses, or tries to."""
    return any(part.strip().startswith(SCHEMES) for part in spec.split(","))


def servers(spec: str) -> tuple[list[str], str]:
    """Return the base addresses that a specification lists, without user names and passwords, and the model's name.

    Raises:
        UsageError: an address is none or occurs twice, or there is not exactly one name.
    """
    parts = [part.strip() for part in addresses.bare(spec).split(",")]
    urls = list(map(base, parts))
    names = [part.partition("#")[2].strip() for part in parts]
    listed = ",".join(urls)
    if not names[-1]:
        raise UsageError(f"{shown(','.join(parts))!r} names no model; write {listed}#NAME")
    other = next((name for name in names if name not in {"", names[-1]}), None)
    if other is not None:
        raise UsageError(
            f"servers of one model cannot have two names, {other!r} and {names[-1]!r}; write {listed}#NAME"
        )
    ends = list(map(_end, urls))
    twice = next((url for i, url in enumerate(urls) if ends[i] in ends[:i]), None)
    if twice is not None:
        raise UsageError(f"the server {twice} is listed twice")
    return urls, names[-1]


def base(address: str) -> str:
    """Return a base address without secrets, query and fragment, and with the usual path if it has none.

    Raises:
        UsageError: it is none.
    """
    address, _, _ = addresses.bare(address.strip()).partition("#")
    if not address:
        raise UsageError("an address is missing beside a comma; write http://A:8000/v1,http://B:8000/v1#NAME")
    if not address.startswith(SCHEMES) or any(c in ", " or not c.isprintable() for c in address):
        raise UsageError(
            f"{shown(address)!r} is no address; several servers of one model are written "
            "http://A:8000/v1,http://B:8000/v1#NAME"
        )
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{shown(address)!r} is no address; write http://HOST:PORT/v1#NAME") from error
    if not host:
        raise UsageError(f"{shown(address)!r} has no host; write http://HOST:PORT/v1#NAME")
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/v1", "", ""))


def loopback(host: str) -> bool:
    """Whether what is sent to a host stays on this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def shown(address: str) -> str:
    """Return an address that cannot be read, as far as it surely holds no password."""
    return address.rpartition("@")[2]


def server(url: str) -> ServerAddress:
    """Return which server an address leads to, however it is written; all loopback addresses are one host."""
    return _end(url)._replace(host=host(url))


def host(url: str) -> str:
    """Return the host of an address; every loopback address is `localhost`."""
    name = (urlsplit(url).hostname or "").rstrip(".")
    return "localhost" if loopback(name) else name


def _end(url: str) -> ServerAddress:
    parts = urlsplit(url)
    return ServerAddress(parts.hostname or "", parts.port or _PORTS[parts.scheme], parts.path.rstrip("/"))
