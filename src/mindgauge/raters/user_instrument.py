"""An instrument of the user's own in the place of a benchmark's: whose words they are, and how its prompts are put and answered.

A paper's own prompt may show texts bare, speak in a system message first, and ask for an answer in a form of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.raters.verdict_form import VerdictForm
from mindgauge.records.prompt import Prompt
from mindgauge.records.rubric import Rubric

if TYPE_CHECKING:
    from mindgauge.records.records import Message, Sample

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
    category: str = "category"
    """The tag with what stands in a slot `{category}`."""

    @property
    def title(self) -> str:
        """Its name and hash, as a manifest carries them."""
        return f"{self.name}#{self.hash}"

    def of_sample(self, sample: Sample) -> dict[str, str]:
        """Return what its prompts may say of a sample, by slot."""
        category = sample.tags.get(self.category, "")
        target = "" if sample.target is None else str(sample.target)
        return {"category": category, "target": target, "model_behavior": sample.tags.get("model_behavior", "")}

    def transcript(self, messages: tuple[Message, ...]) -> str:
        """Write a dialogue as a bare prompt shows it; one message alone without a speaker, unless that is named."""
        if len(messages) == 1 and not self.speakers:
            return messages[0].content
        return self.between.join(f"{(self.speakers or _SPEAKERS).get(m.role, '')}{m.content}" for m in messages)
