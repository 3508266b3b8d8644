"""Who speaks: the words by which people call the person and the bot in a transcript, and the names that `--map` adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Part: TypeAlias = Literal["user", "assistant", "system", "omit"]
"""The role that a speaker has; what `omit` says (tools, notes) is no message of the dialogue."""
PARTS: tuple[Part, ...] = ("user", "assistant", "system", "omit")
"""Names before `=` in `--map` that name speakers: `user=Klient,assistant=Bot|Berater,omit=Notiz`."""
_WORDS: dict[Part, str] = {
    "user": (
        "user|human|person|client|patient|seeker|help seeker|help-seeker|visitor|caller|texter|participant|you said|"
        "用户|来访者|求助者|患者|咨询者"
    ),
    "assistant": (
        "assistant|chatbot|bot|ai|agent|model|gpt|chatgpt|chatgpt said|ai assistant|counselor|counsellor|therapist|"
        "supporter|helper|助手|助理|机器人|聊天机器人|咨询师|心理咨询师|支持者|客服"
    ),
    "system": "system|developer|系统",
    "omit": "tool|function|observation|function_call|tool_call|工具",
}
_SHOWN, _LONGEST = 6, 40


class Speakers(NamedTuple):
    """Name, in small letters → its role in the dialogue."""

    parts: dict[str, Part]
    mapped: frozenset[Part] = frozenset()
    """The roles whose names the user gave: no other names count for these."""

    @classmethod
    def of(cls, mapping: Mapping[str, str]) -> Speakers:
        """Take the usual names of each role, or those that a mapping gives, several separated by `|`.

        Raises:
            UsageError: one name is given to two roles.
        """
        parts: dict[str, Part] = {}
        for part in PARTS:
            if part not in mapping:
                continue
            for name in filter(None, map(key, mapping[part].split("|"))):
                if parts.setdefault(name, part) != part:
                    raise UsageError(f"--map {part}={mapping[part]}: {name!r} is {parts[name]} already; name it once")
        for part in PARTS:
            if part not in mapping or part == "omit":
                for name in _WORDS[part].split("|"):
                    parts.setdefault(name, part)
        return cls(parts, frozenset(part for part in PARTS if part in mapping))

    def part(self, name: str) -> Part | None:
        """Return the role of a speaker; None where the name says nothing."""
        return self.parts.get(key(name))

    @property
    def complete(self) -> bool:
        """Whether the user named both sides, so that whoever else seems to speak is known to be none of them."""
        return {"user", "assistant"} <= self.mapped


def key(name: str) -> str:
    """Return a speaker's name as it is compared."""
    return " ".join(name.split()).casefold()


def refusal(place: object, names: Iterable[str], speakers: Speakers) -> DataError:
    """Say that a transcript's speakers cannot be told apart as the person and the bot, and how to name them."""
    listed = list(dict.fromkeys(" ".join(name.split())[:_LONGEST] for name in names))
    quoted = named([repr(name) for name in listed], limit=_SHOWN) or "nobody"
    sides = {part: next((name for name in listed if speakers.part(name) == part), "") for part in ("user", "assistant")}
    unknown = [name for name in listed if speakers.part(name) is None]
    advice = ",".join(f"{part}={name or (unknown.pop(0) if unknown else 'NAME')}" for part, name in sides.items())
    ways = f"name the person and the bot with --map {advice}"
    if len(listed) > 2:
        ways += "; NAME|NAME names several on one side, omit=NAME leaves a speaker out"
    if len(listed) == 1:
        return DataError(f"{place}: one speaker, {quoted}, and a transcript has two; {ways}")
    if len(listed) == 2:
        return DataError(f"{place}: of its speakers, {quoted}, nothing says who is the person and who the bot; {ways}")
    return DataError(f"{place}: {len(listed)} speakers, {quoted}, and a transcript has the person and the bot; {ways}")
