"""Reading what a chat endpoint sends: a completion, or what went wrong and when to ask again. Servers take liberties.

Keys that a server repeats are hidden here: after decoding, and before anything is cut, so that no half of one is kept.
"""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import json
import math
import random
import re
import time
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.records import Exchange, Status, Usage
from mindgauge.records import content as message_content
from mindgauge.records.files.bounds import clean
from mindgauge.records.redaction import in_use

if TYPE_CHECKING:
    from collections.abc import Collection

    from mindgauge.records.request import Price


_LONGEST_NAME, _LONGEST_FAULT = 200, 4096
"""Characters that are looked at."""
_MARGIN = 1 << 16
"""Characters in which keys are hidden before so many are cut out of them."""
_BLOCKED = re.compile(r"content[_ ](filter|policy|management)|responsible.?ai|safety (system|filter)", re.IGNORECASE)
"""Words by which a provider says that it blocked an exchange."""
_OPTIONAL = ("response_format", "seed", "temperature", "top_p", "max_tokens", "max_completion_tokens", "output_config")
"""What a request may do without."""
_MOST_TOKENS = 2**24
"""No model has a context as long; a larger count is noise."""
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
"""Where servers put what a model thought, beside the content of its message."""
LONGEST_TEXT = 1 << 20
"""Characters; a longer text is no answer. Looking for keys in it would hold all other calls up for seconds."""
MOST_PARTS = 500_000
"""Commas and opening brackets of a JSON text; one with more takes many times its size in memory when it is read."""


_UNEXPECTED = "half or unexpected JSON"


class UnreadableError(Exception):
    """There is no completion in an answer; `foreign` where it does not even look like one."""

    def __init__(self, message: str, *, foreign: bool) -> None:
        super().__init__(message)
        self.foreign = foreign


class Completion(NamedTuple):
    """The first choice's text, why it ended, the refusal in place of an answer, and what the server says of itself."""

    text: str
    finish_reason: str
    refusal: str
    usage: Usage
    model: str
    fingerprint: str
    reasoning: str = ""
    """What the model thought, where its server sends that apart from the text."""


def read(content: bytes) -> Completion:
    """Read a chat completion.

    Raises:
        UnreadableError: it is none, or has no choice.
    """
    try:
        answer = parsed(content)
    except ValueError as error:
        broken = content.lstrip()[:1] == b"{"  # on its way, perhaps
        content_kind = str(error) if broken else kind(content)
        raise UnreadableError(f"{content_kind} instead of a chat completion", foreign=not broken) from error
    return converted(answer)


def converted(answer: object) -> Completion:
    """Read a chat completion that was parsed already. Of a key that occurs twice, the last counts.

    Raises:
        UnreadableError: it is none, or has no choice.
    """
    body = answer if isinstance(answer, dict) else {}
    choices = body.get("choices")
    if not isinstance(choices, list):
        error = body.get("error")
        raise UnreadableError(
            reason(body) if error else f"{_UNEXPECTED} instead of a chat completion", foreign=not error
        )
    first = (choice for choice in choices if isinstance(choice, dict) and choice.get("index") == 0)
    choice = next(first, next(iter(choices), None))  # some send several, in any order
    if choice is None:
        raise UnreadableError("an answer without a choice", foreign=False)
    message = choice.get("message") or {} if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else 0
    if not isinstance(content, str | list | None) or not isinstance(message, dict):
        raise UnreadableError(f"{_UNEXPECTED} instead of a choice", foreign=False)
    refusal = message.get("refusal")
    text, refusal = _text(content), _text(_written(refusal)) if refusal else ""
    parts = message_content.read(content)
    fields = (message_content.thought(message.get(key)) for key in _REASONING)
    return Completion(
        text,
        name(choice.get("finish_reason")),
        refusal,
        _usage(body.get("usage"), text or refusal),
        name(body.get("model")),
        name(body.get("system_fingerprint")),
        _text(next(filter(str.strip, fields), "\n\n".join(parts.reasoning if parts is not None else ()))),
    )


def parsed(content: bytes) -> Any:
    """Read JSON as servers write it: also with halves of characters, bytes other than UTF-8, `NaN` and `Infinity`.

    Raises:
        ValueError: it is none, or too large or too deep to be read in little memory.
    """
    if len(content) > MOST_PARTS and sum(map(content.count, (b",", b"[", b"{"))) > MOST_PARTS:
        raise ValueError(f"JSON of more than {MOST_PARTS:,} parts")
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(content)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(_UNEXPECTED) from error


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
        reasoning=answer.reasoning,
    )


def _text(content: str | list[Any] | None) -> str:
    """Return the text of a message; some servers send it in parts."""
    if isinstance(content, str):
        text = content
    else:
        parts = message_content.read(content)
        text = parts.text("") if parts is not None else ""
    if len(text) > LONGEST_TEXT:
        raise UnreadableError(f"a text of more than {LONGEST_TEXT:,} characters", foreign=False)
    return words(text)


def _written(content: object) -> str:
    """Return whatever stands where a text is expected as a text."""
    if not content:
        return ""
    if isinstance(content, str):
        return content
    try:
        return json.dumps(content, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "(something that cannot be written)"


def words(text: str) -> str:
    """Return what a server says as it may be kept: without our keys, and without what no store can carry."""
    return clean(in_use.hide(text))


def name(value: object) -> str:
    """Return a name that a server gives, as it may be kept; empty where it is none."""
    return words(value[:_MARGIN])[:_LONGEST_NAME] if isinstance(value, str) else ""


def _usage(counts: object, text: str) -> Usage:
    """Read the tokens of a call; none at all where either count is none, or no token is counted for a text."""
    if not isinstance(counts, dict):
        return Usage()
    details = counts.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return tokens(counts.get("prompt_tokens"), counts.get("completion_tokens"), cached, text)


def tokens(prompt: object, completion: object, cached: object, text: str) -> Usage:
    """Return what a server counted, or nothing, so that the tokens are estimated, where that cannot be true."""
    read, wrote = count(prompt), count(completion)
    if not read or wrote is None or (text and not wrote):
        return Usage()
    return Usage(read, wrote, min(count(cached) or 0, read))


def count(value: object, largest: int = _MOST_TOKENS) -> int | None:
    """Return a count that a server tells; None where it is none, or larger than it can be."""
    if type(value) is int:  # the usual; and no bool
        return value if 0 <= value <= largest else None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = float(value)
    if not isinstance(value, float) or not 0 <= value <= largest or value != int(value):
        return None
    return int(value)


def fault(content: bytes) -> str:
    """Return what a server says went wrong, on one short line."""
    try:
        answer = parsed(content)
    except ValueError:
        answer = None
    if isinstance(answer, dict):
        return reason(answer)
    return _line(kind(content) if content.lstrip()[:1] in {b"<", b"["} else content[:_MARGIN].decode(errors="replace"))


def reason(answer: dict[str, Any]) -> str:
    """Return what an answer that was parsed already says went wrong, on one short line."""
    error = answer.get("error", answer)
    if isinstance(error, dict):
        return _line(" ".join(_written(error[key])[:_MARGIN] for key in ("message", "code") if error.get(key)))
    return _line(_written(error))


def _line(text: str) -> str:
    """Return the beginning of what a server says."""
    return one_line(text[:_MARGIN])[:300] or "an error without a word"


def one_line(text: str) -> str:
    """Return what a server says, or what was said of it, on one line, without keys and control characters."""
    line = " ".join(words(text)[:_LONGEST_FAULT].split())
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line)


def blocked(text: str) -> bool:
    """Say whether a provider's refusal of a request is its content filter's."""
    return _BLOCKED.search(text) is not None


def unsupported(text: str, parameters: Collection[str]) -> str:
    """Return which of the parameters sent a provider does not take; empty if it does not say so."""
    named = next((name for name in _OPTIONAL if name in parameters and name in text), "")
    if named or "schema" not in text:
        return named
    return next((name for name in ("response_format", "output_config") if name in parameters), "")


def retry_after(header: str | None) -> float | None:
    """Read `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3); None if it says nothing."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        pass
    else:
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        date = email.utils.parsedate_to_datetime(header)
        date = date if date.tzinfo else date.replace(tzinfo=datetime.UTC)
        return max(0.0, (date - datetime.datetime.now(datetime.UTC)).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def kind(content: bytes) -> str:
    """Say what an answer is that is no JSON as expected."""
    start = content[:200].lstrip().lower()
    if not start:
        return "an empty body"
    if start.startswith(b"<"):
        return "HTML"
    return _UNEXPECTED if start[:1] in b"{[" else "plain text"


def without_lengths(schema: Any) -> Any:
    """Copy a schema without the bounds on lengths, which strict endpoints refuse."""
    if isinstance(schema, dict):
        return {k: without_lengths(v) for k, v in schema.items() if k not in {"maxLength", "maxItems"}}
    return schema


# Why one attempt at a call brought no answer.


LONGEST_PAUSE = 60.0
"""Seconds; a server that asks for a longer pause is asked again after this long."""
_MOST_DOUBLINGS = 64
"""Of a pause; a busy server may refuse more often than a number has room for."""


class FailureKind(Enum):
    """What is the matter, which decides what to do next."""

    BROKEN = auto()
    """It could not be reached, did not answer to the end, or what it sent is no answer."""
    BUSY = auto()
    """It is well, but has too much to do."""
    FATAL = auto()
    """It refuses us or has no such model, and will say the same to every call."""
    OVERDUE = auto()
    """It did not answer in time, and may still be at work on the call, and charge for it."""
    UNSUPPORTED_PARAMETER = auto()
    """It does not take a parameter, and will be asked without it from now on."""


class RetryableError(Exception):
    """This attempt failed in a way that another, or one at another server, may not."""

    def __init__(
        self, reason: str, fault: FailureKind = FailureKind.BROKEN, *, pause: float | None = None, lost: str = ""
    ) -> None:
        """Say why, in the server's words or ours.

        Args:
            reason: one line.
            fault: what is the matter.
            pause: the server's wish, in seconds.
            lost: what to say of a server that has never answered otherwise.
        """
        super().__init__(reason)
        self.fault = fault
        self.pause = pause
        self.lost = lost
        self.seconds = 0.0
        """How long the attempt took."""


def overdue(seconds: float) -> str:
    """Say that a call ran into its time limit."""
    return f"no answer within {seconds:g} s (timeout, in mindgauge.toml); not sent again, since it may be charged. The same command asks again"


def pause_after(problem: RetryableError, failures: int, pause: float) -> float:
    """Return how long to wait, in seconds, after so many failures: the server's wish and a random time.

    Full jitter: after failure k a time between 0 and `pause * 2**k` (Brooker, "Exponential Backoff And Jitter", 2015).
    """
    longest = min(LONGEST_PAUSE, math.ldexp(pause, min(failures, _MOST_DOUBLINGS)))
    return min(LONGEST_PAUSE, problem.pause or 0.0) + random.uniform(0, longest)
