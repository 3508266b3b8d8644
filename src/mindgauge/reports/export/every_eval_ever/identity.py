"""What a model is called in the datastore, and the places of its files: `data/COLLECTION/DEVELOPER/MODEL/UUID.json`."""

from __future__ import annotations

import ipaddress
import re
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records import digest
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from collections.abc import Collection

UNSTATED = "unstated"
"""The developer of a model whose name names none."""
_UNSAFE = re.compile(r'[<>:"\\|?*\x00-\x1f\x7f]+|(?<![. ])[. ]+$')
_LONGEST = 100
"""Bytes of a part of a path; a file system takes 255, and a folder of folders less."""
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\.|$)|data$|unknown$|\.*$", re.IGNORECASE)
"""What no part of a path may be: devices of Windows, the datastore's own name, and nothing."""


class ModelIdentity(NamedTuple):
    """A model in the datastore."""

    name: str
    """As the run calls it."""
    ident: str
    """As the datastore addresses it: DEVELOPER/MODEL."""
    deployment: str

    @classmethod
    def of(cls, name: str, hosts: Collection[str] = (), providers: Collection[str] = ()) -> ModelIdentity:
        """Identify a model.

        Args:
            name: as the run calls it.
            hosts: that answered for it, as far as they are known.
            providers: the hosts of those who sell answers.
        """
        parts = [_part(part) for part in name.split("/") if part.strip()]
        ident = "/".join(parts if len(parts) > 1 else [UNSTATED, *(parts or ["_"])])
        return cls(name, ident, _deployment(name, hosts, providers))

    @property
    def info(self) -> dict[str, Any]:
        """The model as the schema describes one; whether its weights are open is not known here."""
        details = {"deployment_type": self.deployment, "model_availability": "unknown"}
        return {"name": self.name, "id": self.ident, "developer": self.ident.partition("/")[0], "additional_details": details}  # fmt: skip

    def folder(self, collection: str) -> str:
        """Return the folder of its files in a collection."""
        developer, _, model = self.ident.partition("/")
        return f"data/{_part(collection.replace('/', '_'))}/{developer}/{_shortened(model.replace('/', '_'))}"


def file_ident(*content: object) -> str:
    """Return a name for a file in the form of a random UUID, the same each time for the same content."""
    return str(uuid.UUID(hex=digest(*content)[:32], version=4))


def _part(text: str) -> str:
    part = _shortened(_UNSAFE.sub("_", visible(text).strip()))
    return f"_{part}" if _RESERVED.match(part) else part


def _shortened(part: str) -> str:
    """Return a part of a path as it is, or its beginning and a hash of all of it where no file system takes it."""
    written = part.encode(errors="replace")
    if len(written) <= _LONGEST:
        return part
    return f"{written[: _LONGEST - 9].decode(errors='ignore')}_{digest(part)[:8]}"


def _deployment(name: str, hosts: Collection[str], providers: Collection[str]) -> str:
    """Say who runs a model: whoever made the run, or a provider; a server elsewhere may be either's."""
    if name.startswith("local/") or (hosts and all(_own(host) for host in hosts)):
        return "self_deployed"
    return "externally_managed" if any(host in providers for host in hosts) else "unknown"


def _own(host: str) -> bool:
    """Whether a host is this machine or one in a network of one's own."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_private
    except ValueError:
        return host in {"localhost", "in process"} or host.endswith((".local", ".internal"))
