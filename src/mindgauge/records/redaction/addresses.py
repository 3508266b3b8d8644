"""User names and passwords in addresses, also those that hold what an address should have as an escape: / @ : # ? % ' blanks.

A password may hold the very marks that end it, so where it ends is a guess in favour of hiding: at the first `@` that a
host follows, else at the last one. `http://host:8000/v1#model@revision` holds none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.records.redaction.echoes import HIDDEN
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = regex(r"(?i)(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{0,30}):(?:\\*/){2}")
_NEXT = r"(?![,;|]\s*[a-zA-Z][a-zA-Z0-9+.-]{0,30}://)"
"""Not before another address of a list."""
_BODIES = {
    "'": re.compile(rf"(?:{_NEXT}(?:'\"'\"'|\\[^\n]|[^'\\\n]))*+"),
    '"': re.compile(rf'(?:{_NEXT}(?:\\[^\n]|[^"\\\n]))*+'),
    '\\"': re.compile(rf'(?:{_NEXT}(?:\\++(?!")|[^\n"\\]))*+'),
    "`": re.compile(rf"(?:{_NEXT}[^`\n])*+"),
    "": re.compile(rf"(?:{_NEXT}(?:'\"'\"'|(?<=\w)['\"](?=\w)|[^\s'\"<>`]))*+"),
}
"""What follows `://`, by the quotation mark before the address; the shell's way to write `'` within '' is part of it."""
_AUTHORITY = regex(r"[^/?#]*")
_HOST = regex(
    r"(?i)(?:localhost|\[[0-9a-f:.]+\]|\d{1,3}(?:\.\d{1,3}){3}|(?:[\w-]+\.)+[a-z][a-z-]+\.?|[\w.-]+(?=:\d))(?::\d{1,5})?"
    r"(?:,[\w.:-]+)*(?=[/?#,;'\")\s]|$)"
)
"""What is a host beyond doubt: with a dot, a port or brackets."""
_PORT = regex(r"\d{2,5}")
_WEB = {"http", "https", "ws", "wss", "grpc", "ray", "file"}
_CODED = regex(r"(?i)(%3A%2F%2F)((?:(?!%2F|%3F|%23|%40)[^\s&'\"])+)(?=%40)")
"""An address that stands as a value in another."""
_BARE = regex(r"(?i)(?<![\w.+/@:-])(?!mailto:)[\w.+-]{1,64}:[^\s@/'\",]{1,200}@(?=[\w.-]+(?::\d|/))")
"""`user:password@host:port`, as proxies are written."""


def hidden(text: str, *, is_word: bool = False) -> str:
    """Return a text with `[hidden]` in place of who addresses are opened by.

    Args:
        text: any.
        is_word: whether an address goes on to the end of the text, blanks included, since it is one word of a command.
    """
    parts: list[str] = []
    last = 0
    for begin, end in _spans(text, is_word=is_word):
        parts += [text[last:begin], HIDDEN]
        last = end
    text = "".join([*parts, text[last:]])
    text = _CODED.sub(rf"\1{HIDDEN}", text) if "%3" in text else text
    return _BARE.sub(f"{HIDDEN}@", text) if "@" in text and ":" in text else text


def bare(text: str) -> str:
    """Return addresses without who they are opened by."""
    for begin, end in reversed(list(_spans(text, is_word=False))):
        text = text[:begin] + text[end + 1 :]
    return text


def passwords(address: str) -> Iterator[str]:
    """Yield the passwords in an address or a list of them, as they stand there."""
    for begin, end in _spans(address, is_word=True):
        yield address[begin:end].partition(":")[2] or address[begin:end]


def _spans(text: str, *, is_word: bool) -> Iterator[tuple[int, int]]:
    """Yield where user names and passwords stand, the `@` behind them left out."""
    if "@" not in text:
        return
    start = 0
    while begin := _BEGIN.search(text, start):
        body = _body(text, begin, is_word=is_word)
        length = _length(begin[1].lower(), body)
        if length:
            yield begin.end(), begin.end() + length
        start = begin.end() + length


def _body(text: str, begin: re.Match[str], *, is_word: bool) -> str:
    if is_word and re.fullmatch(r"(?:-{0,2}[\w.-]+=)?", text[: begin.start()]):
        return re.split(r"[,;|]\s*[a-zA-Z][a-zA-Z0-9+.-]{0,30}://", text[begin.end() :], maxsplit=1)[0]
    before = text[max(0, begin.start() - 2) : begin.start()]
    quote = '\\"' if before == '\\"' else before[-1:] if before[-1:] in _BODIES else ""
    match = _BODIES[quote].match(text, begin.end())
    return match[0] if match else ""


def _length(scheme: str, body: str) -> int:
    """Return how many characters of what follows `://` say who opens it."""
    ats = [match.start() for match in re.finditer("@", body)]
    if not ats:
        return 0
    authority = _AUTHORITY.match(body)
    inside = authority is not None and "@" in authority[0]
    end = next((place for place in ats if _HOST.match(body, place + 1)), ats[-1])
    if inside:
        return end
    name, colon, port = (authority[0] if authority else "").partition(":")
    if (not name and not colon) or name.startswith("[") or "." in name or name == "localhost":
        return 0  # a path with an `@`
    sure = _HOST.match(body, end + 1) is not None
    if not colon:
        return end if sure else 0
    if _PORT.fullmatch(port) and scheme in _WEB:
        return end if sure else 0
    return end
