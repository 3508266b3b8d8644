"""The tasks: one for each benchmark with open questions that can be loaded, built of the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import GenerateConfig

from mindgauge import benchmarks
from mindgauge.commands.inspect import model as adapter
from mindgauge.commands.inspect.figures import every
from mindgauge.commands.inspect.instrument import TaskMaterial, TaskOptions, facts
from mindgauge.commands.inspect.scorer import judge
from mindgauge.commands.inspect.solvers import converse, judged_by_another, reply, roles

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.benchmarks import Benchmark


def _task(benchmark: Benchmark) -> Any:
    name = benchmark.name

    def build(
        language: str = "", data: str = "", mode: str = "joint", method: str = "rule", own_family: bool = False
    ) -> Any:
        options = TaskOptions(
            benchmark=name, language=language, data=data, mode=mode, method=method, own_family=own_family
        )
        return _built(options)

    def converse_too(
        language: str = "",
        data: str = "",
        mode: str = "joint",
        method: str = "rule",
        own_family: bool = False,
        turns: int = 0,
        person: str = "",
    ) -> Any:
        clients = tuple(player.name for role in roles() if (player := adapter.in_role(role)) is not None)
        options = TaskOptions(
            benchmark=name, language=language, data=data, mode=mode, method=method, own_family=own_family, turns=turns,
            person=person, clients=clients,
        )  # fmt: skip
        return _built(options)

    holds = benchmark.holds_dialogues
    return _registered(name, converse_too if holds else build, benchmark.card.title)


def _registered(name: str, build: Callable[..., Any], title: str) -> Any:
    build.__name__, build.__doc__ = name, title
    return task(name=name)(build)


def _built(options: TaskOptions) -> Any:
    """Return a task of Inspect's."""
    with adapter.in_a_line():
        material = TaskMaterial(options)
        benchmark, samples = material.benchmark, _samples(material)
        instrument = material.judge_instrument.name
    named = {
        "benchmark": options.benchmark, "language": options.language, "data": options.data,
        **({"turns": options.turns, "person": options.person, "clients": list(options.clients)} if material.converses else {}),
    }  # fmt: skip
    return Task(
        dataset=MemoryDataset(samples, name=benchmark.name),
        setup=judged_by_another(own_family=options.own_family),
        solver=converse(**named) if material.converses else reply(),
        scorer=judge(**named, mode=options.mode, method=options.method, own_family=options.own_family),
        config=GenerateConfig(max_tokens=adapter.TOKENS),
        epochs=Epochs(1, [every()]),
        name=benchmark.name,
        version=benchmark.rubric.version,
        metadata={"instrument": instrument, "notes": [*benchmark.remarks, *benchmark.own_notes]},
    )


def _samples(material: TaskMaterial) -> list[Any]:
    subjects = [slots.whole for slots in material.dialogues.values()] if material.converses else material.samples
    return [
        InspectSample(
            id=sample.id, input=adapter.messages(sample.messages[:1] if material.converses else material.benchmark.asked(sample)),
            target="" if sample.target is None else str(sample.target), metadata=facts(sample),
        )
        for sample in subjects
    ]  # fmt: skip


TASKS: dict[str, Any] = {
    name: _task(benchmark) for name in benchmarks.names() for benchmark in benchmarks.find(name) if not benchmark.closed
}
"""Name of the benchmark → what makes its task."""
