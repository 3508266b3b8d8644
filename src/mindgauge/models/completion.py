"""Reading what a chat endpoint sends: a completion, or what went wrong and when to ask again. Servers take liberties.

Keys that a server repeats are hidden here: after decoding, and before anything is cut, so that no half of one is kept.
"""

from __future__ import annotations

import datetime
import email.utils
import json
import re
import time
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.records import Exchange, Status, Usage
from mindgauge.redaction import in_use
from mindgauge.tables import clean

if TYPE_CHECKING:
    from collections.abc import Collection

    from mindgauge.models.request import Price

_LONGEST_NAME, _LONGEST_FAULT = 200, 4096
"""Characters that are looked at."""
_MARGIN = 1 << 16
"""Characters in which keys are hidden before so many are cut out of them."""
_BLOCKED = re.compile(r"content[_ ](filter|policy|management)|responsible.?ai|safety (system|filter)", re.IGNORECASE)
"""Words by which a provider says that it blocked an exchange."""
_OPTIONAL = ("response_format", "seed", "temperature", "top_p", "max_tokens", "max_completion_tokens", "output_config")
"""What a request may do without."""
_MOST_TOKENS = 2**40
"""No call has as many; a larger count is noise."""


class UnreadableError(Exception):
    """There is no completion in an answer; `foreign` where it does not even look like one."""

    def __init__(self, why: str, *, foreign: bool) -> None:
        super().__init__(why)
        self.foreign = foreign


class Completion(NamedTuple):
    """The first choice's text, why it ended, the refusal in place of an answer, and what the server says of itself."""

    text: str
    finish_reason: str
    refusal: str
    usage: Usage
    model: str
    fingerprint: str


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: Any = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: Any = None


class _Answer(msgspec.Struct):
    choices: list[_Choice | None] | None = None
    error: Any = None
    model: Any = None
    system_fingerprint: Any = None
    usage: Any = None


_decode = msgspec.json.Decoder(_Answer).decode


def unpacked(content: bytes, coding: str, most: int) -> bytes:
    """Undo a content coding (RFC 9110, 8.4.1), which some servers use though it was not asked for.

    Raises:
        ValueError: it is not known, broken, or holds more than `most` bytes.
    """
    if coding.strip().lower() in {"", "identity"}:
        return content
    if coding.strip().lower() not in {"gzip", "x-gzip", "deflate"}:
        raise ValueError(f"an answer packed as {coding}")
    try:
        found = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(content, most + 1)
    except zlib.error as error:
        raise ValueError(f"an answer packed as {coding} that cannot be unpacked") from error
    if len(found) > most:
        raise ValueError(f"an answer of more than {most >> 20} MiB")
    return found


def read(content: bytes) -> Completion:
    """Read a chat completion.

    Raises:
        UnreadableError: it is none, or has no choice.
    """
    answer = _answer(content)
    if answer.choices is None:
        raise UnreadableError(fault(content) if answer.error else f"{_kind(content)} instead of a chat completion", foreign=not answer.error)  # fmt: skip
    choice = next(iter(answer.choices), None)
    if choice is None:
        raise UnreadableError("an answer without a choice", foreign=False)
    message = choice.message or _Message()
    refusal = message.refusal
    return Completion(
        _text(message.content),
        name(choice.finish_reason),
        words(refusal if isinstance(refusal, str) else msgspec.json.encode(refusal).decode() if refusal else ""),
        _usage(answer.usage),
        name(answer.model),
        name(answer.system_fingerprint),
    )


def exchange(answer: Completion, price: Price | None, *, seconds: float = 0.0, attempt: int = 1) -> Exchange:
    """Say what became of a call that was answered with a completion just now."""
    text, usage = answer.text, answer.usage
    if answer.finish_reason == "content_filter":
        status = Status.FILTERED
    elif answer.refusal:
        status, text = Status.REFUSED, text or answer.refusal
    else:
        status = Status.OK if text.strip() else Status.UNPARSABLE
    return Exchange(
        status,
        text,
        answer.finish_reason,
        usage,
        seconds,
        attempt,
        answer.model,
        answer.fingerprint,
        price.of(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) if price else None,
        "" if text else "the answer is empty",
        time.time(),
    )


def _answer(content: bytes) -> _Answer:
    try:
        return _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # Python's reader takes halves of characters, and bytes other than UTF-8
        return msgspec.convert(json.loads(content), _Answer)
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise UnreadableError(f"{_kind(content)} instead of a chat completion", foreign=True) from error


def _text(content: str | list[Any] | None) -> str:
    """Return the text of a message; some servers send it in parts."""
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        content = "".join(part for part in parts if isinstance(part, str))
    return words(content or "")


def words(said: str) -> str:
    """Return what a server says as it may be kept: without our keys, and without what no store can carry."""
    return clean(in_use.hide(said))


def name(said: object) -> str:
    """Return a name that a server gives, as it may be kept; empty where it is none."""
    return words(said[:_MARGIN])[:_LONGEST_NAME] if isinstance(said, str) else ""


def _usage(said: object) -> Usage:
    if not isinstance(said, dict):
        return Usage()
    details = said.get("prompt_tokens_details")
    read = _tokens(said.get("prompt_tokens"))
    cached = _tokens(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(read, _tokens(said.get("completion_tokens")), min(cached, read))


def _tokens(said: object) -> int:
    """Return a count of tokens; 0 where it is none."""
    if isinstance(said, str) and said.isascii() and said.isdigit():
        said = float(said)
    return int(said) if isinstance(said, int | float) and 0 <= said <= _MOST_TOKENS else 0


def fault(content: bytes) -> str:
    """Return what a server says went wrong, on one short line."""
    try:
        answer = msgspec.json.decode(content)
        error = answer.get("error", answer)
        said = (
            " ".join(str(error[k]) for k in ("message", "code") if error.get(k)) if isinstance(error, dict) else error
        )
        said = str(said)
    except (msgspec.DecodeError, UnicodeDecodeError, AttributeError, RecursionError):
        said = _kind(content) if content.lstrip()[:1] in {b"<", b"["} else content[:_MARGIN].decode(errors="replace")
    return " ".join(words(said[:_MARGIN])[:_LONGEST_FAULT].split())[:300]


def blocked(said: str) -> bool:
    """Say whether a provider's refusal of a request is its content filter's."""
    return _BLOCKED.search(said) is not None


def unsupported(said: str, sent: Collection[str]) -> str:
    """Return which of the parameters sent a provider does not take; empty if it does not say so."""
    named = next((name for name in _OPTIONAL if name in sent and name in said), "")
    if named or "schema" not in said:
        return named
    return next((name for name in ("response_format", "output_config") if name in sent), "")


def retry_after(header: str | None) -> float | None:
    """Read `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3); None if it says nothing."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        when = email.utils.parsedate_to_datetime(header)
        when = when if when.tzinfo else when.replace(tzinfo=datetime.UTC)
        return max(0.0, (when - datetime.datetime.now(datetime.UTC)).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _kind(content: bytes) -> str:
    start = content[:200].lstrip().lower()
    if not start:
        return "an empty body"
    if start.startswith(b"<"):
        return "HTML"
    return "half or unexpected JSON" if start[:1] in b"{[" else "plain text"


def without_lengths(schema: Any) -> Any:
    """Copy a schema without the bounds on lengths, which strict endpoints refuse."""
    if isinstance(schema, dict):
        return {k: without_lengths(v) for k, v in schema.items() if k not in {"maxLength", "maxItems"}}
    return schema
