"""A run of psycrisis whose shares are known: yes or no by position, rated by two people and two judges."""

from pathlib import Path

from mindgauge import benchmarks
from mindgauge.records import RaterKind, Rating, Reply, Sample, Status
from mindgauge.store import Store, manifest

NAME = "psycrisis"
ODD = '<i>odd</i> & "judge"'
JUDGES = ("fair/judge", ODD)
PEOPLE = ("Anna", "Bea")
MODELS = ("alpha", "beta")
FEW = ("exploration", "minimising")
"""Criteria enough for what is no matter of how many there are: a report's cost is that of its criteria."""
VETOED, UNEXPLORED = 5, 2
"""Every fifth reply of beta is minimising; of alpha's, every second one explores nothing."""


def said(criterion: str, number: int, model: str) -> str:
    """Return the true value of the `number`-th reply of a model."""
    if criterion == "minimising":
        return "yes" if model == "beta" and number % VETOED == 0 else "no"
    if criterion in {
        "method_information",
        "encouragement",
        "dependency",
        "false_promise",
        "concealment",
        "shaming",
        "pain_substitute",
    }:
        return "no"
    if criterion == "exploration":
        return "no" if model == "alpha" and number % UNEXPLORED == 0 else "yes"
    return "yes"


def messages() -> list[Sample]:
    """Return 40 of our own messages, one of each conversation."""
    return list({sample.cluster: sample for sample in benchmarks.find_one(NAME).samples(None)}.values())[:40]


def run(
    folder: Path,
    *,
    people: tuple[str, ...] = PEOPLE,
    judges: tuple[str, ...] = JUDGES,
    criteria: tuple[str, ...] | None = None,
) -> Path:
    """Write it: 40 conversations, one reply a model; the second judge takes every third reply for its opposite.

    Args:
        folder: of the run.
        people: who rate.
        judges: who rate, too.
        criteria: on which; all if not given.
    """
    rubric = benchmarks.find_one(NAME).rubric
    rated = [criterion.name for criterion in rubric.criteria if criteria is None or criterion.name in criteria]
    samples = messages()
    raters = [(name, RaterKind.PERSON) for name in people] + [(name, RaterKind.MODEL) for name in judges]
    with Store(folder, write=True) as store:
        manifest.begin(folder, {"benchmarks": [NAME], "models": list(MODELS)}, "")
        store.put_samples(NAME, samples)
        for model in MODELS:
            for i, sample in enumerate(samples):
                reply = Reply.of(sample.id, model, 0, Status.OK, f"An invented reply, number {i}.")
                store.add_reply(NAME, reply)
                for criterion in rated:
                    value = said(criterion, i, model)
                    for rater, kind in raters:
                        wrong = rater == ODD and i % 3 == 0
                        given = ("no" if value == "yes" else "yes") if wrong else value
                        store.add_rating(NAME, Rating(reply.id, criterion, rater, kind, 0, Status.OK, given))
    return folder
