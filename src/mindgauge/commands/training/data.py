"""From what the user names to labelled samples: benchmarks, files and runs, for training, development and test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from mindgauge import benchmarks
from mindgauge.analysis.score import open_run
from mindgauge.benchmarks import Benchmark, own_folder
from mindgauge.raters.classifiers import form, labelled
from mindgauge.raters.classifiers.form import Reads
from mindgauge.records import RaterKind, Sample, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import tables
from mindgauge.records.files.texts import Frame
from mindgauge.records.rubric import Criterion, Rubric
from mindgauge.runs import run_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindgauge.commands.training.options import Learning
    from mindgauge.records import Reply


Source: TypeAlias = str | Path | Frame

_TEST = re.compile(r"(^|[^a-z])test([^a-z]|$)")
_GOLD = (
    "SELECT subject, status, value FROM ratings WHERE benchmark = ? AND criterion = ? AND rater = ? AND rater_kind = ?"
)


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


def gather(sources: Sequence[Source], learning: Learning) -> TrainingData:
    """Read all that is named, in a command or in its options.

    Raises:
        UsageError: a name or an option is wrong, or the development part is marked as test.
        DataError: a file is missing, broken or in another schema, or a label is not in the rubric.
    """
    _refuse_idle(sources, learning)
    read = _from_run if _is_run(sources[0]) else _from_files if _is_file(sources[0]) else _from_benchmark
    material = read(sources, learning)
    if learning.folds is not None and (material.dev or material.test):
        raise UsageError(f"{material.name}: the data itself says what is development and test; leave out --folds")
    if learning.share is None:
        material.dev = _dev(learning, material)
    if learning.test is not None:
        material.test = _test(learning.test, learning, material)
    material.reads = form.reads([*material.train, *material.dev, *material.test])
    return material


def _refuse_idle(sources: Sequence[Source], learning: Learning) -> None:
    """Refuse options that would change nothing, rather than let the user believe they did."""
    files = [_is_file(source) for source in sources]
    by_tag = learning.where or learning.labels_from is not None
    from_file = bool(files) and files[0]
    faults = {
        "name a benchmark, a run or a file of labelled dialogues to train on": not files,
        "train on one benchmark or run, or on files; its rubric can be used with files: --rubric NAME": not all(files)
        and len(files) > 1,
        "--folds tests on the training data, part by part: it goes with neither --test nor a --dev file": learning.folds
        is not None
        and (learning.test is not None or learning.share is None),
        "a run itself says what its samples, labels and rubric are: leave out --where, --labels-from, --rubric and "
        "--data": any(map(_is_run, sources)) and (by_tag or learning.rubric or learning.data),
        "--where and --labels-from go by the tags of a benchmark's samples; a file has columns: see --map": from_file
        and by_tag,
        "--rubric says whose labels a file's are; a benchmark has its own": not from_file
        and learning.rubric is not None,
        "--criterion chooses among the criteria of a rubric; name that with --rubric": from_file
        and learning.criterion is not None
        and learning.rubric is None,
        "--test-where chooses among the samples of a benchmark that --test names": learning.test_where
        and (learning.test is None or _is_file(learning.test)),
    }
    for words, fault in faults.items():
        if fault:
            raise UsageError(words)


def _is_folder(source: object) -> bool:
    return isinstance(source, str | Path) and own_folder.is_one(Path(source))


def _is_run(source: Source) -> bool:
    return isinstance(source, str | Path) and (Path(source) / "run.sqlite").is_file() and not _is_folder(source)


def _is_file(source: Source) -> bool:
    return tables.is_table(source) and not _is_folder(source)


def _from_files(sources: Sequence[Source], learning: Learning) -> TrainingData:
    read = [labelled.rows(source, learning.columns or {}) for source in sources]
    first = sources[0]
    name = Path(first).stem if isinstance(first, str | Path) else "table"
    task = None
    if learning.rubric is None:
        rubric = labelled.rubric_of([row for rows in read for row in rows], name)
    elif Path(learning.rubric).suffix == ".toml":
        rubric = _one_criterion(Rubric.load(Path(learning.rubric)), learning.criterion)
    else:
        task = benchmarks.asked_one(str(learning.rubric))
        rubric = _one_criterion(task.rubric, learning.criterion)
    samples = [sample for rows in read for sample in labelled.samples(rows, rubric.criteria[0])]
    splits = _by_split(samples, "train")
    if not splits["train"]:
        raise DataError(f"{name}: no row is marked train (split: {', '.join(k for k, v in splits.items() if v)})")
    return TrainingData(name, rubric, task, splits["train"], splits["dev"], splits["test"], [])


def _by_split(samples: Iterable[Sample], unmarked: str = "") -> dict[str, list[Sample]]:
    splits: dict[str, list[Sample]] = {"train": [], "dev": [], "test": []}
    for sample in samples:
        splits.get(sample.tags.get("split", unmarked), []).append(sample)
    return splits


def _one_criterion(rubric: Rubric, name: str | None) -> Rubric:
    by_name = {criterion.name: criterion for criterion in rubric.criteria}
    chosen = by_name.get(name) if name is not None else next(iter(by_name.values())) if len(by_name) == 1 else None
    if chosen is None:
        fault = "several criteria; name one with --criterion:" if name is None else f"no criterion {name!r}; it has"
        raise UsageError(f"{rubric.name} has {fault} {', '.join(by_name)}")
    return rubric.only(chosen)


def _from_benchmark(sources: Sequence[Source], learning: Learning) -> TrainingData:
    task = benchmarks.asked_one(str(sources[0]))
    material = TrainingData(task.name, _one_criterion(task.rubric, learning.criterion), task, [], [], [], [])
    released = Path(learning.data) if learning.data is not None else None
    splits = _by_split(task.read(released) if released is not None and not learning.where else [])
    train = splits["train"]
    if train:
        material.dev = _targets(splits["dev"], None, material, "development part")
        material.test = _targets(splits["test"], None, material, "test part")
    else:
        train = list(task.samples(released, dict(learning.where or {}) or None))
    if not learning.where and learning.folds is None and all(s.tags.get("split") == "test" for s in train):
        raise DataError(
            f"{task.name}: these are the authors' test samples; put their training file beside them (`mindgauge list --json` says "
            "how to obtain it), estimate by cross-validation with --folds 5, or train on them on purpose with --where split=test"
        )
    material.train = _targets(train, learning.labels_from, material, "training data")
    return material


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
    if _is_file(source):
        return list(labelled.samples(labelled.rows(source, learning.columns or {}), material.criterion))
    folder = Path(str(source)) if _is_run(source) else None
    task = _benchmark_of(folder) if folder is not None else benchmarks.asked_one(str(source))
    other = next((c for c in task.rubric.criteria if c.name == material.criterion.name), None)
    if other is None or task.rubric.only(other).hash != material.rubric.hash:
        raise UsageError(
            f"--test {source}: its rubric is {task.rubric.name}, the training data's is {material.rubric.name}"
        )
    if folder is not None:
        return _gold(folder, task, material.criterion, material.notes)
    released = Path(learning.data) if learning.data is not None else None
    return _targets(task.samples(released, dict(learning.test_where or {}) or None), None, material, "test")


def _dev(learning: Learning, material: TrainingData) -> list[Sample]:
    assert not isinstance(learning.dev, float)
    source = learning.dev
    path = Path(source) if isinstance(source, str | Path) else None
    name = "the development table" if path is None else str(source)
    samples = (
        list(labelled.samples(labelled.rows(source, learning.columns or {}), material.criterion))
        if _is_file(source)
        else []
    )
    if not samples:
        raise UsageError(f"--dev {name}: give a share such as 0.1, or a file of labelled dialogues")
    tested = path is not None and isinstance(learning.test, str | Path) and path == Path(learning.test)
    marked = path is not None and _TEST.search(path.stem.casefold())
    if tested or marked or any(sample.tags.get("split") == "test" for sample in samples):
        raise UsageError(
            f"--dev {name}: this is marked as test data; a checkpoint that is chosen on it can no longer be tested by it. "
            "Give other data, or a share of the training data such as 0.1"
        )
    return samples


# A run directory as labelled samples: its samples or replies, with the gold that people's labels amount to.


def _from_run(sources: Sequence[Source], learning: Learning) -> TrainingData:
    folder, notes = Path(str(sources[0])), list[str]()
    task = _benchmark_of(folder)
    rubric = _one_criterion(task.rubric, learning.criterion)
    return TrainingData(task.name, rubric, task, _gold(folder, task, rubric.criteria[0], notes), [], [], notes)


def _benchmark_of(folder: Path) -> Benchmark:
    """Return the benchmark that people labelled in a run, or the only one in it."""
    store, benchmarks_, manifest = open_run(folder)
    store.close()
    wanted = manifest.get("annotation", {}).get("benchmark")
    chosen = [benchmark for benchmark in benchmarks_ if benchmark.name == wanted] or benchmarks_
    if len(chosen) > 1:
        raise UsageError(f"{folder}: several benchmarks are in this run; train on a run of one")
    return chosen[0]


def _gold(folder: Path, benchmark: Benchmark, criterion: Criterion, notes: list[str]) -> list[Sample]:
    """Read what has a gold label; ties, and what nobody could label, are left out and counted.

    Where people labelled the run's items, their gold is read and no other.
    """
    run_folder.need_text(folder)
    store, _, manifest = open_run(folder)
    rater = manifest.get("annotation", {}).get("gold", "gold")
    named = (benchmark.name, criterion.name, rater, RaterKind.GOLD.value)
    with store:
        gold = {
            subject: value if status == Status.OK else None for subject, status, value in store.select(_GOLD, named)
        }
        subjects: list[tuple[str, Sample, Reply | None]]
        if benchmark.closed or not store.count_replies(benchmark.name):
            subjects = [(sample.id, sample, None) for sample in store.samples(benchmark.name)]
        else:
            subjects = [(reply.id, store.sample(benchmark.name, reply.sample), reply) for reply in store.replies(benchmark.name)]  # fmt: skip
    selected = []
    counts = {
        "people labelled them and came to no one label (ties, cannot tell, does not apply, handed on)": 0,
        "nobody has labelled them": 0,
        "the reply has no text": 0,
    }
    without_label, unlabelled, mute = counts
    for ident, sample, reply in subjects:
        if gold.get(ident) is None or (reply is not None and not reply.text.strip()):
            counts[unlabelled if ident not in gold else without_label if gold[ident] is None else mute] += 1
        else:
            target = labelled.label(gold[ident], criterion, f"{folder}: {ident}")
            spoken = sample if reply is None else form.with_reply(sample, reply)
            selected.append(msgspec.structs.replace(spoken, id=ident, target=target))
    if not selected:
        raise DataError(
            f"{folder}: nothing here has a gold label on {criterion.name}; people give them with `mindgauge annotate`"
        )
    notes.append(f"{folder}: labels on {criterion.name} are those of the rater {rater}")
    notes += [f"{folder}: {count} left out, {reason}" for reason, count in counts.items() if count]
    tested = sum(sample.tags.get("split") == "test" for sample in selected)
    if tested:
        notes.append(
            f"{folder}: {tested} are the authors' test samples; what learned from them cannot be tested on them"
        )
    return selected
