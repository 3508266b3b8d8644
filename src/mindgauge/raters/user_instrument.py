"""An instrument of the user's own in the place of a benchmark's: whose words they are, and how its prompts are put and answered.

A paper's own prompt may show texts bare, speak in a system message first, and ask for an answer in a form of its own.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from mindgauge.raters import json_objects, rule, verdict
from mindgauge.raters.echo import NOTHING
from mindgauge.raters.json_objects import LONGEST, after_thinking
from mindgauge.raters.part import worded
from mindgauge.raters.verdict import Verdict
from mindgauge.records import Status
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.prompt import Prompt
from mindgauge.records.regex import regex
from mindgauge.records.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.raters.echo import PromptText
    from mindgauge.records.records import Message, Sample
    from mindgauge.records.rubric import Criterion


class VerdictForm(StrEnum):
    """What a prompt asks a model to answer with."""

    LABEL = "label"
    """A level of its one criterion and nothing else, as far as the first full stop or line; or the one number before a bracket, `4) …`."""
    LIST = "list"
    """A list in brackets with a level for each criterion, in the rubric's order."""
    DICT = "dict"
    """A dictionary as Python writes it; it is read as a literal and never run."""
    JSON = "json"
    """A JSON object."""

    @property
    def of_words(self) -> bool:
        """Whether answers are bare values, without names of criteria."""
        return self in {VerdictForm.LABEL, VerdictForm.LIST}


_NOT_A_LABEL = "it is none of the labels"
_NO_LIST = "there is no list with a level for each criterion"
_CUTS = (".", "。", "\n")
_ASIDE = regex(r"\([^()]*\)")
_NUMBERED = regex(r"(?<![\w.+-])(\d{1,4})[)）]")


def read(
    form: VerdictForm, text: str, criteria: Sequence[Criterion], prompt_text: PromptText = NOTHING
) -> dict[str, Verdict]:
    """Read one verdict per criterion from an answer in a form; never raises.

    Args:
        form: that the prompt asks for.
        text: what the model answered.
        criteria: that it was asked about.
        prompt_text: what others wrote and stood before the model; no part of it becomes a verdict.
    """
    if not form.of_words:
        return verdict.read(text, criteria, prompt_text)
    answer = after_thinking(text)[:LONGEST].strip()
    values = _label(answer, criteria) if form is VerdictForm.LABEL else _list(answer, criteria)
    if values is not None:
        return values
    problem = _NOT_A_LABEL if form is VerdictForm.LABEL else _NO_LIST
    status = Status.REFUSED if rule.refusal(answer) else Status.UNPARSABLE
    return {c.name: Verdict(status, problem=problem, answer_text=answer[:60]) for c in criteria}


def _label(answer: str, criteria: Sequence[Criterion]) -> dict[str, Verdict] | None:
    """Read the one level that the answer is, that stands before its first full stop or line's end, or as a number before a bracket."""
    if len(criteria) != 1:
        return None
    (criterion,) = criteria
    beginnings = [answer, *(answer.split(cut, 1)[0] for cut in _CUTS)]
    value = next((v for part in beginnings if (v := rule.option(part, criterion)) is not None), None)
    if value is None:
        numbers = {*map(criterion.read, _NUMBERED.findall(_ASIDE.sub(" ", answer)))}
        value = numbers.pop() if len(numbers) == 1 else None
    return None if value is None else {criterion.name: Verdict(Status.OK, value)}


def _list(answer: str, criteria: Sequence[Criterion]) -> dict[str, Verdict] | None:
    """Read the one list in brackets that the answer holds."""
    if answer.count("[") != 1 or "]" not in answer:
        return None
    start, end = answer.index("["), answer.rindex("]") + 1
    try:
        items = json_objects.read(answer[start:end])
    except ValueError:
        return None
    if not isinstance(items, list) or len(items) != len(criteria):
        return None
    return {c.name: _item(item, c) for c, item in zip(criteria, items, strict=True)}


def _item(item: object, criterion: Criterion) -> Verdict:
    value = criterion.read(item)
    if value is not None:
        return Verdict(Status.OK, value)
    return Verdict(Status.UNPARSABLE, problem=_NOT_A_LABEL, answer_text=str(item)[:60])


_KEY = regex(r"""["'“`]([^"'“”`\n{}:,]{1,60})["'”`]\s*:""")
"""A key as a prompt shows it."""
_SPEAKERS = {"user": "Person: ", "assistant": "Assistant: ", "system": "System: "}


SLOTS = ("category", "target", "model_behavior", "examples")
"""Slots that only a prompt of the user's own may have: what is known of a sample, and where examples stand.

A judge of ours never sees a sample's target, nor what its data say of a model's behaviour.
"""


class UserInstrument(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder of the user's says beside its prompts and its rubric."""

    name: str
    """What raters are called by beside their model's name: `gpt-5-nano (authors)`."""
    hash: str
    """Of every byte that was read."""
    files: tuple[str, ...] = ()
    """The names of what lies in the folder; `prompt.txt` under that of the prompt that it is."""
    replaces: Rubric
    """The benchmark's own rubric, whose criteria the run is about."""
    answer: VerdictForm | None = None
    """The form that its prompts ask for; ours, by the slot `{form}`, if not given."""
    bare: bool = False
    """Whether texts stand without a fence, as in the authors' requests."""
    speakers: dict[str, str] = {}
    """Of bare dialogues: what stands before a message, by role."""
    between: str = "\n\n"
    """Of bare dialogues: what stands between messages."""
    opening: dict[str, Prompt] = {}
    """The system message before the question, by language."""
    kinds: tuple[str, ...] = ()
    """The kinds of prompts that it brings."""
    keyed: tuple[str, ...] = ()
    """The criteria for which the user says under which key an answer has them."""
    item_slots: tuple[str, ...] = ()
    """What of an item its prompts may show: parts and tags of a sample."""
    shot: dict[str, Prompt] = {}
    """One few-shot example, by language."""
    between_examples: str = "\n\n"
    """Of bare examples: what stands between them."""
    category: str = "category"
    """The tag with what stands in a slot `{category}`."""

    @property
    def title(self) -> str:
        """Its name and hash, as a manifest carries them."""
        return f"{self.name}#{self.hash}"

    def fill(self, prompt: Prompt, sample: Sample, slots: Mapping[str, str]) -> str:
        """Fill a prompt with these slots and with what its words may say of a sample.

        Raises:
            UsageError: it shows a part that the sample has not.
        """
        tags = sample.tags
        facts = {
            "category": tags.get(self.category, ""),
            "target": "" if sample.target is None else str(sample.target),
            "model_behavior": tags.get("model_behavior", ""),
        }
        parts = {name: value for name, value in {**tags, **sample.parts}.items() if name in self.item_slots}
        filling = {**facts, **slots, **parts}
        if missing := sorted(prompt.slots - filling.keys()):
            raise UsageError(
                f"instrument {self.name}: a prompt shows {{{missing[0]}}}, and sample {sample.id} has none; it is part of the "
                "authors' items: name their files with --data, and --as-published"
            )
        return prompt.fill(filling)

    def example(self, sample: Sample, criterion: str) -> str:
        """Write a few-shot example bare, by the user's words for one, or else as the dialogue and a line with its label."""
        if not self.shot:
            return f"{self.transcript(sample.messages)}\n{criterion}: {sample.target}"
        prompt = worded(self.shot, sample.tags.get("language", "en"))
        place = len(sample.messages) - ("reply" in prompt.slots)
        reply = "".join(message.content for message in sample.messages[place:])
        return self.fill(prompt, sample, {"dialogue": self.transcript(sample.messages[:place]), "reply": reply})

    def need(self, *kinds: str) -> None:
        """Check that none of these prompts would be ours in the midst of the user's.

        Raises:
            UsageError: it brings other prompts of what is asked.
        """
        role = "judge" if kinds[0].startswith("judge") else ""
        prompt_kinds = [kind for kind in self.kinds if kind.startswith(role) and not kind.startswith("reply")]
        lack = next((kind for kind in kinds if kind not in prompt_kinds), None)
        if prompt_kinds and lack is not None:
            note = ", and prompt.txt is one of these" if "prompt.txt" in self.files else ""
            raise UsageError(
                f"instrument {self.name}: this run asks by {lack}.en.md, and the folder has only {named(prompt_kinds)}{note}; "
                "put that file in, or else our words would be sent under its name"
            )

    def need_keys(self, kind: str, prompts: Mapping[str, Prompt], rubric: Rubric) -> None:
        """Check that a prompt which asks for an object names a key for each criterion, by which its value can be found.

        Raises:
            UsageError: it does not, so that no answer could be read.
        """
        if self.answer is None or self.answer.of_words:
            return
        for language, prompt in prompts.items():
            texts = (prompt, *self.opening.values())
            words, slots = "\n".join(p.text for p in texts).casefold(), {slot for p in texts for slot in p.slots}
            keys = {key.strip() for key in _KEY.findall(words)}
            for criterion in rubric.criteria:
                names = [name.casefold() for name in (criterion.name, *criterion.aliases)]
                patterns = [rf"(?<!\w){re.escape(name)}(?!\w)" for name in names]
                in_words = "rubric" in slots or any(re.search(pattern, words) for pattern in patterns)
                findable = not keys.isdisjoint(names) if keys else in_words
                if not (findable or "form" in slots or criterion.name in self.keyed):
                    shown_keys = f"the keys {', '.join(sorted(keys))}" if keys else "no key"
                    raise UsageError(
                        f"{kind}.{language}.md asks for an answer as {self.answer}, and names {shown_keys}, so that no value for "
                        f"{criterion.name} could be read; say under which key it stands: [keys] {criterion.name} in instrument.toml"
                    )

    def transcript(self, messages: tuple[Message, ...]) -> str:
        """Write a dialogue as a bare prompt shows it; one message alone without a speaker, unless that is named."""
        if len(messages) == 1 and not self.speakers:
            return messages[0].content
        return self.between.join(f"{(self.speakers or _SPEAKERS).get(m.role, '')}{m.content}" for m in messages)
