"""Readers of planted runs, and one of texts that are written to break it."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from mindgauge.records import Evidence, Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.reports import runs as opened
from mindgauge.reports.reader import folder as reader
from mindgauge.store import Store, manifest
from tests.made_once import made_once
from tests.reports import conftest as planted
from tests.reports import crisis, talked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun


class Content(NamedTuple):
    """What a reader's files say."""

    folder: Path
    runs: list[Path]
    listed: dict[str, Any]
    shards: list[tuple[dict[str, Any], dict[str, Any]]]

    @property
    def texts(self) -> Iterator[tuple[int, dict[str, Any], int]]:
        """Yield every line with its shard's texts and its place in them."""
        for first, (texts, _) in zip(self.listed["shards"], self.shards, strict=True):
            for place in range(len(texts["subjects"])):
                yield first + place, texts, place

    @property
    def subjects(self) -> list[str]:
        return [texts["subjects"][place] for _, texts, place in self.texts]

    def numbers(self, name: str) -> list[int]:
        return unpacked(self.listed[name])

    def names(self, name: str) -> list[str]:
        column = self.listed[name]
        return [(["", *column["names"]])[place] for place in unpacked(column["places"])]

    def signed(self, sign: str) -> set[int]:
        """Return the lines that have a sign."""
        bit = self.listed["signs"][sign]
        return {line for line, signs in enumerate(self.numbers("sign")) if signs & bit}


def unpacked(column: dict[str, Any]) -> list[int]:
    import base64

    raw = base64.b64decode(column["data"])
    return [int.from_bytes(raw[i : i + column["bytes"]], "little") for i in range(0, len(raw), column["bytes"])]


def said(path: Path) -> list[Any]:
    """Return what a data file hands over: its name, then each JSON text."""
    inside = path.read_text(encoding="utf-8").removeprefix("Mindgauge.load(").removesuffix(");\n")
    return json.loads(f"[{inside}]")  # type: ignore[no-any-return]


def content(folder: Path, runs: Sequence[Path]) -> Content:
    """Read a reader's files."""
    index = json.loads(said(folder / "data" / "index.js")[1])
    shards = [
        (json.loads(texts), json.loads(verdicts))
        for number in range(len(index["shards"]))
        for _, texts, verdicts in [said(folder / "data" / f"{number:04}.js")]
    ]
    return Content(folder, list(runs), index, shards)


@contextlib.contextmanager
def open_runs(runs: Sequence[Path], *, show_texts: bool = False) -> Iterator[tuple[list[OpenRun], list[System]]]:
    with contextlib.ExitStack() as stack:
        read = [opened.read(run, number, show_texts=show_texts) for number, run in enumerate(runs)]
        for run in read:
            stack.enter_context(run.store)
        yield read, opened.systems(read)


def written(out: Path, *runs: Path, show_texts: bool = False) -> Content:
    """Write the reader of some runs without their report."""
    page = out / "report.html"
    with open_runs(runs, show_texts=show_texts) as (read, systems):
        reader.write(reader.place(page), page, "A test", read, systems)
    return content(reader.place(page), runs)


@pytest.fixture(scope="session")
def both(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Content:
    """Of a closed and an open benchmark, with every status."""
    return made_once(tmp_path_factory, "reader-planted", lambda folder: written(folder, run))


@pytest.fixture(scope="session")
def judged(rated: Path, tmp_path_factory: pytest.TempPathFactory) -> Content:
    """Of people and judges, one of whom agrees too little with them."""
    return made_once(tmp_path_factory, "reader-rated", lambda folder: written(folder, rated))


@pytest.fixture(scope="session")
def vetoed(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """Of criteria of yes and no, some of which rule a reply out."""
    return made_once(tmp_path_factory, "reader-crisis", lambda folder: written(folder, crisis.run(folder / "run")))


@pytest.fixture(scope="session")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """Of dialogues of several turns."""
    return made_once(
        tmp_path_factory,
        "reader-talked",
        lambda folder: written(folder, talked.run(folder / "run", simulated=True, people=2)),
    )


WORD = "a" * 10_000
ATTACKS = (
    "<script>window.ran = 1</script>", "</script><script>window.ran = 2</script>", "<img src=x onerror='window.ran = 3'>",
    "<svg onload='window.ran = 4'><a href='javascript:window.ran=5'>x</a></svg>", "[press](javascript:window.ran=6)", "[press]( javascript:window.ran=7 )",
    "[data](data:text/html,<script>window.ran=8</script>)", "![x](http://evil.example/a.png)", "<http://evil.example/b>", "[a](http://evil.example/c)",
    "http://evil.example/d", "\u2028window.ran=9\u2029//", "');window.ran=10;('", '");window.ran=11;("', "`window.ran=12`${window.ran=13}", '\\");window.ran=14//',
    "\x00\x1b[31mred\x1b[0m\x07", "\u202eabc\u2066def", "=cmd|' /C calc'!A0", "@import url(http://evil.example/e)", "{{7*7}} {% raw %}", "> " * 3000 + "deep",
    "*" * 5000, "- " * 2000 + "x", "[" * 5000, "| a " * 2000 + "|\n" + "|-" * 2000 + "|", WORD, "```\n</code></pre><script>window.ran=15</script>", "<!-- x --> &lt;b&gt; &#x3c;script&#x3e;",
    "<style>body{background:url(http://evil.example/f)}</style>", "<base href=http://evil.example/>", "<iframe src=http://evil.example/></iframe>", "../../etc/passwd",
    "__proto__", "constructor", "[U+0000]",
)  # fmt: skip
"""Texts that run, load, lead out, hide or never end, where somebody takes them for more than text."""


def attacked(folder: Path) -> Path:
    """Write a run in which everything that is not ours is such a text: messages, replies, reasons, quotes, names, tags, ids."""
    name = planted.OPEN
    models = [f"m{number}{attack[:40]}".replace("\0", "") for number, attack in enumerate(ATTACKS[:4])]
    with Store(folder, write=True) as store:
        manifest.begin(folder, {"benchmarks": [name], "models": models}, "")
        for number, attack in enumerate(ATTACKS):
            tags = {"category": attack[:60], "language": "en" if number % 2 else '"><script>'}
            sample = Sample(
                f"../{number}{attack[:30]}",
                (Message("user", attack), Message("assistant", attack), Message("user", f"{number} {attack}")),
                tags=tags,
            )
            store.put_samples(name, [sample])
            reply = Reply.of(
                sample.id, models[number % len(models)], 0, Status.OK, attack if number else attack * 150_000
            )
            store.add_reply(name, reply)
            quotes = (Evidence(attack[:200], found=True), Evidence("</script>", found=False))
            for rater in (ATTACKS[2], "Anna"):
                kind = RaterKind.PERSON if rater == "Anna" else RaterKind.MODEL
                store.add_rating(
                    name, Rating(reply.id, "appropriateness", rater, kind, 0, Status.OK, 1 + number % 5, attack, quotes)
                )
    return folder


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Content:
    return made_once(tmp_path_factory, "reader-hostile", lambda folder: written(folder, attacked(folder / "run")))
