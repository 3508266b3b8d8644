"""The page in a real browser: narrow and wide, light and dark, on paper, by keyboard, without a network."""

from pathlib import Path
from typing import Any

import pytest

from mindgauge.analysis.stress.effects import BIASED
from mindgauge.reports import stress as stress_page
from mindgauge.reports.page import ReportFiles
from tests.chromium import CHROMIUM
from tests.reports.test_draw import effect, stressed
from tests.thinned import later

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.is_file(), reason="needs Debian's chromium at /usr/bin/chromium"),
]
CONTRAST = """() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => { const f = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > .99) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll('p, li, h1, h2, h3, h4, h5, a, dt, dd, td:not([style]), th, summary, mark, .aside')) {
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) bad.push(e.outerHTML.slice(0, 80)); }
  return bad.slice(0, 5); }"""


CUT_OFF = """() => [...document.querySelectorAll('.scroll')].filter(e => e.getClientRects().length && e.scrollWidth > e.clientWidth + 1)
  .map(e => [e.getAttribute('aria-label'), e.scrollWidth - e.clientWidth])"""
"""Tables of which a part lies outside what is seen, by how many pixels."""


OUTSIDE = """() => {
  const wide = document.documentElement.clientWidth;
  const drawn = [...document.querySelectorAll('.picture svg text, .picture svg path')].filter(e => e.getClientRects().length);
  return [drawn.length, drawn.map(e => [e.getBoundingClientRect(), e.textContent]).filter(([b]) => b.left < 0 || b.right > wide)
    .map(([b, text]) => [text, b.left, b.right]).slice(0, 5)]; }"""


ALWAYS = {("files", 360, "light"), ("asked_files", 768, "light"), ("files", 1280, "dark")}
"""Each width, scheme and kind of question; the others in the long form."""


@pytest.mark.parametrize(
    ("which", "width", "scheme"),
    [
        way if way in ALWAYS else later(*way)
        for which in ("files", "rated_files", "asked_files", "crisis_files")
        for way in (
            (which, 360, "light"),
            (which, 768, "light"),
            (which, 360, "dark"),
            (which, 1280, "light"),
            (which, 1280, "dark"),
        )
    ],
)
def test_it_fits_keeps_quiet_and_stays_readable(
    browser: Any, request: pytest.FixtureRequest, which: str, width: int, scheme: str
) -> None:
    files: ReportFiles = request.getfixturevalue(which)
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url) if request.url != files.path.as_uri() else None)
    page.goto(files.path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate(CONTRAST) == []
    shown = page.locator(".picture .narrow svg" if width == 360 else ".picture .wide svg").first
    assert shown.is_visible()
    assert shown.bounding_box()["width"] <= width
    count, outside = page.evaluate(OUTSIDE)
    assert count > 20
    assert outside == []
    assert heard == []
    page.close()


WORDS = """() => [...document.querySelectorAll('.picture svg')].filter(e => e.getClientRects().length).map(svg => {
  const boxes = [...svg.querySelectorAll('text')].map(e => e.getBoundingClientRect());
  const frame = svg.getBoundingClientRect();
  const outside = boxes.filter(b => b.left < frame.left - 2 || b.right > frame.right + 2 || b.top < frame.top - 2 || b.bottom > frame.bottom + 2);
  return outside.length + boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 3 && b.top < a.bottom - 3)).length; })"""


@pytest.mark.parametrize(
    ("which", "width"),
    [
        ("rated_files", 360),
        ("crisis_files", 1280),
        later("rated_files", 1280),
        later("crisis_files", 360),
        *(later(which, width) for which in ("files", "asked_files") for width in (360, 1280)),
    ],
)
def test_words_in_a_picture_stay_in_it_and_do_not_cover_each_other(
    browser: Any, request: pytest.FixtureRequest, which: str, width: int
) -> None:
    files: ReportFiles = request.getfixturevalue(which)
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(files.path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    covered = page.evaluate(WORDS)
    assert len(covered) >= 2
    assert set(covered) == {0}
    page.close()


@pytest.mark.parametrize("width", [360, later(1280)])
def test_words_of_a_stress_test_stay_in_their_picture(browser: Any, tmp_path: Path, width: int) -> None:
    effects = [
        effect(name, value, BIASED) for name, value in (("warmth", 0.26), ("empathic_concern", -0.2), ("safety", 0.1))
    ]
    (tmp_path / "stress.html").write_text(stress_page.page(stressed(*effects)), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((tmp_path / "stress.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(WORDS) == [0, 0]
    page.close()


def test_an_example_of_a_confusion_opens_by_its_link(browser: Any, asked_files: ReportFiles) -> None:
    page = browser.new_page()
    page.goto(asked_files.path.as_uri())
    link = page.locator("td.examples a").first.get_attribute("href")
    assert not page.locator(f"{link} .chat").is_visible()
    page.goto(f"{asked_files.path.as_uri()}{link}")
    page.locator(f"{link} .chat").wait_for(state="visible")
    page.close()


def test_flows_and_calibration_stand_on_paper(browser: Any, asked_files: ReportFiles) -> None:
    page = browser.new_page()
    page.goto(asked_files.path.as_uri())
    page.emulate_media(media="print")
    for which in ("[id^=flow]", "[id^=calibration]"):
        assert page.locator(f"{which} .picture .wide svg").first.bounding_box()["height"] > 200
    bars = page.locator("[id^=flow] .picture .wide svg rect").first
    assert bars.evaluate("e => getComputedStyle(e).fill") == "rgb(0, 0, 0)"
    page.close()


def test_the_picture_of_agreement_stands_on_paper_in_black(browser: Any, rated_files: ReportFiles) -> None:
    page = browser.new_page()
    page.goto(rated_files.path.as_uri())
    page.emulate_media(media="print")
    picture = page.locator(".agreement .picture .wide svg").first
    assert picture.bounding_box()["height"] > 80
    shades = "els => els.map(e => getComputedStyle(e).fill)"
    points = page.locator(".agreement .picture .wide svg path").evaluate_all(shades)
    assert set(points) == {"rgb(0, 0, 0)"}
    page.close()


def test_the_keyboard_reaches_the_answer_and_opens_a_reply(browser: Any, files: ReportFiles) -> None:
    page = browser.new_page()
    page.goto(files.path.as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('details.reading > summary')"):
            break
    page.keyboard.press("Enter")
    page.locator("details.reading .opened").first.wait_for(state="visible")
    assert page.evaluate("document.activeElement.parentElement.open")
    page.close()


def test_a_shared_link_shows_its_reply(browser: Any, files: ReportFiles) -> None:
    page = browser.new_page()
    page.goto(files.path.as_uri())
    anchor = page.locator("details.reading .opened").nth(3).get_attribute("id")
    page.goto(f"{files.path.as_uri()}#{anchor}")
    page.locator(f"#{anchor} .chat").wait_for(state="visible")
    page.close()


def test_without_scripts_nothing_is_lost(browser: Any, files: ReportFiles) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files.path.as_uri())
    page.locator("details.reading summary").first.click()
    assert page.locator("details.reading .opened").first.is_visible()
    context.close()


def test_paper_shows_the_worst_replies(browser: Any, files: ReportFiles) -> None:
    page = browser.new_page()
    page.goto(files.path.as_uri())
    page.emulate_media(media="print")
    assert page.locator(".readings.first .chat").first.bounding_box()["height"] > 20
    assert not page.locator("nav").is_visible()
    page.close()
