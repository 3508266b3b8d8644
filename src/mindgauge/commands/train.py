"""`train`: a classifier from labelled dialogues, divided so that nothing of one is on two sides, and an honest account of how good it is."""

from __future__ import annotations

import contextlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import msgspec
import numpy as np

from mindgauge.commands.command import NAMED, command
from mindgauge.commands.training import data as training_data
from mindgauge.commands.training import options as training_options
from mindgauge.commands.training.account import Fold, account
from mindgauge.commands.training.card import card
from mindgauge.commands.training.options import TrainOptions
from mindgauge.raters.classifiers import calibration as selection
from mindgauge.raters.classifiers import encoder as encoders
from mindgauge.raters.classifiers import parts, pretrained, saved, trials
from mindgauge.raters.classifiers import pretrained as extra
from mindgauge.raters.classifiers.parts import TrainingDigests
from mindgauge.records import digest
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import private
from mindgauge.reports.draw import plots
from mindgauge.runs.options import listed, refuse_unknown
from mindgauge.store import manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.commands.training.account import Trained
    from mindgauge.commands.training.data import TrainingData
    from mindgauge.raters.classifiers.parts import DataSplit
    from mindgauge.raters.classifiers.trials import ClassifierConfig, Progress, Trial, TrialSplits
    from mindgauge.records import Value
    from mindgauge.records.files.texts import Frame


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
            dev: What chooses the checkpoint: a share of the training data, or a file; 0.1 if not given.
            folds: Test by cross-validation over whole dialogues: how many folds.
            where: Train on samples whose tag has a value: split=train. May be repeated.
            test_where: Test on samples whose tag has a value. May be repeated.
            labels_from: The tag that holds the training labels, if not the target.
            limit: At most this many training samples, spread evenly over the labels.
            rare: A label with a single example: refuse (if not given), keep or drop.
            columns: our name → the file's name of a column.
            seeds: 1..5, or 1,2,3: one training for each; 1 if not given.
            epochs: Passes over the training data, at most; 5 if not given.
            batch: Dialogues per step; 16 if not given.
            accumulate: In how many pieces a step is computed, where memory is short.
            lr: The highest learning rate; 2e-5 if not given.
            patience: Stop after this many epochs without gain; 0: never; 2 if not given.
            max_length: Tokens of a dialogue; whole old turns beyond it are left out; 512 if not given.
            weights: Of labels in the loss: balanced (if not given), published or none.
            risk: Abstain so often that at most this share of decisions is wrong.
            device: auto (if not given), cpu or cuda.

    Raises:
        TypeError: there is no such option.
        UsageError: a name or an option is wrong, or `out` holds another training.
        DataError: the data is missing, broken or not fit to learn from.
        MindgaugeError: the memory does not suffice, or training diverged.
    """
    refuse_unknown(options, TrainOptions, train)
    learning, fitting = training_options.of(options)
    share, folds = learning.share, learning.folds
    if baseline == (encoder is not None):
        raise UsageError("say what to train: --encoder FOLDER (or a hub name), or --baseline, which needs no download")
    training_options.check(learning, fitting)
    material = training_data.gather(listed(sources), learning)
    if baseline:
        extra.need(extra.BASELINE)
        source = {}
    else:
        revision = pretrained.check(str(encoder))
        encoders.place(fitting.device)
        source = {"encoder": str(encoder), "encoder_hash": saved.weights_hash(Path(str(encoder))) or revision}
    values = material.criterion.values
    labels = tuple(map(str, values))
    kind = trials.ClassifierConfig(
        None if baseline else str(encoder), labels, fitting.recipe, fitting.max_length, fitting.device
    )
    chosen = list(dict.fromkeys(fitting.seeds))
    if baseline and len(chosen) > 1:
        material.notes.append("the baseline has no randomness: one seed says what several would")
        chosen = chosen[:1]
    training, whole_dev, whole_test = prepare(material, learning.limit, learning.rare)
    divided = divide(training, whole_dev, whole_test, share or 0.0, values)
    splits = [divided, *(folded(training, folds, share or 0.0, values) if folds is not None else [])]
    class_weights = [
        selection.class_weights(
            fitting.weights, h.train.counts(len(labels)), material.criterion, material.class_weights
        )
        for h in splits
    ]
    learned = TrainingDigests.of([*divided.train.samples, *divided.dev.samples])
    if not baseline:
        tested = whole_test or (training if folds is not None else divided.dev)
        learned |= _earlier(Path(str(encoder)), tested, material)
    folder = Path(out)
    _refuse_strangers(folder)
    private.folder(folder)  # what was learned holds words of the dialogues
    plan = _plan(material, kind, [training, divided.dev, divided.test]) | source | {
        "weights": fitting.weights, "class_weights": dict(zip(labels, class_weights[0].tolist(), strict=True)),
        "seeds": chosen, **({"folds": folds} if folds is not None else {}),
    }  # fmt: skip
    manifest.begin(folder, plan, command)

    def run(seed: int, fold: int) -> Trial:
        return trials.run(folder / "trials", kind, splits[fold], class_weights[fold], seed, fold or None, progress)

    final, *crossed = [Fold(parts, [run(seed, fold) for seed in chosen]) for fold, parts in enumerate(splits)]
    trained = account(folder, material, kind, final, crossed, fitting.risk)
    trials.move(folder / "trials", trials.choose(final.trials), folder)
    saved.describe(folder, material.rubric, trained.decision)
    learned.save(folder)
    private.write(folder / "calibration.svg", _diagrams(trained))
    private.write(folder / "card.md", card(trained))
    content = manifest.read(folder) | {
        "versions": _versions(),
        "results": saved.known(msgspec.to_builtins(trained)),
        "ended": manifest.now(),
    }
    manifest.write(folder, content)
    return trained


def _refuse_strangers(folder: Path) -> None:
    """Refuse a folder that holds anything but an earlier training: files of the same names would be replaced.

    Raises:
        UsageError: it does.
    """
    if folder.is_dir() and not manifest.read(folder):
        stranger = min((path.name for path in folder.iterdir()), default=None)
        if stranger is not None:
            raise UsageError(f"{folder}: holds {stranger}, which no training left there; choose another --out")


def _earlier(encoder: Path, tested: DataSplit, material: TrainingData) -> TrainingDigests:
    """Return what an encoder that is a classifier itself learned from; a note says how much of the test part that is."""
    digests = TrainingDigests.load(encoder) or TrainingDigests.of([])
    repeated = sum(digests.how(sample) != "no" for sample in tested.samples)
    if repeated:
        material.notes.append(
            f"{encoder} is a classifier that has learned from {repeated} of the {len(tested)} tested samples, or from their "
            "dialogues: the figures flatter"
        )
    return digests


def _diagrams(trained: Trained) -> str:
    """Draw how often the classifier is right against how sure it is, without and with the temperature."""
    sides = {"As trained": f"{trained.tested}, before", "With the temperature": trained.tested}
    calibrations = {
        f"{name}: {trained.tested}, n {trained.calibration[part].n}": trained.calibration[part]
        for name, part in sides.items()
    }
    return plots.draw_file(calibrations, "How often the classifier is right against how sure it is")


def _versions() -> dict[str, str]:
    """Return the versions of what trains, as far as it is installed."""
    versions = {}
    for name in ("numpy", "scipy", "scikit-learn", "torch", "transformers", "safetensors"):
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _plan(material: TrainingData, kind: ClassifierConfig, splits: Sequence[DataSplit | None]) -> dict[str, Any]:
    """Write down what decides whether a later command goes on with this training."""
    data = [[(s.id, s.target, s.cluster) for s in part.samples] if part is not None else [] for part in splits]
    plan: dict[str, Any] = {
        "data": material.name,
        "rubric": material.rubric.name,
        "rubric_hash": material.rubric.hash,
        **{f"{name}_hash": digest(rows) for name, rows in zip(("train", "dev", "test"), data, strict=True)},
        "kind": "tfidf" if kind.encoder is None else "encoder",
    }
    if kind.encoder is not None:
        plan |= {"max_length": kind.max_length, "recipe": msgspec.structs.asdict(kind.recipe)}
    return plan


# Training, development and test part, with nothing of a dialogue on two sides.


SPLIT_SEED = 0
"""Of the division into parts: the same for all seeds, so that their spread is that of training alone."""


def prepare(
    material: TrainingData, limit: int | None, rare: str
) -> tuple[DataSplit, DataSplit | None, DataSplit | None]:
    """Take apart what must not stand on both sides, drop what is there twice, and see that the rest can be learned.

    Returns:
        What is trained on, the development part where one is given, and the test part where there is one.

    Raises:
        DataError: too little is left to learn from.
    """
    values, notes = material.criterion.values, material.notes
    separated = parts.separate(material.train, [*material.dev, *material.test])
    removed = (
        f"{separated.duplicates} samples that are also development or test samples, and {separated.related} from the same "
        "dialogues as such"
    )
    if not separated.train:
        raise DataError(f"training data: nothing is left without {removed}; do the files count their clusters alike?")
    if separated.duplicates or separated.related:
        notes.append(f"training data: removed {removed}")
    dev = parts.separate(material.dev, material.test)
    if material.dev and not dev.train:
        raise DataError("development part: every sample is also a test sample, or from the same dialogue as one")
    if dev.duplicates or dev.related:
        notes.append(f"development part: removed {dev.duplicates + dev.related} samples that belong to test dialogues")
    training, repeated, contradicting = parts.unique(parts.part(separated.train, values))
    if repeated:
        notes.append(f"training data: removed {repeated} repetitions of a text with the same label")
    if contradicting:
        notes.append(f"training data: {contradicting} texts carry several labels; all are kept, in one part")
    if rare == "drop":
        frequent = training.counts(len(values))[training.codes] >= parts.FEWEST
        training = training.take(np.flatnonzero(frequent))
    training = training if limit is None else parts.spread(training, limit)
    parts.check(training, values, keep=rare == "keep")
    return (
        training,
        parts.part(dev.train, values) if dev.train else None,
        parts.part(material.test, values) if material.test else None,
    )


def divide(
    training: DataSplit, dev: DataSplit | None, test: DataSplit | None, share: float, values: Sequence[Value]
) -> TrialSplits:
    """Take a development part from the training data, where none is given.

    Raises:
        DataError: there are too few dialogues.
    """
    if dev is not None:
        return trials.TrialSplits(training, dev, test)
    first, second = parts.divide(training, (1 - share, share), len(values), SPLIT_SEED)
    if not len(first) or not len(second):
        raise DataError(
            f"{len(training)} samples from {len(np.unique(training.groups))} dialogues leave no development part; "
            "give more dialogues, a larger --dev, or a file"
        )
    train = training.take(first)
    parts.check(train, values, keep=True)
    return trials.TrialSplits(train, training.take(second), test)


def folded(training: DataSplit, folds: int, share: float, values: Sequence[Value]) -> list[TrialSplits]:
    """Divide the training data into folds; each is tested by what the others teach.

    Raises:
        DataError: there are too few dialogues.
    """
    divisions = []
    for rows in parts.divide(training, [1 / folds] * folds, len(values), SPLIT_SEED):
        if not len(rows):
            raise DataError(
                f"--folds {folds}: there are only {len(np.unique(training.groups))} dialogues that can be told apart"
            )
        others = training.take(np.setdiff1d(np.arange(len(training)), rows))
        divisions.append(divide(others, None, training.take(rows), share, values))
    return divisions
