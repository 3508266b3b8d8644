"""A card shows what others wrote as text, asks nothing of a network, fits a phone and two sheets of paper."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.records.text import visible
from tests.chromium import CHROMIUM
from tests.thinned import later

if TYPE_CHECKING:
    from tests.reports.evaluation_card.conftest import CardFiles

needs_browser = pytest.mark.skipif(not CHROMIUM.is_file(), reason="needs Debian's chromium at /usr/bin/chromium")


class Parsed(HTMLParser):
    """Which elements and attributes a page has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_nothing_others_wrote_becomes_markup(hostile_card: CardFiles, planted_card: CardFiles) -> None:
    page, plain = Parsed(hostile_card.html), Parsed(planted_card.html)
    assert page.elements <= plain.elements | {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert page.attributes <= plain.attributes | {"data-column", "scope", "role", "tabindex"}
    assert plain.elements.isdisjoint({"script", "img", "iframe", "base", "form", "b", "svg"})
    assert not any(name.startswith("on") or name == "style" for name in plain.attributes)
    assert "&lt;/p&gt;&lt;script&gt;window.ran = 1" in hostile_card.html
    assert "[U+202E]owner" in hostile_card.html


def test_nothing_leads_out_or_is_loaded(hostile_card: CardFiles) -> None:
    page = hostile_card.html
    assert not re.findall(r'(?:src|srcset|poster|action|data)="', page)
    assert not re.findall(r"url\(|@import", re.sub(r"(?s)<body.*", "", page))
    targets = {link.partition("#")[0] for link in re.findall(r'href="([^"]*)"', page)}
    assert targets <= {"report.html", "report_reader/index.html"}
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page


def test_nothing_invisible_is_left(hostile_card: CardFiles) -> None:
    for path in (hostile_card.page, hostile_card.page.with_suffix(".json")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
    assert visible(hostile_card.markdown.replace("\N{ZERO WIDTH SPACE}", "")) == hostile_card.markdown.replace(
        "\N{ZERO WIDTH SPACE}", ""
    )


def test_markdown_holds_no_markup_of_others(hostile_card: CardFiles) -> None:
    text = hostile_card.markdown
    assert not re.search(r"(?<!\\)<(?!!-- a Mindgauge)", text.replace("](<", "]("))
    assert not re.search(r"(?<!\\)\]\((?!report\.html)", text)
    assert "javascript:" not in re.sub(r"\\.", "", text) or "\\[press\\]" in text
    assert "@everyone" not in text


@needs_browser
@pytest.mark.browser
@pytest.mark.parametrize(
    ("width", "scheme"),
    [(360, "dark"), later(360, "light"), later(768, "dark"), later(768, "light"), later(1280, "dark"), (1280, "light")],
)
@pytest.mark.parametrize("which", ["hostile_card", later("crisis_card"), later("suite_card")])
def test_it_fits_and_axe_finds_nothing(
    browser: Any, request: pytest.FixtureRequest, which: str, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    card: CardFiles = request.getfixturevalue(which)
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url) if request.url != card.page.as_uri() else None)
    page.goto(card.page.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        page.evaluate("[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length")
        == 0
    )
    assert heard == []
    violations = Axe().run(page, options={"preload": False}).response["violations"]
    assert [(fault["id"], node["html"][:120]) for fault in violations for node in fault["nodes"]] == []
    page.close()


@needs_browser
@pytest.mark.browser
@pytest.mark.parametrize("which", [later("planted_card"), "crisis_card", later("suite_card")])
def test_it_is_two_sheets_of_paper_at_most(browser: Any, request: pytest.FixtureRequest, which: str) -> None:
    card: CardFiles = request.getfixturevalue(which)
    page = browser.new_page()
    page.goto(card.page.as_uri())
    printed: bytes = page.pdf(prefer_css_page_size=True)
    assert 1 <= len(re.findall(rb"/Type /Page\b", printed)) <= 2
    page.close()


@needs_browser
@pytest.mark.browser
def test_a_link_opens_the_case_in_the_report_and_in_the_reader(browser: Any, planted_card: CardFiles) -> None:
    page = browser.new_page()
    page.goto(planted_card.page.as_uri())
    link = page.locator("#failures ~ div a").first
    anchor = (link.get_attribute("href") or "").partition("#")[2]
    link.click()
    page.wait_for_url(f"{planted_card.report.as_uri()}#{anchor}")
    page.locator(f"#{anchor} .chat").wait_for(state="visible")
    page.close()
