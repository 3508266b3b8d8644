"""The dilemmas as samples, the same with their options in a drawn order, and what is read from a reply."""

from __future__ import annotations

import re
from itertools import permutations
from typing import TYPE_CHECKING

from mindgauge.benchmarks.metrics.options import PLACES
from mindgauge.benchmarks.trustmh.released import ethics
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.benchmarks.variants.draws import generator, pick
from mindgauge.benchmarks.variants.options import MultipleChoice
from mindgauge.raters import rule
from mindgauge.raters.json_objects import after_thinking, objects
from mindgauge.raters.rule import RuleCriterion
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError
from mindgauge.records.rubric import Criterion, Level, Scale

if TYPE_CHECKING:
    from pathlib import Path

LETTERS = "ABCD"
PRINCIPLES = ("beneficence", "fidelity", "integrity", "justice", "respect")
"""The criteria that judges rate, in the order of the authors' `sc1` to `sc5`."""
ORDER, RELEASED, SHUFFLED = "order", "released", "shuffled"
_KINDS = {
    "Confidentiality and Trust in Mental Health": "confidentiality",
    "Bias in AI (race)": "race",
    "Bias in AI (gender)": "gender",
    "Autonomy vs Beneficence (adult)": "adult",
    "Autonomy vs Beneficence (minor)": "minor",
}
_OTHER_ORDERS = [*permutations(range(len(LETTERS)))][1:]
_OPTION = re.compile(r"^[A-D]\. (.*)$", re.MULTILINE)


def read(data: Path) -> list[Sample]:
    """Read the dilemmas, their text repaired, the options in the released order.

    Raises:
        DataError: the file is missing or broken.
    """
    return [sample(dilemma) for dilemma in ethics.dilemmas(TrustMHRelease.below(data))[0]]


def read_as_shipped(data: Path) -> list[Sample]:
    """Read the dilemmas as the authors' code does, garbled twice, the options as shipped and before what is asked.

    Each has what the authors' judge is shown beside it.

    Raises:
        DataError: the file is missing or broken.
    """
    raw, _ = ethics.dilemmas(TrustMHRelease.below(data), raw=True)
    return [_as_shipped(dilemma) for dilemma in raw]


def _as_shipped(dilemma: ethics.Dilemma) -> Sample:
    parts = {"scenario": dilemma.scenario, "options": dilemma.options, "task": dilemma.task}
    base = sample(dilemma, model_behavior=dilemma.behavior)
    return Sample.of((Message("user", "\n\n".join(parts.values())),), target=base.target, tags=base.tags, parts=parts)


def sample(dilemma: ethics.Dilemma, **more: str) -> Sample:
    """Write a dilemma as one message: what happens, what is asked, the options; with more tags, where there are any."""
    question = MultipleChoice(f"{dilemma.scenario}\n\n{dilemma.task}", dilemma.question.options, dilemma.question.right)
    tags = {"language": "en", "subcategory": _KINDS.get(dilemma.kind, dilemma.kind), ORDER: RELEASED, **more}
    return question.sample(tags)


def written(sample: Sample) -> Sample:
    """Complete a dilemma of the user's own.

    Raises:
        DataError: its message does not end with four lettered options.
    """
    dilemma = MultipleChoice.written(sample, **{ORDER: RELEASED})
    if dilemma.tags["options"] != str(len(LETTERS)):
        raise DataError(
            f"a dilemma has the options {LETTERS[0]} to {LETTERS[-1]}, this one has {dilemma.tags['options']}"
        )
    return dilemma


def with_shuffled(samples: list[Sample]) -> list[Sample]:
    """Return each sample, and after it the same with its options in another order that is drawn for it.

    The target follows; the tag `places` says where the option at each letter stood as released.
    """
    return [variant for base in samples for variant in (base.variant(base.messages), _shuffled(base))]


def _shuffled(base: Sample) -> Sample:
    text, _, options = base.messages[0].content.rpartition("\n\nA. ")
    right = None if base.target is None else LETTERS.index(str(base.target))
    question = MultipleChoice(text, tuple(_OPTION.findall(f"A. {options}")), right)
    places = [*pick(_OTHER_ORDERS, generator(base.id, "order of options").random())]
    drawn = question.ordered(places).sample()
    placing = ",".join(map(str, places))
    return base.variant(drawn.messages, target=drawn.target, **{ORDER: SHUFFLED, PLACES: placing})


def reasoning(reply: str) -> str | None:
    """Return the reasons in a reply's JSON object; None where there is no such object, or two with different reasons."""
    reasons = {
        str(part.value["reasoning"]).strip() if isinstance(part.value["reasoning"], str) else ""
        for part in objects(after_thinking(reply))
        if part.value and "reasoning" in part.value
    }
    return reasons.pop() or None if len(reasons) == 1 else None


CHOICE = RuleCriterion(
    Criterion("choice", Scale.NOMINAL, tuple(Level(letter, {"en": f"option {letter}"}) for letter in LETTERS)),
    lambda _, reply: rule.choice(reply, LETTERS),
)
"""The letter of a reply, read by rule."""
