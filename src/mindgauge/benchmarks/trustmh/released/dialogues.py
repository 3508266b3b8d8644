"""Dialogues: windows and whole ones of ESConv, those for fairness, and CPsyCounE."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from mindgauge.records import Message
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from mindgauge.benchmarks.trustmh.released.files import SourceFile, TrustMHRelease
    from mindgauge.records import Role

ESCONV = "get it from thu-coai/Emotional-Support-Conversation (CC BY-NC 4.0)"
CPSYCOUN = "it comes with CPsyCoun (CC BY 4.0)"
WHOLE = "ESConv.json"
TEST = 2775
"""Lines of the windows of ESConv's test part."""
CASES = 45
"""Dialogues of CPsyCounE."""
_UTTERANCE = re.compile(
    r"\s*(?P<weight>[01]\.0) (?P<speaker>[01]) (?P<turn>\d+) (?:\[(?P<strategy>[^\]]+)\])? ?(?P<text>.*)", re.DOTALL
)
_WHO: dict[str, Role] = {"seeker": "user", "speaker": "user", "supporter": "assistant", "listener": "assistant"}
_CLIENT, _COUNSELLOR = "求助者：", "支持者："


class DialogueExcerpt(NamedTuple):
    """Some turns of a dialogue, ending with the supporter's, and the strategy of that one, where the file says it.

    `dialogue` numbers the dialogues of a file from 0, `row` the lines of the file, or the windows of a dialogue, from 1.
    """

    messages: tuple[Message, ...]
    strategy: str
    dialogue: int
    row: int


class Dialogue(NamedTuple):
    """A dialogue, blank turns left out, and what its file says of it."""

    messages: tuple[Message, ...]
    about: dict[str, str]
    name: str


class _Turn(msgspec.Struct, frozen=True):
    speaker: Literal["seeker", "speaker", "supporter", "listener"]
    content: str


class _Conversation(msgspec.Struct, frozen=True):
    situation: str
    problem_type: str
    dialog: list[_Turn]


def windows(files: TrustMHRelease) -> tuple[list[DialogueExcerpt], list[str]]:
    """Read windows of ESConv's test part: utterances joined by ` EOS `, whatever the file's name says about tabs.

    No line says which dialogue it is from: where the number of the last turn does not grow, another one begins.

    Raises:
        DataError: the file is missing, or a line is none.
    """
    file = files.require("testWithStrategy_short.tsv", ESCONV)
    cut_windows: list[DialogueExcerpt] = []
    dialogue, last = -1, 0
    for row, line in enumerate(file.lines(), 1):
        turns = [_UTTERANCE.fullmatch(utterance) for utterance in line.split(" EOS ")]
        if None in turns or turns[-1] is None or turns[-1]["speaker"] != "1":
            raise DataError(
                f"{file.source}:{row}: expected utterances that end with the supporter's, found {line!r:.60}"
            )
        present = [turn for turn in turns if turn is not None]
        turn = int(present[-1]["turn"])
        dialogue += turn <= last or dialogue < 0
        last = turn
        messages = tuple(Message("assistant" if t["speaker"] == "1" else "user", t["text"].strip()) for t in present)
        cut_windows.append(DialogueExcerpt(messages, present[-1]["strategy"] or "", dialogue, row))
    return cut_windows, file.counted("lines", len(cut_windows), TEST)


def for_fairness(files: TrustMHRelease) -> tuple[list[Dialogue], list[str]]:
    """Read the dialogues that fairness is measured on.

    Raises:
        DataError: the file is missing or broken.
    """
    file = files.require("ESConv_fair.json", "it comes with TrustMH-Bench (CC BY-NC 4.0, after ESConv)")
    conversations = _conversations(file)
    return conversations, file.counted("dialogues", len(conversations), 11)


def whole(files: TrustMHRelease) -> tuple[list[Dialogue], list[str]]:
    """Read all of ESConv, which users bring.

    Raises:
        DataError: the file is missing or broken.
    """
    return _conversations(files.require(WHOLE, ESCONV)), []


def cut(conversations: list[Dialogue], count: int) -> list[DialogueExcerpt]:
    """Cut dialogues into windows of so many turns, each ending with the supporter's; what is shorter has none."""
    return [
        DialogueExcerpt(dialogue.messages[last + 1 - count : last + 1], "", number, row)
        for number, dialogue in enumerate(conversations)
        for row, last in enumerate(range(count - 1, len(dialogue.messages)), 1)
        if dialogue.messages[last].role == "assistant"
    ]


def _conversations(file: SourceFile) -> list[Dialogue]:
    conversations = []
    for number, row in file.records(_Conversation):
        turns = [(_WHO[turn.speaker], turn.content.strip()) for turn in row.dialog]
        about = {"situation": row.situation, "problem_type": row.problem_type}
        messages = tuple(Message(role, text) for role, text in turns if text)
        conversations.append(Dialogue(messages, about, str(number)))
    return conversations


def counselling(files: TrustMHRelease) -> tuple[list[Dialogue], list[str]]:
    """Read CPsyCounE: nine topics with five dialogues each, in Chinese.

    Raises:
        MissingDataError: there is none.
        DataError: a file is no list of turns.
    """
    conversations, notes = [], []
    for path, file in files.matching("*/CPsyCounE/*/*.json"):
        topic, name = path.split("/")[-2:]
        messages = []
        for text in file.json(list[str]):
            if not text.startswith((_CLIENT, _COUNSELLOR)):
                raise DataError(
                    f"{file.source}: expected a turn that begins with {_CLIENT} or {_COUNSELLOR}, found {text!r:.40}"
                )
            role: Role = "user" if text.startswith(_CLIENT) else "assistant"
            messages.append(Message(role, text.removeprefix(_CLIENT).removeprefix(_COUNSELLOR).strip()))
        conversations.append(Dialogue(tuple(messages), {"topic": topic}, f"{topic}/{name.rpartition('.')[0]}"))
        if any(utterance.role == other.role for utterance, other in pairwise(messages)):
            notes.append(f"{file.source}: expected client and counsellor in turn, found two turns of one")
    if not conversations:
        raise files.lacking("CPsyCounE/<topic>/<number>.json", CPSYCOUN)
    if len(conversations) != CASES:
        notes.append(f"{files.folder}: CPsyCounE: expected {CASES} dialogues, found {len(conversations)}")
    return conversations, notes
