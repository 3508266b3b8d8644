"""Markdown that an export writes from a template: what comes from outside is escaped by filters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from mindgauge.records import text as markdown
from mindgauge.records.rounding import count, percent
from mindgauge.records.text import yaml

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
