"""Training, development and test part, with nothing of a dialogue on two sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.raters.classifiers import parts, trials
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.commands.training.data import TrainingData
    from mindgauge.raters.classifiers.parts import DataSplit
    from mindgauge.raters.classifiers.trials import TrialSplits
    from mindgauge.records import Value

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
