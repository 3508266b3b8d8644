"""Whom a command sends something: which key goes where, and what its run held before.

A server may be given another model behind the same name, and a command that continues does not ask again what was
answered: so what was kept, and from when, is written into the manifest, and said.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.models import spec as specs
from mindgauge.models.address import Keys
from mindgauge.records.errors import UsageError
from mindgauge.store import Store, continued, growth, manifest

if TYPE_CHECKING:
    from mindgauge.models.config_file import AnyConfig
    from mindgauge.records.request import Model, Setup


_ANSWERED = """
SELECT model, model_resolved, fingerprint, max(at) FROM calls WHERE status != 'failed' GROUP BY model, model_resolved, fingerprint"""


class ReportedBuild(NamedTuple):
    """What a model has said of itself in a run, and when it last answered (ISO 8601)."""

    resolved: frozenset[str]
    fingerprints: frozenset[str]
    last: str

    @property
    def reports(self) -> bool:
        """Whether it says anything of itself."""
        return bool(self.resolved or self.fingerprints)


class Sending:
    """The models of one command, and what it may send them."""

    def __init__(self) -> None:
        self.specs: dict[str, str] = {}
        """The specification behind each model, by its name: what the user typed, or what is set up under a short name."""
        self._setups: dict[str, Setup] = {}
        self._keys = Keys()
        self._models: list[str] = []
        self._begun = self._checked = False
        self.answered: dict[str, ReportedBuild] = {}
        """What models said of themselves in the run before this command, by their names."""
        self.probed: set[str] = set()
        """The models that were looked at before they were asked."""

    def add(self, model: Model, spec: str = "", config: AnyConfig | None = None) -> None:
        """Add a model; one that was given as an object has no specification.

        Raises:
            UsageError: a key would go to two hosts, or one name stands for two setups.
        """
        if model.name not in self._models:
            self._models.append(model.name)
        if self._setups.setdefault(model.name, model.setup) != model.setup:
            raise UsageError(
                f"{model.name} is set up in two ways in this command; call one of them by another name, or give it a --label"
            )
        if spec:
            self.specs[model.name] = (config.spec if config is not None else "") or spec
            self._keys.take(specs.keys(spec, config))

    @property
    def setups(self) -> dict[str, Setup]:
        """What models are asked with beside their names, where it is more than that."""
        return {name: setup for name, setup in self._setups.items() if setup.facts}

    def echoes(self, name: str, before: ReportedBuild) -> bool:
        """Whether all that a model has said of itself is the name that it is asked for."""
        spec = self.specs.get(name, name)
        return not before.fingerprints and all(spec.endswith(resolved) for resolved in before.resolved)

    def check(self, store: Store) -> None:
        """See, once and before anything is sent, that keys go where they went in a run and models are set up as there.

        Raises:
            UsageError: in this run, a key went to another host, or a model was set up in another way.
        """
        if self._checked:
            return
        self._checked = True
        self._keys.check(store.folder)
        self.answered = _answered(store)
        content = manifest.read(store.folder)
        both = {*self.answered} & {*self._setups}
        asked = {"setups": {name: manifest.clean(setup.facts) for name, setup in self.setups.items()}}
        faults = growth.setup_differences({"setups": content.get("models", {})}, asked, both)
        if faults:
            raise UsageError(growth.refusal(store.folder, faults))

    def begin(self, store: Store) -> None:
        """Note in a run, once and before anything is sent, where keys go and what it holds already of these models.

        Raises:
            UsageError: as `check` does.
        """
        if self._begun:
            return
        self.check(store)
        self._begun = True
        self._keys.keep(store.folder)
        if self.setups:
            content = manifest.read(store.folder)
            setups = {name: setup.facts for name, setup in self.setups.items()}
            manifest.write(store.folder, {**content, "models": {**content.get("models", {}), **setups}})
        existing = continued.held(store)
        if existing:
            content = manifest.read(store.folder)
            noted = {"at": manifest.now(), "models": self._models, "held": existing}
            manifest.write(store.folder, {**content, "continued": [*content.get("continued", []), noted]})


def _answered(store: Store) -> dict[str, ReportedBuild]:
    """Return what the models of a run have said of themselves."""
    rows: dict[str, list[tuple[str, str, float]]] = {}
    for model, resolved, fingerprint, at in store.select(_ANSWERED):
        rows.setdefault(model, []).append((resolved or "", fingerprint or "", at or 0.0))
    return {
        model: ReportedBuild(
            frozenset(filter(None, (resolved for resolved, _, _ in answers))),
            frozenset(filter(None, (fingerprint for _, fingerprint, _ in answers))),
            continued.iso(max(at for _, _, at in answers)) or manifest.now(),
        )
        for model, answers in rows.items()
    }


def kept(run: str | Path) -> list[str]:
    """Say what the last command that went on with a run kept, in one line; nothing where none did."""
    with Store(Path(run)) as store:
        return continued.last(store, manifest.read(Path(run)))
