"""Ctrl-C at any moment: one line and exit code 130, and the same command then makes the run that it would have made."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.store import Store, opening
from tests import in_process
from tests.faults.campaign import Work, command, start
from tests.faults.interrupted import AtLine
from tests.faults.server import Server

if TYPE_CHECKING:
    from types import FrameType

STARTED = "print('started', flush=True); from mindgauge.cli import main; main()"
LINE = "mindgauge: stopped; run the same command to begin again"


def interrupted(words: list[str], after: float, times: int) -> tuple[int, str]:
    """Start a command, interrupt it so long after its first line ran, and return its code and what it said."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTED, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(after)
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.002)
        return process.wait(60), process.stderr.read() if process.stderr else ""


@pytest.mark.parametrize("words", [["--help"], ["list"], ["score", "no-run"], ["demo", "--help"]])
@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupt_of_any_command_is_one_line(words: list[str], times: int) -> None:
    for step in range(1, 5):
        code, said = interrupted(words, 0.05 * step, times=times)
        assert (code, said.strip()) in {
            (130, LINE),
            (130, "mindgauge: stopped at once; everything finished is kept, run the same command to go on"),
            (0, ""),
            (2, f"mindgauge: {Path('no-run')}: no run here: there is no such folder"),
        }, (step, code, said)


def test_a_signal_to_end_is_one_line_too() -> None:
    program = """
import signal
from mindgauge.cli import main, program
program._code = lambda: signal.raise_signal(signal.SIGTERM)
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    stopped = "mindgauge: stopped by SIGTERM; run the same command to begin again"
    assert (done.returncode, done.stderr.strip()) == (143, stopped)


@pytest.mark.parametrize("error", ["ImportError('half a module')", "SystemError('a callback failed')", "None"])
def test_an_interrupt_that_a_library_turns_into_something_else_is_still_one(error: str) -> None:
    """Polars and torch make errors of it, SQLite loses it in a callback."""
    program = f"""
import os, signal, sys
from mindgauge.cli import main, program
def code():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        if {error} is not None:
            raise {error}
    return 0
program._code = code
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, LINE)


def test_what_libraries_that_are_cut_off_have_to_say_is_not_printed() -> None:
    program = """
import signal, sys, threading, logging, asyncio
from mindgauge.cli import main, program
class Left:
    def __del__(self):
        raise RuntimeError
def code():
    left = Left()
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        del left
        logging.getLogger("asyncio").error("Task exception was never retrieved")
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
program._code = code
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, LINE)


def test_a_second_interrupt_ends_at_once_and_leaves_no_process() -> None:
    program = """
import signal, subprocess, sys, time
from mindgauge.cli import main, program
def code():
    child = subprocess.Popen(["sleep", "60"], start_new_session=True, stdout=-3)
    try:
        print(child.pid, flush=True)
        time.sleep(60)
    finally:
        print("ending", flush=True)
        time.sleep(60)
program._code = code
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "ending\n"
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert said == "mindgauge: stopped at once; everything finished is kept, run the same command to go on\n"
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        for _ in range(100):
            os.kill(child, 0)
            if Path(f"/proc/{child}/stat").read_text(encoding="ascii").split()[2] == "Z":
                break
            time.sleep(0.02)
        else:
            pytest.fail("the child goes on")


def test_the_program_that_calls_the_command_line_keeps_its_own_way_to_be_interrupted() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert in_process.mindgauge("list").returncode == 0
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@pytest.mark.parametrize("times", [4, pytest.param(250, marks=pytest.mark.long)])
def test_a_run_interrupted_at_any_line_and_gone_on_with_is_whole(tmp_path: Path, times: int) -> None:
    """Two interrupts a run on average. Before, one at the first opening left no tables, and the same command was refused."""
    words = [sys.executable, "-m", "tests.faults.interrupted", str(tmp_path), str(times)]
    done = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.stdout == f"{times} whole\n", done.stderr


def test_no_interrupt_leaves_a_run_without_its_tables(tmp_path: Path) -> None:
    """At each line of the first opening, and the same command then goes on."""

    class Stop(AtLine):
        def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
            return super().__call__(frame, event, _) if frame.f_code.co_filename == opening.__file__ else None

    number = left = 0
    while left <= 0:
        number += 3
        run = tmp_path / str(number)
        stop = Stop(number)
        sys.settrace(stop)
        try:
            with Store(run, write=True):
                pass
        except BaseException as error:  # noqa: BLE001 - as above
            error.with_traceback(None)
        finally:
            sys.settrace(None)
        left = stop.left
        if (run / "run.sqlite").exists():
            with Store(run) as store:
                assert store.count_replies("b") == 0
    assert number > 20


def test_an_interrupted_run_says_what_is_kept(tmp_path: Path) -> None:
    with Server(latency=0.05) as server, start(command(server, tmp_path, Work(8))) as process:
        while server.calls < 3 and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=30)[1]
    assert process.returncode == 143
    assert said.strip() == "mindgauge: stopped by SIGTERM; everything finished is kept, run the same command to go on"
