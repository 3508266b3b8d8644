"""What one released file holds: a list of items, a chat completion, or an encoder's prediction.

Prompts inside the completions are never decoded, since the few-shot ones hold withheld training items.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records import RaterKind
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.benchmarks.dialogue_safety.released import ReleaseMember


class _ChatMessage(msgspec.Struct, frozen=True):
    content: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _ChatMessage = _ChatMessage()
    finish_reason: str | None = None


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class EchoedItem(msgspec.Struct, frozen=True):
    """The item as an output repeats it."""

    context: Any = None
    response: Any = None
    label: Any = None


class ReleasedCompletion(msgspec.Struct, frozen=True):
    """A chat completion. Its own `context`, which holds the prompt, is not decoded."""

    choices: tuple[_Choice, ...]
    model: str = ""
    id: str = ""
    created: int = 0
    usage: _Usage = _Usage()
    item: EchoedItem = EchoedItem()

    @property
    def answer(self) -> str | None:
        """What the model wrote; None where there is no choice or no text."""
        return self.choices[0].message.content if self.choices else None

    @property
    def finish_reason(self) -> str:
        """Why it stopped."""
        return (self.choices[0].finish_reason or "") if self.choices else ""


class Prediction(EchoedItem, frozen=True, kw_only=True):
    """An encoder's prediction: the item, and the id predicted for it."""

    predict_label: Any


_DECODE: dict[RaterKind, Callable[[bytes], ReleasedCompletion | Prediction]] = {
    RaterKind.MODEL: msgspec.json.Decoder(ReleasedCompletion).decode,
    RaterKind.CLASSIFIER: msgspec.json.Decoder(Prediction).decode,
}


def decode(member: ReleaseMember, kind: RaterKind) -> ReleasedCompletion | Prediction:
    """Read a stored output.

    Raises:
        DataError: it is damaged, or not what it should be.
    """
    try:
        return _DECODE[kind](member.read())
    except msgspec.ValidationError as error:
        raise DataError(f"not a stored output: {error}") from error
    except (msgspec.DecodeError, OSError, RecursionError) as error:
        raise DataError(f"damaged: {error}") from error


def read_list(member: ReleaseMember, place: str, notes: list[str]) -> list[Any]:
    """Read a set of items, in UTF-8, UTF-16 or GB 18030; `place` names it in what is raised.

    Raises:
        DataError: it is damaged, or not a list.
    """
    try:
        raw = member.read()
        try:
            text = raw.decode(json.detect_encoding(raw))
        except UnicodeDecodeError:
            text = raw.decode("gb18030")
            notes.append(f"{member.source}: not UTF-8; read as GB 18030")
        rows = bounds.json_value(text.removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise DataError(f"{place}: neither UTF-8 nor GB 18030; save it as UTF-8") from error
    except bounds.Fault as fault:
        raise DataError(fault.at(place)) from fault
    except OSError as error:
        raise DataError(f"{place}: cannot read it ({error.strerror or error}); copy it again") from error
    if not isinstance(rows, list):
        raise DataError(f"{place}: expected a list of context, response and label, found {type(rows).__name__}")
    return rows
