"""`clients check`: is a model fit to play persons? Tried by itself, on a target whose replies are fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from mindgauge.analysis.fidelity import Fidelity
from mindgauge.benchmarks import registry
from mindgauge.benchmarks.conversations.conversations import CLIENT
from mindgauge.benchmarks.persons.client import LISTENER, listener
from mindgauge.commands import run as running
from mindgauge.models.bots.function import Function
from mindgauge.records.command_result import Tabular
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import plural
from mindgauge.runs.forecast import DryRun
from mindgauge.runs.options import ClientCheckOptions, RunConfig, RunOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.fidelity import ClientFidelity
    from mindgauge.benchmarks import Benchmark
    from mindgauge.runs.options import AnyModel

_FAMILY = "conversations/"


class ClientCheck(Tabular, msgspec.Struct, frozen=True):
    """What a client did with the scripted listener, and where its dialogues lie."""

    run: str
    situation: str
    turns: int
    fidelity: Fidelity

    @property
    def client(self) -> ClientFidelity:
        """The client beside the limits."""
        return self.fidelity.clients[0]

    def summary(self) -> Iterator[str]:
        """Say whether it is fit, why not, and where its dialogues lie."""
        yield f"{self.client.client}: {self.client.verdict.value}; {plural(self.client.dialogues, 'dialogue')} in {self.run}"
        yield from self.client.reasons

    def _listed(self) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(check) for check in self.client.checks]


def clients_check(
    client: AnyModel,
    *,
    judge: AnyModel | Sequence[AnyModel] = (),
    situation: str = "risk",
    turns: int = 8,
    limit: int | None = None,
    where: dict[str, tuple[str, ...]] | None = None,
    out: str | Path | None = None,
    dry_run: bool = False,
    **options: Unpack[ClientCheckOptions],
) -> ClientCheck | DryRun:
    """Let a client play persons to a target whose replies are fixed, and hold it against the limits. No model is under test.

    The target is kind and asks about the risk in one turn. Judges read what the client wrote, blind to the target; without
    one, roles, leaks and recovery are not checked.

    Args:
        client: the model that plays.
        judge: who rates what it wrote: models of other families.
        situation: whose personas it plays: `risk`, …
        turns: of a dialogue; the target asks in the fourth.
        limit: at most this many dialogues, each with another person as long as there are others.
        where: tag → values of the dialogues to hold, such as `language`.
        out: the run directory; if not given, one that follows from the plan.
        dry_run: only say what it would take.
        options: how models are asked and judge, and what it may cost; see `run`.

    Raises:
        TypeError: there is no such option.
        UsageError: there is no such situation, or a judge would rate its own family.
        DataError: a persona is not as it should be.
        EndpointError: a model cannot be reached.
        BudgetError: the next call could pass `max_cost`.
    """
    benchmark = _benchmark(situation)
    RunConfig.of(options, ClientCheckOptions, clients_check, dry_run=dry_run)
    fixed = {**options, "client": client, "turns": turns, "person": "simulated", "qualify": False}
    config = RunConfig.of(fixed, RunOptions, clients_check, dry_run=dry_run)
    target = Function(listener(situation), name=LISTENER)
    alone = {benchmark.name: benchmark}
    result = running.hold(
        alone, config, model=target, judge=judge, out=out, limit=limit, where=where, dry_run=dry_run
    )  # fmt: skip
    if isinstance(result, DryRun):
        return result
    (fidelity,) = result.fidelity
    return ClientCheck(result.run, situation, turns, msgspec.structs.replace(fidelity, withheld=[], bounds=""))


def _benchmark(situation: str) -> Benchmark:
    """Return the benchmark of dialogues with the persons of a situation, of which only what the client wrote is rated.

    Raises:
        UsageError: there is no such situation.
    """
    names = [name.removeprefix(_FAMILY) for name in registry.names() if name.startswith(_FAMILY)]
    if situation not in names:
        raise UsageError(f"there is no situation {situation!r}; there are {named(names)}")
    benchmark = registry.find_one(f"{_FAMILY}{situation}")
    of_clients = tuple(c for c in benchmark.rubric.criteria if c.applies.get("unit") == CLIENT["unit"])
    rubric = msgspec.structs.replace(benchmark.rubric, criteria=of_clients)
    return msgspec.structs.replace(benchmark, rubric=rubric, readings=(), cross_checked=None, metrics=())
