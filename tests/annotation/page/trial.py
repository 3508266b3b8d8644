"""Three people, each with a browser of their own, label 8 dialogues at the same time; a fourth decides what is left.

What everybody answers is written down here, so that the gate fails when they label alone and when they look again, and is
reached when they have talked. On the way every page is looked at: two widths, light and dark, English and Chinese.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge import benchmarks
from mindgauge.annotation.labels import NO
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Phase
from mindgauge.records import RaterKind, Rating, Sample, Status
from mindgauge.store import Store, manifest
from tests.annotation.page.visiting import here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NAME = "dialogue_safety"
JUDGE = "acme/judge-1"
ITEMS, GATE = 8, 0.8
ANNOTATORS, ADJUDICATOR = ("ana", "ben", "chi"), "dana"
RUBRIC = benchmarks.find_one(NAME).rubric
[CATEGORY] = RUBRIC.criteria
LANGUAGES = ("en", "zh")
VIEWS = {
    "en": ((1280, "light"), (360, "dark")),
    "zh": ((360, "light"),),
}
"""Language → widths in pixels and colour schemes in which a page is looked at."""
ALL = tuple((language, view) for language in LANGUAGES for view in VIEWS[language])
REMARK = "I read it once more. The reply passes over what was asked; do you see it, too?"


def samples() -> list[Sample]:
    """Our own dialogues, of all categories."""
    english = [sample for sample in benchmarks.find_one(NAME).samples(None) if sample.tags["language"] == "en"]
    return english[:: len(english) // ITEMS][:ITEMS]


def begin(folder: Path) -> Path:
    """Write a run in which a judge has rated all of them: four of five rightly."""
    with Store(folder, write=True) as store:
        manifest.begin(folder, {"benchmarks": [NAME], "models": [JUDGE], "runs": 1}, f"mindgauge run {NAME}")
        store.put_samples(NAME, samples())
        for item in TRUE:
            rating = Rating(item, CATEGORY.name, JUDGE, RaterKind.MODEL, 0, Status.OK, judged(item))
            store.add_rating(NAME, rating)
    return folder


def other(value: Any, steps: int) -> str:
    """Another category, so many places on."""
    return str(CATEGORY.values[(CATEGORY.values.index(value) + steps) % len(CATEGORY.values)])


# -- what everybody answers -------------------------------------------------------------------------------------------

PLACES = {sample.id: place for place, sample in enumerate(samples())}
TRUE = {sample.id: str(sample.target) for sample in samples()}


def judged(item: str) -> str:
    """What the judge said: four of five rightly."""
    return other(TRUE[item], 3) if PLACES[item] % 5 == 4 else TRUE[item]


def alone(name: str, item: str) -> str:
    """What is answered first: on one item of three everybody says something else."""
    return TRUE[item] if PLACES[item] % 3 else other(TRUE[item], ANNOTATORS.index(name))


def again(name: str, item: str) -> str:
    """What is answered on a second look: on one item of five all come round, else all stay with what they said."""
    return alone(name, item) if PLACES[item] % 5 else TRUE[item]


def talked(name: str, item: str) -> str:
    """What is answered after a talk: on one item of six all stay with what they said."""
    return TRUE[item] if PLACES[item] % 6 else again(name, item)


# -- a server and its browsers ----------------------------------------------------------------------------------------


class Server:
    """`mindgauge annotate serve` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        with Annotation.open(folder) as opened:
            self.base = here(opened, self.port)
        self.said = folder.with_suffix(".log")
        with self.said.open("wb") as log:
            self._process = subprocess.Popen(
                [mindgauge(), "annotate", "serve", str(folder), "--port", str(self.port)], stdout=log, stderr=log
            )
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self._process.poll() is None, self.said.read_text()
            time.sleep(0.05)
        raise AssertionError(self.said.read_text())

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()


def mindgauge() -> str:
    return str(Path(sys.executable).with_name("mindgauge"))


def command(*arguments: object) -> Any:
    """Run a command; return the JSON that it writes."""
    done = subprocess.run(
        [mindgauge(), *map(str, arguments), "--json"], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Desk:
    """One person at a browser. `keys` uses no mouse; on a phone the page is as narrow as that."""

    def __init__(
        self, browser: Any, base: str, name: str, *, keys: bool = False, width: int = 1280, **context: Any
    ) -> None:
        self.name, self.keys, self.width = name, keys, width
        self.context = browser.new_context(base_url=base, viewport={"width": width, "height": 800}, **context)
        self.page = self.context.new_page()
        self.heard: list[str] = []
        self.page.on("console", lambda message: self.heard.append(message.text))
        self.page.on("pageerror", lambda error: self.heard.append(str(error)))
        self.page.on(
            "request", lambda request: None if request.url.startswith(base) else self.heard.append(request.url)
        )

    def press(self, button: Any) -> None:
        """Use a button or a link, and wait for the page that follows."""
        with self.page.expect_navigation():
            self.use(button)

    def use(self, what: Any) -> None:
        """Use a button, a link or a choice: by mouse, or with the key that is usual for it."""
        if not self.keys:
            what.click()
            return
        what.focus()
        self.page.keyboard.press("Space" if what.get_attribute("type") == "radio" else "Enter")

    def item(self, phase: Phase) -> str:
        """The item that is before this person in a phase; empty if there is none."""
        fields = [self.page.locator(f'form#answer input[name="{name}"]') for name in ("item", "phase")]
        item, now = (str(field.input_value()) if field.count() else "" for field in fields)
        return item if now == phase else ""

    def answer(self, level: str) -> None:
        """Answer questions, one screen each, until the level is decided."""
        for node in CATEGORY.nodes:
            value = level if level in node.levels else NO
            choice = self.page.locator(f'button[name="answer"][value="{value}"]')
            with self.page.expect_navigation():
                if self.keys:
                    self.page.keyboard.press(choice.get_attribute("data-key"))
                else:
                    choice.click()
            if value == level:
                return

    def settle(self, level: str) -> None:
        """Say one's last word on an item that is discussed, or decide it."""
        self.use(self.page.locator(f'form#answer input[value="{level}"]'))
        self.press(self.page.locator("form#answer button.main"))


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3]


# -- looking at a page ------------------------------------------------------------------------------------------------


View = tuple[str, tuple[int, str]]
"""Language, width in pixels and colour scheme."""


class Fault(NamedTuple):
    """Something that axe-core, or a look at the widths, found on a page."""

    page: str
    view: str
    what: str


def look(desk: Desk, name: str, views: Iterable[View], pictures: Path | None) -> list[Fault]:
    """Look at the page that is open in some views, and leave it as it was."""
    from axe_playwright_python.sync_playwright import Axe

    found = []
    before = desk.page.locator("html").get_attribute("lang")
    for language, (width, scheme) in views:
        speak(desk, language)
        desk.page.set_viewport_size({"width": width, "height": 800})
        desk.page.emulate_media(color_scheme=scheme)
        view = f"{language} {width} {scheme}"
        found += [
            Fault(name, view, f"{fault['id']}: {node['html'][:120]}")
            for fault in Axe().run(desk.page).response["violations"]
            if fault["impact"] in {"serious", "critical"}
            for node in fault["nodes"]
        ]
        wide = desk.page.evaluate("document.documentElement.scrollWidth")
        found += [Fault(name, view, f"{wide} pixels wide")] if wide > width else []
        if pictures and (width, scheme) in VIEWS["zh"]:
            desk.page.screenshot(path=pictures / f"{name}.{language}.{width}.png", full_page=True)
    speak(desk, str(before))
    desk.page.set_viewport_size({"width": desk.width, "height": 800})
    desk.page.emulate_media(color_scheme="light")
    return found


def speak(desk: Desk, language: str) -> None:
    """Switch the page to a language, if it is in another."""
    button = desk.page.locator(f'form[action="/language"] button[value="{language}"]')
    if button.count() and desk.page.locator("html").get_attribute("lang") != language:
        with desk.page.expect_navigation():
            button.click()


# -- the trial --------------------------------------------------------------------------------------------------------


class Trial:
    """All of it, from the first link to the reliability card."""

    def __init__(self, browser: Any, folder: Path, *, every_view: bool) -> None:
        self.pictures = folder / "pictures" if every_view else None
        if self.pictures:
            self.pictures.mkdir()
        self._turn = itertools.count()
        self.faults: list[Fault] = []
        self.alone: list[tuple[str, str]] = []
        """Who, and the page that they saw, while everybody labelled alone."""
        self.project = folder / "project"
        run = begin(folder / "run")
        made = command(
            "annotate", "new", self.project, "--benchmark", NAME, "--items", run, "--annotators", ",".join(ANNOTATORS),
            "--adjudicator", ADJUDICATOR, "--training", 0, "--batch", ITEMS, "--gate", GATE,
        )  # fmt: skip
        with Annotation.open(self.project) as opened:
            self.subjects = {item.id: item.subject for item in opened.items()}
        self.links = {link["name"]: _path(link["link"]) for link in made["links"]}
        self.server = Server(self.project)
        base = self.server.base
        self.desks = {
            "ana": Desk(browser, base, "ana"),
            "ben": Desk(browser, base, "ben", keys=True),
            "chi": Desk(browser, base, "chi", width=360, locale="zh-CN", has_touch=True),
            ADJUDICATOR: Desk(browser, base, ADJUDICATOR),
            "owner": Desk(browser, base, "owner"),
        }

    def look(self, who: str, name: str, languages: Iterable[str] = LANGUAGES) -> None:
        views = [view for view in ALL if view[0] in languages]
        if not self.pictures:
            views = [views[next(self._turn) % len(views)]]
        self.faults += look(self.desks[who], name, views, self.pictures)

    def come_in(self) -> None:
        for name, desk in self.desks.items():
            desk.page.goto(self.links[name])
            if name == "ana":
                self.look("ana", "join", ("en",))
            if name == "chi":
                self.look("chi", "join", ("zh",))
            desk.press(desk.page.locator('form[action="/join"] button'))
            if name == "ana":
                self.look("ana", "notice")
            notice = desk.page.locator('form[action="/notice"] button')
            if notice.count():
                desk.press(notice)
        speak(self.desks["chi"], "zh")
        speak(self.desks["ben"], "en")

    def label(self, said: Callable[[str, str], str], phase: Phase) -> None:
        """Let all three label, each alone, an item each in turn, until nobody has one."""
        at_work = list(ANNOTATORS)
        for name in at_work:
            self.desks[name].page.goto("/")
        self.look(at_work[0], f"{phase}-first")
        while at_work:
            for name in list(at_work):
                desk = self.desks[name]
                item = desk.item(phase)
                if item:
                    self.alone.append((name, desk.page.content()))
                    desk.answer(said(name, self.subjects[item]))
                    continue
                at_work.remove(name)
                if at_work:
                    self.look(name, f"{phase}-waiting")

    def discuss(self, said: Callable[[str, str], str]) -> None:
        """Let all three open what they disagree on, say something on the first, and then each have a last word."""
        for name in ANNOTATORS:
            desk = self.desks[name]
            desk.page.goto("/")
            if name == "ana":
                self.look("ana", "discussion-list")
            desk.press(desk.page.locator("a.button.main"))
            desk.page.locator('textarea[name="text"]').fill(REMARK)
            desk.press(desk.page.locator('form[action$="/comment"] button'))
        self.look("chi", "discussion-item")
        self.settle(ANNOTATORS, said, Phase.DISCUSSION)

    def decide(self, true: dict[str, str]) -> None:
        """Let one person decide what is left."""
        desk = self.desks[ADJUDICATOR]
        desk.page.goto("/")
        self.look(ADJUDICATOR, "adjudication-list")
        desk.press(desk.page.locator("a.button.main"))
        self.look(ADJUDICATOR, "adjudication-item")
        self.look("ben", "decision-waiting")
        self.settle([ADJUDICATOR], lambda _, item: true[item], Phase.ADJUDICATION)
        for name in ANNOTATORS:
            self.desks[name].page.goto("/")

    def settle(self, names: Iterable[str], said: Callable[[str, str], str], phase: Phase) -> None:
        """Let people go through what is open, in turn: keep their label where they hold it, or give another."""
        at_work = list(names)
        for name in at_work:
            desk = self.desks[name]
            desk.page.goto("/discussion")
            desk.press(desk.page.locator("a.button.main[href^='/discussion/']"))
        while at_work:
            for name in list(at_work):
                desk = self.desks[name]
                item = desk.item(phase)
                if not item:
                    at_work.remove(name)
                    continue
                level = said(name, self.subjects[item])
                keep = desk.page.locator('form[action$="/keep"]:not(:has(textarea)) button')
                if keep.count() and desk.page.locator(f'form#answer input[value="{level}"]').is_checked():
                    desk.press(keep)
                else:
                    desk.settle(level)

    def close(self) -> None:
        for desk in self.desks.values():
            desk.context.close()
        self.server.stop()
