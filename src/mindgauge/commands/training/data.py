"""From what the user names to labelled samples: benchmarks, files and runs, for training, development and test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from mindgauge import benchmarks
from mindgauge.analysis.score import open_run
from mindgauge.benchmarks import Benchmark, own_folder
from mindgauge.raters.classifiers import form, labelled
from mindgauge.raters.classifiers.form import Reads
from mindgauge.records import RaterKind, Sample, Status, Value
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import tables
from mindgauge.records.files.texts import Frame
from mindgauge.records.rubric import Criterion, Rubric
from mindgauge.runs import run_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.commands.training.options import Learning
    from mindgauge.records import Reply
    from mindgauge.store import Store


Source: TypeAlias = str | Path | Frame

_TEST = re.compile(r"(^|[^a-z])test([^a-z]|$)")


class TrainingData(msgspec.Struct):
    """Labelled samples, and the rubric (of one criterion) that their targets belong to.

    `dev` and `test` are empty where nobody named them. `task` is the benchmark whose rubric it is, if one. All samples
    end alike, with what the classifier then `reads`.
    """

    name: str
    rubric: Rubric
    task: Benchmark | None
    train: list[Sample]
    dev: list[Sample]
    test: list[Sample]
    notes: list[str]
    reads: Reads = "reply"

    @property
    def criterion(self) -> Criterion:
        """What is learned."""
        return self.rubric.criteria[0]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What the task computes of a closed question; empty where there is no such task."""
        return self.task.metrics if self.task is not None and self.task.closed else ()

    @property
    def baselines(self) -> tuple[Value, ...]:
        """Labels that the task also scores as the answer to everything."""
        return self.task.baselines if self.task is not None else ()

    @property
    def class_weights(self) -> Mapping[str, float]:
        """What the task's authors let an example of each label weigh; empty where nothing is published."""
        return self.task.class_weights if self.task is not None else {}


def gather(sources: Sequence[Source], learning: Learning) -> TrainingData:
    """Read all that is named, in a command or in its options.

    Raises:
        UsageError: a name or an option is wrong, or the development part is marked as test.
        DataError: a file is missing, broken or in another schema, or a label is not in the rubric.
    """
    if not sources:
        raise UsageError("name a benchmark, a run or a file of labelled dialogues to train on")
    files = [is_file(source) for source in sources]
    if not all(files) and len(files) > 1:
        raise UsageError("train on one benchmark or run, or on files; its rubric can be used with files: --rubric NAME")
    _refuse_idle(sources, learning, files=files[0])
    read = _from_run if _is_run(sources[0]) else _from_files if files[0] else _from_benchmark
    material = read(sources, learning)
    if learning.folds is not None and (material.dev or material.test):
        raise UsageError(f"{material.name}: the data itself says what is development and test; leave out --folds")
    if learning.dev_data is not None:
        material.dev = _dev(learning.dev_data, learning, material)
    if learning.test is not None:
        material.test = _test(learning.test, learning, material)
    material.reads = form.reads([*material.train, *material.dev, *material.test])
    return material


def _refuse_idle(sources: Sequence[Source], learning: Learning, *, files: bool) -> None:
    """Refuse options that would change nothing, rather than let the user believe they did."""
    if learning.folds is not None and (learning.test is not None or learning.dev_data is not None):
        raise UsageError(
            "--folds tests on the training data, part by part: it goes with neither --test nor a --dev file"
        )
    if _is_run(sources[0]) and (learning.where or learning.labels_from or learning.rubric or learning.data):
        raise UsageError(
            "a run itself says what its samples, labels and rubric are: leave out --where, --labels-from, --rubric and --data"
        )
    if files and (learning.where or learning.labels_from is not None):
        raise UsageError(
            "--where and --labels-from go by the tags of a benchmark's samples; a file has columns: see --map"
        )
    if not files and learning.rubric is not None:
        raise UsageError("--rubric says whose labels a file's are; a benchmark has its own")
    if files and learning.criterion is not None and learning.rubric is None:
        raise UsageError("--criterion chooses among the criteria of a rubric; name that with --rubric")
    if learning.test_where and (learning.test is None or is_file(learning.test)):
        raise UsageError("--test-where chooses among the samples of a benchmark that --test names")


def _is_run(source: Source) -> bool:
    return is_run(source) and not is_folder(source)


def is_file(source: Source) -> bool:
    """Whether a source is a file or a table rather than a benchmark's name."""
    return tables.is_table(source) and not is_folder(source)


def is_folder(source: object) -> bool:
    """Whether a source is the folder of a benchmark of the user's own."""
    return isinstance(source, str | Path) and own_folder.is_one(Path(source))


def _from_files(sources: Sequence[Source], learning: Learning) -> TrainingData:
    read = [labelled.rows(source, learning.columns or {}) for source in sources]
    first = sources[0]
    name = Path(first).stem if isinstance(first, str | Path) else "table"
    task, rubric = _rubric(learning.rubric, learning.criterion) or (
        None,
        labelled.rubric_of([r for rows in read for r in rows], name),
    )
    samples = [sample for rows in read for sample in labelled.samples(rows, rubric.criteria[0])]
    splits = {
        split: [s for s in samples if s.tags.get("split", "train") == split] for split in ("train", "dev", "test")
    }
    if not splits["train"]:
        raise DataError(f"{name}: no row is marked train (split: {', '.join(k for k, v in splits.items() if v)})")
    return TrainingData(name, rubric, task, splits["train"], splits["dev"], splits["test"], [])


def _rubric(name: str | Path | None, criterion: str | None) -> tuple[Benchmark | None, Rubric] | None:
    if name is None:
        return None
    if Path(name).suffix == ".toml":
        return None, _one_criterion(Rubric.load(Path(name)), criterion)
    task = benchmarks.asked_one(str(name))
    return task, _one_criterion(task.rubric, criterion)


def _one_criterion(rubric: Rubric, name: str | None) -> Rubric:
    by_name = {criterion.name: criterion for criterion in rubric.criteria}
    chosen = by_name.get(name) if name is not None else next(iter(by_name.values())) if len(by_name) == 1 else None
    if chosen is None:
        fault = (
            f"has no criterion {name!r}; it has"
            if name is not None
            else "has several criteria; name one with --criterion:"
        )
        raise UsageError(f"{rubric.name} {fault} {', '.join(by_name)}")
    return rubric.only(chosen)


def _from_benchmark(sources: Sequence[Source], learning: Learning) -> TrainingData:
    name = str(sources[0])
    task = benchmarks.asked_one(name)
    rubric = _one_criterion(task.rubric, learning.criterion)
    material = TrainingData(task.name, rubric, task, [], [], [], [])
    read = task.read(learning.released) if learning.released is not None and not learning.where else []
    train, dev, test = ([s for s in read if s.tags.get("split") == split] for split in ("train", "dev", "test"))
    if train:
        material.dev = _targets(dev, None, material, "development part")
        material.test = _targets(test, None, material, "test part")
    else:
        train = task.samples(learning.released, dict(learning.where or {}) or None)
    if not learning.where and learning.folds is None and all(s.tags.get("split") == "test" for s in train):
        raise DataError(
            f"{name}: these are the authors' test samples; put their training file beside them (`mindgauge list --json` says "
            "how to obtain it), estimate by cross-validation with --folds 5, or train on them on purpose with --where split=test"
        )
    material.train = _targets(train, learning.labels_from, material, "training data")
    return material


def _from_run(sources: Sequence[Source], learning: Learning) -> TrainingData:
    folder = Path(str(sources[0]))
    task = benchmark_of(folder)
    rubric = _one_criterion(task.rubric, learning.criterion)
    labelled_samples = read(folder, task, rubric.criteria[0])
    return TrainingData(task.name, rubric, task, labelled_samples.samples, [], [], labelled_samples.notes)


def _targets(samples: Iterable[Sample], tag: str | None, material: TrainingData, part: str) -> list[Sample]:
    """Keep the samples that have a target, or take a tag's value as target; those without are counted."""
    selected, unlabelled = [], 0
    for sample in samples:
        answer = sample.target if tag is None else sample.tags.get(tag)
        if answer is None:
            unlabelled += 1
        else:
            target = labelled.label(answer, material.criterion, f"{material.name}: sample {sample.id}")
            selected.append(msgspec.structs.replace(sample, target=target))
    if unlabelled:
        reason = "no label that people agree on" if tag is None else f"no tag {tag}"
        material.notes.append(f"{part}: {unlabelled} samples left out, {reason}")
    if unlabelled and not selected:
        raise DataError(
            f"{material.name}: no labelled sample for the {part}; --labels-from TAG takes labels from a tag"
        )
    if tag is not None:
        material.notes.append(f"{part}: labels come from the tag {tag}, not from the benchmark's own (human) targets")
    return selected


def _test(source: Source, learning: Learning, material: TrainingData) -> list[Sample]:
    if is_file(source):
        return list(labelled.samples(labelled.rows(source, learning.columns or {}), material.criterion))
    task = benchmark_of(Path(str(source))) if _is_run(source) else benchmarks.asked_one(str(source))
    other = next((c for c in task.rubric.criteria if c.name == material.criterion.name), None)
    if other is None or task.rubric.only(other).hash != material.rubric.hash:
        raise UsageError(
            f"--test {source}: its rubric is {task.rubric.name}, the training data's is {material.rubric.name}"
        )
    if _is_run(source):
        labelled_samples = read(Path(str(source)), task, material.criterion)
        material.notes += labelled_samples.notes
        return labelled_samples.samples
    return _targets(task.samples(learning.released, dict(learning.test_where or {}) or None), None, material, "test")


def _dev(source: Source, learning: Learning, material: TrainingData) -> list[Sample]:
    name = str(source) if isinstance(source, str | Path) else "the development table"
    samples = (
        list(labelled.samples(labelled.rows(source, learning.columns or {}), material.criterion))
        if is_file(source)
        else []
    )
    if not samples:
        raise UsageError(f"--dev {name}: give a share such as 0.1, or a file of labelled dialogues")
    same = (
        isinstance(source, str | Path) and isinstance(learning.test, str | Path) and Path(source) == Path(learning.test)
    )
    marked = isinstance(source, str | Path) and _TEST.search(Path(source).stem.casefold())
    if same or marked or any(sample.tags.get("split") == "test" for sample in samples):
        raise UsageError(
            f"--dev {name}: this is marked as test data; a checkpoint that is chosen on it can no longer be tested by it. "
            "Give other data, or a share of the training data such as 0.1"
        )
    return samples


# A run directory as labelled samples: its samples or replies, with the gold that people's labels amount to.


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
