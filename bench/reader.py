"""What the reader of a run takes: to build, to open, to filter, to search.

    python bench/reader.py [--quick] [--run DIR] [--json FILE]

The run is made up, seeded, in the shape of MentalBench: 9 models answer 11,112 messages, which makes 100,008 replies; one
judge rates each on seven criteria, three people rate those to the first 225 messages. `--quick` makes a tenth of it. The
run is kept with `--run`, and used again where it is there. The reader is built in a process of its own, whose peak memory is
the most that the kernel ever counted as resident (`VmHWM`), reading and scoring the run included; the seconds are those of
the reader alone, once the run is open, and those of CPU, which other work on the machine changes less. It is opened in Debian's chromium, from the folder, without a network.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.runs import run_folder
from mindgauge.runs.options import RunConfig
from mindgauge.runs.steps import provenance
from mindgauge.store import Store, manifest
from scale_ratings import BATCH, JUDGES, MODELS, NAME, PEOPLE, Figure, World

MESSAGES, BY_PEOPLE = 11_112, 225
CHROMIUM = "/usr/bin/chromium"
SECONDS_BUILD, MEGABYTES, SECONDS_OPEN, SECONDS_FILTER = 20.0, 1000.0, 1.5, 0.3
_BUILD = """
import json, sys, time
from pathlib import Path
from mindgauge.reports import runs
from mindgauge.reports.reader import folder
run = runs.read(Path(sys.argv[1]), 0)
systems = runs.systems([run])
began, worked = time.perf_counter(), time.process_time()
folder.write(Path(sys.argv[2]), Path("report.html"), "A made-up run", [run], systems)
seconds, worked = time.perf_counter() - began, time.process_time() - worked
peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(json.dumps([seconds, worked, peak / 1024]))
"""
_TIMED = """async (hash) => {
  const began = performance.now();
  location.hash = hash;
  const before = document.body.dataset.drawn;
  while (document.body.dataset.drawn === before) await new Promise((go) => setTimeout(go, 1));
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
  return (performance.now() - began) / 1000; }"""


def build_run(folder: Path, messages: int) -> None:
    """Write the run and its manifest."""
    world = World(messages, BY_PEOPLE)
    plan = run_folder.plan_record(
        [world.benchmark], [world.samples], RunConfig(), models=list(MODELS), judges=[JUDGES[0]]
    )
    origin = provenance(open_model(JUDGES[0], Settings()), {})
    with Store(folder, write=True) as store:
        manifest.begin(folder, plan, "mindgauge run mentalbench …")
        store.put_samples(NAME, world.samples)
        for number, (i, m, reply, _) in enumerate(world.replies()):
            store.add_reply(NAME, reply)
            for rating in world.judged(m, i, reply, 0, origin)[0]:
                store.add_rating(NAME, rating)
            for place, person in enumerate(PEOPLE if i < BY_PEOPLE else ()):
                values = world.values(m, i, 0.4, 0.1 * place - 0.1).tolist()
                for name, value in zip(world.criteria, values, strict=True):
                    store.add_rating(
                        NAME,
                        Rating(
                            reply.id, name, person, RaterKind.PERSON, 0, Status.OK, value, instrument=world.instrument
                        ),
                    )
            if number % BATCH == 0:
                store.flush()
    content = manifest.read(folder)
    manifest.write(folder, {**content, "seconds": 60.0, "cost": 0.0, "ended": manifest.now()})


def in_browser(index: Path) -> list[Figure]:
    """Open the reader, filter it in several ways, and search all of it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        opened = []
        for _ in range(3):
            page.goto("about:blank")
            began = time.perf_counter()
            page.goto(index.as_uri())
            page.wait_for_selector("body[data-ready=all]")
            opened.append(time.perf_counter() - began)
        model = page.evaluate(
            "document.querySelector('#facets input[id^=system]').closest('label').children[1].textContent"
        )
        hashes = {
            "by model": f"system={model}", "unsafe in the eyes of anyone": "sign=unsafe", "contested and read by people": "sign=contested&sign=read",
            "no filter": "sort=data", "as in the data, by model": f"sort=data&system={model}",
        }  # fmt: skip
        filtered = {name: page.evaluate(_TIMED, text) for name, text in hashes.items()}
        criterion = page.evaluate("document.querySelector('#criterion').options[1].value")
        filtered["by a level, its file read"] = page.evaluate(_TIMED, f"criterion={criterion}&level=2")
        searched: dict[str, Any] = page.evaluate(_SEARCHED, "q=waking%20early")
        browser.close()
    return [
        Figure("opens, the slowest of three", max(opened), "s", SECONDS_OPEN),
        *(Figure(f"filters: {name}", seconds, "s", SECONDS_FILTER) for name, seconds in filtered.items()),
        Figure("first hits of a search", searched["first"], "s"),
        Figure("all texts searched", searched["all"], "s"),
        Figure("longest task while searching", searched["longest"], "s"),
        Figure("hits", searched["hits"], "lines"),
    ]


_SEARCHED = """async (hash) => {
  let longest = 0;
  new PerformanceObserver((list) => { for (const task of list.getEntries()) longest = Math.max(longest, task.duration); }).observe({ entryTypes: ["longtask"] });
  const began = performance.now();
  location.hash = hash;
  let first = 0;
  for (;;) {
    await new Promise((go) => setTimeout(go, 1));
    if (!first && document.body.dataset.searched !== "1" && Number(document.body.dataset.shown) > 0) first = performance.now();
    if (location.hash.includes("q=") && document.body.dataset.searched === "1" && first) break;
  }
  return { first: (first - began) / 1000, all: (performance.now() - began) / 1000, longest: longest / 1000, hits: Number(document.body.dataset.shown) }; }"""


def measured(run: Path, scratch: Path) -> list[Figure]:
    out = scratch / "report_reader"
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, str(run), str(out)], capture_output=True, text=True, check=True
    )
    seconds, worked, peak = json.loads(done.stdout.splitlines()[-1])
    files = [path for path in out.rglob("*") if path.is_file()]
    return [
        Figure("builds, the run being open", seconds, "s", SECONDS_BUILD),
        Figure("seconds of CPU of that", worked, "s"),
        Figure("peak memory, run read and scored", peak, "MB", MEGABYTES),
        Figure("files", len(files), "files"),
        Figure("size", sum(path.stat().st_size for path in files) / 1e6, "MB"),
        Figure("size of what opens first", (out / "data" / "index.js").stat().st_size / 1e6, "MB"),
        *in_browser(out / "index.html"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--run", type=Path)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = chosen.run or Path(folder) / "run"
        if not (run / "run.sqlite").is_file():
            build_run(run, MESSAGES // 10 if chosen.quick else MESSAGES)
        figures = measured(run, Path(folder))
    for figure in figures:
        print(figure)
    if chosen.json:
        chosen.json.write_text(json.dumps({figure.name: figure.value for figure in figures}, indent=1))


if __name__ == "__main__":
    main()
