"""The tasks: one for each benchmark with open questions that can be loaded, built of the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import GenerateConfig

from mindgauge import benchmarks
from mindgauge.commands.inspect import solvers
from mindgauge.commands.inspect.instrument import TaskMaterial, taking
from mindgauge.commands.inspect.scorer import every, judge

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark


def _task(benchmark: Benchmark) -> Any:
    """Return what makes the task of a benchmark; it takes `TaskOptions`, those of dialogues where it holds any."""

    def build(**options: Any) -> Any:
        players = [solvers.in_role(role) for role in solvers.roles()] if benchmark.holds_dialogues else []
        clients = [player.name for player in players if player is not None]
        return _built(TaskMaterial(benchmark=benchmark.name, clients=clients, **options))

    names = ["language", "data", "mode", "method", "own_family"]
    taking([*names, *(["turns", "person"] if benchmark.holds_dialogues else [])], build)
    build.__name__, build.__doc__ = benchmark.name, benchmark.card.title
    return task(name=benchmark.name)(build)


def _built(material: TaskMaterial) -> Any:
    """Return a task of Inspect's."""
    with solvers.in_a_line():
        benchmark, converses = material.benchmark, material.converses
        subjects = [slots.whole for slots in material.dialogues.values()] if converses else material.samples
        instrument = material.judge_instrument.name
    options = {**msgspec.structs.asdict(material.options), "clients": list(material.options.clients)}
    conversation = {name: options[name] for name in solvers.CONVERSED}
    samples = [
        InspectSample(
            id=sample.id, input=solvers.messages(sample.messages[:1] if converses else benchmark.asked(sample)),
            target="" if sample.target is None else str(sample.target),
            metadata={**sample.tags, "cluster": sample.cluster},
        )
        for sample in subjects
    ]  # fmt: skip
    return Task(
        dataset=MemoryDataset(samples, name=benchmark.name),
        setup=solvers.judged_by_another(own_family=material.options.own_family),
        solver=solvers.converse(**conversation) if converses else solvers.reply(),
        scorer=judge(**options),
        config=GenerateConfig(max_tokens=solvers.TOKENS),
        epochs=Epochs(1, [every()]),
        name=benchmark.name,
        version=benchmark.rubric.version,
        metadata={"instrument": instrument, "notes": [*benchmark.remarks, *benchmark.own_notes]},
    )


TASKS: dict[str, Any] = {
    name: _task(benchmark) for name in benchmarks.names() for benchmark in benchmarks.find(name) if not benchmark.closed
}
"""Name of the benchmark → what makes its task."""
