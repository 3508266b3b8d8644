"""Every link among the documents leads somewhere, and every page stands in the navigation."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("*/*.md")),
    *sorted((ROOT / "src").rglob("README.md")),
]
each = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@cache
def tokens(page: Path) -> list[Token]:
    parser = MarkdownIt("commonmark").enable("table")
    return parser.parse(page.read_text(encoding="utf-8"))


def targets(page: Path) -> Iterator[str]:
    """Yield what a page links and shows that lies beside it."""
    for token in tokens(page):
        for child in token.children or ():
            target = str(child.attrGet("href") or child.attrGet("src") or "")
            if target and not re.match(r"[a-z]+:", target):
                yield unquote(target)


@cache
def anchors(page: Path) -> set[str]:
    """Return where headings can be linked, as GitHub and the site call them."""
    counts: Counter[str] = Counter()
    names = set()
    for token, inline in zip(tokens(page), tokens(page)[1:], strict=False):
        if token.type == "heading_open":
            words = "".join(c.content for c in inline.children or () if c.type in {"text", "code_inline"})
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            names.add(f"{slug}-{counts[slug]}" if counts[slug] else slug)
            counts[slug] += 1
    return names


@each
def test_every_link_leads_to_a_file_and_its_anchor_to_a_heading(page: Path) -> None:
    lost = []
    for target in targets(page):
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.is_file() or (anchor and anchor not in anchors(file.resolve())):
            lost.append(target)
    assert lost == []


def test_a_lost_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `two`, three\n\n# A\n\n# A\n\n[b](#a-1) ![c](c.png) [d](https://example.org)\n\n```\n[e](e)\n```\n"
    )
    assert anchors(page) == {"one-two-three", "a", "a-1"}
    assert [*targets(page)] == ["#a-1", "c.png"]


def test_every_page_stands_in_the_navigation_once() -> None:
    index = DOCS / "index.md"
    listed = Counter(
        (DOCS / target).resolve()
        for target in re.findall(r"^- \[[^\]]+\]\(([^)#]+)\)", index.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert set(listed.values()) == {1}
    assert {page for page in PAGES if page not in {ROOT / "README.md", index}} == set(listed)


def test_the_readme_leads_each_reader_to_a_beginning() -> None:
    assert {
        "docs/lessons/first_report.md",
        "docs/lessons/read_a_report.md",
        "docs/lessons/gate.md",
        "docs/explanations/numbers.md",
    } <= {*targets(ROOT / "README.md")}


def test_what_documents_install_by_name_is_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = {extra for group in re.findall(r"mindgauge\[([a-z,]+)\]", text) for extra in group.split(",")}
    assert named
    assert named <= extras.keys()
    assert not re.search(r"pip install (?:--\S+ )*mindgauge(?:$|[ `])", text, re.MULTILINE), "it is on no package index"
