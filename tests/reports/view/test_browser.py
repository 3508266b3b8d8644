"""The served reader in a real browser: a person agrees, disagrees, reads and answers blind, and nothing that others wrote runs."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.records import Rating, Status
from mindgauge.records.drawn import IN_SIGHT
from mindgauge.store import Store, reading
from tests.chromium import CHROMIUM
from tests.reports import conftest as planted
from tests.reports import crisis
from tests.reports.reader.conftest import ATTACKS, attacked
from tests.reports.view.conftest import Visit, begun, visiting
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.is_file(), reason="needs Debian's chromium at /usr/bin/chromium"),
]
WORD = "minimising"
LOST = "Failed to load resource"


class Window:
    """A browser that came in by the link, and all that its pages asked for or complained of."""

    def __init__(self, browser: Any, visit: Visit, **view: Any) -> None:
        self.visit = visit
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **view})
        self.heard: list[str] = []
        self.page = self.tab()

    def tab(self, address: str = "") -> Any:
        page = self.context.new_page()
        page.on("console", lambda message: self.heard.append(message.text))
        page.on("pageerror", lambda error: self.heard.append(str(error)))
        page.on("request", self._asked)
        page.goto(self.visit.link + address)
        page.wait_for_selector("body[data-ready=all][data-state=ready]")
        return page

    def _asked(self, request: Any) -> None:
        self.heard += [] if request.url.startswith(f"{self.visit.base}/") else [request.url]

    def open(self, key: str, page: Any = None) -> Any:
        """Open a line, and return its form."""
        page = page or self.page
        page.evaluate("key => { location.hash = `open=${key}`; }", key)
        page.wait_for_selector(f'body[data-answering="{key}"]')
        return page.locator(".answering")

    def close(self) -> None:
        assert [text for text in self.heard if LOST not in text] == []
        self.context.close()


def ratings(run: Path, rater: str, name: str = crisis.NAME) -> list[Rating]:
    with Store(run) as store:
        return [rating for rating in store.ratings(name) if rating.rater == rater]


def choose(fieldset: Any, level: str) -> None:
    """Choose a level by its word."""
    fieldset.locator("label").filter(has_text=re.compile(f"^{level}( –|$)")).click()


def test_i_disagree_a_level_and_a_note_are_a_rating_in_the_run(browser: Any, tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), judges=("fair/judge",), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo") as visit:
        window = Window(browser, visit)
        key = visit.keys[0]
        form = window.open(key)
        assert "You answer as Cleo" in window.page.locator(".kicker").inner_text()
        form.get_by_role("button", name="I disagree").click()
        choose(form.locator("fieldset", has_text="Minimising"), "yes")
        form.get_by_label("Note").fill("It passes over what was said.\n<b>so</b>")
        window.page.keyboard.press("Control+Enter")
        form.get_by_role("button", name="Change").wait_for()
        assert "Saved." in form.inner_text() and "Kept under the name Cleo" in form.inner_text()
        assert form.locator(".own-note").inner_text() == "It passes over what was said.\n<b>so</b>"
        assert "1 of 80 answered" in window.page.locator("#progress").inner_text()
        window.page.locator("#list .mark.own").wait_for()
        assert window.page.locator("#list .mark.own").all_inner_texts() == ["answered by you"]
        (rating,) = ratings(run, "Cleo")
        assert (rating.criterion, rating.value, rating.status) == (WORD, "yes", Status.OK)
        assert rating.rationale.endswith("<b>so</b>") and rating.provenance["selection"] == IN_SIGHT
        assert rating.provenance["verdicts"] == {"fair/judge": rating.provenance["verdicts"]["fair/judge"]}
        form.get_by_role("button", name="Delete").click()
        assert len(ratings(run, "Cleo")) == 1, "one press deletes nothing"
        form.get_by_role("button", name="Delete for good").click()
        form.get_by_role("button", name="I agree").wait_for()
        assert ratings(run, "Cleo") == []
        window.close()


@pytest.mark.long
def test_a_press_agrees_with_all_that_the_judges_say_and_goes_on_by_keys(browser: Any, tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), judges=("fair/judge",), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo") as visit:
        window = Window(browser, visit)
        form = window.open(visit.keys[0])
        window.page.keyboard.press("a")
        form.get_by_role("button", name="Next").wait_for()
        window.page.keyboard.press("Enter")
        window.page.wait_for_function("key => document.body.dataset.answering !== key", arg=visit.keys[0])
        window.page.keyboard.press("d")
        window.page.locator(".answering fieldset").first.wait_for()
        assert window.page.evaluate("document.activeElement.type") == "radio"
        window.page.keyboard.type("j")
        assert window.page.locator(".answering fieldset").count() > 1, "a letter in a form leads nowhere"
        given = {rating.criterion: rating for rating in ratings(run, "Cleo")}
        with Store(run) as store:
            (subject,) = {rating.subject for rating in given.values()}
            beside = store.ratings_of(crisis.NAME, [subject])[subject]
        judged = {rating.criterion: rating.value for rating in beside if rating.rater == "fair/judge"}
        assert {name: rating.value for name, rating in given.items()} == judged
        assert all(r.provenance["agreed"] and r.provenance["beside"] == "agree" for r in given.values())
        window.close()


@pytest.mark.long
def test_where_judges_differ_nobody_agrees_with_one_press(browser: Any, tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo") as visit:
        subjects = visit.subjects()
        with Store(run) as store:
            values: dict[str, set[object]] = {}
            for rating in store.ratings(crisis.NAME):
                if rating.criterion == WORD:
                    values.setdefault(rating.subject, set()).add(rating.value)
        split = next(key for key, subject in subjects.items() if len(values[subject]) > 1)
        window = Window(browser, visit)
        form = window.open(split)
        window.page.keyboard.press("a")
        form.get_by_role("alert").wait_for()
        assert "no one verdict" in form.get_by_role("alert").inner_text() and ratings(run, "Cleo") == []
        assert form.locator("input:checked").count() == 0
        window.close()


def test_what_is_drawn_is_answered_before_anything_tells_of_judges_or_models(browser: Any, tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo", "--draw", "10", "--random", "5") as visit:
        window = Window(browser, visit)
        assert window.page.locator("#list [role=option]").count() == 10
        form = window.open(visit.keys[0])
        seen = window.page.content()
        assert not any(name in seen for name in (*crisis.MODELS, "fair/judge"))
        assert form.get_by_role("button", name="I agree").count() == 0
        form.get_by_role("button", name="Save").click()
        form.get_by_role("alert").wait_for()
        assert "choose a level" in form.get_by_role("alert").inner_text()
        for fieldset in form.locator("fieldset").all():
            choose(fieldset, "no")
        form.get_by_role("button", name="Save").click()
        form.locator(".revealed").wait_for()
        assert "fair/judge" in form.inner_text() and "The reply is by" in form.inner_text()
        form.get_by_role("button", name="Change").click()
        choose(form.locator("fieldset").first, "yes")
        form.get_by_role("button", name="Save").click()
        form.get_by_text("Your first answer").wait_for()
        assert {str(rating.value) for rating in ratings(run, "Cleo")} == {"no"}
        assert all(rating.provenance["blind"] for rating in ratings(run, "Cleo"))
        window.close()


@pytest.mark.long
def test_what_was_open_and_in_sight_is_read_and_stays_read(browser: Any, tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo") as visit:
        window = Window(browser, visit)
        first, second, third, *_ = visit.keys
        window.open(first)
        window.page.wait_for_timeout(1000 * reading.ENOUGH + 500)
        window.open(second)
        window.page.wait_for_timeout(700)
        with window.page.expect_response("**/read"):
            window.open(third)
        window.page.wait_for_function("document.getElementById('progress').textContent.includes('1 read')")
        window.open(first)
        window.page.locator("#list [aria-selected=true] .mark.own").wait_for()
        assert window.page.locator("#list .mark.own").all_inner_texts() == ["read"]
        again = window.tab()
        assert "0 of 80 answered, 1 read" in again.locator("#progress").inner_text()
        window.close()
    seconds = sorted(readers["Cleo"] for readers in reading.seconds_by_reader(run).values())
    assert seconds[0] < reading.ENOUGH <= seconds[-1] < 20 and len(reading.read_subjects(run)) == 1


@pytest.mark.long
def test_two_tabs_and_what_was_typed_when_the_server_stopped(browser: Any, tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), judges=("fair/judge",), criteria=crisis.FEW)
    with begun(run, "--as", "Cleo") as (process, visit):
        window = Window(browser, visit)
        other = window.tab()
        key = visit.keys[0]
        for page, level in ((window.page, "yes"), (other, "no")):
            form = window.open(key, page)
            form.get_by_role("button", name="I disagree").click()
            choose(form.locator("fieldset", has_text="Minimising"), level)
        for page in (window.page, other):
            page.locator(".answering").get_by_role("button", name="Save").click()
            page.locator(".answering").get_by_role("button", name="Change").wait_for()
        (rating,) = ratings(run, "Cleo")
        assert rating.value == "no" and rating.provenance["earlier"][0]["given"]["value"] == "yes"
        form = window.open(visit.keys[1])
        form.get_by_role("button", name="I disagree").click()
        form.get_by_label("Note").fill("typed before it stopped")
        window.open(visit.keys[2])
        form = window.open(visit.keys[1])
        assert form.get_by_label("Note").input_value() == "typed before it stopped", "a draft waits"
        choose(form.locator("fieldset", has_text="Minimising"), "no")
        process.send_signal(signal.SIGINT)
        process.wait(30)
        form.get_by_role("button", name="Save").click()
        form.get_by_role("alert").wait_for()
        assert "was stopped" in form.get_by_role("alert").inner_text()
        assert form.get_by_label("Note").input_value() == "typed before it stopped"
        window.heard = [text for text in window.heard if "ERR_" not in text]
        window.close()


def test_what_others_wrote_is_text_also_where_people_answer(browser: Any, tmp_path: Path) -> None:
    run = attacked(tmp_path / "run")
    with visiting(run, "--as", "<script>window.ran=30</script>") as visit:
        window = Window(browser, visit)
        page = window.page
        for number, key in enumerate(visit.keys):
            form = window.open(key)
            page.evaluate("document.querySelectorAll('#opened details').forEach(d => d.open = true)")
            if number < 4:
                form.locator(".agree, .disagree").last.click()
                form.locator("input[type=radio]").first.check()
                form.get_by_label("Note").fill(ATTACKS[number] * 3)
                form.get_by_role("button", name="Save").click()
                form.get_by_role("button", name="Next").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        assert page.evaluate("typeof window.ran") == "undefined"
        assert page.locator("#opened a[href^='http'], img, iframe, base, object, embed").count() == 0
        assert page.evaluate("[...document.scripts].every(s => new URL(s.src).origin === location.origin)")
        barred = page.evaluate("fetch('http://127.0.0.1:1/x').then(() => '', error => error.name)")
        assert barred == "TypeError"
        window.heard = [text for text in window.heard if "127.0.0.1:1/x" not in text]
        window.close()
    given = ratings(run, "<script>window.ran=30</script>", planted.OPEN)
    assert len(given) == 4 and all(rating.rationale for rating in given)


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), later(768, "light"), later(1280, "light")])
def test_the_form_fits_and_axe_finds_nothing(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo") as visit:
        window = Window(browser, visit, viewport={"width": width, "height": 800}, color_scheme=scheme)
        form = window.open(visit.keys[0])
        for name in ("", "I disagree", "Save", "Change"):
            if name == "Save":
                form.locator("input[type=radio]").first.check()
            if name:
                form.get_by_role("button", name=name).click()
                form.get_by_role("button", name="Change" if name == "Save" else "Save").wait_for()
            faults = Axe().run(window.page, options={"preload": False}).response["violations"]
            assert [(fault["id"], node["html"][:120]) for fault in faults for node in fault["nodes"]] == [], name
            assert window.page.evaluate("document.documentElement.scrollWidth") <= width
        window.close()
