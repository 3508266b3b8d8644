"""`export --to questions`: what a benchmark asks, for those who answer elsewhere and bring their replies to `rate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge import benchmarks
from mindgauge.benchmarks import restricted
from mindgauge.benchmarks.persons.dialogues import PersonMode
from mindgauge.records import Sample
from mindgauge.records.errors import UsageError
from mindgauge.records.shell import command_line
from mindgauge.runs import conversations, inputs
from mindgauge.runs.options import Asking, RunConfig
from mindgauge.runs.reply_tables import TAGS
from mindgauge.runs.steps import reply_request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark


def write(
    name: str,
    out: Path,
    *,
    data: Path | None,
    columns: Mapping[str, str] | None,
    limit: int | None,
    where: dict[str, tuple[str, ...]] | None,
) -> tuple[int, list[str]]:
    """Write the questions of a benchmark into a file; return how many there are, and what is to be known about them.

    Raises:
        UsageError: there is no such benchmark, no reply answers its question, or the file cannot be written.
        DataError: samples are missing or bad.
    """
    from mindgauge.reports.export import questions

    benchmark = benchmarks.asked_one(name)
    if benchmark.closed and not benchmark.about_reply:
        raise UsageError(
            f"{name} is a closed question about what the person says: there are no replies to rate; use `{command_line('run', name)}`"
        )
    benchmark = _answered_once(benchmark, data)
    suffix = questions.suffix_of(out)
    available = inputs.at_hand([benchmark], data, where, limit, columns)
    samples = _asked(benchmark, available.samples[0])
    told = [_system(benchmark, sample) for sample in samples]
    questions.write(out, questions.table(samples, told, TAGS, computed=suffix == ".csv"))
    notes = [
        *available.notes,
        f"fill in the column `reply`, then: {command_line('rate', name, '--replies', out, '--judge', 'NAME')}",
    ]
    if any(told):
        notes.append("what stands in `system` is told to models beforehand; leave it away, and your bot was asked something else")  # fmt: skip
    held = restricted.open_samples(benchmark, {"plan": {"data": str(data)}}) if data is not None else None
    if count := 0 if held is None else sum(sample.id not in held for sample in samples):
        notes.append(f"do not pass this file on: it holds {count} restricted messages")
    return len(samples), notes


def _answered_once(benchmark: Benchmark, data: Path | None) -> Benchmark:
    """Let dialogues be stored ones, each answered once: what is said next in others depends on the answers."""
    if benchmark.persons is None:
        return benchmark
    config = RunConfig(asking=Asking(person=PersonMode.PREFIXED.value))
    return conversations.held([benchmark], [], config, data, text=True).benchmarks[0]


def _asked(benchmark: Benchmark, samples: list[Sample]) -> list[Sample]:
    """Return what is to be answered: of a question about a reply the dialogue before it, once, and nothing said of the reply."""
    if not benchmark.closed:
        return samples
    asked: dict[str, Sample] = {}
    for sample in samples:
        tags = {name: value for name, value in sample.tags.items() if name in TAGS}
        if before := sample.messages[:-1]:
            question = Sample.of(before, tags=tags, cluster=sample.cluster)
            asked.setdefault(question.id, question)
    return [*asked.values()]


def _system(benchmark: Benchmark, sample: Sample) -> str:
    """Return what a chat model would be told before a sample."""
    if benchmark.closed:
        return ""
    first, *_ = reply_request(benchmark, sample, 0, {}).messages
    return first.content if first.role == "system" and first not in sample.messages else ""
