"""Which dialogues a command means: with whom, how long, and who plays the person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks import own_texts
from mindgauge.benchmarks.persons import client, listener
from mindgauge.benchmarks.persons.dialogues import TURNS, DialoguePlan, PersonMode
from mindgauge.models.family import same_family
from mindgauge.records import digest
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample
    from mindgauge.records.request import Model
    from mindgauge.runs.options import RunConfig


class DialogueBenchmarks(NamedTuple):
    """The benchmarks of a command, those of dialogues with the dialogues that are held, and how these are made."""

    benchmarks: list[Benchmark]
    mode: PersonMode | None
    """None where no dialogues are held."""

    @property
    def record(self) -> dict[str, Any]:
        """What the plan of a run says of its dialogues; nothing where there are none."""
        if self.mode is None:
            return {}
        dialogues = next((b.dialogues for b in self.benchmarks if b.dialogues is not None), None)
        if dialogues is None:  # a table's, each as long as it is there
            return {"person": self.mode.value}
        simulated = {"clients": [*dialogues.clients], "client_words": digest(client.prompt_hashes())[:12]}
        return {
            "person": self.mode.value,
            "turns": dialogues.turns,
            **(simulated if self.mode is PersonMode.SIMULATED else {}),
        }


def held(
    benchmarks: Sequence[Benchmark], clients: Sequence[str], config: RunConfig, data: Path | None, *, text: bool
) -> DialogueBenchmarks:
    """Give each benchmark of dialogues those that the command means.

    Args:
        benchmarks: of the command.
        clients: the names of the models that play the person.
        config: how models are asked.
        data: the authors' files, where a benchmark's persons stand in them.
        text: whether the run keeps what is said.

    Raises:
        UsageError: the options are no dialogues', do not go together, or the run cannot hold any.
        DataError: the persons are to stand in the authors' files, and do not.
    """
    asking, others = config.asking, [b.name for b in benchmarks if b.persons is None]
    if len(others) == len(benchmarks):
        option = "--client" if clients else "--turns" if asking.turns else "--person" if asking.person else ""
        if option:
            hints = [_without_persons(benchmark, data) for benchmark in benchmarks]
            raise UsageError(f"{option} is for dialogues of several turns, and {named(others)} asks for one reply{''.join(hints)}")  # fmt: skip
        return DialogueBenchmarks([*benchmarks], None)
    if not text:
        raise UsageError("a turn needs what was said before it, so dialogues are not run with --no-text")
    if config.settings.batch:
        raise UsageError("each turn waits for the one before it, and a batch may take a day, so dialogues are not run with --batch")  # fmt: skip
    mode = PersonMode(asking.person or (PersonMode.SIMULATED if clients else PersonMode.SCRIPTED))
    if clients and mode is not PersonMode.SIMULATED:
        raise UsageError(f"--person {mode} takes no --client: the person's words are fixed")
    if mode is PersonMode.SIMULATED and not clients:
        raise UsageError("--person simulated needs a model that plays the person: name it with --client, best two of two families")  # fmt: skip
    return DialogueBenchmarks([_with_dialogues(b, mode, asking.turns, tuple(clients), data) for b in benchmarks], mode)


def _without_persons(benchmark: Benchmark, data: Path | None) -> str:
    """Say where the persons of a benchmark stand that has none of ours; empty where it has none at all.

    Raises:
        DataError: they should stand below the folder, and do not; the message says what is missing.
    """
    if benchmark.read_persons is None:
        return ""
    if data is not None:
        benchmark.read_persons(data)
    return "; its persons stand in the authors' files: --data DIR"


def _with_dialogues(
    benchmark: Benchmark, mode: PersonMode, turns: int | None, clients: tuple[str, ...], data: Path | None
) -> Benchmark:
    if benchmark.persons is None:
        return benchmark
    if data is not None and benchmark.read is own_texts.unreleased:
        return _of_table(benchmark, mode, turns)
    dialogues = DialoguePlan(benchmark.persons(data), mode, turns or TURNS, clients)
    return msgspec.structs.replace(
        benchmark, dialogues=dialogues, own=dialogues.samples, read=lambda _: dialogues.samples()
    )


def _of_table(benchmark: Benchmark, mode: PersonMode, turns: int | None) -> Benchmark:
    """Let a table of the user's own be stored dialogues, each answered once; nobody says what its person would say next.

    Raises:
        UsageError: a length is named, and the table says how long each dialogue is.
    """
    if mode is PersonMode.PREFIXED:
        if turns is not None:
            raise UsageError("--turns is for persons of ours; each row of a table is answered once, where it ends")
        return benchmark

    def refuse(_: Sample) -> Sample:
        raise DataError(
            f"its persons are its own, so {mode} dialogues take no messages of a table; have each answered once with "
            f"--person {PersonMode.PREFIXED}, or rate dialogues that are there: {command_line('rate', benchmark.name, '--dialogues', 'FILE')}"
        )

    return msgspec.structs.replace(benchmark, completed=refuse)


def notes(clients: Sequence[Model], models: Sequence[Model], benchmarks: Sequence[Benchmark]) -> Iterator[str]:
    """Say, before anything is sent, why these clients will allow no score, and what a script cuts short.

    Where a client is tried on the listener alone, no model is under test, and nobody waits for a score.
    """
    for player in clients:
        kin = [model.name for model in models if same_family(player.name, model.name)]
        if kin:
            yield f"{player.name} plays the person for {named(kin)}, of its own family: no score will be shown; name a client of another family"
    if len(clients) == 1 and any(model.name != listener.NAME for model in models):
        yield "one client plays all persons: a score takes two of different families, since the client changes results; name another with --client"
    for benchmark in benchmarks:
        dialogues = benchmark.dialogues
        if dialogues is None or dialogues.mode is PersonMode.SIMULATED:
            continue
        longest = max((len(script.turn) for script in dialogues.persons.scripts), default=0)
        if dialogues.turns > longest:
            yield f"{benchmark.name}: the scripts have at most {longest} turns, so no dialogue is longer"
