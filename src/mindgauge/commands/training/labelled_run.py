"""A run directory as labelled samples: its samples or replies, with the gold that people's labels amount to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.analysis.score import open_run
from mindgauge.raters.classifiers import form, labelled
from mindgauge.records import RaterKind, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.runs import run_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Reply, Sample
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store

_GOLD = (
    "SELECT subject, status, value FROM ratings WHERE benchmark = ? AND criterion = ? AND rater = ? AND rater_kind = ?"
)


class LabelledSamples(NamedTuple):
    """Labelled samples, and what is to be known of them, one line each."""

    samples: list[Sample]
    notes: list[str]


def is_run(source: object) -> bool:
    """Whether a source is a run directory."""
    return isinstance(source, str | Path) and (Path(source) / "run.sqlite").is_file()


def benchmark_of(folder: Path) -> Benchmark:
    """Return the benchmark that people labelled in a run, or the only one in it.

    Raises:
        UsageError: there is no run, or several benchmarks are in it.
    """
    store, benchmarks, manifest = open_run(folder)
    store.close()
    wanted = manifest.get("annotation", {}).get("benchmark")
    chosen = [benchmark for benchmark in benchmarks if benchmark.name == wanted] or benchmarks
    if len(chosen) > 1:
        raise UsageError(f"{folder}: several benchmarks are in this run; train on a run of one")
    return chosen[0]


def read(folder: Path, benchmark: Benchmark, criterion: Criterion) -> LabelledSamples:
    """Read what has a gold label; ties, and what nobody could label, are left out and counted.

    Where people labelled the run's items, their gold is read and no other.

    Raises:
        DataError: nothing is labelled, or a label is not in the rubric.
    """
    run_folder.need_text(folder)
    store, _, manifest = open_run(folder)
    rater = manifest.get("annotation", {}).get("gold", "gold")
    with store:
        gold = {
            subject: value if status == Status.OK else None
            for subject, status, value in store.select(
                _GOLD, (benchmark.name, criterion.name, rater, RaterKind.GOLD.value)
            )
        }
        subjects = list(_subjects(store, benchmark))
    selected, open_, unlabelled, mute = [], 0, 0, 0
    for ident, sample, reply in subjects:
        if ident not in gold:
            unlabelled += 1
        elif gold[ident] is None:
            open_ += 1
        elif reply is not None and not reply.text.strip():
            mute += 1
        else:
            target = labelled.label(gold[ident], criterion, f"{folder}: {ident}")
            labelled_sample = sample if reply is None else form.with_reply(sample, reply)
            selected.append(msgspec.structs.replace(labelled_sample, id=ident, target=target))
    if not selected:
        raise DataError(
            f"{folder}: nothing here has a gold label on {criterion.name}; people give them with `mindgauge annotate`"
        )
    counts = {
        "people labelled them and came to no one label (ties, cannot tell, does not apply, handed on)": open_,
        "nobody has labelled them": unlabelled,
        "the reply has no text": mute,
    }
    notes = [f"{folder}: labels on {criterion.name} are those of the rater {rater}"]
    notes += [f"{folder}: {count} left out, {reason}" for reason, count in counts.items() if count]
    tested = sum(sample.tags.get("split") == "test" for sample in selected)
    if tested:
        notes.append(
            f"{folder}: {tested} are the authors' test samples; what learned from them cannot be tested on them"
        )
    return LabelledSamples(selected, notes)


def _subjects(store: Store, benchmark: Benchmark) -> Iterator[tuple[str, Sample, Reply | None]]:
    """Return what may be labelled: samples of a closed question, or of a run without replies; else its replies."""
    if benchmark.closed or not store.count_replies(benchmark.name):
        yield from ((sample.id, sample, None) for sample in store.samples(benchmark.name))
        return
    for reply in store.replies(benchmark.name):
        yield reply.id, store.sample(benchmark.name, reply.sample), reply
