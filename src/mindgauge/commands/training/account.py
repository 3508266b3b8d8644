"""From finished trainings to what `train` returns: figures, calibration, when the classifier abstains, predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import numpy as np
from scipy import special

from mindgauge.analysis.classifiers import TrainedFigure, figures, metrics_for
from mindgauge.raters.classifiers import calibration, parts, trials
from mindgauge.raters.classifiers.calibration import Abstention, Calibration
from mindgauge.raters.classifiers.form import Reads
from mindgauge.raters.classifiers.parts import DataSplit
from mindgauge.raters.classifiers.saved import Decision
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.files import private
from mindgauge.records.rounding import bounded, count, decimal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.commands.training.data import TrainingData
    from mindgauge.raters.classifiers.trials import ClassifierConfig, Trial, TrialSplits
    from mindgauge.records import Value

    Codes = NDArray[np.intp]

    Floats = NDArray[np.float64]


class PartSummary(msgspec.Struct, frozen=True):
    """How many samples a part has, from how many dialogues, and of which labels."""

    name: str
    n: int
    dialogues: int
    labels: dict[str, int]


class TrialSummary(msgspec.Struct, frozen=True):
    """One training: which epoch (of the baseline: which penalty) was kept, and what it reached on development data."""

    seed: int
    fold: int | None
    kept: int
    history: list[dict[str, float]]
    collapsed: str
    seconds: float
    device: str
    shortened: int
    cut: int
    pieces: int


class Trained(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """A trained classifier and what it is worth."""

    out: str
    kind: str
    encoder: str | None
    data: str
    rubric: str
    criterion: str
    labels: list[str]
    reads: Reads
    tested: str
    """The part that the figures are on: `test`, `cross-validation` or, where there is neither, `development`."""
    parts: list[PartSummary]
    trials: list[TrialSummary]
    chosen: int
    """The seed whose classifier was saved."""
    figures: list[TrainedFigure]
    calibration: dict[str, Calibration]
    """By part; `…, before` are probabilities without a temperature. On development data they are cross-fitted."""
    abstention: dict[str, Abstention]
    """By part, where a risk was stated."""
    decision: Decision
    notes: list[str]

    def summary(self) -> list[str]:
        """Say what was trained on what, what it reached, how well calibrated it is, and how to use it."""
        figures = [
            f"{figure.name}: {bounded(figure.value, figure.low, figure.high)}, n {count(figure.n)} "
            f"(always the most frequent label: {decimal(figure.majority)})"
            for figure in self.figures
            if not figure.label
        ]
        calibration = self.calibration.get(self.tested)
        return [
            f"{self.kind} classifier of {self.criterion} ({self.rubric}), trained on {self.data}; tested: {self.tested}",
            *first_of(figures, 4),
            *([f"Calibration error: {decimal(calibration.ece)}, n {count(calibration.n)}"] if calibration else []),
            *noted(self.notes),
            f'{self.out}/card.md says what it must not be used for; as a judge: judge="classifier/{self.out}"',
        ]

    def _listed(self) -> list[dict[str, Any]]:
        rows = [msgspec.structs.asdict(figure) for figure in self.figures]
        return [row | {f"always {label}": value for label, value in row.pop("always").items()} for row in rows]


# From finished trainings to an account of them: figures, calibration, when the classifier abstains, predictions.


DEVELOPMENT, TEST, CROSS_VALIDATION = "development", "test", "cross-validation"


class Fold(NamedTuple):
    """What was trained on the same parts: one training per seed."""

    held: TrialSplits
    trials: Sequence[Trial]


class Tested(NamedTuple):
    """What was tested: n samples, and per seed their logits, shape (n, q), as they are and calibrated.

    `last` are those of the last epoch, where that is known, and `majority` the most frequent label of what was learned
    from, shape (n,).
    """

    name: str
    part: DataSplit
    raw: list[Floats]
    logits: list[Floats]
    last: list[Floats]
    majority: Codes


def account(
    folder: Path, material: TrainingData, kind: ClassifierConfig, final: Fold, folds: Sequence[Fold], risk: float | None
) -> Trained:
    """Compute what trainings came to, and write the predictions of what was tested.

    Args:
        folder: the classifier's.
        material: where the samples come from.
        kind: what was trained.
        final: the trainings of which one is saved.
        folds: of a cross-validation.
        risk: what share of wrong decisions is allowed; None lets the classifier always decide.
    """
    values = material.criterion.values
    chosen = trials.choose(final.trials)
    tested = _tested(final, folds, len(values))
    seed = 0 if folds else final.trials.index(chosen)
    chance = special.softmax(tested.logits[seed], axis=1)
    threshold = _threshold(final.held, chosen, risk) if risk is not None else None
    abstentions: dict[str, Abstention] = {}
    if threshold is not None and risk is not None:
        abstentions[DEVELOPMENT] = threshold
        if folds:
            thresholds = [np.full(len(_test(f)), _threshold(f.held, f.trials[seed], risk).threshold) for f in folds]
            abstentions[tested.name] = calibration.abstention(chance, tested.part, np.concatenate(thresholds))
        elif tested.name == TEST and threshold.threshold is not None:
            abstentions[tested.name] = calibration.abstention(chance, tested.part, threshold.threshold)
    calibrated = _calibration(final.held, chosen, tested, seed)
    _write_predictions(folder / "predictions.jsonl", tested, [trial.seed for trial in final.trials], values)
    kind_name: Literal["tfidf", "encoder"] = "tfidf" if kind.encoder is None else "encoder"
    return Trained(
        out=str(folder), kind=kind_name, encoder=kind.encoder, data=material.name,
        rubric=material.rubric.name, criterion=material.criterion.name, labels=list(kind.labels),
        reads=material.reads, tested=tested.name,
        parts=_parts(final.held, tested, values),
        trials=[_summary(trial) for fold in (final, *folds) for trial in fold.trials],
        chosen=chosen.seed,
        figures=figures(
            tested.name, tested.part, values, metrics_for(values, material.metrics),
            [logits.argmax(axis=1) for logits in tested.logits], [logits.argmax(axis=1) for logits in tested.last],
            seed, tested.majority, material.baselines,
        ),
        calibration=calibrated,
        abstention=abstentions,
        decision=Decision(
            kind_name, material.rubric.name, material.rubric.hash, _temperature(final.held, chosen),
            chosen.max_length, threshold.threshold if threshold is not None else None, risk, material.reads,
        ),
        notes=[*material.notes, *_notes(tested, values, final, folds, kind), *_worse(calibrated, final.held, tested)],
    )  # fmt: skip


def _temperature(splits: TrialSplits, trial: Trial) -> float:
    return calibration.temperature(np.array(trial.dev), splits.dev.codes)


def _threshold(splits: TrialSplits, trial: Trial, risk: float) -> Abstention:
    chance = special.softmax(np.array(trial.dev) / _temperature(splits, trial), axis=1)
    return calibration.choose_threshold(chance, splits.dev, risk)


def _test(fold: Fold) -> DataSplit:
    return fold.held.test if fold.held.test is not None else fold.held.dev


def _tested(final: Fold, folds: Sequence[Fold], labels: int) -> Tested:
    """Gather what was tested: all folds of a cross-validation, the test part, or else the development part."""
    name = CROSS_VALIDATION if folds else TEST if final.held.test is not None else DEVELOPMENT
    tested_folds = folds or [final]
    test_parts = [_test(fold) for fold in tested_folds]
    part = DataSplit(
        tuple(sample for test in test_parts for sample in test.samples),
        np.concatenate([test.codes for test in test_parts]), np.concatenate([test.groups for test in test_parts]),
    )  # fmt: skip
    raw, logits, last = [], [], []
    for k in range(len(final.trials)):
        outputs = [np.array(f.trials[k].dev if name == DEVELOPMENT else f.trials[k].test) for f in tested_folds]
        warmth = [_temperature(fold.held, fold.trials[k]) for fold in tested_folds]
        raw.append(np.concatenate(outputs))
        logits.append(np.concatenate([output / t for output, t in zip(outputs, warmth, strict=True)]))
        ends = [np.array(fold.trials[k].test_last) for fold in tested_folds]
        last += [np.concatenate(ends)] if all(map(len, ends)) else []
    often = [fold.held.train.counts(labels).argmax() for fold in tested_folds]
    return Tested(name, part, raw, logits, last, np.repeat(often, [len(test) for test in test_parts]))


def _calibration(splits: TrialSplits, chosen: Trial, tested: Tested, seed: int) -> dict[str, Calibration]:
    """Compare confidence and accuracy before and after the temperature, on development and on test data."""
    dev = np.array(chosen.dev)
    by_part = {
        f"{DEVELOPMENT}, before": _compared(special.softmax(dev, axis=1), splits.dev),
        DEVELOPMENT: _compared(calibration.cross_fitted(dev, splits.dev), splits.dev),
    }
    if tested.name != DEVELOPMENT:
        by_part[f"{tested.name}, before"] = _compared(special.softmax(tested.raw[seed], axis=1), tested.part)
        by_part[tested.name] = _compared(special.softmax(tested.logits[seed], axis=1), tested.part)
    return by_part


def _compared(probabilities: Floats, part: DataSplit) -> Calibration:
    return calibration.calibration(probabilities, part.codes, part.groups)


def _notes(
    tested: Tested, values: tuple[Value, ...], final: Fold, folds: Sequence[Fold], kind: ClassifierConfig
) -> list[str]:
    notes = [*parts.rare("train", final.held.train, values), *parts.rare(DEVELOPMENT, final.held.dev, values)]
    if tested.name == DEVELOPMENT:
        notes.append("no test data: the figures are on the development part, which chose the model, so they flatter it; "
                     "name test data with --test, or use --folds")  # fmt: skip
    else:
        notes += parts.rare(tested.name, tested.part, values)
    all_trials = [trial for fold in (final, *folds) for trial in fold.trials]
    collapsed = [f"{_named(trial)} ({trial.collapsed})" for trial in all_trials if trial.collapsed]
    if collapsed:
        notes.append(
            f"{len(collapsed)} of {len(all_trials)} trainings collapsed and still count: {', '.join(collapsed)}"
        )
    long = final.trials[0]
    if long.shortened:
        notes.append(f"{long.shortened} dialogues were longer than {long.max_length} tokens and lost their oldest turns, "
                     f"{long.cut} of them also words of the turns that must stay")  # fmt: skip
    short = [_named(trial) for trial in all_trials if trial.pieces > kind.recipe.accumulate]
    if short:
        notes.append(f"memory ran out, so that each step was computed in twice as many pieces: {', '.join(short)}")
    return notes


def _worse(calibrated: dict[str, Calibration], splits: TrialSplits, tested: Tested) -> list[str]:
    """Say so where the temperature did harm on test data, as it may if it was fitted on few samples."""
    before, scaled = calibrated.get(f"{tested.name}, before"), calibrated[tested.name]
    if before is None or before.log_loss is None or scaled.log_loss is None or scaled.log_loss <= before.log_loss:
        return []
    fitted = f"the temperature, fitted on {len(splits.dev)} samples, made the probabilities worse on {tested.name}"
    return [f"{fitted}; a larger development part (--dev) would help"]


def _named(trial: Trial) -> str:
    return f"seed {trial.seed}" + (f" fold {trial.fold}" if trial.fold is not None else "")


def _parts(splits: TrialSplits, tested: Tested, values: tuple[Value, ...]) -> list[PartSummary]:
    named = {"train": splits.train, DEVELOPMENT: splits.dev, tested.name: tested.part}
    return [
        PartSummary(name, len(part), len(np.unique(part.groups)), dict(zip(map(str, values), part.counts(len(values)).tolist(), strict=True)))
        for name, part in named.items()
    ]  # fmt: skip


def _summary(trial: Trial) -> TrialSummary:
    return TrialSummary(
        trial.seed, trial.fold, trial.kept, trial.history, trial.collapsed, round(trial.seconds, 3), trial.device,
        trial.shortened, trial.cut, trial.pieces,
    )  # fmt: skip


def _write_predictions(path: Path, tested: Tested, seeds: Sequence[int], values: Sequence[Value]) -> None:
    """Write one line per seed and sample: ids, labels and calibrated probabilities, no text."""
    lines = []
    for seed, logits in zip(seeds, tested.logits, strict=True):
        for sample, row in zip(tested.part.samples, special.softmax(logits, axis=1).tolist(), strict=True):
            lines.append(msgspec.json.encode({
                "part": tested.name, "seed": seed, "sample": sample.id, "cluster": sample.cluster, "target": sample.target,
                "value": values[row.index(max(row))],
                "probabilities": {str(value): round(p, 6) for value, p in zip(values, row, strict=True)},
            }))  # fmt: skip
    private.write(path, b"\n".join(lines) + b"\n")
