"""What every scenario of the campaign does: start the command, look into the run, and compare it with an unharmed one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import mindgauge
from mindgauge.store import Store
from tests import in_process
from tests.faults.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

BENCHMARK = "help_or_harm/response"
PROGRAM = (sys.executable, "-W", "error", "-c", "from mindgauge.cli import main; main()")
RESULTS = Path(__file__).parents[2] / "build" / "faults"
"""What the long form measured, a file for each scenario."""
CONCURRENCY = 4


class Work(NamedTuple):
    """How much a scenario's command has to do."""

    limit: int
    runs: int = 1
    judged: bool = True
    benchmark: str = BENCHMARK
    turns: int = 1
    """Of a dialogue, where the benchmark holds dialogues."""

    @property
    def questions(self) -> int:
        return self.limit * self.runs * (self.turns + self.judged)


class Account(NamedTuple):
    """What stands in a run beside what stands in an unharmed one, and what was paid for it."""

    paid: int
    repeated: int
    lost: int
    doubled: int
    wrong: int

    @property
    def sound(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)


def command(server: Server, out: Path, work: Work, *more: object) -> list[str]:
    """Write the command line of a run on this server."""
    judge = ["--judge", server.model("rater"), "--no-qualify"] if work.judged else []
    words = [
        "run",
        work.benchmark,
        "--model",
        server.model(),
        *judge,
        "--out",
        out,
        "--limit",
        work.limit,
        "--runs",
        work.runs,
        *(["--turns", work.turns] if work.turns > 1 else []),
    ]
    return [*PROGRAM, *map(str, [*words, "--concurrency", CONCURRENCY, *more])]


def start(arguments: Sequence[str], **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )


def finish(arguments: Sequence[str], code: int = 0, **environment: str) -> str:
    """Run a command to its end; return what it said on standard error.

    Nothing harms it, so it has a process of its own only where it needs an environment of its own.
    """
    if not environment:
        done = in_process.mindgauge(*arguments[len(PROGRAM) :])
        assert done.returncode == code, (done.returncode, done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stderr
    with start(arguments, **environment) as process:
        try:
            said = process.communicate(timeout=300)[1]
        finally:
            process.kill()
    assert process.returncode == code, (process.returncode, said)
    assert "Traceback" not in said, said
    return said


def verb(*words: object, code: int = 0) -> str:
    """Run a verb; return what it said on standard error."""
    return finish([*PROGRAM, *map(str, words)], code)


def complaints(said: str) -> list[str]:
    """Return the lines of what a command said that are no note and tell no progress."""
    return [line for line in said.splitlines() if not re.match(r"Note: |\S+ (?:replies|verdicts): [\d,]+ of ", line)]


def one_line(said: str) -> str:
    """Return what a command complains about: one line, and nothing beside it."""
    lines = complaints(said)
    assert len(lines) == 1, said
    assert lines[0].startswith("mindgauge: "), said
    return lines[0]


# -- what stands in a run ----------------------------------------------------------------------------------------------


def content(run: Path, benchmark: str = BENCHMARK) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Return the rows of a run, each by what it is about; where a server listened is left out of names."""
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    with Store(run) as store:
        for sample in store.samples(benchmark):
            found["sample", sample.id].append((sample.messages,))
        told = {}
        for reply in store.replies(benchmark):
            told[reply.id] = reply.sample, reply.run
            found["reply", reply.sample, reply.run].append((reply.status.value, reply.text))
        for rating in store.ratings(benchmark):
            subject = told.get(rating.subject, rating.subject)
            who = rating.rater.partition("#")[2] or rating.rater
            found["rating", who, rating.criterion, rating.run, subject].append((rating.status.value, rating.value))
    return found


@cache
def unharmed(work: Work) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Return the rows of a run to which nothing happened."""
    with TemporaryDirectory() as folder, Server() as server:
        made(server, Path(folder), work)
        assert sum(server.paid.values()) == len(server.paid) == work.questions
        return content(Path(folder), work.benchmark)


def made(server: Server, run: Path, work: Work) -> None:
    """Make the same run as `command` does, in this process."""
    judges = [server.model("rater")] if work.judged else []
    turns: dict[str, Any] = {"turns": work.turns} if work.turns > 1 else {}
    mindgauge.run(
        work.benchmark,
        model=server.model(),
        judge=judges,
        out=run,
        limit=work.limit,
        runs=work.runs,
        qualify=False,
        **turns,
    )


def account(server: Server, run: Path, work: Work) -> Account:
    """Compare a run with an unharmed one."""
    there, expected = content(run, work.benchmark), unharmed(work)
    return Account(
        sum(server.paid.values()),
        server.repeated,
        len(expected.keys() - there.keys()),
        sum(len(rows) for rows in there.values()) - len(there) + len(there.keys() - expected.keys()),
        sum(rows != expected[about] for about, rows in there.items() if about in expected and len(rows) == 1),
    )


def record(scenario: str, what: str, measured: Account, outcome: str) -> None:
    """Keep what the long form measured, for the table."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    row = {"scenario": scenario, "what": what, **measured._asdict(), "outcome": outcome}
    (RESULTS / f"{re.sub('[^a-z0-9]+', '-', scenario.lower())}.json").write_text(
        json.dumps(row) + "\n", encoding="utf-8"
    )
