"""The pictures in README and documents: parts of a real report, of the run of `sample_run`, in a real browser."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import mindgauge
from docs_build import sample_run
from docs_build.shown import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable

LESSONS = Path(__file__).parent.parent / "docs" / "lessons"
WIDTH = 1280
LARGEST = 250_000
"""Bytes of a picture."""
COLOURS = 128
NOTE = 72
"""Pixels below the first table, for the line that says what is the same in every row."""


def take() -> None:
    """Take every picture; without Chromium those that are there stay, and that is said."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.stderr.write("no chromium here: the pictures stay as they are\n")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run = sample_run.make(Path(folder) / SAMPLE)
        files = mindgauge.report([run], reader=True)
        browser = playwright.chromium.launch(executable_path=chromium)
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, reduced_motion="reduce")
        for name, picture in PICTURES.items():
            page.goto((files.path.parent / picture.page).as_uri())
            _save(picture.shot(page), LESSONS / name)
        browser.close()


def _first_screen(page: Any) -> bytes:
    """Take the page from its top to the end of its first table, with the line below it."""
    shown = page.locator("#answer .scroll >> visible=true").first.bounding_box()
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": shown["y"] + shown["height"] + NOTE}
    return bytes(page.screenshot(clip=clip, full_page=True))


def _clinical(page: Any) -> bytes:
    """Take the section of a clinician's questions, as wide as its text."""
    shown = page.locator("#clinical").bounding_box()
    clip = {"x": 0, "y": shown["y"] + 40, "width": 860, "height": shown["height"] - 16}
    return bytes(page.screenshot(clip=clip, full_page=True))


def _opened(page: Any) -> bytes:
    """Take the reader with its gravest line open."""
    page.locator("#list").press("Enter")
    page.wait_for_timeout(500)
    return bytes(page.screenshot())


class Picture(NamedTuple):
    """Of which page of a report it is, and how it is taken there."""

    page: str
    shot: Callable[[Any], bytes]


PICTURES = {
    "report.png": Picture("report.html", _first_screen),
    "report_clinician.png": Picture("report.html", _clinical),
    "report_reply.png": Picture("report_reader/index.html", _opened),
}


def _save(taken: bytes, path: Path) -> None:
    """Keep a picture in few colours, as its pages have few."""
    from PIL import Image

    image = Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes, more than {LARGEST:,}")


if __name__ == "__main__":
    take()
