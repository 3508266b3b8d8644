"""Text from outside in GitHub-flavoured Markdown: it stands there as itself, pings nobody and links nowhere.

A backslash keeps a parser from taking a character for markup. It does not keep GitHub from finding mentions, issues,
commits and addresses, which it looks for in what was parsed. There a zero-width space stands within, as the bots of code
hosting do it; it cannot be seen, and what is copied can still be searched for. What an author hid in a text is taken
out before.
"""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from mindgauge.records.visible import visible

APART = "\N{ZERO WIDTH SPACE}"
_MARKUP = re.compile(r"([\\`*_\[\]<>|#~&])")
_BEGINS = re.compile(r"^(?:[-+](?=\s|$)|[-=](?=[-=\s]*$)|\d{1,9}(?=[.)](?:\s|$)))")
"""What makes a line a list, a heading or a rule; a number is a list only with its dot escaped."""
_FOUND = re.compile(
    r"(?P<at>@)(?=[\w\[(.-]|\\)"  # people, teams, mail, commits of forks
    r"|(?P<number>\#)(?=\w)"  # issues, also of other repositories
    r"|(?P<issue>(?i:(?<![A-Za-z0-9])GH-))(?=\d)"
    r"|(?P<scheme>:)(?=/|[\w+-]+:)"  # addresses, and pictures by name
    r"|(?P<www>(?i:www))(?=\.)"
    r"|(?P<commit>(?<![\w/.-])[0-9a-f]{4}(?=[0-9a-f]{3,36}(?![\w-])))"
)
_DOLLAR = "<span>&#36;</span>"
"""As GitHub's documentation writes a dollar that opens no formula, and not even a dollar to whom looks at the source."""


def text(content: object) -> str:
    """Write a text so that it stands for itself, in one line: no markup, no HTML, no links, no formulas, nobody pinged."""
    line = " ".join(visible(str(content)).split())
    begins = _BEGINS.match(line)
    head = begins[0] if begins else ""
    line = _MARKUP.sub(r"\\\1", _FOUND.sub(lambda match: f"{match[0]}{APART}", line[len(head) :]))
    line = line.replace("$", _DOLLAR)
    return (f"{head}\\{line}" if head.isdigit() else f"\\{head}{line}") if head else line


def code(content: object) -> str:
    """Write a name as code, in which nothing is found; in a table's cell, too."""
    line = " ".join(visible(str(content)).split()).replace("|", "\N{BROKEN BAR}")
    if not line:
        return ""
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def file(name: str) -> str:
    """Write a file's name as the target of a link."""
    return f"<{quote(name)}>" if quote(name) != name else name


def link(address: str) -> str:
    """Write a web address as a link to itself; what is none stands as text."""
    parts = urlsplit(address)
    plain = parts.scheme in {"http", "https"} and parts.hostname and not re.search(r"[\s<>\\`]", visible(address))
    return f"<{address}>" if plain and visible(address) == address else text(address)
