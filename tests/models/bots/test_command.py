"""A command that reads and writes JSON lines: what it is told, and what comes of one that dies, hangs or mixes things up."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.models.bots import command
from mindgauge.records import Status
from mindgauge.records.errors import UsageError
from mindgauge.store import Store, manifest
from tests import in_process
from tests.thinned import sampled

if TYPE_CHECKING:
    from mindgauge.records import Reply

OPEN, SINGLE = "help_or_harm/response", "psycrisis"
LOOP = """
import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    text = asked["message"]
    open("pids", "a").write(f"{os.getpid()}\\n")
    reply = {"id": asked["id"], "reply": "I hear you: " + text}
    %s
    print(json.dumps(reply), flush=True)
"""


def replies(run: Any, benchmark: str = SINGLE) -> list[Reply]:
    with Store(Path(run)) as store:
        return list(store.replies(benchmark))


def set_up(folder: Path, line: str = "", more: str = "") -> None:
    (folder / "bot.py").write_text(LOOP % line)
    words = json.dumps([sys.executable, "bot.py"])
    (folder / "mindgauge.toml").write_text(f'[models.bot]\nkind = "command"\ncommand = {words}\n{more}\n')


def pids(folder: Path) -> set[int]:
    return {int(line) for line in (folder / "pids").read_text().split()}


def alive(pid: int) -> bool:
    """Whether a process is there, zombies included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_is_told_the_dialogue_and_a_conversation_and_leaves_no_process(folder: Path) -> None:
    set_up(folder, "reply['reply'] = json.dumps([asked['messages'], len(asked['conversation'])])")
    mindgauge.run(OPEN, model="bot", out=folder / "run")
    with Store(folder / "run") as store:
        for reply in store.replies(OPEN):
            messages, conversation = json.loads(reply.text)
            assert [m["content"] for m in messages] == [m.content for m in store.sample(OPEN, reply.sample).messages]
            assert conversation == 32
    assert 1 <= len(pids(folder)) <= command.PROCESSES
    assert not any(map(alive, pids(folder)))
    setup = manifest.read(folder / "run")["models"]["bot"]
    assert "bot.py" in setup["source"]


def test_one_that_keeps_the_conversation_itself_is_told_it_turn_by_turn(folder: Path) -> None:
    line = "said = globals().setdefault('said', {}); said.setdefault(asked['conversation'], []).append(text); reply['reply'] = f\"{len(said[asked['conversation']])} turns\""
    set_up(folder, line, "turns = true")
    mindgauge.run(OPEN, model="bot", out=folder / "run")
    with Store(folder / "run") as store:
        for reply in store.replies(OPEN):
            turns = [m for m in store.sample(OPEN, reply.sample).messages if m.role == "user"]
            assert reply.text == f"{len(turns)} turns"


FAULTS = {
    "dies": ("sys.stderr.write('first\\nout of luck\\n'); sys.exit(7)", "the command ended with code 7: out of luck"),
    "killed": ("os.kill(os.getpid(), 9)", "the command was ended by signal 9"),
    "hangs": ("time.sleep(60)", "no answer within 0.3 s"),
    "chats": ("print('Ready!', flush=True)", "its standard output has no line of JSON: Ready!"),
    "mixes": ("reply['id'] = 'another'", "the command mixes calls up: it answers for 'another' and was asked"),
    "says": ("reply = {'id': asked['id'], 'error': 'no model here'}", "the command says: no model here"),
    "silent": ("reply['reply'] = None", "its line has no text under `reply`: {"),
    "long": ("reply['reply'] = 'x' * (17 << 20)", "a line of more than 16 MiB"),
    "closes": ("os.close(1); time.sleep(60)", "the command closed its output"),
}


@pytest.mark.parametrize("name", sampled(FAULTS, 3))
def test_whatever_a_command_does_is_a_reply_that_failed_and_never_the_end(folder: Path, name: str) -> None:
    line, reason = FAULTS[name]
    timeout = "timeout = 0.3" if name == "hangs" else ""
    set_up(folder, line, timeout + "\nconcurrency = 2")
    began = time.perf_counter()
    mindgauge.run(SINGLE, model="bot", limit=4, out=folder / "run")
    held = replies(folder / "run")
    assert [reply.status for reply in held] == [Status.FAILED] * 4
    assert all(reply.provenance["error"].startswith(reason) for reply in held), held[0].provenance["error"]
    assert not any(map(alive, pids(folder))) if (folder / "pids").exists() else name == "hangs"
    assert time.perf_counter() - began < 20


def test_more_than_fifty_failures_in_a_row_do_not_end_the_run(folder: Path) -> None:
    set_up(folder, "reply = {'id': asked['id'], 'error': 'no'}")
    mindgauge.run(SINGLE, model="bot", out=folder / "run")
    held = replies(folder / "run")
    assert len(held) > 60
    assert {reply.status for reply in held} == {Status.FAILED}
    assert len(pids(folder)) <= command.PROCESSES, "one that says so is well otherwise"


def test_one_that_dies_is_started_again_and_costs_its_own_reply_alone(folder: Path) -> None:
    set_up(folder, "\n    if 'pill' in text or len(text) % 3 == 0: sys.exit('gone')", "concurrency = 2")
    mindgauge.run(SINGLE, model="bot", limit=24, out=folder / "run")
    with Store(folder / "run") as store:
        for reply in store.replies(SINGLE):
            text = store.sample(SINGLE, reply.sample).messages[-1].content
            fatal = "pill" in text or len(text) % 3 == 0
            assert reply.status is (Status.FAILED if fatal else Status.OK)
            assert reply.text == ("" if fatal else f"I hear you: {text}")
    assert len(pids(folder)) > 2


def test_what_it_started_ends_with_it(folder: Path) -> None:
    line = "import subprocess; child = subprocess.Popen(['sleep', '300']); open('pids', 'a').write(f'{child.pid}\\n')"
    set_up(folder, line, "concurrency = 1")
    mindgauge.run(SINGLE, model="bot", limit=2, out=folder / "run")
    assert len(pids(folder)) == 3
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and any(_runs(pid) for pid in pids(folder)):
        time.sleep(0.05)
    assert not any(_runs(pid) for pid in pids(folder))


def _runs(pid: int) -> bool:
    """Whether a process runs; orphans may stay zombies where nobody is there to take them in."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_changed_code_never_gets_old_replies(folder: Path) -> None:
    set_up(folder)
    first = mindgauge.run(SINGLE, model="bot", limit=2).run
    assert mindgauge.run(SINGLE, model="bot", limit=2).run == first
    set_up(folder, "reply['reply'] = 'other'")
    second = mindgauge.run(SINGLE, model="bot", limit=2).run
    assert second != first
    assert {reply.text for reply in replies(second)} == {"other"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('command = ["no-such-program-here", "x"]', "there is no program 'no-such-program-here'"),
        ('command = ["./gone.sh"]', "there is no program './gone.sh'"),
        ("command = []", "command is a list of words"),
        ('command = "node bot.js"', "command: expected `array`"),
        ('comand = ["node"]', "unknown key `comand`; did you mean `command`?"),
        ('command = ["sh"]\nfolder = "x"', "unknown key `folder`"),
    ],
)
def test_what_cannot_be_so_is_named(folder: Path, text: str, message: str) -> None:
    (folder / "mindgauge.toml").write_text(f'[models.bot]\nkind = "command"\n{text}\n')
    result = in_process.mindgauge("run", SINGLE, "--model", "bot", "--limit", "1")
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
    with pytest.raises(UsageError) as error:
        mindgauge.run(SINGLE, model="bot", limit=1)
    assert message in str(error.value)
