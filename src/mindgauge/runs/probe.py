"""Whether whoever answered in a run is still there: one call to each model, before anything else is asked of it.

A server may be given another build behind the same address and name. What it says of itself, the model's name and the
`system_fingerprint`, is compared with all that it has said in this run: some providers rotate fingerprints among their
machines, so only a value that the run has never seen counts as different. Of a model on this machine, the weights are
compared instead. A probe is not stored; what it cost counts. Of a command that is refused, nothing else is kept: the plan
and the samples of its run are as before.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records import Status
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.runs.rating_steps import RatingStep
from mindgauge.runs.session import Gathering
from mindgauge.store import manifest
from mindgauge.store.continued import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records import Exchange
    from mindgauge.records.request import Model, Request
    from mindgauge.runs.options import RunConfig
    from mindgauge.runs.sending import ReportedBuild, Sending
    from mindgauge.runs.session import Session
    from mindgauge.runs.steps import CallStep
    from mindgauge.store import Store

_VALUES = 4
"""How many values of one kind are written out: a server may have reported another with every answer."""
_BLOCK = 1 << 20
"""Bytes of weights that are hashed at once."""


async def refuse_other_builds(
    session: Session, steps: Sequence[CallStep], config: RunConfig, *, planned: bool = False
) -> None:
    """See that the models that answered in the run before are those that will be asked now.

    Models that have nothing left to answer, replays, functions and batches are not looked at.

    Args:
        session: of the run.
        steps: of the command.
        config: of the command, which remembers who was looked at.
        planned: whether what the steps are about has yet to join the run.

    Raises:
        UsageError: some are others; the message names each, what it was and what it is.
        BudgetError: a call could pass what may be spent.
    """
    notes = _Notes(session.store)
    try:
        faults = await _faults(session, steps, config, notes, planned=planned)
    except BaseException:
        notes.keep(accepted=False)
        raise
    notes.keep(accepted=not faults)
    if faults:
        raise UsageError("; ".join(faults))


class _Notes:
    """What becomes known of models before a command goes on, for the manifest; of one that is refused, only what was paid."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.standing = manifest.read(store.folder)
        self.probes: list[dict[str, Any]] = []
        self.indistinct: list[str] = []
        self.weights: dict[str, dict[str, Any]] = {}

    def keep(self, *, accepted: bool) -> None:
        """Write into the manifest what is new."""
        probes = self.probes if accepted else [noted for noted in self.probes if noted["cost"] or "at_most" in noted]
        content = dict(self.standing)
        if probes:
            content["probes"] = [*content.get("probes", []), *probes]
            content["cost"] = self._store.spent() + spent(content)
        if accepted and self.indistinct:
            content["indistinct"] = [*content.get("indistinct", []), *self.indistinct]
        if accepted and self.weights:
            content["weights"] = {**content.get("weights", {}), **self.weights}
        if content != self.standing:
            manifest.write(self._store.folder, content)


async def _faults(
    session: Session, steps: Sequence[CallStep], config: RunConfig, notes: _Notes, *, planned: bool
) -> list[str]:
    """Say of each model that is another than before what it was and what it is."""
    sending: Sending = config.sending
    faults: list[str] = []
    for step in steps:
        model = step.model
        if model.name in sending.probed or isinstance(model, Gathering):
            continue
        before = sending.answered.get(model.name)
        if not model.own_machine and (before is None or not model.host):
            continue
        request = step.planned_request(session.store) if planned else step.next_request(session.store)
        if request is None:
            continue
        sending.probed.add(model.name)
        if model.own_machine:
            faults += _other_weights(model, step, notes)
            continue
        if before is None or not before.reports:
            _tell_once(model.name, config, notes)
            continue
        exchange = await _probe(session, model, request, notes)
        faults += _other_build(model, exchange, before, step, config)
        if not faults and sending.echoes(model.name, before):
            _tell_once(model.name, config, notes)
    return faults


async def _probe(session: Session, model: Model, request: Request, notes: _Notes) -> Exchange:
    """Make the cheapest call there is: the next question, with one token for the answer."""
    short = msgspec.structs.replace(request, parameters={**request.parameters, "max_tokens": 1})
    async with session.using(model):
        exchange = await session.call(model, short)
    notes.probes.append({
        "at": manifest.now(),
        "model": model.name,
        "resolved": exchange.model_resolved,
        "fingerprint": exchange.fingerprint,
        "cost": exchange.cost or 0.0,
        **({} if exchange.at_most is None else {"at_most": exchange.at_most}),
    })  # fmt: skip
    return exchange


def spent(content: dict[str, Any], *, at_most: bool = False) -> float:
    """Return what the probes of a run cost, in US dollars, from its manifest; `at_most` counts those without an answer in time."""
    names = ("cost", "at_most") if at_most else ("cost",)
    return float(sum(noted.get(name, 0.0) for noted in content.get("probes", []) for name in names))


def _other_build(
    model: Model, exchange: Exchange, before: ReportedBuild, step: CallStep, config: RunConfig
) -> list[str]:
    """Say how a model differs from what it said of itself in this run; nothing if it does not."""
    if exchange.status is Status.FAILED:
        config.notice(
            f"{model.name}: whether the same build still answers could not be seen ({exchange.error}); its calls go on"
        )
        return []
    pairs = (
        ("the model", exchange.model_resolved, before.resolved),
        ("fingerprint", exchange.fingerprint, before.fingerprints),
    )
    changed = [
        f"{name} {now}, and until {span(before.last, before.last)} {named(sorted(values), 'or', _VALUES)}"
        for name, now, values in pairs
        if now and values and now not in values
    ]
    return [f"{model.name} answers now as {' and '.join(changed)}: another build; {_advice(step)}"] if changed else []


def _advice(step: CallStep) -> str:
    if isinstance(step, RatingStep) and not step.benchmark.closed:
        return "give the judge a label in mindgauge.toml, or choose another --out"
    return "name it with --label NEW, choose --out NEW, or ask everything again with --fresh"


def _tell_once(name: str, config: RunConfig, notes: _Notes) -> None:
    """Say, once in a run, that nothing would show another build."""
    if name in notes.standing.get("indistinct", []):
        return
    notes.indistinct.append(name)
    config.notice(
        f"{name}: its server says of itself nothing but the name it is asked for, so another build behind the same address "
        "cannot be told apart; name each build with --label"
    )


def _other_weights(model: Model, step: CallStep, notes: _Notes) -> list[str]:
    """Compare the weights of a model on this machine with those that answered in the run; they are hashed where they changed."""
    path = getattr(model, "path", None)
    if not isinstance(path, Path):
        return []
    stat = path.stat()
    noted = notes.standing.get("weights", {}).get(model.name)
    place = {"size": stat.st_size, "modified": stat.st_mtime_ns}
    if noted is not None and {key: noted[key] for key in place} == place:
        return []
    hashed = _hash(path)
    if noted is not None and noted["hash"] != hashed:
        return [
            f"{model.name} has other weights now (hash {hashed}, in this run {noted['hash']}): another build; {_advice(step)}"
        ]
    notes.weights[model.name] = {**place, "hash": hashed}
    return []


def _hash(path: Path) -> str:
    state = hashlib.blake2b(digest_size=8)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()
