"""What steps leave in a run: of whom what is asked, how often. A step says it of itself; a manifest says it of a plan.

`recorded` reads a stored plan back, so that `status` folds over what the steps leave without loading them: the run may be
of another machine, its benchmark's code may not be trusted or not be there, a classifier may have moved, a key be unset.
What it reads back is what the steps say (`tests/runs/test_plan.py`, for every benchmark).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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
    replies = [StepOutput(REPLY, model, plan.get("runs", 1)) for model in models]
    return [*replies, *_ratings(judges(content), plan.get("methods", []), Method.RULE, plan.get("judge_runs", 1))]


def _ratings(names: Sequence[str], ways: Sequence[str], usual: str, repeats: int) -> Iterator[StepOutput]:
    """Name the raters that models are in several ways of asking or judging; classifiers and rules have one, and rate once."""
    for name in names:
        if name.startswith((CLASSIFIER, RULE)):
            yield StepOutput(RATING, name, 1)
            continue
        for way in ways or [usual]:
            yield StepOutput(RATING, name if way == usual else f"{name} ({way})", repeats)
