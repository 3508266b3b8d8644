"""What steps leave in a run: of whom what is asked, how often. A step says it of itself; a manifest says it of a plan.

`recorded` reads a stored plan back, so that `status` folds over what the steps leave without loading them: the run may be
of another machine, its benchmark's code may not be trusted or not be there, a classifier may have moved, a key be unset.
What it reads back is what the steps say (`tests/runs/test_plan.py`, for every benchmark).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks.persons.dialogues import client_name, whole_name
from mindgauge.raters.window import Unit
from mindgauge.records.rubric import Method

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REPLY, RATING = "reply", "rating"
FLAT = "flat"
"""The usual way in which a closed question is put, which gives a model no name of its own."""
CLASSIFIER, RULE = "classifier/", "rule/"


class StepOutput(NamedTuple):
    """Replies, or ratings, that are asked of one model or rater: `repeats` of each subject."""

    kind: str
    name: str
    repeats: int
    unit: str = ""
    """Of the slots that it is asked about, where dialogues are held."""
    client: str = ""
    """Of the slots likewise: whose messages they are."""


def judges(content: dict[str, Any]) -> list[str]:
    """Return who rates replies by the plan in a manifest, and who came to do so later."""
    added = (name for noted in content.get("rated", []) for name in noted["judges"])
    return list(dict.fromkeys([*content.get("plan", {}).get("judges", []), *added]))


def recorded(content: dict[str, Any], *, closed: bool) -> list[StepOutput]:
    """Return what the steps of a run leave on one benchmark.

    Args:
        content: of the run's manifest.
        closed: whether the benchmark's question is closed, so that models rate samples; otherwise they reply.
    """
    plan = content.get("plan", {})
    models = plan.get("models", [])
    if closed:
        return list(_ratings(models, plan.get("ask", []), FLAT, plan.get("runs", 1)))
    repeats = plan.get("runs", 1)
    if plan.get("person"):
        replies = [output for model in models for output in of_dialogues(model, plan.get("clients", []), repeats)]
    else:
        replies = [StepOutput(REPLY, model, repeats) for model in models]
    return [*replies, *_ratings(judges(content), plan.get("methods", []), Method.RULE, plan.get("judge_runs", 1))]


def of_dialogues(model: str, clients: Sequence[str], repeats: int) -> list[StepOutput]:
    """Return what dialogues of a model leave: its turns, its clients' messages, and each dialogue as a whole."""
    return [
        StepOutput(REPLY, model, repeats, Unit.TURN.value),
        *(StepOutput(REPLY, client_name(c, model), repeats, Unit.CLIENT.value, c) for c in clients),
        StepOutput(REPLY, whole_name(model), repeats, Unit.DIALOGUE.value),
    ]


def _ratings(names: Sequence[str], ways: Sequence[str], usual: str, repeats: int) -> Iterator[StepOutput]:
    """Name the raters that models are in several ways of asking or judging; classifiers and rules have one, and rate once."""
    for name in names:
        if name.startswith((CLASSIFIER, RULE)):
            yield StepOutput(RATING, name, 1)
            continue
        for way in ways or [usual]:
            yield StepOutput(RATING, name if way == usual else f"{name} ({way})", repeats)
