"""The model card: what a classifier was trained on, what it is worth, and what it must not be used for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.classifiers import FOUND, RIGHT
from mindgauge.benchmarks.metrics import accuracy
from mindgauge.records.rounding import decimal, interval, percent, seconds
from mindgauge.records.shell import command_line
from mindgauge.records.text import code, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.classifiers import TrainedFigure
    from mindgauge.commands.training.account import Trained

RANKABLE = 30
"""With fewer dialogues a label's figures say little."""
_ENDS = {"reply": "the supporter's reply that ends a dialogue", "message": "the person's message that ends a dialogue"}
_TESTED = {
    "test": "test data that played no part in training or choosing it",
    "cross-validation": "cross-validation: every dialogue was labelled by a model that had seen nothing of it. The "
    "saved classifier was trained in the same way on *train* above, so these figures are an estimate of it",
    "development": "**development data, which chose the model. These figures flatter it**",
}
_NOT_FOR = """\
- Not for decisions about a person. It sorts texts in order to measure systems; it does not assess, diagnose or triage anyone.
- Not as the only safeguard of a service. What it passes can be harmful; *found* says how much it misses.
- Not for other languages, groups, topics or kinds of dialogue than it was tested on, until it has been tested there.
- Not for labels with few test dialogues (marked *few*: below {few}): their intervals say that little is known.
- Not to compare systems if texts of one of them stood in its training data."""


def card(trained: Trained) -> str:
    """Write the model card as Markdown; it holds no text of the data."""
    parts = (
        _head(trained),
        _data(trained),
        _worth(trained),
        _trust(trained),
        _abstention(trained),
        _trainings(trained),
    )
    lines = [line for part in parts for line in part]
    return "\n".join([*lines, "\n## What it must not be used for\n", _NOT_FOR.format(few=RANKABLE)]) + "\n"


def _head(trained: Trained) -> Iterator[str]:
    model = (
        f"the encoder {code(trained.encoder)}, fine-tuned" if trained.encoder else "TF-IDF n-grams with a linear model"
    )
    yield f"# Classifier: {text(trained.criterion)}\n"
    yield f"It gives {_ENDS[trained.reads]} one label of the rubric {code(trained.rubric)}: {', '.join(map(text, trained.labels))}.\n"
    yield f"- Model: {model}. Settings, versions and hashes stand in `manifest.toml`."
    right = next((figure for figure in trained.figures if figure.name == accuracy.name), None)
    if right is not None and right.value is not None and right.majority is not None:
        subject = "Classifiers trained in the same way were" if trained.tested == "cross-validation" else "It was"
        yield (
            f"- {subject} right on {percent(right.value)} of {right.n} dialogues ({trained.tested}; 95 % interval "
            f"{interval(right.low, right.high, 'share')}). Always giving the most frequent label would have "
            f"been right on {percent(right.majority)}."
        )
    recalls = [(f.value, f.n, f.label) for f in trained.figures if f.name == FOUND and f.value is not None]
    never = [f"{text(label)} (0 of {n})" for value, n, label in recalls if not value]
    if never:
        yield f"- Never found: {', '.join(never)}."
    elif recalls:
        value, n, label = min(recalls)
        yield f"- Missed most: *{text(label)}*, of which {percent(value)} of {n} were found."
    yield f"- Use: {code(command_line('rate', 'NAME', '--replies', 'FILE', '--judge', f'classifier/{trained.out}'))}\n"


def _data(trained: Trained) -> Iterator[str]:
    yield "## Data\n"
    yield f"Source: {text(trained.data)}. No dialogue has something of it in two parts.\n"
    if trained.tested == "cross-validation":
        yield (
            "The saved classifier learned from *train* and was chosen on *development*; together they are what the "
            "cross-validation tested.\n"
        )
    yield from _header(["label", *(part.name for part in trained.parts)])
    for label in trained.labels:
        yield _row([label, *(part.labels[label] for part in trained.parts)])
    yield _row(["all", *(part.n for part in trained.parts)])
    yield _row(["separate dialogues", *(part.dialogues for part in trained.parts)])
    yield ""
    yield "- `seen.json` holds digests of *train* and *development*, no text: where it rates such dialogues, that is said."
    yield from (f"- {text(note)}" for note in trained.notes)


def _worth(trained: Trained) -> Iterator[str]:
    many_seeds = len({trial.seed for trial in trained.trials}) > 1
    ends = any(figure.last is not None for figure in trained.figures)
    yield "\n## What it is worth\n"
    yield f"On {_TESTED[trained.tested]}.\n"
    yield "Intervals are at 95 %; they resample separate dialogues, and are exact for shares."
    if many_seeds:
        seed = (
            "of the first seed"
            if trained.tested == "cross-validation"
            else f"of seed {trained.chosen}, chosen on development data"
        )
        yield f"*Value* is that {seed}; mean and SD are over all seeds."
    if ends:
        yield "*Last epoch* is what keeping the last epoch instead of the best one on development data would have given."
    yield "*Majority* is what always giving the most frequent training label would reach, *always* the same for a label that the task is judged against.\n"
    always = list(trained.figures[0].always)
    tabulated = {FOUND, RIGHT}
    yield from _header([
        "metric", "value", "interval", "n", *(["mean", "SD"] if many_seeds else []), *(["last epoch"] if ends else []),
        "majority", *(f"always {label}" for label in always),
    ])  # fmt: skip
    for figure in trained.figures:
        if figure.name in tabulated and figure.label in trained.labels:
            continue
        seeds = [_number(figure.mean), _number(figure.sd)] if many_seeds else []
        last = [_number(figure.last)] if ends else []
        name = f"{figure.name} ({figure.label})" if figure.label else figure.name
        yield _row(
            [
                name,
                _number(figure.value),
                _interval(figure),
                figure.n,
                *seeds,
                *last,
                _number(figure.majority),
                *map(_number, figure.always.values()),
            ]
        )
    yield "\n*Found*: of the dialogues that carry a label, the share that it gave this label (recall)."
    yield "*Right*: of the dialogues that it gave a label, the share that carry it (precision).\n"
    yield from _header(["label", "n", "found", "interval", "given", "right", "interval"])
    by_label = {(figure.name, figure.label): figure for figure in trained.figures}
    for label in trained.labels:
        recall, precision = by_label[FOUND, label], by_label[RIGHT, label]
        yield _row([
            label, recall.n if recall.n >= RANKABLE else f"{recall.n}, few", _number(recall.value), _interval(recall),
            precision.n, _number(precision.value), _interval(precision),
        ])  # fmt: skip


def _trust(trained: Trained) -> Iterator[str]:
    yield "\n## How far its probabilities can be trusted\n"
    yield (
        f"Its logits are divided by a temperature ({decimal(trained.decision.temperature)}) that was fitted on development data. "
        "*Calibration error*: by how much, on average, it is surer or less sure than it is right; 0 is ideal.\n"
    )
    yield "![How often it is right against how sure it is](calibration.svg)\n"
    yield from _header(["part", "n", "calibration error", "log loss"])
    for name, calibrated in trained.calibration.items():
        yield _row([name, calibrated.n, _number(calibrated.ece), _number(calibrated.log_loss)])
    yield f"\n*{trained.tested.capitalize()}*, with the temperature:\n"
    yield from _header(["how sure", "n", "mean", "right", "interval"])
    for b in trained.calibration[trained.tested].bins:
        if b.n:
            yield _row([f"{decimal(b.low, 1)} to {decimal(b.high, 1)}", b.n, _number(b.confidence), _number(b.accuracy),
                        _range(b.accuracy_low, b.accuracy_high)])  # fmt: skip


def _abstention(trained: Trained) -> Iterator[str]:
    yield "\n## When it abstains\n"
    if trained.decision.threshold is None:
        yield "Never: no risk was stated (`--risk`)."
        return
    risk = percent(trained.decision.risk)
    if trained.decision.threshold > 1:
        yield (
            f"Always: on this development part no threshold shows with 95 % confidence that at most {risk} of what it "
            "decides is wrong. More development data, a better model or a larger `--risk` would."
        )
        return
    yield (
        f"Where it is less sure than {decimal(trained.decision.threshold, 3)}: chosen on development data, so that with 95 % confidence "
        f"at most {risk} of what it decides is wrong. The same data chose the model, so the promise is a little too "
        "good there; what it comes to elsewhere stands below it.\n"
    )
    if trained.tested == "cross-validation":
        yield "In cross-validation each fold chose a threshold of its own.\n"
    yield from _header(["part", "decided", "of", "wrong", "upper bound"])
    for name, decided in trained.abstention.items():
        yield _row([name, decided.decided, decided.n, _number(decided.risk), _number(decided.risk_high)])


def _trainings(trained: Trained) -> Iterator[str]:
    yield "\n## Trainings\n"
    choice = "epoch" if trained.encoder else "penalty"
    yield from _header(
        ["seed", "fold", f"{choice} kept", "of", "macro-F1 on development data", "device", "time", "note"]
    )
    for trial in trained.trials:
        best = trial.history[trial.kept - 1]
        fold = "–" if trial.fold is None else trial.fold
        yield _row([
            trial.seed, fold, trial.kept, len(trial.history), _number(best["macro_f1"]), trial.device,
            seconds(trial.seconds, 1), f"collapsed: {trial.collapsed}" if trial.collapsed else "",
        ])  # fmt: skip


def _header(names: list[str]) -> Iterator[str]:
    yield _row(names)
    yield f"|{'---|' * len(names)}"


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(text, cells))} |"


def _number(value: float | None) -> str:
    return decimal(value, 3)


def _interval(figure: TrainedFigure) -> str:
    return _range(figure.low, figure.high)


def _range(low: float | None, high: float | None) -> str:
    return "–" if low is None else f"{_number(low)} to {_number(high)}"
