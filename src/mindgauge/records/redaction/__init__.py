"""Secrets in what is written down or printed: those that are known, and those that can be told by how they are written.

Known are the keys in use and the values of variables that hold secrets, passwords in addresses among them; they are
found in every encoding (`echoes`). Any other is found by its name (`password=…`, `--api-key …`, `Authorization: …`), by
its place in an address, or by its shape (`named`, `addresses`, `shapes`). See SECURITY.md for what is not.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mindgauge.records.redaction import addresses, named
from mindgauge.records.redaction.echoes import HIDDEN, SHORTEST, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["HIDDEN", "Secrets", "in_use", "redacted", "redacted_command", "redactor", "without"]

_NAMED = re.compile(r"((KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|[^D]_?PWD|_PAT|_JWT)|^MINDGAUGE_API_KEY_.*)$")
"""How the names of variables are written that hold a secret; not the working directory."""


class Secrets:
    """Keys in use by this process: what is sent with calls."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def keep(self, key: str) -> None:
        """Add a key before it is sent."""
        if key := key.strip():
            self._keys.add(key)

    def hide(self, text: str) -> str:
        """Return a text without these keys."""
        for key in self._keys:
            text = without(text, key)
        return text

    def within(self, text: str) -> bool:
        """Say whether any of these keys stands in a text."""
        return self.hide(text) != text


in_use = Secrets()


def redacted(text: str) -> str:
    """Return a text with `[hidden]` in place of secrets, known ones and such as can be told by how they are written."""
    return redactor()(text)


def redactor() -> Callable[[str], str]:
    """Return `redacted` for many texts at once: what the environment holds that is secret is looked up now, for all of them."""
    secrets = _of_environment()
    return lambda text: _by_form(_without_known(text, secrets))


def redacted_command(words: Sequence[str]) -> str:
    """Return a command as it would be typed, without secrets; words end where the shell said, whatever stands in them."""
    cleaned: list[str] = []
    secret_next, secrets = False, _of_environment()
    for word in words:
        clean = HIDDEN if secret_next else _by_form(_without_known(word, secrets), is_word=True)
        secret_next = not secret_next and named.asks_for_secret(word)
        cleaned.append(clean)
    return redacted(shlex.join(cleaned))


def _without_known(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = without(text, secret)
    return in_use.hide(text)


def _by_form(text: str, *, is_word: bool = False) -> str:
    return named.hidden_by_shape(named.hidden(addresses.hidden(text, is_word=is_word), is_word=is_word))


def _of_environment() -> list[str]:
    """Return what variables hold that is secret, the longest first."""
    return sorted(set(_from_environment()), key=len, reverse=True)


def _from_environment() -> Iterator[str]:
    """Yield what variables hold that is secret: values of those named so, and passwords in addresses (proxies, databases)."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and _NAMED.search(name.upper()):
            yield value
        elif "://" in value and "@" in value:
            for password in addresses.passwords(value):
                yield from (form for form in {password, unquote(password)} if len(form) >= SHORTEST)
