"""`train`: a classifier from labelled dialogues, divided so that nothing of one is on two sides, and an honest account of how good it is."""

from __future__ import annotations

import contextlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec
import numpy as np

from mindgauge.commands.training import data as training_data
from mindgauge.commands.training.account import account, card
from mindgauge.commands.training.options import Learning, TrainOptions
from mindgauge.raters.classifiers import encoder as encoders
from mindgauge.raters.classifiers import parts, saved, training
from mindgauge.raters.classifiers.calibration import class_weights
from mindgauge.raters.classifiers.parts import DataSplit, TrainingDigests
from mindgauge.raters.classifiers.training import Recipe, TrialSplits
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
    from mindgauge.raters.classifiers.training import Progress, Trial
    from mindgauge.records import Value
    from mindgauge.records.files.texts import Frame

SPLIT_SEED = 0
"""Of the division into parts: the same for all seeds, so that their spread is that of training alone."""


def train(
    sources: str | Path | Frame | Sequence[str | Path | Frame],
    *,
    out: str | Path,
    encoder: str | Path | None = None,
    baseline: bool = False,
    progress: Progress | None = None,
    command: str = "",
    **options: Unpack[TrainOptions],
) -> Trained:
    """Train a classifier. The same call goes on where an earlier one stopped.

    Args:
        sources: a benchmark's name, a run directory whose samples or replies people labelled (`annotate`), or files of
            labelled dialogues (CSV, JSONL, Parquet) or tables: `label`, and `text`, `user`, `messages` or `reply`,
            optionally `cluster`, `split` and `language`.
        out: the folder that the classifier is written to.
        encoder: a folder with an encoder's weights, or its name on the hub.
        baseline: TF-IDF and a linear model instead of an encoder; needs no download.
        progress: told stage, steps done and steps in all.
        command: what the user typed, for the manifest.
        options: what it learns from and is tested on, and how it learns:

            data: a copy of a benchmark's released files.
            rubric: whose labels a file's are: a benchmark's name or a rubric.toml; the file's own if not given.
            criterion: which one is learned, where the rubric has several.
            test: what the classifier is tested on: a benchmark's name, a run, a file or a table; never used to choose
                anything.
            dev: the share of the training data that checkpoints are chosen on, by whole dialogues; or a file.
            folds: test by cross-validation with so many folds of whole dialogues, where there is no test data.
            where: tag → values of the benchmark's samples to train on.
            test_where: tag → values of the benchmark's samples to test on.
            labels_from: a tag that holds the training labels, where the samples have no target of their own.
            limit: at most this many training samples, spread evenly over the labels.
            rare: what to do with a label that has a single example: `refuse`, `keep` or `drop`.
            columns: our name → the file's name of a column.
            seeds: one training for each; the one that does best on the development part is saved.
            epochs: of an encoder, at most.
            batch: dialogues per step.
            accumulate: in how many pieces a step is computed.
            lr: the highest learning rate.
            patience: stop after so many epochs without gain; 0 never stops early.
            max_length: tokens of a dialogue; where it is longer, its oldest words are left out.
            weights: of labels in the loss: `balanced`, `published` or `none`.
            risk: abstain so often that at most this share of what is decided is wrong.
            device: `auto`, `cpu` or `cuda`.

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
    material = training_data.gather(listed(sources), learning)
    source = _source(learning)
    values = material.criterion.values
    labels = tuple(map(str, values))
    seeds = list(dict.fromkeys(learning.seeds))
    if baseline and len(seeds) > 1:
        material.notes.append("the baseline has no randomness: one seed says what several would")
        seeds = seeds[:1]
    splits = divided(material, learning)
    published = material.task.class_weights if material.task is not None else {}
    weights = [
        class_weights(learning.weights, split.train.counts(len(labels)), material.criterion, published)
        for split in splits
    ]
    learned = _learned(splits, learning, material)
    folder = Path(out)
    if (
        folder.is_dir()
        and not manifest.read(folder)
        and (stranger := min((p.name for p in folder.iterdir()), default=""))
    ):
        raise UsageError(f"{folder}: holds {stranger}, which no training left there; choose another --out")
    private.folder(folder)
    plan = _plan(material, learning, splits) | source | {
        "weights": learning.weights, "class_weights": dict(zip(labels, weights[0].tolist(), strict=True)), "seeds": seeds,
    }  # fmt: skip
    manifest.begin(folder, plan, command)

    def run(seed: int, fold: int) -> Trial:
        trials = folder / "trials"
        return training.run(trials, learning, labels, splits[fold], weights[fold], seed, fold or None, progress)

    final, *folds = [(split, [run(seed, fold) for seed in seeds]) for fold, split in enumerate(splits)]
    trained = account(folder, material, learning, final, folds)
    training.move(folder / "trials", training.choose(final[1]), folder)
    saved.describe(folder, material.rubric, trained.decision)
    learned.save(folder)
    titles = {"As trained": f"{trained.tested}, before", "With the temperature": trained.tested}
    sides = {f"{title}: {trained.tested}, n {(c := trained.calibration[part]).n}": c for title, part in titles.items()}
    private.write(
        folder / "calibration.svg", plots.draw_file(sides, "How often the classifier is right against how sure it is")
    )
    private.write(folder / "card.md", card(trained))
    results = saved.known(msgspec.to_builtins(trained))
    content = {"versions": _versions(), "results": results, "ended": manifest.now()}
    manifest.write(folder, manifest.read(folder) | content)
    return trained


def _source(learning: Learning) -> dict[str, str]:
    """See that what is trained can be had, and say which weights it begins with."""
    if learning.encoder is None:
        return {}
    revision = encoders.check(learning.encoder)
    encoders.place(learning.device)
    return {
        "encoder": learning.encoder,
        "encoder_hash": saved.weights_hash(Path(learning.encoder)) or revision,
    }


def _learned(splits: Sequence[TrialSplits], learning: Learning, material: TrainingData) -> TrainingDigests:
    """Return digests of what is learned from, also by an encoder that is a classifier itself; a note warns of overlap."""
    final, *folds = splits
    learned = TrainingDigests.of([*final.train.samples, *final.dev.samples])
    previous = TrainingDigests.load(Path(learning.encoder)) if learning.encoder is not None else None
    if previous is None:
        return learned
    tested = [sample for split in folds or [final] for sample in split.tested.samples]
    repeated = sum(previous.how(sample) != "no" for sample in tested)
    if repeated:
        material.notes.append(
            f"{learning.encoder} is a classifier that has learned from {repeated} of the {len(tested)} tested samples, or from "
            "their dialogues: the figures flatter"
        )
    return learned | previous


def _versions() -> dict[str, str]:
    """Return the versions of what trains, as far as it is installed."""
    versions = {}
    for name in ("numpy", "scipy", "scikit-learn", "torch", "transformers", "safetensors"):
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _plan(material: TrainingData, learning: Learning, splits: Sequence[TrialSplits]) -> dict[str, Any]:
    """Write down what decides whether a later command goes on with this training."""
    subsets = [subset for split in splits for subset in (split.train, split.dev, split.tested)]
    plan: dict[str, Any] = {
        "data": material.name,
        "rubric": material.rubric.name,
        "rubric_hash": material.rubric.hash,
        "train_hash": digest([[(s.id, s.target, s.cluster) for s in subset.samples] for subset in subsets]),
        "kind": "tfidf" if learning.encoder is None else "encoder",
    }
    if learning.folds is not None:
        plan["folds"] = learning.folds
    if learning.encoder is not None:
        names = [name for name in Recipe.__struct_fields__ if name not in {"encoder", "device"}]
        plan["recipe"] = {name: getattr(learning, name) for name in names}
    return plan


# Training, development and test part, with nothing of a dialogue on two sides.


def divided(material: TrainingData, learning: Learning) -> list[TrialSplits]:
    """Separate what must not be on both sides, drop what is there twice, and see that the rest can be learned.

    Returns:
        The parts of the classifier that is saved, then those of each fold of a cross-validation.

    Raises:
        DataError: too little is left to learn from.
    """
    values, notes = material.criterion.values, material.notes
    train, duplicates, related = parts.separate(material.train, [*material.dev, *material.test])
    removed = (
        f"{duplicates} samples that are also development or test samples, and {related} from the same dialogues as such"
    )
    if not train:
        raise DataError(f"training data: nothing is left without {removed}; do the files count their clusters alike?")
    if duplicates or related:
        notes.append(f"training data: removed {removed}")
    dev, *tested = parts.separate(material.dev, material.test)
    if material.dev and not dev:
        raise DataError("development part: every sample is also a test sample, or from the same dialogue as one")
    if any(tested):
        notes.append(f"development part: removed {sum(tested)} samples that belong to test dialogues")
    samples, repeated, contradicting = parts.unique(parts.part(train, values))
    if repeated:
        notes.append(f"training data: removed {repeated} repetitions of a text with the same label")
    if contradicting:
        notes.append(f"training data: {contradicting} texts carry several labels; all are kept, in one part")
    if learning.rare == "drop":
        samples = samples.take(np.flatnonzero(samples.counts(len(values))[samples.codes] >= parts.FEWEST))
    samples = samples if learning.limit is None else parts.spread(samples, learning.limit)
    parts.check(samples, values, keep=learning.rare == "keep")
    test = parts.part(material.test, values) if material.test else None
    if dev:
        return [TrialSplits(samples, parts.part(dev, values), test)]
    share = learning.share or 0.0
    return [_development(samples, test, share, values), *_folded(samples, learning.folds or 0, share, values)]


def _development(training: DataSplit, test: DataSplit | None, share: float, values: Sequence[Value]) -> TrialSplits:
    """Take a development part from the training data."""
    first, second = parts.divide(training, (1 - share, share), len(values), SPLIT_SEED)
    if not len(first) or not len(second):
        raise DataError(
            f"{len(training)} samples from {len(np.unique(training.groups))} dialogues leave no development part; "
            "give more dialogues, a larger --dev, or a file"
        )
    train = training.take(first)
    parts.check(train, values, keep=True)
    return TrialSplits(train, training.take(second), test)


def _folded(training: DataSplit, folds: int, share: float, values: Sequence[Value]) -> list[TrialSplits]:
    """Divide the training data into folds; each is tested by what the others teach."""
    divisions = []
    for rows in parts.divide(training, [1 / folds] * folds, len(values), SPLIT_SEED) if folds else []:
        if not len(rows):
            raise DataError(
                f"--folds {folds}: there are only {len(np.unique(training.groups))} dialogues that can be told apart"
            )
        others = training.take(np.setdiff1d(np.arange(len(training)), rows))
        divisions.append(_development(others, training.take(rows), share, values))
    return divisions
