"""All commands by name: where the function of each is, and what it is for. Nothing is loaded for it.

The command line, the reference page and the names of `mindgauge` follow from this list; the options of a command follow from
its function (`mindgauge.commands.command`).
"""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """Another function of the same command, which an option asks for.

    `option` is a parameter of that function, or a flag of its own; `name` is the function's name in Python.
    """

    name: str
    place: str
    option: str


class CommandEntry(NamedTuple):
    """A command: the module below `mindgauge.commands` with its function, what it is for, and its other steps."""

    place: str
    purpose: str = ""
    steps: tuple[Step, ...] = ()


_PLAN = Step("reliability_plan", "reliability", "plan")
_READING = Step("ratings", "reliability", "show_reading")
COMMANDS = {
    "demo": CommandEntry("demo", "A small model, a judge and a report, here and now; no key."),
    "list": CommandEntry("list", "The benchmarks, a line each; with a name, its card."),
    "run": CommandEntry(
        "run", "Run benchmarks on models; run it again to go on.",
        (Step("clients_check", "clients.check", "check_client"),),
    ),
    "rate": CommandEntry("rate", "Rate replies or conversations that exist already."),
    "new": CommandEntry("new", "Write a benchmark of your own, ready to run."),
    "train": CommandEntry("train", "Train a classifier on labelled dialogues."),
    "status": CommandEntry(
        "status", "How far runs have come, also while they are written.", (Step("salvage", "salvage", "salvage"),)
    ),
    "score": CommandEntry("score", "What runs say, in numbers."),
    "report": CommandEntry("report", "Runs as a page that needs no network.", (Step("reply", "report", "show"),)),
    "view": CommandEntry("view", "Read every reply on this machine, and answer."),
    "compare": CommandEntry(
        "compare", "Which system is better, by how much, on what.", (Step("profile", "compare", ""),)
    ),
    "reliability": CommandEntry(
        "reliability", "When a judge can be trusted; how far people agree.", (_PLAN, _READING)
    ),
    "audit": CommandEntry("audit", "What is wrong with data, and what it does to results."),
    "judges compare": CommandEntry("judges.compare"),
    "judges panel": CommandEntry("judges.panel"),
    "judges stress": CommandEntry("judges.stress"),
    "judges escalation": CommandEntry("judges.escalation"),
    "annotate new": CommandEntry("annotate.new"),
    "annotate serve": CommandEntry("annotate.serve"),
    "annotate status": CommandEntry("annotate.status"),
    "annotate import": CommandEntry("annotate.import_"),
    "annotate export": CommandEntry("annotate.export"),
    "papers load": CommandEntry("load:papers_load"),
    "papers reproduce": CommandEntry("reproduce:papers_reproduce"),
    "papers fetch": CommandEntry("data.fetch:papers_fetch", steps=(Step("papers_list", "data.released", ""),)),
    "gate RUN": CommandEntry("gate:gate"),
    "gate init": CommandEntry("gate"),
    "gate baseline": CommandEntry("gate"),
    "logs show": CommandEntry("logs.logs"),
    "logs sample": CommandEntry("logs.logs"),
    "logs watch": CommandEntry("watch.watch:logs_watch"),
    "export": CommandEntry("export", "A run in another tool's format."),
    "dataset build": CommandEntry("dataset.build"),
    "dataset label": CommandEntry(
        "dataset.label",
        steps=(Step("dataset_check", "dataset.check", "annotators"), Step("dataset_gold", "dataset.gold", "people")),
    ),
    "dataset transform": CommandEntry("dataset.transform"),
    "dataset release": CommandEntry("dataset.release"),
}  # fmt: skip
"""Words of the command → the command. The steps of `compare` and `papers fetch` follow from what is named: runs of a suite; nothing."""
GROUPS = {
    "judges": "Judges side by side, under stress, as a panel.",
    "annotate": "People rate, too: blind rounds in the browser.",
    "papers": "What authors released: fetch it, load it, recompute it.",
    "gate": "Whether a build may be released, by your rules.",
    "logs": "What is in logs, a sample of them, and an alarm.",
    "dataset": "A data set of your own: build it, label it, release it.",
}
"""First word of several commands → what they are for."""
DEFAULTS = {"gate": "RUN", "logs": "show"}
"""A group of commands → which of them is meant where none is named."""
HEADINGS = {
    "To begin": ("demo", "list"),
    "Measure": ("run", "rate", "new", "train"),
    "Read": ("status", "score", "report", "view", "compare"),
    "Trust": ("reliability", "judges", "annotate", "audit", "papers"),
    "Release": ("gate", "logs", "export", "dataset"),
}
"""Heading of the help → the commands and groups below it."""
FIRST = {
    "mindgauge demo": "a report at once, without a key",
    "mindgauge list": "the benchmarks, a line each",
    "mindgauge run NAME --model MODEL --dry-run": "its calls and cost; then run it",
    "mindgauge report RUN": "the run as a page",
    "mindgauge reliability RATINGS": "how far a judge can be trusted",
}
"""Five commands to begin with."""


def python_name(words: str) -> str:
    """Return the name in Python of the function of a command: `judges_compare` of `judges compare`."""
    return words.removesuffix(" RUN").replace(" ", "_")


def place(name: str, entry: CommandEntry | Step) -> tuple[str, str]:
    """Return the module of a command's function, and the function's name there."""
    module, _, function = entry.place.partition(":")
    return f"mindgauge.commands.{module}", function or name


def functions() -> dict[str, tuple[str, str]]:
    """Return the functions of all commands and their steps: name in Python → module, and name there."""
    own = {python_name(words): place(python_name(words), entry) for words, entry in COMMANDS.items()}
    return own | {step.name: place(step.name, step) for entry in COMMANDS.values() for step in entry.steps}


def elsewhere(name: str) -> str:
    """Return what does the work of words that are no command: `papers load` of `load`, `status --salvage` of `salvage`; empty if none."""
    leaves = [words for words, e in COMMANDS.items() if words.endswith(f" {name}") or e.place.startswith(f"{name}.")]
    steps = [
        f"{words} --{step.option.replace('_', '-')}" if step.option else words
        for words, entry in COMMANDS.items()
        for step in entry.steps
        if step.name in {name.replace(" ", "_"), f"{name}_check"}
    ]
    return next(iter([*leaves, *steps]), "")
