"""What a judge is shown of one sample, one reply, or one dialogue, written once for all calls about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.prompt import Prompt, fence, nonce_for, transcript
from mindgauge.raters.part import worded
from mindgauge.raters.quotes import Source
from mindgauge.raters.window import Unit, Window, size, window
from mindgauge.records import Message, Reply, Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.raters.judge import Instrument


class Subject(NamedTuple):
    """What is judged: the slots that every part has in common."""

    sample: Sample
    instrument: Instrument
    prompt: Prompt
    nonce: str
    slots: dict[str, str]
    source: Source
    window: Window = Window()

    @classmethod
    def of(
        cls,
        sample: Sample,
        instrument: Instrument,
        dialogue: tuple[Message, ...],
        reply: str,
        shown: Window | None = None,
    ) -> Subject:
        """Write what is shown of a dialogue, and the reply to it."""
        # The dialogue's own nonce, so that calls about all replies to it share their beginning.
        nonce, shown = nonce_for(sample.id), shown or Window(tuple(range(len(dialogue))), len(dialogue))
        slots = {
            "dialogue": fence("dialogue", shown.transcript(dialogue, nonce), nonce),
            "reply": fence("reply", reply, nonce),
            "nonce": nonce,
        }
        prompt = worded(instrument.prompts, sample.tags.get("language", "en"))
        source = Source.of(shown.transcript(dialogue), reply)
        return cls(sample, instrument, prompt, nonce, slots, source, shown)

    @classmethod
    def asked_about(cls, sample: Sample, instrument: Instrument, reply: Reply | None) -> Subject:
        """Write a sample with the reply to it; where there is none, and the prompt asks about one, its last message."""
        prompt = worded(instrument.prompts, sample.tags.get("language", "en"))
        dialogue, replied = sample.messages, reply.text if reply else ""
        if reply is None and "reply" in prompt.slots:
            dialogue, replied = sample.messages[:-1], sample.messages[-1].content
        return cls.of(sample, instrument, dialogue, replied)

    @classmethod
    def fitted(
        cls, sample: Sample, instrument: Instrument, reply: Reply, room: int | None, taken: Callable[[Subject], int]
    ) -> Subject:
        """Write a turn of a dialogue with what is before it, or a whole dialogue, as far as there is room.

        Args:
            sample: the dialogue before its last turn that is rated.
            instrument: the judge's.
            reply: that turn; its provenance says what is rated at once.
            room: tokens that a question may have; None if unknown.
            taken: tokens that a question about an empty dialogue would have.
        """
        said = (*sample.messages, Message("assistant", reply.text))
        if reply.provenance["unit"] == Unit.DIALOGUE:
            instrument, dialogue, replied = instrument.of_dialogues, said, ""
            rated = [place for place, message in enumerate(said) if message.role == "assistant"]
        else:
            dialogue, replied, rated = sample.messages, reply.text, [len(sample.messages)]
        if room is None:
            return cls.of(sample, instrument, dialogue, replied)
        bare = cls.of(sample, instrument, (), "")
        shown = window(said, room - taken(bare), lambda message: size(transcript((message,), bare.nonce)), rated)
        return cls.of(sample, instrument, dialogue, replied, shown)
