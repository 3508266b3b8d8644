"""Samples of a log as rows of a table: the last reply with the dialogue before it, or the whole conversation.

Metadata of a sample that is one value is a tag; a reply that never came has a `status` that says why.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mindgauge.records import content as message_content
from mindgauge.records.files import bounds
from mindgauge.records.files.input_table import RecordTable
from mindgauge.records.files.mapping import TAG
from mindgauge.records.records import REASONING, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mindgauge.records.inspect_logs.log import InspectLog, LoggedSample

_ATTACHED = "attachment://"
_OWN = ("category", "language", "risk", "graphic", "cluster", "persona", "participant")
"""Metadata that has a column of its own name; all else is a tag."""
_SPOKEN = ("system", "user", "assistant")
_NO_MODEL = ("", "none/none", "none")
STATUS = "status"
"""In a model's output, in its metadata: the status of the reply, where Mindgauge wrote the log."""
_Row = dict[str, Any]


class LogTable(RecordTable):
    """A log as a table, which is read through once to learn its columns, and once for its rows."""

    def __init__(self, log: InspectLog, rows: Callable[[InspectLog], Iterator[tuple[int, _Row]]]) -> None:
        """Describe it; nothing is read."""
        super().__init__(log.path, lambda: rows(log))
        self.remarks = log.remarks


def replies(log: InspectLog) -> LogTable:
    """Return a log as a table of replies: of each sample the last message of the assistant."""
    return LogTable(log, _replies)


def dialogues(log: InspectLog, left_out: list[str]) -> LogTable:
    """Return a log as a table of dialogues: of each sample all messages.

    Args:
        log: that holds them.
        left_out: where to write which samples are left out, and why: one that ended with an error is no dialogue.
    """
    return LogTable(log, partial(_dialogues, left_out=left_out))


def _replies(log: InspectLog) -> Iterator[tuple[int, _Row]]:
    for number, sample, _ in log.entries():
        spoken = list(_spoken(sample))
        last = next((place for place in reversed(range(len(spoken))) if spoken[place]["role"] == "assistant"), None)
        answer = _answer(sample) if last is None else spoken[last]["content"]
        before = spoken if last is None else spoken[:last]
        status = _status(sample, answer)
        reasoning = _reasoning(sample)
        row: _Row = {
            **_known(log, sample), "messages": before, "reply": answer if status is Status.OK else "",
            **({REASONING: reasoning} if reasoning else {}),
        }  # fmt: skip
        yield number, row if status is Status.OK else {**row, "status": status.value}


def _dialogues(log: InspectLog, left_out: list[str]) -> Iterator[tuple[int, _Row]]:
    for number, sample, place in log.entries():
        if sample.failure:
            line = f"{place}: {sample.failure}"
            left_out.extend([line] if line not in left_out else [])
            continue
        messages = [_resolved(message, sample.attachments) for message in sample.messages or _asked(sample)]
        yield number, {**_known(log, sample), "messages": messages}


def _known(log: InspectLog, sample: LoggedSample) -> _Row:
    """Return what a row says beside its texts."""
    model = log.header.eval.model
    model = sample.output.model if model in _NO_MODEL else model
    target = sample.target[0] if isinstance(sample.target, list) and len(sample.target) == 1 else sample.target
    facts = {key: _cell(value) for key, value in (sample.metadata or {}).items()}
    return {
        "id": str(sample.id), "model": model or log.stem, "run": sample.epoch - 1,
        **({"target": target} if isinstance(target, str | int | float) and target != "" else {}),
        **{key if key in _OWN else f"{TAG}{key}": cell for key, cell in facts.items() if cell},
    }  # fmt: skip


def _cell(value: object) -> str:
    """Return metadata as a tag has it; nothing for what is no single value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else ""


def _status(sample: LoggedSample, answer: str) -> Status:
    """Say what became of a reply: an error comes before all else, a limit only where it left no reply."""
    if sample.failure or sample.output.error:
        return Status.FAILED
    if any(choice.stop_reason == "content_filter" for choice in sample.output.choices[:1]):
        return Status.FILTERED
    stated = (sample.output.metadata or {}).get(STATUS)
    if stated in {Status.FAILED, Status.FILTERED, Status.REFUSED, Status.UNPARSABLE}:
        return Status(stated)
    if not answer.strip():
        return Status.FAILED if sample.limited else Status.UNPARSABLE
    return Status.OK


def _answer(sample: LoggedSample) -> str:
    """Return what the model put out, where no message of the conversation holds it."""
    return next((_text(_resolved(choice.message, sample.attachments)) for choice in sample.output.choices), "")


def _reasoning(sample: LoggedSample) -> str:
    """Return the reasoning in the last message of the assistant."""
    messages = (m for m in reversed(sample.messages or ()) if m.get("role") == "assistant")
    message = next(messages, next((choice.message for choice in sample.output.choices), {}))
    parts = message_content.read(_resolved(message, sample.attachments).get("content"))
    return bounds.clean("\n\n".join(parts.reasoning)) if parts is not None else ""


def _asked(sample: LoggedSample) -> list[dict[str, Any]]:
    return [{"role": "user", "content": sample.input}] if isinstance(sample.input, str) else sample.input


def _spoken(sample: LoggedSample) -> Iterator[dict[str, str]]:
    """Yield what was said: a model's calls of tools, and what tools answer, are no part of the dialogue."""
    for message in sample.messages or _asked(sample):
        role = message.get("role")
        if role not in _SPOKEN:
            continue
        text = _text(_resolved(message, sample.attachments))
        if text or not message.get("tool_calls"):
            yield {"role": str(role), "content": text}


def _text(message: Mapping[str, Any]) -> str:
    """Return the text of a message; of its parts, those that are said: reasoning, pictures and calls of tools are none."""
    parts = message_content.read(message.get("content"))
    return bounds.clean(parts.text()) if parts is not None else ""


def _resolved(message: Mapping[str, Any], attachments: Mapping[str, str]) -> dict[str, Any]:
    """Return a message with the texts that Inspect keeps apart."""
    content = message.get("content")
    if not attachments or content is None:
        return dict(message)
    if isinstance(content, list):
        content = [
            {**part, **{key: _attached(part[key], attachments) for key in ("text", REASONING) if key in part}}
            if isinstance(part, dict)
            else part
            for part in content
        ]
    return {**message, "content": _attached(content, attachments)}


def _attached(text: Any, attachments: Mapping[str, str]) -> Any:
    if not isinstance(text, str) or not text.startswith(_ATTACHED):
        return text
    return attachments.get(text.removeprefix(_ATTACHED), text)
