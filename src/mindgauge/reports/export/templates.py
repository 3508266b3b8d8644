"""Markdown that an export writes from a template: what comes from outside is escaped by filters."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jinja2

from mindgauge.records import text as markdown
from mindgauge.records.rounding import count, percent

_KNOWN = frozenset({
    "apache-2.0", "mit", "bsd-3-clause", "cc", "cc0-1.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0",
    "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0",
    "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cdla-permissive-2.0", "odc-by", "odbl", "pddl", "openrail",
})  # fmt: skip
"""Licences by the names the Hub knows; any other is `other`, with the user's words as its name."""


def licence_id(licence: str) -> str:
    """Return the name by which the Hub knows a licence, or `other`."""
    ident = licence.lower().replace(" ", "-")
    return ident if ident in _KNOWN else "other"


_UNPRINTED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What JSON lets stand in a text, and YAML refuses or takes for the end of a line."""


def yaml(value: object) -> str:
    """Write a text or a number for YAML: as JSON, with what YAML does not print as escapes."""
    return _UNPRINTED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def rendered(file: str, /, **content: Any) -> str:
    """Fill in a template beside this module."""
    template = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown, not HTML; the filters escape
    )  # fmt: skip
    template.filters |= {
        "text": markdown.text,
        "code": markdown.code,
        "link": markdown.link,
        "count": count,
        "percent": percent,
    }
    template.filters["yaml"] = yaml
    source = (Path(__file__).parent / file).read_text(encoding="utf-8")
    return template.from_string(source).render(**content)
