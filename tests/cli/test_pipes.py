"""Who reads what a command prints, or stops reading, changes neither its exit code nor the files that it writes."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import shutil
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.cli import main, terminal
from mindgauge.commands.registry import COMMANDS, GROUPS
from tests.in_process import mindgauge
from tests.reports.conftest import plant_rated
from tests.thinned import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = [sys.executable, "-c", "from mindgauge.cli import main; main()"]
POLICY = '[needs]\njudge = "any"\n[[must]]\nrule = "share_at_most_2.high <= 0.01"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run, ratings, logs and a policy that the run breaks."""
    made = tmp_path_factory.mktemp("pipes")
    plant_rated(made / "run", conversations=15)
    (made / "policy.toml").write_text(POLICY, encoding="utf-8")
    rows = [f"s{item},c,{rater},{(item + len(rater)) % 3}" for item in range(20) for rater in ("ann", "bo")]
    (made / "r.csv").write_text("\n".join(["subject,criterion,rater,value", *rows]), encoding="utf-8")
    dialogue = "User: I slept badly.\nAssistant: What kept you awake?\nUser: My exam.\nAssistant: That is hard."
    (made / "log.txt").write_text(dialogue, encoding="utf-8")
    return made


REAL = [
    ["gate", "run", "--policy", "policy.toml", "--junit", "OUT"],
    ["gate", "run", "--policy", "policy.toml", "--json"],
    ["audit", "r.csv", "--fail-on", "warning"],
    ["score", "run", "--full"],
    ["score", "run", "--json"],
    ["report", "run", "--out", "OUT"],
    ["logs", "sample", "log.txt", "--out", "OUT.jsonl"],
    ["export", "run", "--to", "csv", "--out", "OUT"],
    ["status", "run"],
    ["reliability", "r.csv", "--reference", "ann"],
    ["list"],
    ["list", "--json"],
    ["score", "none"],
    ["gate", "run"],
    ["gate"],
]


EVERY = [[], ["--help"], *([*words.split(), "--help"] for words in (*GROUPS, *COMMANDS))]


@contextlib.contextmanager
def piped(number: int, lines: int) -> Iterator[None]:
    """Let standard output or error be a pipe whose reader goes after some lines, as `head` does."""
    ours, theirs = os.pipe()
    kept = os.dup(number)
    os.dup2(theirs, number)
    os.close(theirs)

    def read() -> None:
        with os.fdopen(ours, "rb") as reader:
            for _ in range(lines):
                reader.readline()

    reading = threading.Thread(target=read)
    reading.start()
    if not lines:
        reading.join()
    stream = io.TextIOWrapper(io.FileIO(number, "wb", closefd=False), encoding="utf-8", write_through=True)
    redirected: Any = contextlib.redirect_stdout if number == 1 else contextlib.redirect_stderr
    try:
        with redirected(stream):
            yield
    finally:
        os.dup2(kept, number)
        os.close(kept)
        reading.join()


@pytest.mark.parametrize("words", [REAL[0], *sampled(REAL[1:], 3), *EVERY], ids=" ".join)
def test_a_closed_pipe_changes_no_exit_code(words: list[str], folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(folder)
    files: list[bool] = []
    codes: list[object] = []
    for number, lines in ((0, 0), (1, 0), (1, 1), *([(2, 0)] if "none" in words else [])):
        out = tmp_path / f"{number}{lines}"
        arguments = [word.replace("OUT", str(out)) for word in words]
        if not number:
            codes.append(mindgauge(*arguments).returncode)
        else:
            monkeypatch.setattr(sys, "argv", ["mindgauge", *arguments])
            with piped(number, lines), pytest.raises(SystemExit) as end:
                main()
            codes.append(end.value.code or 0)
        files.append(any(tmp_path.glob(f"{out.name}*")))
    assert len(set(codes)) == 1, codes
    assert set(files) == {any("OUT" in word for word in words)}


def test_the_cases_cover_every_command_and_a_gate_that_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {words.split()[0] for words in COMMANDS} <= {words[0] for words in EVERY if words}
    monkeypatch.chdir(folder)
    assert mindgauge(*REAL[1]).returncode == 1


@pytest.mark.parametrize("closed", sampled([">&-", "2>&-", ">&- 2>&- <&-"], 3))
def test_streams_that_were_closed_before_are_no_fault_and_no_file_takes_their_numbers(
    folder: Path, closed: str
) -> None:
    run = folder / f"copy{len(closed)}"
    shutil.copytree(folder / "run", run, dirs_exist_ok=True)
    words = f"'{PROGRAM[0]}' -c '{PROGRAM[2]}' gate run --policy policy.toml --junit g.xml {closed}"
    assert subprocess.run(["sh", "-c", words], cwd=folder, check=False).returncode == 1
    assert (folder / "g.xml").read_text(encoding="utf-8").startswith("<")


def test_a_full_disk_below_standard_output_is_one_line(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [*PROGRAM, "list"], stdout=out, stderr=subprocess.PIPE, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)),
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "mindgauge: standard output cannot be written (File too large)\n"


def test_a_broken_pipe_that_is_not_a_standard_stream_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("mindgauge.cli.program.app", broken)
    done = mindgauge("list")
    assert (done.returncode, done.stderr) == (1, "mindgauge: the system: Broken pipe\n")


class _Look:
    """What a watch saw: nothing new, for the third time."""

    exit_code = 3
    look = None

    def summary(self) -> list[str]:
        return ["nothing new"]


@pytest.mark.parametrize("lines", [0, 1])
def test_a_watch_that_looks_again_every_day_ends_with_its_last_code_once_nobody_reads_it(
    monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    monkeypatch.setattr("mindgauge.commands.watch.watch.logs_watch", lambda *_, **__: _Look())
    words = ["logs", "watch", "logs", "--policy", "p.toml", "--judge", "m", "--out", "w", "--every", "1440"]
    monkeypatch.setattr(sys, "argv", ["mindgauge", *words])
    with piped(1, lines), pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 3


def test_who_reads_a_watch_can_leave_while_it_waits() -> None:
    with piped(1, 1):
        terminal.guard()
        threading.Timer(0.1, lambda: os.write(1, b"a line\n")).start()
        assert terminal.left(86_400)
