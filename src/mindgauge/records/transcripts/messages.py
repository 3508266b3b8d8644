"""Dialogues as JSON keeps them: lists of messages with a role and a content, of pairs, or of lines that name their speaker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.records import content
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds
from mindgauge.records.transcripts import labelled
from mindgauge.records.transcripts.roles import refusal
from mindgauge.records.transcripts.transcript import Utterance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.records.transcripts.roles import Speakers
    from mindgauge.records.transcripts.tally import Tally

ROLE = ("role", "from", "speaker", "sender", "author")
CONTENT = ("content", "value", "text", "message", "utterance", "parts")
"""Keys of a message, in the order in which they are looked for."""
_CALLS = ("tool_calls", "function_call")
_PAIR = 2


def is_message(item: object) -> bool:
    """Whether an object looks like a message: somebody says something."""
    return isinstance(item, dict) and any(k in item for k in ROLE) and any(k in item for k in (*CONTENT, *_CALLS))


def utterances(value: Any, place: str, speakers: Speakers, tally: Tally) -> tuple[list[Utterance], str]:
    """Read a dialogue from JSON, or from a cell with JSON or with lines that name their speakers.

    Returns:
        Who says what; the line that notes the end of the conversation; as `labelled.utterances`.

    Raises:
        DataError: it is no dialogue, or not one of a person and a bot; the message names `place`.
    """
    if isinstance(value, str):
        try:
            value = bounds.json_value(value) if value.lstrip().startswith(("[", "{")) else bounds.clean(value)
        except bounds.Fault as error:
            if not labelled.has_speakers(value, place, speakers):
                raise DataError(f"{place}: the dialogue is not JSON ({error})") from error
    if isinstance(value, str):
        return labelled.utterances(value, place, speakers, tally)
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if not isinstance(value, list):
        raise DataError(f"{place}: expected a list of messages, found {type(value).__name__}")
    if value and all(isinstance(item, str) for item in value):
        return labelled.utterances(bounds.clean("\n\n".join(value)), place, speakers, tally)
    spoken = list(_spoken(value, place, speakers, tally))
    return told_apart(spoken, place, speakers, tally), ""


def told_apart(spoken: Sequence[tuple[str, str]], place: str, speakers: Speakers, tally: Tally) -> list[Utterance]:
    """Say of each speaker which side it is.

    Args:
        spoken: names of speakers, and what they say.
        place: where the dialogue stands, for messages.
        speakers: who is who.
        tally: counts the names.

    Raises:
        DataError: a speaker is unknown, or two are on one side and nothing says so.
    """
    names = {name: speakers.part(name) for name, _ in spoken}
    sides = [name for name, part in names.items() if part in {None, "user", "assistant"}]
    distinct = {(names[name], name.casefold()) for name in sides}
    doubled = any(
        part not in speakers.mapped and sum(other == part for other, _ in distinct) > 1
        for part, _ in distinct
        if part is not None
    )
    if doubled or any(names[name] is None for name in sides):
        raise refusal(place, sides, speakers)
    tally.speakers.update({(part, name) for name, part in names.items() if part is not None})
    return [Utterance(part, text) for name, text in spoken if (part := names[name]) is not None]


def _spoken(items: list[Any], place: str, speakers: Speakers, tally: Tally) -> Iterator[tuple[str, str]]:
    for number, item in enumerate(items, 1):
        message_place = f"{place}, message {number}"
        if isinstance(item, list) and len(item) == _PAIR and all(isinstance(text, str | None) for text in item):
            for name, text in zip(("user", "assistant"), item, strict=True):
                if text is not None:
                    yield name, bounds.clean(text)
        elif not isinstance(item, dict):
            raise DataError(
                f"{message_place}: expected an object with a role and a content, found {type(item).__name__}"
            )
        elif any(key in item for key in ROLE):
            name = name_of(item, message_place)
            text, parts = text_of(item, message_place)
            tally.parts += parts
            if not text and parts and speakers.part(name) == "assistant":
                continue  # it called a tool, and told the person nothing
            yield name, text
        elif item and all(speakers.part(str(key)) and isinstance(text, str) for key, text in item.items()):
            yield from ((str(key), bounds.clean(text)) for key, text in item.items())
        else:
            raise DataError(
                f"{message_place}: no role in it ({', '.join(ROLE)}), found {', '.join(map(str, item)) or 'nothing'}"
            )


def name_of(item: Mapping[str, Any], place: str) -> str:
    """Return the name of who says a message.

    Raises:
        DataError: the role is no text.
    """
    value = next((item[key] for key in ROLE if key in item), None)
    if isinstance(value, dict):
        value = value.get("role", value.get("name"))
    if not isinstance(value, str | int) or not str(value).strip():
        raise DataError(f"{place}: the role must be text, found {str(value)[:40]!r}")
    return bounds.clean(str(value)).strip()


def text_of(item: Mapping[str, Any], place: str) -> tuple[str, int]:
    """Return the text of a message, and how many parts of it are none.

    Raises:
        DataError: the content is no text and no list of parts.
    """
    key = next((key for key in CONTENT if item.get(key) is not None), "")
    value = item.get(key)
    calls = sum(bool(item.get(name)) for name in _CALLS)
    if isinstance(value, dict | list):
        parts = content.read(value)
        assert parts is not None
        return bounds.clean(parts.text()).strip(), calls + len(parts.reasoning) + parts.others
    if value is not None and not isinstance(value, str | int | float):
        raise DataError(f"{place}: the content must be text, found {type(value).__name__}")
    return bounds.clean("" if value is None else str(value)).strip(), calls
