"""How Sphinx builds the site: `sphinx-build -W -c docs_build . site`, as `make docs` does.

The whole repository is the source, so that a link means the same on the site as among the files: pages lead to pages, and
to other files as copies of them. The navigation is what `docs/index.md` lists, heading by heading.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.util.logging import getLogger

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Mindgauge"
html_title = "Mindgauge"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/*/*.md",
    "bench/results/*.md",
    "src/mindgauge/benchmarks/*/README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
]
exclude_patterns = [".*", "build", "dist", "site", "runs", "tests", "bench/trials"]
suppress_warnings = ["toc.not_included"]  # bench/results: linked, and not in the navigation
nitpicky = True
myst_heading_anchors = 6
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
html_permalinks_icon = "#"
_LISTED = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\.md\)", re.MULTILINE)
_BEGINNING = '<!doctype html><meta charset="utf-8"><title>Mindgauge</title><meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">Mindgauge</a>\n'

_LOADED = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")


def setup(app: Sphinx) -> None:
    """Make the navigation of the index, and look at what was built."""
    app.connect("source-read", _navigation)
    app.connect("build-finished", _finish)


def _navigation(_: Sphinx, name: str, source: list[str]) -> None:
    """Add what the index lists under each heading as a part of the navigation."""
    if name != root_doc:
        return
    parts = re.split(r"^## (.+)$", source[0], flags=re.MULTILINE)
    for heading, content in zip(parts[1::2], parts[2::2], strict=True):
        entries = [f"{title} </{_document(target)}>" for title, target in _LISTED.findall(content)]
        source[0] += "\n".join(["\n```{toctree}", ":hidden:", f":caption: {heading}", "", *entries, "```\n"])


def _document(target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(root_doc), target))


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Write a page at the top that leads to the index, and fail where a page loads anything from elsewhere."""
    if error is not None:
        return
    built = Path(app.outdir)
    (built / "index.html").write_text(_BEGINNING, encoding="utf-8")
    for page in sorted(built.rglob("*.html")):
        if loaded := _LOADED.search(page.read_text(encoding="utf-8")):
            getLogger(__name__).warning("%s loads from elsewhere: %s", page.relative_to(built), loaded[0])
