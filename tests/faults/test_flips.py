"""One byte of a run is changed: whoever states a number says the same as before, or names the damage and what to do."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import mindgauge
from mindgauge.analysis.score import score
from mindgauge.commands.salvage import salvage
from mindgauge.commands.status import status
from mindgauge.records.errors import MindgaugeError
from mindgauge.reports.page import read
from mindgauge.store import Store
from mindgauge.store.rows import tables
from tests.faults import flips
from tests.thinned import sampled

if TYPE_CHECKING:
    from pathlib import Path

RUNS: dict[str, dict[str, Any]] = {"closed": {}, "killed": {"killed": True}, "without text": {"text": False}}
EACH, IN_ALL = {"closed": 18, "killed": 10, "without text": 7}, 10
HARMLESS = {"nothing", "an idle page", "run.sqlite.checksum", "run.lock"}
"""What nobody reads, or nothing depends on: there the same is said, which takes the time of a report."""
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT[\d:+]+")


@pytest.fixture(scope="module", params=sampled(RUNS, 3))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flips.made(tmp_path_factory.mktemp(request.param.replace(" ", "-")) / "run", **RUNS[request.param])


def _stated(run: Path, *, pages: bool = False) -> dict[str, object]:
    """Return what each verb says of a run: its numbers and texts, or the line with which it refuses.

    Pages take a second to draw, so they are looked at where there is time; what they say is all in what is drawn.
    """
    stated: dict[str, object] = {}
    out = run.parent / "report.html"
    for name, verb in (
        ("status", lambda: msgspec.structs.replace(status(run), bytes=0)),
        ("score", lambda: msgspec.json.encode(score(run, resamples=50))),
        (
            "report",
            lambda: mindgauge.report(run, out=out) if pages else _TIME.sub(b"", msgspec.json.encode(read([run]))),
        ),
    ):
        try:
            stated[name] = verb()
        except MindgaugeError as error:
            stated[name] = error
    if pages and not isinstance(stated["report"], Exception):
        stated["report"] = [_TIME.sub(b"", out.with_suffix(end).read_bytes()) for end in (".html", ".json", ".md")]
    return stated


def _drawn(run: Path, count: int, draw: random.Random, *, harmless: int) -> list[tuple[str, str, int]]:
    """Draw places so that each kind of bytes comes as often as any other; of harmless ones as many as asked."""
    places = flips.places(run)
    newer = "run.sqlite" if (run / "run.sqlite-wal").exists() else None  # all its pages stand in the log
    mild = sorted(kind for kind in places if kind in HARMLESS or places[kind][0][0] == newer)
    kinds = [kind for kind in places if kind not in mild]
    drawn = [kinds[i % len(kinds)] for i in range(count - harmless)] + [mild[i % len(mild)] for i in range(harmless)]
    return [(kind, *draw.choice(places[kind])) for kind in drawn]


def _silent(
    run: Path, drawn: list[tuple[str, str, int]], draw: random.Random, *, pages: bool = False
) -> tuple[list[tuple[str, str, str, int]], int]:
    """Flip one byte after the other; return the flips after which something else was said, and how many were named."""
    unharmed, named = _stated(run, pages=pages), 0
    silent: list[tuple[str, str, str, int]] = []
    assert not any(isinstance(each, Exception) for each in unharmed.values()), unharmed
    for kind, name, at in drawn:
        with flips.flipped(run, name, at, draw):
            now = _stated(run, pages=pages)
        for verb, words in now.items():
            if isinstance(words, MindgaugeError):
                line = str(words)
                assert "\n" not in line
                assert re.search(r"damaged|another file", line), (kind, name, at, line)
                assert re.search(r"`mindgauge status .* --salvage NEW`|remove ", line), (kind, name, at, line)
                assert words.exit_code
                named += verb == "score"
            elif words != unharmed[verb]:
                silent.append((verb, kind, name, at))
    return silent, named


def test_no_flipped_byte_goes_unnoticed(run: Path, request: pytest.FixtureRequest) -> None:
    count = EACH[request.node.callspec.params["run"]]
    draw = random.Random(count)
    silent, named = _silent(run, _drawn(run, count, draw, harmless=1), draw)
    assert not silent
    assert named > count / 2


@pytest.mark.long
def test_no_flipped_byte_goes_unnoticed_in_hundreds(run: Path, request: pytest.FixtureRequest) -> None:
    """350 flips in three runs."""
    count = EACH[request.node.callspec.params["run"]] * IN_ALL
    draw = random.Random(-count)
    silent, named = _silent(run, _drawn(run, count, draw, harmless=count // 6), draw, pages=True)
    assert not silent
    assert named > count / 2


def _rows(run: Path) -> dict[str, set[tuple[Any, ...]]]:
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        return {name: set(db.execute(f"SELECT * FROM {name}")) for name in tables()}


@pytest.mark.parametrize("count", [6, pytest.param(120, marks=pytest.mark.long)])
def test_what_is_right_is_salvaged_and_nothing_else(run: Path, tmp_path: Path, count: int) -> None:
    draw = random.Random(count)
    shutil.copytree(run, tmp_path / "unharmed")
    expected = _rows(tmp_path / "unharmed")
    ever = _rows(
        flips.made(tmp_path / "ever", deletes=False)
    )  # where a log cannot be read, what was deleted comes back
    kinds = {
        kind: at for kind, at in flips.places(run).items() if at[0][0].startswith("run.sqlite") and kind not in HARMLESS
    }
    for i in range(count):
        name, at = draw.choice(kinds[sorted(kinds)[i % len(kinds)]])
        with flips.flipped(run, name, at, draw):
            salvaged = salvage(run, out=tmp_path / f"new{i}")
        rows = _rows(tmp_path / f"new{i}")
        for table in salvaged.tables:
            if not table.table.startswith("batch"):
                more = ever[table.table] if name.endswith("-wal") else set()
                assert rows[table.table] <= expected[table.table] | more, (name, at, table)
            assert len(rows[table.table]) == table.kept
        # A page that a flipped number hides holds many rows of one table; a changed value costs one, and what names it.
        assert sum(rows[t] != expected[t] for t in ("samples", "replies", "calls")) <= 1, (name, at)
        with Store(tmp_path / f"new{i}") as store:
            assert store.count_replies(flips.OPEN) == len(rows["replies"])


def test_a_flip_costs_no_more_than_its_row_and_what_names_it(tmp_path: Path) -> None:
    run = flips.made(tmp_path / "run")
    content = (run / "run.sqlite").read_bytes()
    (run / "run.sqlite").write_bytes(content.replace(b"sounds hard (3)", b"sounds hard (8)", 1))
    with pytest.raises(
        MindgaugeError,
        match=r"1 of 20 rows of replies have changed since they were written\); .*`mindgauge status .* --salvage NEW`",
    ):
        Store(run)
    kept = {t.table: t for t in salvage(run, out=tmp_path / "new").tables}
    assert (kept["replies"].kept, kept["replies"].lost) == (19, 1)
    assert {name: t.lost for name, t in kept.items() if t.lost} == {"replies": 1, "rated": kept["rated"].lost}
    Store(tmp_path / "new", write=True).close()
