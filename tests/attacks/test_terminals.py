"""Nothing from outside reaches a terminal raw, in any verb, and no terminal is too plain for what is printed."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge.cli import main, terminal
from mindgauge.models.settings import Settings
from tests.configured import configured
from tests.conftest import obliging
from tests.stub import Stub, says
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Iterator

RESPONSE, CLOSED = "help_or_harm/response", "help_or_harm/crisis_type"
HOSTILE = "m\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202egpj\u2066\r\x08é…\U000e0041"
"""A title, a cleared screen, a colour by the second set, a backwards name, and letters that no ASCII terminal has."""
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]")


@given(st.text())
def test_plain_text_holds_no_controls_and_json_stays_what_it_is(text: str) -> None:
    assert not RAW.search(terminal.plain(text))
    written = json.dumps({text: [text]}, ensure_ascii=False)
    assert json.loads(terminal.plain(written)) == {text: [text]}


@given(st.text(max_size=40), st.sampled_from(["ascii", "latin-1", "cp1252", "gbk", "utf-8"]))
def test_no_encoding_is_too_small(text: str, encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", io.StringIO())
        terminal.guard()
        sys.stdout.write(text)
        sys.stdout.flush()
    assert stream.buffer.getvalue().decode(encoding) or not text


def test_nothing_is_printed_past_the_guard() -> None:
    """Printing is `print`; only what draws by itself may write to the stream beneath, and cleans what it is given."""
    past = []
    for path in Path(mindgauge.__file__).parent.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            drawn = "Console(" in line and "terminal.direct" not in line
            past += [f"{path.name}: {line}"] if drawn or re.search("__std(out|err)__|os.write\\([12],", line) else []
    assert not past


def hostile(body: dict[str, Any], count: int) -> web.StreamResponse:
    """Answer with escapes at every place."""
    match count % 4:
        case 0:
            return web.json_response({"error": {"message": HOSTILE, "code": HOSTILE}}, status=400)
        case 1:
            return says(f"I hear you. {HOSTILE}", finish_reason=f"stop{HOSTILE}")
    return obliging(body, count)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs, replies and ratings in which names and words are hostile."""
    folder = tmp_path_factory.mktemp("runs")
    rows = [{"user": f"The nights are long. {n}", "reply": f"I hear you {HOSTILE}", "model": HOSTILE, "category": "anxiety_crisis", "id": f"{HOSTILE}{n}"} for n in range(6)]  # fmt: skip
    (folder / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    table = [["item", "rater", "kind", "score"]]
    table += [[f"i{n}", r, k, str(1 + (n + s) % 5)] for n in range(8) for r, k, s in (("p1", "human", 0), ("p2", "human", 1), (HOSTILE.replace("\r", ""), "judge", 0))]  # fmt: skip
    (folder / "ratings.csv").write_text("\n".join(",".join(row) for row in table) + "\n", encoding="utf-8")
    with Stub(hostile) as stub:
        settings = Settings(tries=1, concurrency=1)
        mindgauge.run(RESPONSE, model=stub.model, judge=stub.model, own_family=True, limit=6, settings=settings, out=folder / "open", qualify=False)  # fmt: skip
        mindgauge.run(CLOSED, model=stub.model, limit=6, settings=settings, out=folder / "closed")
        mindgauge.rate(RESPONSE, replies=folder / "replies.jsonl", judge=stub.model, settings=settings, out=folder / "rated", qualify=False)  # fmt: skip
    return folder


def commands(folder: Path) -> Iterator[list[str]]:
    """Yield commands of every verb that can be tried here, each also as JSON where it speaks it."""
    for run in ("open", "closed", "rated"):
        path = str(folder / run)
        for words in (["score", path], ["status", path]):
            yield words
            yield [*words, "--json"]
    path = str(folder / "rated")
    yield ["reliability", path]
    yield ["audit", path]
    yield ["report", path, "--out", f"{path}.html"]
    yield ["export", path, "--to", "csv", "--out", f"{path}-csv"]
    yield ["status", path, "--salvage", f"{path}-saved"]
    yield ["compare", str(folder / "closed"), str(folder / "rated")]
    yield ["reliability", str(folder / "ratings.csv"), "--unsafe", "1"]
    yield ["audit", str(folder / "ratings.csv"), "--json"]
    yield ["audit", str(folder / "replies.jsonl")]
    yield ["list"]
    yield ["run", RESPONSE, "--model", f"openai/{HOSTILE}", "--dry-run", "--limit", "2"]
    yield ["rate", RESPONSE, "--replies", str(folder / "replies.jsonl"), "--judge", f"openai/{HOSTILE}", "--dry-run"]
    for words in (["run", HOSTILE, "--model", HOSTILE], ["run", RESPONSE, "--model", f"http://{HOSTILE}/v1#m"], ["score", HOSTILE], ["report", HOSTILE], [HOSTILE], ["export", HOSTILE, "--to", HOSTILE], ["papers", "load", HOSTILE], ["train", HOSTILE], ["papers", "reproduce", HOSTILE], ["annotate", "new", HOSTILE], ["annotate", "status", HOSTILE], ["list", HOSTILE], ["run", f"--{HOSTILE}"], ["audit", HOSTILE], ["compare", HOSTILE, HOSTILE]):  # fmt: skip
        yield words


@pytest.mark.parametrize("encoding", [later("utf-8"), "ascii"])
def test_every_verb_prints_plainly(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-nothing")
    raw, shown = [], 0
    for words in commands(runs):
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict") for _ in range(2)]
        monkeypatch.setattr(sys, "argv", ["mindgauge", *words])
        monkeypatch.setattr(sys, "stdout", streams[0])
        monkeypatch.setattr(sys, "stderr", streams[1])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        for stream in streams:
            stream.flush()
            told = stream.buffer.getvalue().decode(encoding)
            shown += "\\u001b" in told
            if RAW.search(told):
                raw.append((words, told[:500]))
        assert code in {0, 1, 2}, words
        if words[-1] == "--json" and code == 0:
            json.loads(streams[0].buffer.getvalue())
    assert not raw
    assert shown > 5, "what was hostile was printed, escaped"


@pytest.mark.parametrize("status", [401, 403, 404, 400, 500, 302])
def test_what_a_server_answers_is_printed_plainly(
    tmp_path: Path, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refusing(body: dict[str, Any], n: int) -> web.StreamResponse:
        return web.json_response({"error": {"message": f"no {HOSTILE}"}}, status=status)

    with Stub(refusing) as stub:
        words = [
            "run",
            CLOSED,
            "--model",
            stub.model,
            "--limit",
            "2",
            *configured(tmp_path, tries=1),
            "--out",
            str(tmp_path / "r"),
        ]
        monkeypatch.setattr(sys, "argv", ["mindgauge", *words])
        with pytest.raises(SystemExit):
            main()
    told = "".join(capsys.readouterr())
    assert "mindgauge: " in told
    assert not RAW.search(told)


@pytest.mark.parametrize("words", [["list"], ["--help"], ["run", "--help"]])
def test_a_terminal_of_long_ago(tmp_path: Path, words: list[str]) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-W", "error", "-c", "from mindgauge.cli import main; main()", *words]
    done = subprocess.run(command, env=environment, capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    if "--help" not in words:  # which Click writes, in UTF-8 where the terminal says ASCII; it holds our words alone
        done.stdout.decode("ascii")


def test_a_real_terminal_is_given_no_title(runs: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from mindgauge.cli import main; main()", "score", str(runs / "rated")]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, "COLUMNS": "200"})
    os.close(theirs)
    told = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        told += part
        if not part:
            break
    os.close(ours)
    assert process.wait(60) == 0
    text = told.decode()
    assert "owned" in text
    assert not RAW.search(re.sub("\x1b\\[[0-9;]*m|\r\n", "", text)), "colours of ours and line ends are all"
