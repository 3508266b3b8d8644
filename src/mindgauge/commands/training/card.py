"""The model card: what a classifier was trained on, what it is worth, and what it must not be used for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.metrics import accuracy
from mindgauge.commands.training.account import FOUND, RIGHT
from mindgauge.records.rounding import decimal, interval, percent, seconds
from mindgauge.records.shell import command_line
from mindgauge.records.text import code, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
_NOT_FOR = f"""\
## What it must not be used for

- Not for decisions about a person. It sorts texts in order to measure systems; it does not assess, diagnose or triage anyone.
- Not as the only safeguard of a service. What it passes can be harmful; *found* says how much it misses.
- Not for other languages, groups, topics or kinds of dialogue than it was tested on, until it has been tested there.
- Not for labels with few test dialogues (marked *few*: below {RANKABLE}): their intervals say that little is known.
- Not to compare systems if texts of one of them stood in its training data.
"""


def card(trained: Trained) -> str:
    """Write the model card as Markdown; it holds no text of the data."""
    return "\n".join([*_head(trained), *_data(trained), *_worth(trained), *_trust(trained), *_trainings(trained), _NOT_FOR])  # fmt: skip


def _head(trained: Trained) -> Iterator[str]:
    model = (
        f"the encoder {code(trained.encoder)}, fine-tuned" if trained.encoder else "TF-IDF n-grams with a linear model"
    )
    yield f"# Classifier: {text(trained.criterion)}\n"
    yield f"It gives {_ENDS[trained.reads]} one label of the rubric {code(trained.rubric)}: {', '.join(map(text, trained.labels))}.\n"
    yield f"- Model: {model}. Settings, versions and hashes are in `manifest.toml`."
    right = next((figure for figure in trained.figures if figure.name == accuracy.name), None)
    if right is not None:
        yield (
            f"- Right on {percent(right.value)} of {right.n} dialogues ({trained.tested}; 95 % interval "
            f"{interval(right.low, right.high, 'share')}). Always giving the most frequent label: {percent(right.majority)}."
        )
    never = [f"{text(f.label)} (0 of {f.n})" for f in trained.figures if f.name == FOUND and f.n and not f.value]
    if never:
        yield f"- Never found: {', '.join(never)}."
    yield f"- Use: {code(command_line('rate', 'NAME', '--replies', 'FILE', '--judge', f'classifier/{trained.out}'))}\n"


def _data(trained: Trained) -> Iterator[str]:
    yield "## Data\n"
    yield f"Source: {text(trained.data)}. No dialogue has something of it in two parts.\n"
    rows = [[label, *(part.labels[label] for part in trained.parts)] for label in trained.labels]
    rows.append(["all", *(part.n for part in trained.parts)])
    rows.append(["separate dialogues", *(part.dialogues for part in trained.parts)])
    yield from _table(["label", *(part.name for part in trained.parts)], rows)
    yield "- `seen.json` holds digests of *train* and *development*, no text: where it rates such dialogues, that is said."
    yield from (f"- {text(note)}" for note in trained.notes)


def _worth(trained: Trained) -> Iterator[str]:
    several = len({trial.seed for trial in trained.trials}) > 1
    yield f"\n## What it is worth\n\nOn {_TESTED[trained.tested]}.\n"
    yield "Intervals are at 95 %; they resample separate dialogues, and are exact for shares."
    if several:
        seed = "the first seed" if trained.tested == "cross-validation" else f"seed {trained.chosen}, the chosen one"
        yield f"*Value* is that of {seed}; mean and SD are over all seeds."
    yield "*Majority* is what always giving the most frequent training label would reach."
    yield "*Found*: of the dialogues that carry a label, the share that it gave this label (recall)."
    yield "*Right*: of the dialogues that it gave a label, the share that carry it (precision).\n"
    titles = {(name, label): f"{label}: {title}" for name, title in ((FOUND, "found"), (RIGHT, "right")) for label in trained.labels}  # fmt: skip
    rows = [
        [titles.get((f.name, f.label), f"{f.name} ({f.label})" if f.label else f.name), _number(f.value),
         interval(f.low, f.high), f.n if f.n >= RANKABLE else f"{f.n}, few",
         *([_number(f.mean), _number(f.sd)] if several else []), _number(f.majority)]
        for f in trained.figures
    ]  # fmt: skip
    seeds = ["mean", "SD"] if several else []
    yield from _table(["metric", "value", "interval", "n", *seeds, "majority"], rows)


def _trust(trained: Trained) -> Iterator[str]:
    yield "## How far its probabilities can be trusted\n"
    yield (
        f"Its logits are divided by a temperature ({decimal(trained.decision.temperature)}) that was fitted on development data. "
        "*Calibration error*: by how much, on average, it is surer or less sure than it is right; 0 is ideal.\n"
    )
    yield "![How often it is right against how sure it is](calibration.svg)\n"
    yield from _table(
        ["part", "n", "calibration error", "log loss"],
        [[name, c.n, _number(c.ece), _number(c.log_loss)] for name, c in trained.calibration.items()],
    )
    yield "## When it abstains\n"
    threshold, risk = trained.decision.threshold, percent(trained.decision.risk)
    if threshold is None:
        yield "Never: no risk was stated (`--risk`).\n"
    elif threshold > 1:
        yield (
            f"Always: on this development part no threshold shows with 95 % confidence that at most {risk} of what it "
            "decides is wrong. More development data, a better model or a larger `--risk` would.\n"
        )
    else:
        yield (
            f"Where it is less sure than {decimal(threshold, 3)}: chosen on development data, so that with 95 % confidence "
            f"at most {risk} of what it decides is wrong. The same data chose the model, so the promise is a little too "
            "good there.\n"
        )
        rows = [[name, a.decided, a.n, _number(a.risk), _number(a.risk_high)] for name, a in trained.abstention.items()]
        yield from _table(["part", "decided", "of", "wrong", "upper bound"], rows)


def _trainings(trained: Trained) -> Iterator[str]:
    yield "## Trainings\n"
    kept = "epoch kept" if trained.encoder else "penalty kept"
    yield from _table(["seed", "fold", kept, "of", "macro-F1 on development data", "device", "time", "note"], [
        [t.seed, "–" if t.fold is None else t.fold, t.kept, len(t.history), _number(t.history[t.kept - 1]["macro_f1"]),
         t.device, seconds(t.seconds, 1), f"collapsed: {t.collapsed}" if t.collapsed else ""]
        for t in trained.trials
    ])  # fmt: skip


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    head, *body = (f"| {' | '.join(map(text, cells))} |" for cells in (columns, *rows))
    yield from (head, f"|{'---|' * len(columns)}", *body, "")


def _number(value: float | None) -> str:
    return decimal(value, 3)
