"""Whom a command sends something: which key goes where, and what its run held before.

A server may be given another model behind the same name, and a command that continues does not ask again what was
answered: so what was kept, and from when, is written into the manifest, and said.
"""

from __future__ import annotations

from pathlib import Path

from mindgauge.models import spec as specs
from mindgauge.models.keys import Keys
from mindgauge.store import Store, continued, manifest


class Sending:
    """The models of one command, and what it may send them."""

    def __init__(self) -> None:
        self.specs: dict[str, str] = {}
        """What the user typed for each model, by its name."""
        self._keys = Keys()
        self._models: list[str] = []
        self._begun = False

    def add(self, name: str, spec: str) -> None:
        """Add a model; one that was given as an object has no specification.

        Raises:
            UsageError: a key would go to two hosts.
        """
        if name not in self._models:
            self._models.append(name)
        if spec:
            self.specs[name] = spec
            self._keys.take(specs.keys(spec))

    def begin(self, store: Store) -> None:
        """Note in a run, once and before anything is sent, where keys go and what it holds already of these models.

        Raises:
            UsageError: in this run, a key went to another host.
        """
        if self._begun:
            return
        self._begun = True
        self._keys.keep(store.folder)
        existing = continued.held(store)
        if existing:
            content = manifest.read(store.folder)
            noted = {"at": manifest.now(), "models": self._models, "held": existing}
            manifest.write(store.folder, {**content, "continued": [*content.get("continued", []), noted]})


def kept(run: str | Path) -> list[str]:
    """Say what the last command that went on with a run kept, in one line; nothing where none did."""
    with Store(Path(run)) as store:
        return continued.last(store, manifest.read(Path(run)))
