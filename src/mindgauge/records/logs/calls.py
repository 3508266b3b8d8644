"""A call to a model as a log has it, and how calls that tell the same dialogue again and again become one dialogue."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_SIDES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant", "system": "system", "developer": "system"}  # fmt: skip


class LoggedMessage(NamedTuple):
    """Who says what: `user`, `assistant` or `system`."""

    role: str
    text: str


class LoggedCall(NamedTuple):
    """One call: what the model was sent and what it answered, and where it stands.

    `started` is in nanoseconds since 1970, 0 if it is not known. `whole` says whether it is a model's own call, not what
    an application around it took and gave.
    """

    conversation: str
    trace: str
    span: str
    started: int
    model: str
    person: str
    sent: tuple[LoggedMessage, ...]
    answered: tuple[LoggedMessage, ...]
    response: str = ""
    whole: bool = True


def message(role: object, text: str, others: int = 0) -> LoggedMessage | None:
    """Return a message of one of the two sides, or what the model was told; None for one of a tool, or without words."""
    side = _SIDES.get(str(role).strip().casefold())
    if side is None or (not text.strip() and (others or side != "user")):
        return None
    return LoggedMessage(side, text)


def dialogue(conversation: str, members: Sequence[LoggedCall]) -> dict[str, Any] | None:
    """Put the calls of a conversation together, in the order of their times, as a row that the reader of transcripts takes.

    None where nothing was said in them.
    """
    own = [call for call in members if call.whole] or members
    calls = sorted(own, key=lambda call: call.started)
    parts: list[tuple[LoggedMessage, LoggedCall]] = []
    system = ""
    for call in calls:
        spoken = [m for m in (*call.sent, *call.answered) if m.role != "system"]
        system = next((m.text for m in call.sent if m.role == "system"), system)
        _join(parts, [(m, call) for m in spoken])
    if not parts:
        return None
    models = Counter(call.model for call in calls if call.model)
    started = min((call.started for call in calls if call.started), default=0)
    messages = [{"role": "system", "content": system}] if system else []
    messages += [{"role": m.role, "content": m.text} for m, _ in parts]
    answers = [call for m, call in parts if m.role == "assistant"]
    facts = {
        "model": models.most_common(1)[0][0] if models else "",
        "participant": next((call.person for call in calls if call.person), ""),
        "tag.month": month(started),
        "tag.trace": ",".join(dict.fromkeys(call.trace for call in answers if call.trace)),
        "tag.spans": ",".join(call.span for call in answers),
        "tag.responses": ",".join(call.response for call in answers) if any(c.response for c in answers) else "",
    }
    return {"id": conversation, "messages": messages, **{name: value for name, value in facts.items() if value}}


def month(started: int) -> str:
    """Return the month of a time in nanoseconds since 1970, in UTC, such as 2026-11; empty where it is not known."""
    import datetime

    if not started:
        return ""
    return datetime.datetime.fromtimestamp(started / 1e9, datetime.UTC).strftime("%Y-%m")


def _join(parts: list[tuple[LoggedMessage, LoggedCall]], new: list[tuple[LoggedMessage, LoggedCall]]) -> None:
    """Add what a call tells, each message with its call, to what calls before it told: the whole dialogue again, its end, or what came next.

    A dialogue that begins the same and goes on in another way, such as an answer that was asked for again, takes the
    place of the one before from where they part.
    """
    shorter = min(len(parts), len(new))
    common = next((n for n in range(shorter) if parts[n][0] != new[n][0]), shorter)
    if common == len(new):
        return
    if common:
        del parts[common:]
    else:
        common = _overlap([m for m, _ in parts[-shorter:]], [m for m, _ in new[:shorter]])
    parts += new[common:]


def _overlap(before: list[LoggedMessage], after: list[LoggedMessage]) -> int:
    """Return how many messages end the one list and begin the other, in one pass (Knuth, Morris and Pratt)."""
    joined: list[LoggedMessage | None] = [*after, None, *before]
    ends = [0]
    for message in joined[1:]:
        length = ends[-1]
        while length and joined[length] != message:
            length = ends[length - 1]
        ends.append(length + (joined[length] == message))
    return ends[-1] if before else 0
