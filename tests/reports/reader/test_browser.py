"""The reader in a real browser, from its folder: lists, filters, searches, opens, by mouse and keyboard, and runs nothing of others."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest

from tests.chromium import CHROMIUM
from tests.reports.reader.conftest import ATTACKS, Content
from tests.thinned import later

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.is_file(), reason="needs Debian's chromium at /usr/bin/chromium"),
]


class Desk:
    """A reader that is open, and all that it asked for or complained of."""

    def __init__(self, browser: Any, made: Content, **view: Any) -> None:
        self.page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **view})
        self.made = made
        self.heard: list[str] = []
        self.page.on("console", lambda message: self.heard.append(message.text))
        self.page.on("pageerror", lambda error: self.heard.append(str(error)))
        self.page.on("dialog", lambda dialog: self.heard.append(dialog.message))
        self.page.on("request", self._asked)
        self.go("")

    def _asked(self, request: Any) -> None:
        inside = unquote(request.url).startswith(self.made.folder.as_uri()) or request.url == "about:blank"
        self.heard += [] if inside else [request.url]

    def go(self, address: str) -> None:
        self.page.goto("about:blank")
        self.page.goto((self.made.folder / "index.html").as_uri() + address)
        self.page.wait_for_selector("body[data-ready=all]")

    @property
    def shown(self) -> int:
        return int(self.page.locator("body").get_attribute("data-shown"))

    def wait(self, n: int) -> None:
        self.page.wait_for_selector(f'body[data-shown="{n}"]', timeout=10_000)

    def close(self) -> None:
        assert self.heard == []
        self.page.close()


def test_filters_count_and_stand_in_the_address(browser: Any, both: Content) -> None:
    desk = Desk(browser, both)
    page = desk.page
    assert desk.shown == both.listed["lines"] == 112
    page.locator("#filters summary").click()
    missed = len(both.signed("missed"))
    option = page.locator("li", has_text="A crisis was missed")
    assert option.locator(".n").inner_text() == str(missed)
    option.locator("input").check()
    desk.wait(missed)
    assert page.evaluate("location.hash") == "#sign=missed"
    label = both.listed["systems"][1]["label"]
    page.locator("li", has_text=label).locator("input").check()
    systems = both.numbers("system")
    wanted = len([line for line in both.signed("missed") if systems[line] == 1])
    desk.wait(wanted)
    assert page.locator("li", has_text=label).locator(".n").inner_text() == str(wanted)
    first = page.locator("#list .words").first.inner_text()
    desk.go(page.evaluate("location.hash"))
    assert (desk.shown, page.locator("#list .words").first.inner_text()) == (wanted, first)
    page.locator("#count button", has_text="Show all").click()
    desk.wait(112)
    desk.close()


def test_a_verdict_is_filtered_by_criterion_level_and_rater(browser: Any, judged: Content) -> None:
    desk = Desk(browser, judged)
    (section,) = judged.listed["sections"]
    name = section["criteria"][0]["name"]
    desk.go(f"#criterion={name}&level=1&by=Anna")
    by_anna = desk.shown
    desk.go(f"#criterion={name}&level=1")
    assert 0 < by_anna < desk.shown < judged.listed["lines"]
    desk.page.locator("#filters summary").click()
    assert desk.page.locator("#by").input_value() == ""
    desk.go("#criterion=nothing&level=1")
    assert desk.shown == judged.listed["lines"], "an unknown criterion filters nothing"
    desk.close()


def test_a_search_finds_words_in_messages_and_replies_in_any_case_and_in_chinese(browser: Any, both: Content) -> None:
    desk = Desk(browser, both)

    def holding(word: str) -> int:
        n = 0
        for _, texts, place in both.texts:
            group = next(g for g in reversed(texts["groups"]) if g["first"] <= place)
            said = [text for _, text, _ in group["messages"]] + [texts["replies"][place] or ""]
            n += any(word.casefold() in text.casefold() for text in said)
        return n

    for word in ("HEAR HOW HARD", "难受"):
        desk.page.keyboard.press("/")
        desk.page.keyboard.type(word)
        desk.page.wait_for_function(
            "word => new URLSearchParams(location.hash.slice(1)).get('q') === word && document.body.dataset.searched === '1'",
            arg=word,
        )
        assert desk.shown == holding(word) > 0
        desk.page.keyboard.press("Escape")
        desk.page.keyboard.press("Enter")
        desk.page.wait_for_selector("body[data-open]")
        desk.page.locator("mark.hit").first.wait_for(state="visible")
        desk.page.keyboard.press("Escape")
        desk.page.wait_for_selector("body:not([data-open])")
        desk.page.locator("#query").fill("")
        desk.wait(both.listed["lines"])
        desk.page.keyboard.press("Escape")
    desk.close()


def test_the_keyboard_goes_through_the_lines_and_opens_them(browser: Any, judged: Content) -> None:
    desk = Desk(browser, judged)
    page = desk.page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "list"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    active = page.locator("#list").get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-posinset") == "3"
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-open]")
    opened = page.evaluate("location.hash")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.locator(".bubble.reply").wait_for(state="visible")
    page.locator("table.judged").wait_for(state="visible")
    page.keyboard.press("k")
    page.wait_for_function("before => location.hash !== before", arg=opened)
    page.keyboard.press("Escape")
    page.wait_for_selector("body:not([data-open])")
    assert page.evaluate("document.activeElement.id") == "list"
    page.keyboard.press("End")
    active = page.locator("#list").get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-posinset") == str(desk.shown)
    assert page.locator("#list [role=option]").count() < 60, "few of the lines are drawn"
    desk.close()


def test_an_opened_line_shows_dialogue_reply_and_one_table_of_verdicts_harms_first(
    browser: Any, vetoed: Content
) -> None:
    desk = Desk(browser, vetoed)
    page = desk.page
    page.locator("#list [role=option]").first.click()
    page.wait_for_selector("body[data-open]")
    assert page.locator("table.judged").count() == 1
    criteria = page.locator("table.judged .what").all_inner_texts()
    harms = [c["words"] for c in vetoed.listed["sections"][0]["criteria"] if c["harm"]]
    assert [name.casefold() for name in criteria[: len(harms)]] != [] and {
        name.casefold() for name in criteria[: len(harms)]
    } == set(harms)
    minimising = page.locator("table.judged tbody", has_text="Minimising")
    assert minimising.locator(".level strong").all_inner_texts().count("yes") >= 2
    page.locator(".meaning summary").first.click()
    page.locator(".meaning dd").first.wait_for(state="visible")
    page.locator("button", has_text="Plain text").click()
    assert page.locator(".bubble.reply .markdown").count() == 0
    desk.close()


def test_a_dialogue_opens_at_its_turn(browser: Any, dialogues: Content) -> None:
    desk = Desk(browser, dialogues, viewport={"width": 1280, "height": 500})
    page = desk.page
    page.locator("#list [role=option]", has_text="turn 4").first.click()
    page.wait_for_selector("body[data-open]")
    assert page.locator(".opened-turn").count() == 1
    assert page.locator(".opened-turn").evaluate(
        "e => { const b = e.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight; }"
    )
    assert page.locator(".dialogue svg").count() == 1
    assert page.locator(".bubble").count() >= 8
    desk.close()


@pytest.mark.parametrize(
    ("width", "scheme"),
    [later(360, "dark"), (360, "light"), later(768, "light"), later(768, "dark"), (1280, "dark"), later(1280, "light")],
)
def test_it_fits_and_axe_finds_nothing(browser: Any, both: Content, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    desk = Desk(browser, both, viewport={"width": width, "height": 800}, color_scheme=scheme)
    for address in ("", f"#open={_key(both, next(iter(both.signed('contested'))))}"):
        desk.go(address)
        desk.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        violations = Axe().run(desk.page, options={"preload": False}).response["violations"]
        assert [(fault["id"], node["html"][:120]) for fault in violations for node in fault["nodes"]] == []
        assert desk.page.evaluate("document.documentElement.scrollWidth") <= width
    desk.close()


def _key(made: Content, line: int) -> str:
    import base64

    return base64.b64decode(made.listed["keys"])[6 * line : 6 * line + 6].hex()


def test_what_others_wrote_is_text_and_nothing_else(browser: Any, hostile: Content) -> None:
    desk = Desk(browser, hostile)
    page = desk.page
    assert desk.shown == len(ATTACKS)
    page.locator("#filters summary").click()
    for line in range(len(ATTACKS)):
        page.evaluate("key => { location.hash = `open=${key}`; }", _key(hostile, line))
        page.wait_for_selector(f'body[data-open="{_key(hostile, line)}"]')
        page.evaluate("document.querySelectorAll('#opened details').forEach(d => d.open = true)")
        plain = page.locator("button", has_text="Plain text")
        plain.click()
        plain.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.evaluate("location.hash = 'q=evil.example'")
    page.wait_for_function("document.body.dataset.searched === '1' && location.hash === '#q=evil.example'")
    page.goto(
        f"{(hostile.folder / 'index.html').as_uri()}#q=%3Cscript%3Ewindow.ran=20%3C/script%3E&system=%22%3E%3Cimg%20src=x%20onerror=window.ran=21%3E&open=../../x"
    )
    page.wait_for_selector("body[data-ready=all]")
    assert page.evaluate("typeof window.ran") == "undefined"
    assert page.locator("#opened a[href^='http'], img, iframe, base, object, embed, form:not(#search)").count() == 0
    assert page.evaluate(
        "[...document.scripts].every(s => s.src.startsWith(location.href.replace(/index.html.*/, '')))"
    )
    desk.close()


def test_a_sink_for_markup_is_barred_by_the_page_itself(browser: Any, both: Content) -> None:
    desk = Desk(browser, both)
    barred = desk.page.evaluate(
        "(() => { try { document.body.innerHTML = '<b>x</b>'; return ''; } catch (error) { return error.name; } })()"
    )
    assert barred == "TypeError"
    assert any("TrustedHTML" in text for text in desk.heard)
    desk.page.close()


@pytest.mark.long
def test_paper_shows_the_opened_reply_alone(browser: Any, judged: Content) -> None:
    desk = Desk(browser, judged)
    desk.page.locator("#list [role=option]").first.click()
    desk.page.wait_for_selector("body[data-open]")
    desk.page.emulate_media(media="print")
    assert desk.page.locator(".bubble.reply").is_visible()
    assert not desk.page.locator("#list").is_visible() and not desk.page.locator(".tools").is_visible()
    desk.close()
