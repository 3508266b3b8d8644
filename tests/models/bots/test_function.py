"""Python functions and classes as models: what they are given, what they may do wrong, and what makes them another model."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.models.bots import source
from mindgauge.models.settings import Settings
from mindgauge.records import Status
from mindgauge.records.errors import UsageError
from mindgauge.store import Store, manifest
from tests import in_process

if TYPE_CHECKING:
    from mindgauge.records import Reply

OPEN, CLOSED, SINGLE = "help_or_harm/response", "help_or_harm/crisis_type", "psycrisis"


def replies(run: Any, benchmark: str = SINGLE) -> list[Reply]:
    with Store(Path(run)) as store:
        return list(store.replies(benchmark))


def last(message: str) -> str:
    return f"I hear you: {message}"


async def everything(messages: list[dict[str, str]]) -> str:
    await asyncio.sleep(0.001)
    return " | ".join(f"{message['role']}: {message['content']}" for message in messages)


class Counting:
    """Keeps state: what the person said so far."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def start(self) -> str:
        return "Hello, I am here."

    def reply(self, message: str) -> str:
        self.said.append(message)
        return f"I heard {len(self.said)} times from you, last: {message}"


class Patient:
    """The same as coroutines, and told its conversation."""

    async def start(self, conversation: str) -> None:
        self.conversation, self.said = conversation, 0

    async def reply(self, message: str, conversation: str) -> str:
        assert conversation == self.conversation
        await asyncio.sleep(0.001)
        self.said += 1
        return f"I heard {self.said} times from you, last: {message}"


@pytest.mark.parametrize("code", [last, everything, Counting, Patient], ids=lambda code: code.__name__)
def test_each_kind_answers_from_python(folder: Path, code: Any) -> None:
    mindgauge.run(OPEN, model=mindgauge.Function(code, name="bot"), out=folder / "run")
    with Store(folder / "run") as store:
        for reply in store.replies(OPEN):
            messages = store.sample(OPEN, reply.sample).messages
            turns = [message.content for message in messages if message.role == "user"]
            if code is everything:
                assert reply.text == " | ".join(f"{message.role}: {message.content}" for message in messages)
            elif code is last:
                assert reply.text == last(turns[-1])
            else:
                assert reply.text == f"I heard {len(turns)} times from you, last: {turns[-1]}"
                held = reply.provenance.get("held", [])
                assert [m["content"] for m in held if m["role"] == "user"] in ([], turns)
                assert (held[:1] == [{"role": "assistant", "content": "Hello, I am here."}]) is (code is Counting)


def test_a_file_is_named_directly_or_in_the_configuration(folder: Path, write: Any) -> None:
    write("bot.py", "from words import HEARD\n\ndef reply(message: str) -> str:\n    return HEARD + message\n")
    write("words.py", "HEARD = 'I hear you: '\n")
    result = in_process.mindgauge("run", SINGLE, "--model", "bot.py:reply", "--limit", 3, "--label", "b7", "--out", "a")
    assert result.returncode == 0, result.stderr
    assert {(reply.model, reply.status) for reply in replies("a")} == {("bot.py:reply@b7", Status.OK)}
    (folder / "conf").mkdir()
    write("conf/mindgauge.toml", '[models.mine]\nkind = "function"\nfunction = "bot.py:reply"\n')
    write("conf/bot.py", "def reply(messages: list) -> str:\n    return 'elsewhere'\n")
    mindgauge.run(SINGLE, model="mine", limit=2, out="b", settings=Settings(config="conf/mindgauge.toml"))
    assert {reply.text for reply in replies("b")} == {"elsewhere"}
    setup = manifest.read(Path("a"))["models"]["bot.py:reply@b7"]
    assert setup["function"] == "bot.py:reply"
    assert setup["source"].keys() == {"bot.py", "words.py"}


def test_changed_code_never_gets_old_replies(folder: Path, write: Any) -> None:
    code = "from words import HEARD\n\ndef reply(message: str) -> str:\n    import deep.more\n    return HEARD + deep.more.MORE\n"
    write("bot.py", code)
    write("words.py", "HEARD = 'first '\n")
    (folder / "deep").mkdir()
    write("deep/__init__.py", "")
    write("deep/more.py", "MORE = 'one'\n")

    def run() -> tuple[str, set[str]]:
        scores = mindgauge.run(SINGLE, model="bot.py:reply", limit=2)
        return scores.run, {reply.text for reply in replies(scores.run)}

    first, said = run()
    assert said == {"first one"}
    assert run() == (first, said)
    times = (folder / "words.py").stat()
    write("words.py", "HEARD = 'other '\n")
    os.utime("words.py", ns=(times.st_atime_ns, times.st_mtime_ns))  # changed within a second, and as long as before
    second, said = run()
    assert (second != first, said) == (True, {"other one"})
    write("deep/more.py", "MORE = 'two'\n")
    third, said = run()
    assert (third not in {first, second}, said) == (True, {"other two"})
    write("bot.py", code.replace("HEARD +", "HEARD + ' ' +"))
    assert run()[1] == {"other  two"}
    write("unrelated.py", "X = 1\n")
    assert len({run()[0] for _ in range(2)}) == 1
    with pytest.raises(UsageError, match=r"source of bot\.py:reply is another one than this run"):
        mindgauge.run(SINGLE, model="bot.py:reply", limit=2, out=first)


def test_two_bots_may_have_modules_of_one_name_beside_them(folder: Path, write: Any) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        write(f"{name}/bot.py", "import helping\n\ndef reply(message):\n    return helping.NAME\n")
        write(f"{name}/helping.py", f"NAME = 'this is {name}'\n")
    mindgauge.run(SINGLE, model=["a/bot.py:reply", "b/bot.py:reply"], limit=2, out="run")
    assert {(reply.model, reply.text) for reply in replies("run")} == {
        ("a/bot.py:reply", "this is a"), ("b/bot.py:reply", "this is b"),
    }  # fmt: skip


def test_what_a_notebook_s_function_is_made_of_is_part_of_it() -> None:
    def made(text: str) -> str:
        space: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(text, "<cell>", "exec"), space)
        return source.of_object(space["reply"]).hash

    code = "HEARD = 'a'\nclient = object()\ndef helper(text):\n    return HEARD + text if text in {'x', 'y'} else ''\ndef reply(message):\n    return helper(message)\n"
    assert made(code) == made(code + "\n# a remark\nOTHER = 3\n")
    assert made(code) != made(code.replace("'a'", "'b'"))
    assert made(code) != made(code.replace("else ''", "else ' '"))
    kept = "class reply:\n    word = 'a'\n    def reply(self, message):\n        return self.word\n"
    assert made(kept) != made(kept.replace("'a'", "'b'"))


def boom(message: str) -> str:
    raise ValueError(f"no luck\nwith {message[:5]}")


async def gave_up(message: str) -> str:
    raise asyncio.CancelledError


def left(message: str) -> str:
    raise SystemExit(3)


def stopped(message: str) -> str:
    raise StopIteration


def silent(message: str) -> Any:
    return None


def slow(message: str) -> str:
    time.sleep(3)
    return "late"


async def slow_too(message: str) -> str:
    await asyncio.sleep(30)
    return "late"


async def blocking(message: str) -> str:
    time.sleep(3)  # noqa: ASYNC251 - what a bot may do
    return "late"


class Unmade:
    def __init__(self) -> None:
        raise OSError("no disk")

    def reply(self, message: str) -> str:
        return "never"


FAILING = {
    boom: r"ValueError: no luck with \S+.* \(test_function\.py:\d+, in boom\)",
    gave_up: "CancelledError",
    left: "SystemExit: 3",
    stopped: "StopIteration",
    silent: "it returned NoneType, not a text",
    slow: r"no answer within 0\.2 s",
    slow_too: r"no answer within 0\.2 s",
    blocking: r"no answer within 0\.2 s",
    Unmade: "OSError: no disk",
}


@pytest.mark.parametrize("code", FAILING, ids=lambda code: code.__name__)
def test_whatever_code_does_is_a_reply_that_failed_and_never_the_end(folder: Path, code: Any) -> None:
    began = time.perf_counter()
    limit = 4 if FAILING[code].startswith("no answer") else None
    bot = mindgauge.Function(code, timeout=0.2 if limit else 60)
    mindgauge.run(SINGLE, model=bot, limit=limit, out=folder / "run")
    held = replies(folder / "run")
    assert len(held) > 60 or limit
    assert {reply.status for reply in held} == {Status.FAILED}
    assert all(re.match(FAILING[code], reply.provenance["error"]) for reply in held), held[0].provenance["error"]
    assert time.perf_counter() - began < 2.5 or not limit


def test_what_failed_is_asked_again_by_the_same_command(folder: Path) -> None:
    well = threading.Event()

    def moody(message: str) -> str:
        if not well.is_set():
            raise RuntimeError("not today")
        return "I hear you."

    for expected in (Status.FAILED, Status.OK):
        mindgauge.run(SINGLE, model=mindgauge.Function(moody), limit=3, out=folder / "run")
        assert {reply.status for reply in replies(folder / "run")} == {expected}
        well.set()


def needs_more(message: str, history: list[str]) -> str:
    return ""


def takes_nothing() -> str:
    return ""


def takes_another(prompt: int) -> str:
    return ""


def mistaken(messages: str) -> str:
    return ""


class NoReply:
    def start(self) -> str:
        return ""


class Needy:
    def __init__(self, key: str) -> None:
        pass

    def reply(self, message: str) -> str:
        return ""


class BadStart:
    def start(self, user: str) -> str:
        return ""

    def reply(self, message: str) -> str:
        return ""


WRONG: dict[Any, str] = {
    (lambda message: message): "a lambda has no name",
    needs_more: "what is its parameter `history`",
    takes_nothing: "takes nothing that a person says",
    takes_another: "what is its parameter `prompt`",
    mistaken: "`messages` has another type",
    NoReply: "a class needs a method reply",
    Needy: "its constructor needs `key`",
    BadStart: r"start: what is its parameter `user`\? start\(\) takes nothing",
}


@pytest.mark.parametrize("code", WRONG, ids=lambda code: code.__name__)
def test_a_wrong_signature_is_refused_before_anything_is_run(code: Any) -> None:
    with pytest.raises(UsageError, match=WRONG[code]) as error:
        mindgauge.Function(code)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "spec", "message"),
    [
        ("def reply(prompt, more): return ''\n", "bot.py:reply", "bot.py:reply: what is its parameter `prompt`?"),
        ("def answer(message): return ''\n", "bot.py:reply", "bot.py has no function or class 'reply'; it has answer"),
        ("import nowhere_to_be_found\n", "bot.py:reply", "cannot load it (ModuleNotFoundError: No module named 'nowhere_to_be_found' (bot.py:1))"),
        ("def reply(:\n", "bot.py:reply", "cannot load it (SyntaxError: "),
        ("raise SystemExit(0)\n", "bot.py:reply", "cannot load it (SystemExit: 0 (bot.py:1))"),
        ("", "gone.py:reply", "there is no file gone.py"),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_is_said_in_one_line(
    folder: Path, write: Any, text: str, spec: str, message: str
) -> None:
    write("bot.py", text)
    for more in ((), ("--dry-run",)):
        result = in_process.mindgauge("run", SINGLE, "--model", spec, "--limit", 2, *more)
        assert result.returncode == 2
        assert message in " ".join(result.stderr.replace("│", " ").split()), result.stderr
        assert "Traceback" not in result.stderr
    assert not (folder / "runs").exists()


def test_what_code_prints_is_no_part_of_the_answer_and_why_it_failed_is_said(folder: Path, write: Any) -> None:
    write(
        "bot.py",
        "print('loaded')\n\ndef reply(message: str):\n    print('debug', message)\n    return {'text': message}\n",
    )
    result = in_process.mindgauge("run", SINGLE, "--model", "bot.py:reply", "--limit", 3, "--json", "--out", "run")
    assert json.loads(result.stdout)["statuses"] == {"failed": 3}
    assert "loaded" in result.stderr
    message = " ".join(result.stderr.split())
    assert (
        "all 3 replies failed, so nothing was measured, most often bot.py:reply (3 times): it returned dict, not a text"
        in message
    )
    shown = in_process.mindgauge("run", SINGLE, "--model", "bot.py:reply", "--limit", 3, "--out", "run").stdout
    assert "Failed most often: bot.py:reply (3 times): it returned dict, not a text" in " ".join(shown.split())


def test_a_function_judges_what_a_function_says(folder: Path, write: Any) -> None:
    write(
        "rater.py",
        "import json\n\ndef judge(message: str) -> str:\n    assert 'I hear you' in message\n"
        "    return json.dumps({'quotes': [], 'rationale': 'It listens.', 'appropriateness': 4})\n",
    )
    write("helpline.py", "def reply(message: str) -> str:\n    return 'I hear you.'\n")
    result = in_process.mindgauge("run", OPEN, "--model", "helpline.py:reply", "--judge", "rater.py:judge", "--limit", 4, "--out", "run")  # fmt: skip
    assert result.returncode == 0, result.stderr
    with Store(folder / "run") as store:
        ratings = [r for r in store.ratings(OPEN) if r.rater == "rater.py:judge"]
    assert {(rating.status, rating.value) for rating in ratings} == {(Status.OK, 4)}
    assert len(ratings) == 4


def test_its_own_concurrency_is_kept_and_calls_are_parallel(folder: Path) -> None:
    now, most, lock = 0, 0, threading.Lock()

    def counted(message: str) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return json.dumps({"category": "no_crisis"})

    mindgauge.run(CLOSED, model=mindgauge.Function(counted, concurrency=5), limit=20, out=folder / "run")
    assert most == 5


def test_an_async_function_may_keep_what_belongs_to_its_loop(folder: Path) -> None:
    kept: list[Any] = []

    async def reply(message: str) -> str:
        if not kept:
            kept.append(asyncio.Event())
            asyncio.get_running_loop().call_later(0.05, kept[0].set)
        await kept[0].wait()
        return "I hear you."

    bot = mindgauge.Function(reply)
    for name in ("a", "b"):  # each command has a loop of its own
        mindgauge.run(SINGLE, model=bot, limit=3, out=folder / name)
        assert {reply.status for reply in replies(folder / name)} == {Status.OK}


def test_one_that_changes_what_it_is_given_changes_nothing_for_others(folder: Path) -> None:
    def greedy(messages: list[dict[str, str]]) -> str:
        count = len(messages)
        messages.append({"role": "user", "content": "more"})
        return f"{count} messages"

    mindgauge.run(SINGLE, model=mindgauge.Function(greedy), limit=5, runs=2, out=folder / "run")
    assert {reply.text for reply in replies(folder / "run")} == {"1 messages"}


class Words(str):  # noqa: SLOT000 - as of numpy, whose choice among replies is one
    def __str__(self) -> str:
        return "of its own kind"


def test_a_reply_of_a_kind_of_text_is_a_text(tmp_path: Path) -> None:
    mindgauge.run(
        SINGLE, model=mindgauge.Function(lambda message: Words("I hear you."), name="kind"), limit=2, out=tmp_path
    )
    assert [(reply.status, reply.text) for reply in replies(tmp_path)] == [(Status.OK, "I hear you.")] * 2
