"""Secrets in what is written down or printed: keys from the environment, and passwords in addresses."""

from __future__ import annotations

import os
import re

HIDDEN = "[hidden]"
_NAMED = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
"""How the names of variables end that hold a secret."""
SHORTEST = 8
"""Characters of a secret; what is shorter would be found in words that are none."""
_USER = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#'\"]*@")
_IN_QUERY = re.compile(r"(?i)([?&](?:[\w-]*key|[\w-]*token|secret|password|sig|signature)=)[^\s&#'\"]+")


def redacted(text: str) -> str:
    """Return a text without the values of variables that hold secrets, and without those that stand in addresses."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and value in text and _NAMED.search(name.upper()):
            text = text.replace(value, HIDDEN)
    return _IN_QUERY.sub(rf"\1{HIDDEN}", _USER.sub(rf"\1{HIDDEN}@", text)) if "://" in text else text
