"""How fast the annotation page answers a room full of people, and whether a label is ever lost or doubled.

    python bench/web.py [--only think,closed,killed,rounds] [--labels 2000] [--people 20] [--think 0.5,1] [--json FILE]

The server is `mindgauge annotate serve` in a process of its own, on loopback; so many people label at once, over HTTP,
following the pages as a browser does (`annotators.py`), each every item of one batch of dialogue_safety. On SQLite, and
on PostgreSQL where `MINDGAUGE_POSTGRES` names a server. It takes about ten minutes for each of the two.

think       Between page and answer each person takes a time drawn evenly from `--think`, in seconds.
closed      Without a pause: the next answer is sent when its page is there. Beside it the floor, on the same server
            software: a route that writes one row with `sqlite3`, as durable, and a page of the same size that is constant.
killed      As `closed`, while the server is killed (`kill -9`) three times and started again. What people were told is
            kept is compared with the labels in the database.
rounds      What the gate computes when the last label of a batch is in: three people on 200 items, and 20 on 100. The
            rival draws the same 2,000 resamples and asks the package krippendorff and statsmodels on each.

`posts` are single answers, of which a label takes one to four; `submit` are those that complete an item. Times run from
sending an answer to the redirection, the disk's confirmation included.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import msgspec
import numpy as np
from sqlalchemy import create_engine, make_url, select, text

from annotators import Annotator, Seen
from engine import Figure
from mindgauge import benchmarks
from mindgauge.annotation import agreement, people, schema
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answered, Item, Label, Person, Phase, Policy, Project, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INSTRUMENT = "dialogue_safety"
KILLS = 3
FLOOR = 3000
"""Posts to the floor."""


class Effort(msgspec.Struct, frozen=True):
    """How much is measured."""

    labels: int
    people: int
    think: tuple[float, float]

    @property
    def items(self) -> int:
        """Items, each labelled by everybody."""
        return self.labels // self.people


# -- projects and servers ---------------------------------------------------------------------------------------------


def items(count: int) -> list[Item]:
    """Our own dialogues, each as often as needed, under ids of their own."""
    samples = benchmarks.find_one(INSTRUMENT).samples(None)
    chosen = [samples[i % len(samples)] for i in range(count)]
    return [
        Item(f"{i:03}-{s.id}", s.messages[:-1], s.messages[-1].content, dict(s.tags), f"{i:03}", batch=1)
        for i, s in enumerate(chosen)
    ]


@contextlib.contextmanager
def databases() -> Iterator[dict[str, Callable[[], str]]]:
    """Give for each kind of database a way to a fresh one; those on the server are dropped afterwards."""
    kinds: dict[str, Callable[[], str]] = {"SQLite": lambda: ""}
    address = os.environ.get("MINDGAUGE_POSTGRES")
    if not address:
        yield kinds
        return
    server = make_url(address)
    engine = create_engine(server.set(drivername="postgresql+pg8000"), isolation_level="AUTOCOMMIT")
    made: list[str] = []

    def fresh() -> str:
        made.append(f"mindgauge_bench_{uuid.uuid4().hex}")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {made[-1]} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"))
        return server.set(database=made[-1]).render_as_string(hide_password=False)

    try:
        yield kinds | {"PostgreSQL": fresh}
    finally:
        with engine.connect() as connection:
            for name in made:
                connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        engine.dispose()


def begin(folder: Path, effort: Effort, database: str) -> dict[str, str]:
    """Set up a project of one batch; return an invitation's token for each name."""
    chosen = benchmarks.find_one(INSTRUMENT)
    about = Project("bench", INSTRUMENT, effort.items, 0.4, 0, 0, Policy.ADJUDICATED, chosen.protocol)
    named = [Person("", f"person-{i:02}", Role.ANNOTATOR) for i in range(effort.people)]
    with Annotation.create(folder, about, chosen.rubric, named, items(effort.items), database) as made:
        return {person.name: people.invite(made, person.id) for person in made.annotators()}


class Server:
    """A server in a process of its own, which can be killed and started again at the same address."""

    def __init__(self, *command: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self._command = [*command, "--port", str(self.port)]
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"{' '.join(self._command)}: does not serve")

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it."""
        self._process.send_signal(how)
        self._process.wait()


def mindgauge(folder: Path) -> Server:
    return Server(str(Path(sys.executable).with_name("mindgauge")), "annotate", "serve", str(folder))


# -- people at the page -----------------------------------------------------------------------------------------------


def labelled(
    effort: Effort, database: str, think: tuple[float, float], kills: int = 0
) -> tuple[Seen, float, Counter[str]]:
    """Let everybody label everything; return what they saw, the seconds, and what is amiss among the labels."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "project")
        links = begin(folder, effort, database)
        server = mindgauge(folder)
        try:
            began = time.perf_counter()
            seen = asyncio.run(_label(server, links, effort, think, kills))
            took = time.perf_counter() - began
        finally:
            server.kill(signal.SIGTERM)
        return seen, took, amiss(folder, seen, effort)


async def _label(server: Server, links: dict[str, str], effort: Effort, think: tuple[float, float], kills: int) -> Seen:
    seen = Seen()
    async with asyncio.TaskGroup() as room:
        for name, token in links.items():
            room.create_task(Annotator(name, server.base, seen, think).label(f"/join/{token}", effort.items))
        for i in range(kills):
            while len(seen.told) < effort.labels * (i + 1) // (kills + 1):  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # nobody has to tell us: a kill may come at any moment
            server.kill()
            await asyncio.to_thread(server.start)
    return seen


def amiss(folder: Path, seen: Seen, effort: Effort) -> Counter[str]:
    """Count labels that people were told of and that are not there, and those that are there twice or untold."""
    columns = schema.labels.c
    query = select(columns.form, schema.people.c.name, columns.item).join(schema.people)
    labelled = query.where(columns.phase == Phase.LABELLING)
    with Annotation.open(folder) as opened:
        rows = opened.database.read(lambda connection: [tuple(row) for row in connection.execute(labelled)])
    there = {form: (name, item) for form, name, item in rows}
    each = Counter((name, item) for _, name, item in rows)
    return Counter(
        lost=sum(there.get(form) != told for form, told in seen.told.items()),
        doubled=sum(count - 1 for count in each.values()),
        untold=len(there.keys() - seen.told.keys()),
        missing=effort.items * effort.people - len(each),
    )


def percentiles(name: str, seconds: list[float], aim: float | None = None) -> Iterator[Figure]:
    for percent in (50, 95, 99):
        aimed = aim if percent == 95 else None
        yield Figure(f"{name}, p{percent}", 1000 * float(np.percentile(seconds, percent)), "ms", aimed, at_most=True)


def _figures(name: str, seen: Seen, took: float, wrong: Counter[str], aim: float | None) -> Iterator[Figure]:
    yield from percentiles(f"{name}: submit", seen.kept, aim)
    yield from percentiles(f"{name}: posts", seen.posts)
    yield from percentiles(f"{name}: page", seen.pages)
    yield Figure(f"{name}: slowest submit", 1000 * max(seen.kept), "ms")
    yield Figure(f"{name}: throughput", len(seen.told) / took, "labels/s")
    yield Figure(f"{name}: labels", len(seen.told))
    yield from _wrong(name, seen, wrong)


def _wrong(name: str, seen: Seen, wrong: Counter[str]) -> Iterator[Figure]:
    for what in ("lost", "doubled", "untold", "missing"):
        yield Figure(f"{name}: labels {what}", wrong[what], "", 0, at_most=True)
    yield Figure(f"{name}: answers 5xx", seen.faults, "", 0, at_most=True)


def think(effort: Effort) -> Iterator[Figure]:
    """People who read before they answer."""
    with databases() as kinds:
        for kind, fresh in kinds.items():
            seen, took, wrong = labelled(effort, fresh(), effort.think)
            yield from _figures(f"{kind}, thinking", seen, took, wrong, 100)


def closed(effort: Effort) -> Iterator[Figure]:
    """People who do not, and the floor."""
    bare = asyncio.run(floor(effort.people))
    yield from percentiles("floor: posts", bare)
    with databases() as kinds:
        for kind, fresh in kinds.items():
            seen, took, wrong = labelled(effort, fresh(), (0, 0))
            yield from _figures(f"{kind}, no pause", seen, took, wrong, 100)
            ratio = statistics.median(seen.posts) / statistics.median(bare)
            yield Figure(f"{kind}, no pause: median post ÷ floor's", ratio)


def killed(effort: Effort) -> Iterator[Figure]:
    """People whose server is killed under their hands."""
    with databases() as kinds:
        for kind, fresh in kinds.items():
            seen, _, wrong = labelled(effort, fresh(), (0, 0), KILLS)
            name = f"{kind}, killed {KILLS} times"
            yield Figure(f"{name}: connections broken or refused", seen.broken)
            yield Figure(f"{name}: labels", len(seen.told))
            yield from _wrong(name, seen, wrong)


# -- the floor --------------------------------------------------------------------------------------------------------


async def floor(at_once: int) -> list[float]:
    """Post to the bare route from so many clients; return the seconds of each."""
    server = Server(sys.executable, str(Path(__file__).with_name("floor.py")))
    seconds: list[float] = []

    async def ask(http: aiohttp.ClientSession) -> None:
        for _ in range(FLOOR // at_once):
            began = time.perf_counter()
            async with http.post(server.base, data={"csrf": "c", "form": "f", "answer": "yes"}, allow_redirects=False):
                seconds.append(time.perf_counter() - began)
            async with http.get(server.base) as response:
                await response.read()

    try:
        async with aiohttp.ClientSession() as http, asyncio.TaskGroup() as room:
            for _ in range(at_once):
                room.create_task(ask(http))
    finally:
        server.kill(signal.SIGTERM)
    return seconds


# -- the gate ---------------------------------------------------------------------------------------------------------


def rounds(_: Effort) -> Iterator[Figure]:
    """What a batch's agreement takes, its intervals included, beside a loop over the packages that are its oracles."""
    import krippendorff
    from statsmodels.stats import inter_rater

    rubric = benchmarks.find_one(INSTRUMENT).rubric
    criterion = rubric.criteria[0]
    for raters, count in ((3, 200), (20, 100)):
        subjects = items(count)
        codes = _simulated(count, raters, len(criterion.levels))
        names = [f"person-{i:02}" for i in range(raters)]
        labels = {
            (item.id, name, criterion.name): _label_of(name, item.id, criterion.name, criterion.values[code])
            for item, row in zip(subjects, codes, strict=True)
            for name, code in zip(names, row, strict=True)
        }
        began = time.perf_counter()
        ours = agreement.measure(labels, subjects, names, rubric)[0]
        took = time.perf_counter() - began
        began = time.perf_counter()
        for _repeat in range(20):
            alpha = krippendorff.alpha(codes.T, level_of_measurement="nominal")
            kappa = inter_rater.fleiss_kappa(inter_rater.aggregate_raters(codes)[0])
        rival = (time.perf_counter() - began) / 20 * 2000 * (1 + len(np.unique(codes)))
        assert ours.alpha is not None
        assert ours.fleiss is not None
        at = f"{raters} people on {count} items"
        yield Figure(f"gate, {at}: kappa and alpha with intervals, 9 figures", took, "s")
        yield Figure(f"gate, {at}: difference from statsmodels", abs(ours.fleiss - kappa), "", 1e-9, at_most=True)
        yield Figure(f"gate, {at}: difference from krippendorff", abs(ours.alpha - alpha), "", 1e-9, at_most=True)
        yield Figure(f"gate, {at}: a loop over both packages ÷ ours", rival / took)


def _simulated(count: int, raters: int, levels: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """People who say what is true in six of ten cases, else anything."""
    chance = np.random.default_rng(0)
    true = chance.integers(levels, size=(count, 1))
    return np.where(chance.random((count, raters)) < 0.6, true, chance.integers(levels, size=(count, raters)))


def _label_of(person: str, item: str, criterion: str, value: int | str) -> Label:
    phase, answered = Phase.LABELLING, Answered.OK
    return Label(0, person, item, criterion, phase, answered, value, (), "", (), "", 0.0, 0.0, "bench")


# -- all of it --------------------------------------------------------------------------------------------------------

STEPS: dict[str, Callable[[Effort], Iterator[Figure]]] = {
    "think": think,
    "closed": closed,
    "killed": killed,
    "rounds": rounds,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(STEPS), help="some of the steps, separated by commas")
    parser.add_argument("--labels", type=int, default=2000, help="in all")
    parser.add_argument("--people", type=int, default=20, help="at once")
    parser.add_argument("--think", default="0.5,1", help="least and most seconds between page and answer")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    chosen = parser.parse_args()
    least, most = map(float, chosen.think.split(","))
    effort = Effort(chosen.labels, chosen.people, (least, most))
    figures: list[Figure] = []
    for name in chosen.only.split(","):
        for figure in STEPS[name](effort):
            print(figure, flush=True)
            figures.append(figure)
    if chosen.json:
        chosen.json.write_bytes(msgspec.json.format(msgspec.json.encode([f._asdict() for f in figures])))


if __name__ == "__main__":
    main()
