"""`run --check-client`: is a model fit to play persons? Tried by itself, on a target whose replies are fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Unpack

import msgspec

from mindgauge.analysis.fidelity import Fidelity
from mindgauge.benchmarks import registry
from mindgauge.benchmarks.conversations.conversations import CLIENT
from mindgauge.benchmarks.persons.client import LISTENER, listener
from mindgauge.commands import run as running
from mindgauge.commands.command import CommandOption, Count, command
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


@command(
    without="protocol qualify anchors batch mode method judge_runs judge_temperature judge_max_tokens own_family fresh",
)
def clients_check(
    client: Annotated[AnyModel, CommandOption(flag="--check-client", metavar="MODEL")],
    *,
    judge: AnyModel | Sequence[AnyModel] = (),
    situation: str = "risk",
    turns: Count = 8,
    limit: Count | None = None,
    where: dict[str, tuple[str, ...]] | None = None,
    out: str | Path | None = None,
    dry_run: bool = False,
    **options: Unpack[ClientCheckOptions],
) -> ClientCheck | DryRun:
    """Let a client play persons to a target of fixed replies, and hold it against the limits; no model is under test.

    The target is kind and asks about the risk in one turn. Judges read what the client wrote, blind to the target; without
    one, roles, leaks and recovery are not checked.

    Args:
        client: Hold a model that plays persons against the limits, on a target of fixed replies; no model is under
            test.
        judge: Who rates: a model, files/DIR (answers by hand), classifier/FOLDER, or a rule (rule/refusal). May be
            repeated; in Python also functions.
        situation: With --check-client: whose personas it plays; risk if not given.
        turns: Of a dialogue; the scripted listener asks in the fourth.
        limit: At most this many, each with its variants, spread evenly over the classes; of dialogues each with another
            person.
        where: Keep samples whose tag has a value: language=zh, or one of several: made=released,ours. May be repeated.
        out: The run directory; if not given, one that follows from the plan.
        dry_run: Only say what it would take.
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
