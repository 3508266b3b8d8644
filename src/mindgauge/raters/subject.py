"""What a judge is shown of one sample, one reply, or one dialogue, written once for all calls about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.prompt import Nonces, Prompt, fence, transcript
from mindgauge.raters.echo import Shown
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
    nonces: tuple[str, ...]
    """That of the subject itself, and that of the examples before it, if there are any."""
    slots: dict[str, str]
    source: Source
    shown: Shown
    """All that others wrote, against which answers are held."""
    examples: str = ""
    window: Window = Window()

    @classmethod
    def of(
        cls,
        sample: Sample,
        instrument: Instrument,
        dialogue: tuple[Message, ...],
        reply: str,
        nonces: Nonces,
        window: Window | None = None,
    ) -> Subject:
        """Write what is shown of a dialogue, and the reply to it.

        Calls about all replies to a dialogue share its nonce, and so their beginning, unless a reply holds it.
        """
        window = window or Window(tuple(range(len(dialogue))), len(dialogue))
        source = Source.of(window.transcript(dialogue), reply)
        folded = (source.dialogue, source.reply)
        nonce = nonces.draw(sample.id, *folded)
        slots = {
            "dialogue": fence("dialogue", window.transcript(dialogue, nonce), nonce),
            "reply": fence("reply", reply, nonce),
            "nonce": nonce,
        }
        prompt = worded(instrument.prompts, sample.tags.get("language", "en"))
        if instrument.deck is None:
            shown = Shown(slots["dialogue"], slots["reply"])
            return cls(sample, instrument, prompt, (nonce,), slots, source, shown, window=window)
        block = instrument.deck.block(sample, nonces, *folded)
        shown = Shown(slots["dialogue"], slots["reply"], block.text)
        return cls(sample, instrument, prompt, (nonce, block.nonce), slots, source, shown, block.text, window)

    @classmethod
    def asked_about(cls, sample: Sample, instrument: Instrument, reply: Reply | None, nonces: Nonces) -> Subject:
        """Write a sample with the reply to it; where there is none, and the prompt asks about one, its last message."""
        prompt = worded(instrument.prompts, sample.tags.get("language", "en"))
        dialogue, replied = sample.messages, reply.text if reply else ""
        if reply is None and "reply" in prompt.slots:
            dialogue, replied = sample.messages[:-1], sample.messages[-1].content
        return cls.of(sample, instrument, dialogue, replied, nonces)

    @classmethod
    def fitted(
        cls,
        sample: Sample,
        instrument: Instrument,
        reply: Reply,
        nonces: Nonces,
        room: int | None,
        cost: Callable[[Subject], int],
    ) -> Subject:
        """Write a turn of a dialogue with what is before it, or a whole dialogue, as far as there is room.

        Args:
            sample: the dialogue before its last turn that is rated.
            instrument: the judge's.
            reply: that turn; its provenance says what is rated at once.
            nonces: draws the fences' nonces.
            room: tokens that a question may have; None if unknown.
            cost: tokens that a question about an empty dialogue would have.
        """
        turns = (*sample.messages, Message("assistant", reply.text))
        if reply.provenance["unit"] == Unit.DIALOGUE:
            instrument, dialogue, replied = instrument.of_dialogues, turns, ""
            rated = [place for place, message in enumerate(turns) if message.role == "assistant"]
        else:
            dialogue, replied, rated = sample.messages, reply.text, [len(sample.messages)]
        if room is None:
            return cls.of(sample, instrument, dialogue, replied, nonces)
        bare = cls.of(sample, instrument, (), "", nonces)
        fitting = window(turns, room - cost(bare), lambda message: size(transcript((message,), bare.nonces[0])), rated)
        return cls.of(sample, instrument, dialogue, replied, nonces, fitting)
