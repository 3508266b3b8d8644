"""How servers repeat keys: as they were sent, and in the encodings through which logs and errors go."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "sk-canary-4f1d9a7730+b/2c81f=Q"


def _wrapped(text: str, width: int, end: str) -> str:
    return end.join(text[at : at + width] for at in range(0, len(text), width))


def _base64(before: str, width: int = 0) -> Callable[[str], str]:
    def form(key: str) -> str:
        coded = base64.b64encode(f"{before}{key} and more".encode()).decode()
        return _wrapped(coded, width, "\r\n ") if width else coded

    return form


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "JSON, every character": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "JSON, capitals": lambda key: "".join(f"\\u{ord(c):04X}" for c in key),
    "JSON, some characters": lambda key: "".join(f"\\u{ord(c):04x}" if n % 3 == 1 else c for n, c in enumerate(key)),
    "JSON, slashes": lambda key: key.replace("/", "\\/"),
    "JSON within JSON": lambda key: json.dumps(json.dumps("".join(f"\\u{ord(c):04x}" for c in key))),
    "Python": lambda key: "".join(f"\\x{ord(c):02x}" for c in key),
    "braces": lambda key: "".join(f"\\u{{{ord(c):x}}}" for c in key),
    "URL": lambda key: quote(key, safe=""),
    "URL, every character": lambda key: "".join(f"%{ord(c):02X}" for c in key),
    "URL, small letters": lambda key: "".join(f"%{ord(c):02x}" if n % 2 else c for n, c in enumerate(key)),
    "URL twice": lambda key: quote("".join(f"%{ord(c):02X}" for c in key), safe=""),
    "URL in JSON": lambda key: "".join(f"\\u0025{ord(c):02x}" for c in key),
    "HTML": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "HTML, hexadecimal": lambda key: "".join(f"&#x{ord(c):04X};" for c in key),
    "HTML twice": lambda key: "".join(f"&amp;#{ord(c)};" for c in key),
    "base64": _base64(""),
    "base64, in a header": _base64("Authorization: Bearer "),
    "base64, shifted by one": _base64("x"),
    "base64, shifted by two": _base64("xy"),
    "base64, in lines": _base64("user:", 16),
    "base64, for addresses": lambda key: base64.urlsafe_b64encode(f"ÿÿ{key}?".encode()).decode(),
    "base64 in a URL": lambda key: quote(base64.b64encode(key.encode()).decode(), safe=""),
    "hexadecimal": lambda key: key.encode().hex(),
    "lines": lambda key: _wrapped(key, 7, "\n"),
    "lines of Windows": lambda key: _wrapped(key, 7, "\r\n"),
    "indented lines": lambda key: _wrapped(key, 7, " \n\t  "),
    "lines of a shell": lambda key: _wrapped(key, 7, "\\\n"),
    "escaped lines": lambda key: _wrapped(key, 7, "\\n"),
    "escaped lines, twice": lambda key: _wrapped(key, 7, "\\\\r\\\\n"),
    "lines and escapes": lambda key: _wrapped("".join(f"%{ord(c):02x}" for c in key), 9, "\n"),
    "unseen characters": lambda key: _wrapped(key, 3, "\u200b"),
}
