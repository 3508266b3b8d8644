"""Addresses as users type them: `http://a:8000/v1,http://b:8000/v1#name` is one model on two servers; and which key goes to which host.

`MINDGAUGE_API_KEY` is the key of whatever server is named by its address, `MINDGAUGE_API_KEY_HOST` that of one host
(`MINDGAUGE_API_KEY_BOT_EXAMPLE_ORG`, empty for a host that needs none), and a provider's own variable that of the
provider. Every loopback address is one host, `localhost`. Keys are compared and sent, never kept: a run remembers which
variable went to which host.
"""

from __future__ import annotations

import ipaddress
import os
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from mindgauge.records.errors import UsageError
from mindgauge.records.redaction import addresses
from mindgauge.store import manifest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


SCHEMES = ("http://", "https://")
_PORTS = {"http": 80, "https": 443}


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


def server(url: str) -> tuple[str, int, str]:
    """Return the host, port and path of the server an address leads to, however written; all loopback addresses are one host."""
    return host(url), *_end(url)[1:]


def host(url: str) -> str:
    """Return the host of an address; every loopback address is `localhost`."""
    name = (urlsplit(url).hostname or "").rstrip(".")
    return "localhost" if loopback(name) else name


def _end(url: str) -> tuple[str, int, str]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _PORTS[parts.scheme], parts.path.rstrip("/")


# Which key goes to which host. A key is meant for one host; a command that would send it to two is refused.


ANY_SERVER = "MINDGAUGE_API_KEY"


class Key(NamedTuple):
    """A secret, the environment variable that it comes from, and the host that it goes to."""

    variable: str
    host: str
    secret: str

    @property
    def meant(self) -> bool:
        """Whether the variable itself names the host, so that the user has said that it is meant for it."""
        return self.variable == variable_of(self.host)


def variable_of(host: str) -> str:
    """Return the environment variable for the key of one host alone."""
    return f"{ANY_SERVER}_{re.sub(r'[^A-Z0-9]+', '_', host.upper()).strip('_')}"


def readable(url: str, provided: str = "") -> list[str]:
    """Return the environment variables in which the key for an address may stand, the one that binds first."""
    return [provided] if provided else [variable_of(host(url)), ANY_SERVER]


def key_for(url: str, provided: str = "") -> Key:
    """Find the key for an address; its secret is empty where there is none.

    Args:
        url: where calls go.
        provided: the variable of the provider that they go to, if it is one.
    """
    variable = next((name for name in readable(url, provided) if name in os.environ), "")
    return Key(variable, host(url), os.environ.get(variable, "") if variable else "")


class Keys:
    """The keys of one command."""

    def __init__(self) -> None:
        self._keys: list[Key] = []

    def take(self, keys: Iterable[Key]) -> None:
        """Add the keys of one model.

        Raises:
            UsageError: one of all keys so far would go to two hosts.
        """
        self._keys += [key for key in keys if key.secret and key not in self._keys]
        for place, key in enumerate(self._keys):
            for other in self._keys[:place]:
                shared = key.secret == other.secret and not (key.meant and other.meant)
                if key.host != other.host and (key.variable == other.variable or shared):
                    raise UsageError(_two_hosts(other, key))

    def check(self, folder: Path) -> None:
        """See that every key goes to the host that it went to in a run.

        Raises:
            UsageError: an earlier command of this run sent it to another.
        """
        hosts = manifest.read(folder).get("keys", {})
        for key in self._keys:
            before = hosts.get(key.variable, key.host)
            if before != key.host:
                raise UsageError(
                    f"in this run the key in {key.variable} went to {before} and would now go to {key.host}; "
                    f"put the key of {key.host} into {variable_of(key.host)} (empty if it needs none)"
                )

    def keep(self, folder: Path) -> None:
        """Write into a run's manifest which variable's key goes to which host; what is there stays."""
        content = manifest.read(folder)
        hosts = content.get("keys", {})
        if fresh := {key.variable: key.host for key in self._keys if key.variable not in hosts}:
            manifest.write(folder, {**content, "keys": {**hosts, **fresh}})


def _two_hosts(first: Key, second: Key) -> str:
    """Say which key would go to two hosts, and what to do."""
    if first.variable == second.variable:
        if first.meant:
            return f"{first.variable} is the key of two hosts, {first.host} and {second.host}; write one of them as a number"
        problem = f"the key in {first.variable} would go to two hosts, {first.host} and {second.host}"
    else:
        problem = (
            f"{first.variable} and {second.variable} hold the same key, which would go to two hosts, {first.host} and "
            f"{second.host}"
        )
    servers = [key for key in (first, second) if key.variable.startswith(ANY_SERVER) and not key.meant]
    if not servers:
        return f"{problem}; give each a key of its own"
    variables = " and ".join(f"that of {key.host} into {variable_of(key.host)}" for key in servers)
    return (
        f"{problem}; put the key meant for each host into a variable of its own: {variables} (empty if it needs none)"
    )
