"""The section of a suite in a real browser: narrow and wide, light and dark, on paper, by keyboard."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mindgauge.reports import page as report_page
from mindgauge.reports import render
from mindgauge.reports.draw import drawing
from mindgauge.reports.page import ReportFiles
from mindgauge.reports.profile import overview, section
from mindgauge.reports.profile.records import ProfileSection, cast
from tests.chromium import CHROMIUM
from tests.reports import profiled
from tests.reports.test_browser import CONTRAST, OUTSIDE
from tests.thinned import later

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.is_file(), reason="needs Debian's chromium at /usr/bin/chromium"),
]
COVERED = """() => [...document.querySelectorAll('#profile .picture svg')].filter(e => e.getClientRects().length).map(svg => {
  const boxes = [...svg.querySelectorAll('text')].map(e => [e.getBoundingClientRect(), e.textContent]);
  return boxes.flatMap(([a, one], i) => boxes.slice(i + 1).filter(([b]) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 4 && b.top < a.bottom - 4).map(([, other]) => [one, other])); }).flat()"""
HEAT = """() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number), scale = c => c.startsWith('color(') ? 255 : 1;
  const light = ([r, g, b]) => { const f = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const paper = parse(getComputedStyle(document.documentElement).backgroundColor);
  return [...document.querySelectorAll('.heat td')].map(e => {
    const said = getComputedStyle(e).backgroundColor, c = parse(said), k = scale(said), a = c.length > 3 ? c[3] : 1;
    const behind = [0, 1, 2].map(i => a * c[i] * k + (1 - a) * paper[i]);
    const [x, y] = [light(parse(getComputedStyle(e).color)), light(behind)].sort((p, q) => q - p);
    return (x + .05) / (y + .05); }); }"""


@pytest.fixture(scope="module")
def made(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with the profile of three invented models, every kind of picture in it, with a cell that is missing."""
    whole = profiled.profile()
    who = cast(whole, profiled.SYSTEMS)
    heat = overview.heat(whole, who)
    report = report_page.read([run])
    section = ProfileSection(
        "TrustMH-Bench", "trustmh", [], overview.radar(whole, who), overview.dots(whole, who), heat, profiled.dimensions(who),
        heat.sheet, whole.lacking, whole.notes, whole,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("made") / "report.html"
    path.write_text(render.page(msgspec.structs.replace(report, profile=section), "report.json"), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("width", "scheme"), [(360, "light"), later(360, "dark"), later(1280, "light"), (1280, "dark")]
)
def test_it_fits_and_stays_readable(browser: Any, made: Path, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto(made.as_uri())
    page.evaluate("document.querySelectorAll('#profile details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []
    ratios = page.evaluate(HEAT)
    assert len(ratios) == 30
    assert min(ratios) >= 4.5
    count, outside = page.evaluate(OUTSIDE)
    assert count > 100
    assert outside == []
    assert page.evaluate(COVERED) == []
    page.close()


@pytest.mark.parametrize("width", [360, later(1280)])
def test_a_real_run_fits_too(browser: Any, suite_files: ReportFiles, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("request", lambda r: heard.append(r.url) if r.url != suite_files.path.as_uri() else None)
    page.goto(suite_files.path.as_uri())
    page.evaluate("document.querySelectorAll('#profile details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(COVERED) == []
    assert heard == []
    page.close()


def test_many_models_have_a_circle_each(browser: Any, tmp_path: Path) -> None:
    whole = profiled.profile()
    names = [f"maker/model-{number}" for number in range(7)]
    copies = [
        msgspec.structs.replace(d, model=name, indistinguishable=())
        for name in names
        for d in whole.dimensions
        if d.model == profiled.MODELS[0]
    ]
    many = msgspec.structs.replace(whole, models=names, dimensions=copies, tasks=[])
    radar = overview.radar(many, cast(many, []))
    assert radar is not None
    assert radar.named
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    for (_, svg), wide in zip(drawing.drawn(radar), (680, 320), strict=True):
        page.set_content(f'<body style="margin:0"><div id="profile"><div class="picture">{svg}</div></div>')
        assert page.evaluate(COVERED) == []
        ends = "[...document.querySelectorAll('text')].map(e => e.getBoundingClientRect()).map(b => [b.left, b.right])"
        assert all(left >= -1 and right <= wide + 1 for left, right in page.evaluate(ends))
        assert svg.count("maker/model-") == 7
    page.close()


def test_paper_has_the_wide_pictures_and_the_heat_map(browser: Any, made: Path) -> None:
    page = browser.new_page()
    page.goto(made.as_uri())
    page.emulate_media(media="print")
    for picture in page.locator("#profile .picture .wide svg").all():
        assert picture.bounding_box()["height"] > 40
    assert page.locator("#profile .heat").bounding_box()["height"] > 200
    assert (
        page.locator("#profile-radar .wide svg polyline").last.evaluate("e => getComputedStyle(e).stroke")
        == "rgb(0, 0, 0)"
    )
    page.close()


def test_the_keyboard_reaches_the_heat_map_and_its_table(browser: Any, made: Path) -> None:
    page = browser.new_page()
    page.goto(made.as_uri())
    page.locator("#profile-heat .scroll").first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    page.keyboard.press("Enter")
    page.locator("#profile-heat details table").first.wait_for(state="visible")
    page.close()


def test_pictures_are_small(made: Path) -> None:
    whole = profiled.profile()
    who = cast(whole, profiled.SYSTEMS)
    assert sum(len(svg) for d in profiled.dimensions(who) for p in d.pictures for _, svg in drawing.drawn(p)) < 200_000
    assert section.profile_pictures([], [], who) == []
    assert made.stat().st_size < 1_500_000
