"""`train`: a classifier from labelled dialogues, divided so that nothing of one is on two sides, and an honest account of how good it is.

One training for each seed, and in cross-validation for each fold. Each that is done is a JSON file of figures and
logits, so that the same command goes on behind it after a kill.
"""

from __future__ import annotations

import contextlib
import math
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypedDict, Unpack

import msgspec
import numpy as np

from mindgauge import benchmarks
from mindgauge.analysis.score import open_run
from mindgauge.benchmarks import Benchmark, own_folder
from mindgauge.commands.classifier_card import TrainingData, Trial, TrialSplits, account, card
from mindgauge.commands.command import NAMED, command
from mindgauge.raters import classifier
from mindgauge.raters.classifiers import calibration, dialogues, tfidf
from mindgauge.raters.classifiers import encoder as encoders
from mindgauge.raters.classifiers.dialogues import TrainingDigests
from mindgauge.records import RaterKind, Sample, Status, digest
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private, tables
from mindgauge.records.files.texts import Frame
from mindgauge.records.rubric import Rubric
from mindgauge.runs import run_folder
from mindgauge.runs.options import listed, refuse_unknown
from mindgauge.store import manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.commands.classifier_card import Trained
    from mindgauge.raters.classifiers.dialogues import DataSplit
    from mindgauge.records import Value

    Progress = Callable[[str, int, int], None]

Source: TypeAlias = str | Path | Frame


class Learning(msgspec.Struct, frozen=True, kw_only=True):
    """What a classifier learns from, what it is tested on, and how it learns; see `train`.

    Raises:
        UsageError: an option is beyond its bounds.
    """

    encoder: str | None = None
    data: str | Path | None = None
    rubric: str | Path | None = None
    criterion: str | None = None
    test: str | Path | Frame | None = None
    dev: float = 0.1
    folds: int | None = None
    where: Mapping[str, tuple[str, ...]] | None = None
    test_where: Mapping[str, tuple[str, ...]] | None = None
    labels_from: str | None = None
    limit: int | None = None
    columns: Mapping[str, str] | None = None
    seeds: int = 1
    epochs: int = 5
    batch: int = 16
    lr: float = 2e-5
    max_length: int = 512
    risk: float | None = None

    def __post_init__(self) -> None:
        faults = {
            "--seeds, --epochs and --batch must be at least 1": min(self.seeds, self.epochs, self.batch) < 1,
            f"--lr {self.lr}: give a small number such as 2e-5": not (math.isfinite(self.lr) and self.lr >= 0),
            f"--max-length must be at least {encoders.SHORTEST}": self.max_length < encoders.SHORTEST,
            "--folds must be at least 2": self.folds is not None and self.folds < 2,
            "--risk must lie between 0 and 1": self.risk is not None and not 0 < self.risk < 1,
            f"--dev {self.dev}: give a share above 0 and below 0.5": not 0 < self.dev < 0.5,
        }
        for words, fault in faults.items():
            if fault:
                raise UsageError(words)


class TrainOptions(TypedDict, total=False):
    """`Learning` as keyword arguments."""

    data: str | Path | None
    rubric: str | Path | None
    criterion: str | None
    test: str | Path | Frame | None
    dev: float
    folds: int | None
    where: Mapping[str, tuple[str, ...]] | None
    test_where: Mapping[str, tuple[str, ...]] | None
    labels_from: str | None
    limit: int | None
    columns: Mapping[str, str] | None
    seeds: int
    epochs: int
    batch: int
    lr: float
    max_length: int
    risk: float | None


@command(first="out data encoder baseline rubric criterion test folds where limit epochs seeds")
def train(
    sources: Annotated[str | Path | Frame | Sequence[str | Path | Frame], NAMED],
    *,
    out: str | Path,
    encoder: Annotated[str | Path | None, NAMED] = None,
    baseline: bool = False,
    progress: Progress | None = None,
    command: str = "",
    **options: Unpack[TrainOptions],
) -> Trained:
    """Train a classifier on labelled dialogues; the same command continues where it stopped.

    Args:
        sources: A benchmark, a run that people labelled, or files of labelled dialogues (CSV, Excel, JSON, JSONL,
            Parquet): label, and text, user, messages or reply.
        out: The folder that the classifier is written to.
        encoder: A folder with an encoder's weights, or its name on the hub.
        baseline: TF-IDF and a linear model; needs no download.
        progress: told stage, steps done and steps in all.
        command: what the user typed, for the manifest.
        options: what it learns from and is tested on, and how it learns:

            data: A copy of the authors' released files, whole or in part.
            rubric: Whose labels a file's are: a benchmark, or a rubric.toml.
            criterion: Which one is learned, where the rubric has several.
            test: What it is tested on, and nothing else: a benchmark, a run or a file.
            dev: The share of the training data that chooses the checkpoint; 0.1 if not given.
            folds: Test by cross-validation over whole dialogues: how many folds.
            where: Train on samples whose tag has a value: split=train. May be repeated.
            test_where: Test on samples whose tag has a value. May be repeated.
            labels_from: The tag that holds the training labels, if not the target.
            limit: At most this many training samples, spread evenly over the labels.
            columns: our name → the file's name of a column.
            seeds: How many trainings, from seed 1 on; the best on the development part is saved; 1 if not given.
            epochs: Passes over the training data, at most; 5 if not given.
            batch: Dialogues per step; 16 if not given.
            lr: The highest learning rate; 2e-5 if not given.
            max_length: Tokens of a dialogue; its oldest words beyond them are left out; 512 if not given.
            risk: Abstain so often that at most this share of decisions is wrong.

    Raises:
        TypeError: there is no such option.
        UsageError: a name or an option is wrong, or `out` holds another training.
        DataError: the data is missing, broken or not fit to learn from.
        MindgaugeError: the memory does not suffice, or training diverged.
    """
    refuse_unknown(options, TrainOptions, train)
    if baseline == (encoder is not None):
        raise UsageError("say what to train: --encoder FOLDER (or a hub name), or --baseline, which needs no download")
    learning = Learning(encoder=None if encoder is None else str(encoder), **options)
    material = gather(listed(sources), learning)
    revision = encoders.check(learning.encoder) if learning.encoder is not None else ""
    # The baseline has no randomness: one seed says what several would.
    seeds = range(1, 2 if learning.encoder is None else learning.seeds + 1)
    splits = divided(material, learning)
    learned = _learned(splits, learning, material)
    folder = Path(out)
    if (
        folder.is_dir()
        and not manifest.read(folder)
        and (stranger := min((p.name for p in folder.iterdir()), default=""))
    ):
        raise UsageError(f"{folder}: holds {stranger}, which no training left there; choose another --out")
    private.folder(folder)
    subsets = [subset for split in splits for subset in (split.train, split.dev, split.tested)]
    plan: dict[str, Any] = {
        "data": material.name, "rubric": material.rubric.name, "rubric_hash": material.rubric.hash, "seeds": len(seeds),
        "train_hash": digest([[(s.id, s.target, s.cluster) for s in subset.samples] for subset in subsets]),
    }  # fmt: skip
    if learning.encoder is not None:
        plan |= {name: getattr(learning, name) for name in ("encoder", "epochs", "batch", "lr", "max_length")}
        plan["encoder_hash"] = classifier.weights_hash(Path(learning.encoder)) or revision
    manifest.begin(folder, plan, command)
    labels = list(map(str, material.criterion.values))
    final, *folds = [
        (split, [_trial(folder / "trials", learning, labels, split, seed, fold or None, progress) for seed in seeds])
        for fold, split in enumerate(splits)
    ]
    trained = account(folder, material, learning.encoder, learning.risk, final, folds)
    _move(folder / "trials" / f"seed-{trained.chosen}", folder)
    classifier.describe(folder, material.rubric, trained.decision)
    learned.save(folder)
    private.write(folder / "card.md", card(trained))
    versions = {}
    for name in ("numpy", "scikit-learn", "torch", "transformers"):
        with contextlib.suppress(PackageNotFoundError):  # the baseline needs no torch
            versions[name] = version(name)
    manifest.write(folder, manifest.read(folder) | {"versions": versions, "ended": manifest.now()})
    return trained


def _learned(splits: Sequence[TrialSplits], learning: Learning, material: TrainingData) -> TrainingDigests:
    """Return digests of what is learned from, also by an encoder that is a classifier itself; a note warns of overlap."""
    learned = TrainingDigests.of([*splits[0].train.samples, *splits[0].dev.samples])
    previous = TrainingDigests.load(Path(learning.encoder)) if learning.encoder is not None else None
    if previous is None:
        return learned
    repeated = [previous.how(sample) != "no" for split in splits for sample in split.tested.samples]
    if any(repeated):
        material.notes.append(
            f"{learning.encoder} is a classifier that has learned from tested samples, or from their dialogues: the "
            "figures flatter"
        )
    return TrainingDigests(learned.texts | previous.texts, learned.shared | previous.shared)


def _trial(
    trials: Path, learning: Learning, labels: Sequence[str], split: TrialSplits, seed: int, fold: int | None,
    progress: Progress | None,
) -> Trial:  # fmt: skip
    """Train one classifier, or return what came of it earlier; of a fold no weights are kept."""
    place = trials / (f"seed-{seed}" if fold is None else f"seed-{seed}-fold-{fold}")
    record = place / "trial.json"
    if record.is_file():
        try:
            return msgspec.json.decode(bounds.content(record), type=Trial)
        except msgspec.DecodeError as error:
            raise UsageError(f"{record}: damaged; delete {place}, and the same command trains it again") from error
    place.mkdir(parents=True, exist_ok=True)
    report = partial(progress, f"training {place.name}") if progress is not None else None
    model: tfidf.Tfidf | encoders.Encoder
    if learning.encoder is None:
        model, history = tfidf.fit(split.train, split.dev, len(labels), report)
        longest = 0
    else:
        model = encoders.Encoder.start(learning.encoder, labels, learning.max_length, seed)
        history = encoders.fit(
            model, split.train, split.dev, epochs=learning.epochs, batch=learning.batch, lr=learning.lr, seed=seed,
            folder=place / "checkpoints", progress=report,
        )  # fmt: skip
        longest = model.max_length
    if fold is None:
        (place / "model").mkdir(exist_ok=True)
        model.save(place / "model")
    dev, tested = (model.logits(part.dialogues).tolist() for part in (split.dev, split.tested))
    best = calibration.best(history) + 1
    trial = Trial(seed=seed, fold=fold, best=best, history=history, max_length=longest, dev=dev, tested=tested)
    private.write(record, msgspec.json.encode(trial))
    return trial


def _move(place: Path, target: Path) -> None:
    """Put the chosen trial's weights where the classifier is opened, and delete all others; once is enough."""
    for path in sorted((place / "model").glob("*")):
        private.copy(path, target / path.name)
    if not (target / tfidf.WEIGHTS).is_file():
        raise UsageError(
            f"{target}: its {tfidf.WEIGHTS} is gone; delete the folder and train again, or choose another --out"
        )
    for other in place.parent.glob("*/model"):
        shutil.rmtree(other)


# From what the user names to the parts of a training, with nothing of a dialogue on two sides.


def gather(sources: Sequence[Source], learning: Learning) -> TrainingData:
    """Read all that is named, in a command or in its options.

    Raises:
        UsageError: a name or an option is wrong.
        DataError: a file is missing, broken or in another schema, or a label is not in the rubric.
    """
    files, runs = list(map(_is_file, sources)), any(map(_is_run, sources))
    by_tag, test = bool(learning.where or learning.labels_from), learning.test
    faults = {
        "train on one benchmark or run, or on files": not files or (len(files) > 1 and not all(files)),
        "--where and --labels-from go by the tags of a benchmark's samples; leave them out for files and runs": by_tag
        and (any(files) or runs),
        "a run has its own samples; leave out --data": learning.data and runs,
        "--rubric says whose labels a file's are; a benchmark or a run has its own": learning.rubric and not all(files),
        "--test-where chooses among the samples of a benchmark that --test names": learning.test_where
        and (test is None or _is_file(test) or _is_run(test)),
        "--folds tests on the training data, part by part; leave out --test": learning.folds and test is not None,
    }
    for words, fault in faults.items():
        if fault:
            raise UsageError(words)
    task = None if all(files) else _benchmark_of(sources[0])
    name = task.name if task is not None else Path(sources[0]).stem if isinstance(sources[0], str | Path) else "table"
    if task is not None:
        rubric = task.rubric
    elif learning.rubric is None:
        labelled = [row for source in sources for row in dialogues.rows(source, learning.columns or {})]
        rubric = dialogues.rubric_of(labelled, name)
    elif Path(learning.rubric).suffix == ".toml":
        rubric = Rubric.load(Path(learning.rubric))
    else:
        task = benchmarks.asked_one(str(learning.rubric))
        rubric = task.rubric
    material = TrainingData(name, _one_criterion(rubric, learning.criterion), task)
    samples = [sample for source in sources for sample in _labelled(source, learning, material, training=True)]
    train, dev, material.test = (
        [sample for sample in samples if sample.tags.get("split", "train") == part] for part in ("train", "dev", "test")
    )
    if learning.where or runs or (learning.folds and not train):
        train, dev, material.test = samples, [], []
    if not train:
        raise DataError(
            f"{name}: these are all test samples; put training data with them (for a benchmark, `mindgauge list --json` "
            "says how to obtain it), estimate by cross-validation with --folds 5, or train on a benchmark's on purpose with "
            "--where split=test"
        )
    material.train, material.dev = train, dev
    if learning.folds and (dev or material.test):
        raise UsageError(f"{name}: the data itself says what is development and test; leave out --folds")
    if test is not None:
        material.test = _labelled(test, learning, material, training=False)
    material.reads = dialogues.reads([*train, *dev, *material.test])
    return material


def _is_run(source: Source) -> bool:
    return tables.is_run(source) and not own_folder.is_one(Path(str(source)))


def _is_file(source: Source) -> bool:
    return tables.is_table(source) and not (isinstance(source, str | Path) and own_folder.is_one(Path(source)))


def _one_criterion(rubric: Rubric, name: str | None) -> Rubric:
    by_name = {criterion.name: criterion for criterion in rubric.criteria}
    chosen = by_name.get(name) if name is not None else next(iter(by_name.values())) if len(by_name) == 1 else None
    if chosen is None:
        fault = "several criteria; name one with --criterion:" if name is None else f"no criterion {name!r}; it has"
        raise UsageError(f"{rubric.name} has {fault} {', '.join(by_name)}")
    return rubric.only(chosen)


def _benchmark_of(source: Source) -> Benchmark:
    """Return a benchmark by its name, or the one that people labelled in a run."""
    if not _is_run(source):
        return benchmarks.asked_one(str(source))
    store, tasks, content = open_run(Path(str(source)))
    store.close()
    wanted = content.get("annotation", {}).get("benchmark")
    chosen = [task for task in tasks if task.name == wanted] or tasks
    if len(chosen) > 1:
        raise UsageError(f"{source}: several benchmarks are in this run; train on a run of one")
    return chosen[0]


def _labelled(source: Source, learning: Learning, material: TrainingData, *, training: bool) -> list[Sample]:
    """Read a file's rows, or what has a label among a run's items or a benchmark's samples; the others are counted."""
    if _is_file(source):
        return list(dialogues.samples(dialogues.rows(source, learning.columns or {}), material.criterion))
    task = _benchmark_of(source)
    other = next((c for c in task.rubric.criteria if c.name == material.criterion.name), None)
    if other is None or task.rubric.only(other).hash != material.rubric.hash:
        raise UsageError(
            f"--test {source}: its rubric is {task.rubric.name}, the training data's is {material.rubric.name}"
        )
    tag, tags = (learning.labels_from, learning.where) if training else (None, learning.test_where)
    if _is_run(source):
        answers = _gold(Path(str(source)), task, material)
    else:
        released = Path(learning.data) if learning.data is not None else None
        samples = list(task.read(released)) if training and released and not tags else []
        if not any(sample.tags.get("split") == "train" for sample in samples):
            samples = task.samples(released, dict(tags or {}) or None)
        held_out = () if tags else ("dev", "test")  # these keep people's own targets
        answers = [
            (s, s.target if tag is None or s.tags.get("split") in held_out else s.tags.get(tag)) for s in samples
        ]
    selected = [
        msgspec.structs.replace(s, target=dialogues.label(answer, material.criterion, f"{source}: {s.id}"))
        for s, answer in answers
        if answer is not None
    ]
    if not selected:
        raise DataError(
            f"{source}: nothing here has a label on {material.criterion.name}; people give them with `mindgauge annotate`, "
            "and --labels-from TAG takes them from a benchmark's tag"
        )
    if tag is not None:
        material.notes.append(f"training: labels come from the tag {tag}, not from the benchmark's own (human) targets")
    if len(selected) < len(answers):
        material.notes.append(f"{source}: {len(answers) - len(selected)} samples without a label (or a text) left out")
    return selected


def _gold(folder: Path, task: Benchmark, material: TrainingData) -> list[tuple[Sample, Value | None]]:
    """Return a run's samples, or what replies make of them, with the gold of those who labelled them, or else its gold."""
    run_folder.need_text(folder)
    store, _, content = open_run(folder)
    rater = content.get("annotation", {}).get("gold", "gold")
    material.notes.append(f"{folder}: labels on {material.criterion.name} are those of the rater {rater}")
    named = (rater, RaterKind.GOLD, material.criterion.name, Status.OK)
    with store:
        gold = {
            r.subject: r.value
            for r in store.ratings(task.name)
            if (r.rater, r.rater_kind, r.criterion, r.status) == named
        }
        if task.closed or not store.count_replies(task.name):
            return [(sample, gold.get(sample.id)) for sample in store.samples(task.name)]
        return [
            (
                msgspec.structs.replace(
                    dialogues.with_reply(store.sample(task.name, reply.sample), reply), id=reply.id
                ),
                gold.get(reply.id) if reply.text.strip() else None,
            )
            for reply in store.replies(task.name)
        ]


def divided(material: TrainingData, learning: Learning) -> list[TrialSplits]:
    """Separate what must not be on both sides, and see that the rest can be learned.

    Returns:
        The parts of the classifier that is saved, then those of each fold of a cross-validation.

    Raises:
        DataError: too little is left to learn from.
    """
    values = material.criterion.values
    train = dialogues.separate(material.train, [*material.dev, *material.test])
    dev = dialogues.separate(material.dev, material.test)
    if not train or (material.dev and not dev):
        raise DataError("nothing is left to learn from, or to choose by, without the dialogues that are tested")
    samples = dialogues.part(train, values)
    counts = {
        "training: {} samples removed from dialogues that are tested, or choose": len(material.train) - len(train),
        "development: {} samples removed from dialogues that are tested": len(material.dev) - len(dev),
    }
    material.notes += [note.format(count) for note, count in counts.items() if count]
    samples = samples if learning.limit is None else dialogues.spread(samples, learning.limit)
    dialogues.check(samples)
    test = dialogues.part(material.test, values) if material.test else None
    if dev:
        chosen = dialogues.part(dev, values)
        return [TrialSplits(samples, chosen, chosen if test is None else test)]
    folds = dialogues.divide(samples, learning.folds) if learning.folds else []
    if len(folds) < (learning.folds or 0) or not all(map(len, folds)):
        raise DataError(f"--folds {learning.folds}: there are too few dialogues, or too few of each label")
    pairs = [(samples, test), *(dialogues.taken(samples, rows) for rows in folds)]
    return [_development(training, tested, learning.dev) for training, tested in pairs]


def _development(training: DataSplit, test: DataSplit | None, share: float) -> TrialSplits:
    """Take a development part from the training data."""
    train, dev = dialogues.taken(training, dialogues.divide(training, round(1 / share))[0])
    if not len(train) or not len(dev):
        raise DataError(
            f"{len(training)} samples from {len(np.unique(training.groups))} dialogues leave no development part; "
            "give more dialogues, or a larger --dev"
        )
    dialogues.check(train)
    return TrialSplits(train, dev, dev if test is None else test)
