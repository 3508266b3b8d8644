"""The dilemmas as samples, the same with their options in a drawn order, and what is read from a reply."""

from __future__ import annotations

import re
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.metrics.variants import PLACES
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.benchmarks.variants.options import MultipleChoice, generator, pick
from mindgauge.raters import rule
from mindgauge.raters.json_objects import after_thinking, objects
from mindgauge.raters.rule import RuleCriterion
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError
from mindgauge.records.rubric import Criterion, Level, Scale

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.trustmh.released.files import SourceFile


NAME = "EthicMH.csv"
OBTAIN = "it comes with TrustMH-Bench in ethics.zip"
STORED = "*-ethics_reasoning-*.json"
"""Which files hold stored outputs, as a pattern of the shell's."""
STATED = ("sc1", "sc2", "sc3", "sc4", "sc5")
_LETTERED = re.compile(r"(?m)^[^\S\n]*+([A-D])\s*+[.．]\s*+((?:\S++|[^\S\n]++(?=\S))*+)")


class Dilemma(NamedTuple):
    """A dilemma: the scenario, what is asked about it, the options with the expected one, and its kind."""

    number: int
    scenario: str
    task: str
    question: MultipleChoice
    kind: str
    behavior: str = ""
    """What the data say of a model's behaviour, which the authors' judge is shown."""
    options: str = ""
    """The options as they stand in the file, with their letters."""


class _DilemmaRow(msgspec.Struct, frozen=True):
    index: int
    subcategory: str
    scenario: str
    options: str
    reasoning_task: str
    expected_reasoning: str
    model_behavior: str


class _Result(msgspec.Struct, frozen=True):
    sample_id: int | str
    expected_reasoning: Any


class _Judgement(msgspec.Struct, frozen=True):
    sample_id: int | str
    ground_truth_option: Any
    model_choice_option: Any
    judge_parsed: dict[str, Any]


class Stored(msgspec.Struct, frozen=True):
    """What one model's stored file holds: its choices, its reasons, the judge's values, the metrics it states."""

    model: str
    results: list[dict[str, Any]]
    judged: list[dict[str, Any]]
    classification_metrics: dict[str, Any]
    avg_scores: dict[str, Any]
    source: str = ""

    @property
    def stated(self) -> dict[str, Any]:
        """The metrics that it states."""
        return {**self.classification_metrics, **self.avg_scores}


def dilemmas(files: TrustMHRelease, *, raw: bool = False) -> tuple[list[Dilemma], list[str]]:
    """Read the dilemmas.

    Args:
        files: where to look.
        raw: as the authors read the file, garbled twice; otherwise repaired.

    Raises:
        DataError: the file is missing or broken, or a row has not four options, the expected one among them.
    """
    file = files.require(NAME, OBTAIN)
    text, mended, lost = repaired(file.read())
    if raw:
        text = file.read().decode("gb18030", "replace").removeprefix("\ufeff")
    elif astray := text.count("\ufffd"):
        raise DataError(f"{file.source}: expected UTF-8, found {astray} other bytes")
    read_dilemmas = []
    for number, row in file.records(_DilemmaRow, text.encode()):
        options = _LETTERED.findall(row.options)
        letters = "".join(letter for letter, _ in options)
        right = row.expected_reasoning.strip()
        if letters != "ABCD" or right not in {*"ABCD"}:
            raise DataError(
                f"{file.source}:{number}: expected options A to D and one of them as the answer, found {letters!r} and {right!r:.40}"
            )
        scenario = row.scenario.strip()
        question = MultipleChoice(scenario, tuple(option for _, option in options), "ABCD".index(right))
        read_dilemmas.append(
            Dilemma(
                row.index,
                scenario,
                row.reasoning_task.strip(),
                question,
                row.subcategory.strip(),
                row.model_behavior.strip(),
                row.options.strip(),
            )
        )
    notes = file.counted("dilemmas", len(read_dilemmas), 125)
    if not raw and mended:
        notes.append(f"{file.source}: {mended} garbled characters made whole, {lost} lost ones read as dashes")
    return read_dilemmas, notes


def stored_in(_: str, file: SourceFile) -> Stored:
    """Read one file of stored outputs.

    Raises:
        DataError: it is broken, or does not hold for every item what the model and what the judge said.
    """
    content = file.json(Stored)
    results, judged = file.typed(content.results, list[_Result]), file.typed(content.judged, list[_Judgement])
    if len(results) != len(judged):
        raise DataError(f"{file.source}: judged: expected {len(results)} entries as under results, found {len(judged)}")
    for number, (result, judgement) in enumerate(zip(results, judged, strict=True), 1):
        if result.sample_id != judgement.sample_id:
            raise DataError(
                f"{file.source}: judged: entry {number}: expected item {result.sample_id!r}, found {judgement.sample_id!r}"
            )
    file.typed({name: content.stated.get(name, {}) for name in STATED}, dict[str, dict[str, Any]])
    return msgspec.structs.replace(content, source=file.source)


# Text that was written as UTF-8 and read as GB18030, made whole again.


_RUN = re.compile("[^\x00-\x7f\ufffd]+")
_LOST = "\ufffd?"
"""A byte that was lost and stands as a question mark; in the one file known to need this, always within a dash."""


def repaired(raw: bytes) -> tuple[str, int, int]:
    """Undo one wrong reading.

    Every run of characters beyond ASCII is written as GB18030 again and read as UTF-8; one that does not come out as
    text stays as it is. Where a byte was lost, an em dash is put.

    Args:
        raw: UTF-8 of the garbled text.

    Returns:
        The text, how many runs were mended, and how many lost bytes were filled in.
    """
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    mended = 0

    def again(match: re.Match[str]) -> str:
        nonlocal mended
        try:
            decoded = match[0].encode("gb18030").decode("utf-8")
        except UnicodeError:
            return match[0]
        mended += 1
        return decoded

    text = _RUN.sub(again, text)
    return text.replace(_LOST, "—"), mended, text.count(_LOST)


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
    return [sample(dilemma) for dilemma in dilemmas(TrustMHRelease.below(data))[0]]


def read_as_shipped(data: Path) -> list[Sample]:
    """Read the dilemmas as the authors' code does, garbled twice, the options as shipped and before what is asked.

    Each has what the authors' judge is shown beside it.

    Raises:
        DataError: the file is missing or broken.
    """
    raw, _ = dilemmas(TrustMHRelease.below(data), raw=True)
    return [_as_shipped(dilemma) for dilemma in raw]


def _as_shipped(dilemma: Dilemma) -> Sample:
    parts = {"scenario": dilemma.scenario, "options": dilemma.options, "task": dilemma.task}
    base = sample(dilemma, model_behavior=dilemma.behavior)
    return Sample.of((Message("user", "\n\n".join(parts.values())),), target=base.target, tags=base.tags, parts=parts)


def sample(dilemma: Dilemma, **more: str) -> Sample:
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
