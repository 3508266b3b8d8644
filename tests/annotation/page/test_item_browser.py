"""The labelling page in a real browser: by keys alone, with words marked, offline, without a script, and through axe-core."""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import uvicorn

import mindgauge
from mindgauge.annotation import people
from mindgauge.annotation.page.serve import create_app
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Item
from mindgauge.annotation.web.serving import listen
from mindgauge.records import Message
from tests.annotation.conftest import begin, own_items
from tests.annotation.page.visiting import here
from tests.chromium import CHROMIUM
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.is_file(), reason="needs Debian's chromium at /usr/bin/chromium"),
]
SELECT = """quote => { const block = [...document.querySelectorAll('.said')].find(b => b.textContent.includes(quote));
  const at = block.textContent.indexOf(quote);
  getSelection().setBaseAndExtent(block.firstChild, at, block.firstChild, at + quote.length); }"""
CHINESE = Item(
    "zh1",
    (Message("user", "这一个月我总是睡不着。"),),
    "别多想，早点休息就好。" + "好" * 200 + " " + "w" * 200,
    {"language": "zh"},
    batch=1,
)


@pytest.fixture
def opened(tmp_path: Path, browser: Any) -> Iterator[Callable[..., tuple[Annotation, Any]]]:
    """Serve a project, and let ana in."""
    ends: list[Callable[[], None]] = []
    heard: list[str] = []

    def start(instrument: str | Annotation = "dialogue_safety", *items: Item, **context: Any) -> tuple[Annotation, Any]:
        if isinstance(instrument, str):
            project = begin(tmp_path / "project", items=items or own_items(4), instrument=instrument)
        else:
            project = instrument
        taken = listen("127.0.0.1", 0)
        port = taken.getsockname()[1]
        app = create_app(project, port=port)
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False))
        thread = threading.Thread(target=server.run, args=([taken],))
        thread.start()
        while not server.started:
            time.sleep(0.02)
        window = browser.new_context(base_url=here(project, port), viewport={"width": 1280, "height": 800}, **context)

        def end() -> None:
            window.close()
            server.should_exit = True
            thread.join()
            taken.close()
            project.close()

        ends.append(end)
        page = window.new_page()
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("console", lambda message: heard.append(message.text))
        page.goto(f"/join/{people.invite(project, project.named('ana').id)}")
        page.locator('form[action="/join"] button').click()
        page.locator('form[action="/notice"] button').click()
        page.wait_for_url("**/item")
        return project, page

    yield start
    for end in ends:
        end()
    assert [line for line in heard if "Failed to load resource" not in line] == []


def pressed(page: Any, *keys: str) -> None:
    """Press keys that each hand something in."""
    for key in keys:
        with page.expect_navigation():
            page.keyboard.press(key)


def faults(page: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{fault['id']}: {node['html'][:160]}" for fault in found for node in fault["nodes"]]


VIEWS = list(itertools.product((1280, 360), ("light", "dark")))


@pytest.fixture(params=[VIEWS[::3], later(VIEWS)], ids=["two views", "all views"])
def looked(request: pytest.FixtureRequest) -> Callable[[Any], None]:
    """Look at a page wide and light, and narrow and dark; in the long form in all four views."""

    def look(page: Any) -> None:
        for width, scheme in request.param:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert faults(page) == []
        page.set_viewport_size({"width": 1280, "height": 800})
        page.emulate_media(color_scheme="light")

    return look


@pytest.mark.long
def test_an_item_takes_as_many_keys_as_questions(opened: Any) -> None:
    project, page = opened()
    pressed(page, "2", "2", "1", "c")
    assert [label.given for label in project.labels()] == ["Linguistic Neglect", "cannot_tell"]
    page.wait_for_load_state()
    assert "Item 3 of 4" in page.title()
    pressed(page, "u")
    assert "Item 2 of 4" in page.title()
    pressed(page, "s", "1")
    assert [label.given for label in project.labels()][-1] == "Nonsense"


@pytest.mark.long
def test_the_next_question_on_an_item_stands_where_the_last_one_stood(opened: Any) -> None:
    turns = tuple(
        Message("user" if n % 2 == 0 else "assistant", f"Turn {n}. " + "Still the same. " * 30) for n in range(9)
    )
    _, page = opened("dialogue_safety", Item("i1", turns, "I see.", {"language": "en"}, batch=1))
    page.locator(".choices").scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    assert before > 500
    pressed(page, "2")
    page.wait_for_function("document.activeElement.id === 'question'")
    assert page.evaluate("scrollY") == before
    pressed(page, "1")
    page.wait_for_load_state()
    assert page.evaluate("scrollY") == 0


def test_a_form_is_filled_and_handed_in_by_keys(opened: Any, looked: Any) -> None:
    item = Item("i1", (Message("user", "It has been a hard month."),), "That sounds hard.", {"language": "en"}, batch=1)
    project, page = opened("mentalbench", item)
    page.keyboard.press("Enter")  # not complete
    assert project.labels() == []
    page.locator("h1").click()
    for key in ("6", "2", "3", "c", "5", "1"):
        page.keyboard.press(key)
    assert page.locator("fieldset:focus-within legend").text_content() == "understanding"
    page.keyboard.press("4")
    page.keyboard.press("ArrowDown")  # the button has the focus; the radios stay
    page.keyboard.press("n")
    page.keyboard.type("c 1 s ?")
    page.keyboard.press("Escape")
    looked(page)
    pressed(page, "Enter")
    given = [label.given for label in sorted(project.labels(), key=lambda label: label.number)]
    assert given == ["not_applicable", 2, 3, "cannot_tell", 5, 1, 4]
    assert project.labels()[0].note == "c 1 s ?"


@pytest.mark.long
def test_a_key_that_comes_too_early_answers_nothing(opened: Any) -> None:
    project, page = opened()
    page.keyboard.press("2")
    page.keyboard.press("1")  # the next question is not there yet
    page.wait_for_url("**/item")
    page.locator(".steps").wait_for()
    page.wait_for_timeout(500)
    paths = [label.path for label in project.labels()]
    assert paths in ([], [((0, "no"), (1, "Humanoid Mimicry"))])


@pytest.mark.long
def test_single_keys_can_be_switched_off_and_stay_off(opened: Any, looked: Any) -> None:
    project, page = opened()
    page.keyboard.press("?")
    looked(page)
    page.locator("#keys-on").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.reload()
    page.keyboard.press("1")
    page.keyboard.press("s")
    page.wait_for_timeout(300)
    assert project.labels() == []
    assert "Item 1 of 4" in page.title()
    page.locator('button[value="Nonsense"]').focus()
    pressed(page, "Enter")  # the keyboard as such works as ever
    assert len(project.labels()) == 1


def test_selected_words_are_marked_listed_and_taken_off(opened: Any, looked: Any) -> None:
    project, page = opened()
    item = next(one for one in project.items() if one.id == page.locator("[name=item]").first.input_value())
    reply, turn = " ".join(item.reply.split()[:3]), " ".join(item.messages[0].content.split()[:2])
    for quote in (reply, turn):
        page.evaluate(SELECT, quote)
        page.locator("#mark").click()
    assert page.locator(".marks q").all_text_contents() == [reply, turn]
    with page.expect_response("**/draft") as saved:
        page.get_by_role("button", name=f"Remove: {reply}").click()
    assert saved.value.status == 204
    page.reload()
    assert page.locator(".marks q").all_text_contents() == [turn]
    page.evaluate(SELECT, reply)
    page.keyboard.press("m")
    looked(page)
    pressed(page, "1")
    [label] = project.labels()
    assert [(mark.quote, mark.source, mark.found) for mark in label.evidence] == [
        (turn, "dialogue", True),
        (reply, "reply", True),
    ]


def test_words_are_marked_by_keyboard_alone_in_chinese_too(opened: Any, looked: Any) -> None:
    project, page = opened("dialogue_safety", CHINESE)
    page.keyboard.press("m")
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator("#mark-help").text_content() == "别多想"[: len(page.evaluate("getSelection().toString()"))]
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    quotes = page.locator(".marks q").all_text_contents()
    assert len(quotes) == 2
    assert CHINESE.reply.startswith(quotes[0])
    assert CHINESE.messages[0].content.startswith(quotes[1])
    assert page.locator("#markbar").is_hidden()
    looked(page)
    pressed(page, "1")
    assert all(mark.found for mark in project.labels()[0].evidence)


def test_nothing_is_lost_with_the_connection(opened: Any) -> None:
    project, page = opened()
    page.context.set_offline(True)
    page.locator("#note").fill("typed while the line was dead")
    page.locator("h1").click()
    page.keyboard.press("1")
    page.get_by_text("No connection. Nothing is lost").wait_for()
    assert page.locator("#note").input_value() == "typed while the line was dead"
    assert project.labels() == []
    with page.expect_navigation():
        page.context.set_offline(False)
    [label] = project.labels()
    assert (label.value, label.note) == ("Nonsense", "typed while the line was dead")
    assert page.locator("#note").input_value() == ""


@pytest.mark.long
def test_what_the_server_never_got_is_put_back_after_a_reload(opened: Any) -> None:
    _, page = opened()
    page.route("**/draft", lambda route: route.abort())
    page.locator("#note").fill("only in this browser")
    page.get_by_text("could not be saved").wait_for()
    page.unroute("**/draft")
    page.reload()
    assert page.locator("#note").input_value() == "only in this browser"
    assert page.locator("#status").text_content()


@pytest.mark.long
def test_a_page_older_than_the_work_says_so(opened: Any, looked: Any) -> None:
    project, page = opened()
    other = page.context.new_page()
    other.goto("/item")
    pressed(other, "1")
    page.locator("#note").fill("what I thought")
    page.locator("h1").click()
    pressed(page, "1")
    assert page.locator("h1").text_content() == "This page was older than your work"
    assert page.locator("#typed").input_value() == "what I thought"
    looked(page)
    assert len(project.labels()) == 1


@pytest.mark.long
def test_a_covered_text_stays_as_the_person_wants_it(opened: Any, looked: Any) -> None:
    items = tuple(msgspec.structs.replace(item, graphic=True) for item in own_items(2))
    _, page = opened("dialogue_safety", *items)
    assert page.locator("#reply").is_hidden()
    looked(page)
    page.locator(".cover summary").click()
    page.locator("#reply").wait_for(state="visible")
    pressed(page, "2")
    assert page.locator("#reply").is_visible()
    pressed(page, "1")
    assert page.locator("#reply").is_hidden()  # another item


@pytest.mark.long
def test_training_tells_what_it_was_written_for(opened: Any, looked: Any) -> None:
    own = own_items(2)
    project, page = opened(
        "dialogue_safety", msgspec.structs.replace(own[0], batch=0, expected={"category": "Nonsense"}), own[1]
    )
    pressed(page, "2", "1")
    assert "/training/feedback/" in page.url
    looked(page)
    assert len(project.labels()) == 1


def test_all_of_it_works_without_a_script(opened: Any) -> None:
    project, page = opened(java_script_enabled=False)
    item = next(one for one in project.items() if one.id == page.locator("[name=item]").first.input_value())
    quote = " ".join(item.reply.split()[:3])
    page.locator("#quotes").fill(quote)
    page.locator("#note").fill("by hand")
    page.locator('button[value="no"]').click()
    page.locator('button[value="Humanoid Mimicry"]').click()
    [label] = project.labels()
    assert (label.value, label.note, label.evidence[0].quote, label.evidence[0].found) == (
        "Humanoid Mimicry",
        "by hand",
        quote,
        True,
    )
    page.locator(".hand-on summary").click()
    page.locator('form[action="/item/hand-on"] button').click()
    page.wait_for_load_state()
    assert "Item 3 of 4" in page.title()


def test_a_turn_is_chosen_in_the_dialogue_and_a_side_folded(opened: Any, looked: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    mindgauge.run(
        "conversations/risk", model=mindgauge.Function(lambda message: f"我听见了：{message}", name="m"), turns=4, limit=1,
        where={"language": ("zh",)}, out=run,
    )  # fmt: skip
    mindgauge.annotate_new(tmp_path / "work", items=run, annotators=["ana", "ben"], training=0)
    project, page = opened(Annotation.open(tmp_path / "work"))
    looked(page)
    messages = page.locator(".assistant .said:visible"), page.locator(".user .said:visible")
    assert [side.count() for side in messages] == [4, 4]
    page.locator("#show-both").focus()
    page.keyboard.press("ArrowDown")
    assert [side.count() for side in messages] == [0, 4]
    page.keyboard.press("ArrowDown")
    assert [side.count() for side in messages] == [4, 0]
    page.keyboard.press("m")  # what is folded cannot be marked
    assert [side.count() for side in messages] == [4, 4]
    page.keyboard.press("Escape")
    with page.expect_navigation():
        page.get_by_role("button", name="It is first plain here (turn 3)").click()
    page.wait_for_load_state()
    looked(page)
    page.locator(".steps a").click()
    page.wait_for_load_state()
    assert page.locator(".here [aria-current]").text_content().endswith("(turn 3)")
    pressed(page, "0")
    page.wait_for_load_state()
    page.locator("h1").click()
    for _ in range(page.locator("fieldset.question").count()):
        page.keyboard.press("c")
    pressed(page, "Enter")
    given = {label.criterion: label.given for label in project.labels()}
    assert given.pop("plain_turn") == "never"
    assert set(given.values()) == {"cannot_tell"} and len(given) >= 5
