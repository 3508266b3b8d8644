"""Which key goes to which host. A key is meant for one host; a command that would send it to two is refused.

`MINDGAUGE_API_KEY` is the key of whatever server is named by its address, `MINDGAUGE_API_KEY_HOST` that of one host
(`MINDGAUGE_API_KEY_BOT_EXAMPLE_ORG`, empty for a host that needs none), and a provider's own variable that of the
provider. Every loopback address is one host, `localhost`. Keys are compared and sent, never kept: a run remembers which
variable went to which host.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.models import address
from mindgauge.records.errors import UsageError
from mindgauge.store import manifest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

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
    return [provided] if provided else [variable_of(address.host(url)), ANY_SERVER]


def key_for(url: str, provided: str = "") -> Key:
    """Find the key for an address; its secret is empty where there is none.

    Args:
        url: where calls go.
        provided: the variable of the provider that they go to, if it is one.
    """
    variable = next((name for name in readable(url, provided) if name in os.environ), "")
    return Key(variable, address.host(url), os.environ.get(variable, "") if variable else "")


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

    def keep(self, folder: Path) -> None:
        """Write into a run's manifest which variable's key goes to which host.

        Raises:
            UsageError: an earlier command of this run sent it to another.
        """
        content = manifest.read(folder)
        hosts = content.get("keys", {})
        for key in self._keys:
            before = hosts.get(key.variable, key.host)
            if before != key.host:
                raise UsageError(
                    f"in this run the key in {key.variable} went to {before} and would now go to {key.host}; "
                    f"put the key of {key.host} into {variable_of(key.host)} (empty if it needs none)"
                )
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
