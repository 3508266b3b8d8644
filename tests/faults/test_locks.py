"""File systems without locks, and such as grant every one: said as what they are, before anything is paid."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compiled import library
from tests.faults.campaign import PROGRAM, Work, account, command, finish, made, one_line, record, start, verb
from tests.faults.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

SHIM = Path(__file__).with_name("locks.c")
REFUSALS = {"ENOLCK": "No locks available", "ENOSYS": "Function not implemented", "EOPNOTSUPP": "not supported"}


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library that stands before the system's when a program asks for a lock."""
    return library(SHIM, tmp_path_factory.mktemp("locks"))


def _on(shim: str, locks: str, folder: Path) -> dict[str, str]:
    """Return the environment in which a folder lies on such a file system."""
    return {"LD_PRELOAD": shim, "LOCKS": locks, "LOCKS_UNDER": os.fspath(folder)}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.mark.parametrize(
    "refusal", ["ENOLCK", *(pytest.param(name, marks=pytest.mark.long) for name in ("ENOSYS", "EOPNOTSUPP"))]
)
def test_a_file_system_without_locks_is_said_to_be_one(tmp_path: Path, shim: str, server: Server, refusal: str) -> None:
    said = one_line(finish(command(server, tmp_path, Work(4)), code=2, **_on(shim, refusal, tmp_path)))
    assert "another process" not in said
    assert f"{tmp_path}: this file system keeps no locks (it answers: " in said
    assert REFUSALS[refusal] in said
    assert "choose a folder on a disk of this machine" in said
    assert server.calls == 0


@pytest.mark.long
def test_two_commands_do_not_both_pay_where_locks_do_nothing(tmp_path: Path, shim: str, server: Server) -> None:
    arguments = command(server, tmp_path, Work(30))
    both = [start(arguments, **_on(shim, "nothing", tmp_path)) for _ in range(2)]
    ends = [(process.communicate(timeout=120)[1], process.returncode) for process in both]
    assert [code for _, code in ends] == [2, 2], ends
    assert all("keeps no locks (it grants the same lock twice)" in one_line(said) for said, _ in ends)
    assert server.calls == 0
    assert not list(tmp_path.glob("run.lock.*")), "what was made for the probe is gone"
    finish(arguments)
    found = account(server, tmp_path, Work(30))
    assert found.paid == 60
    record(
        "Locks that do nothing",
        "the same command twice at once where every lock is granted, then once where locks hold",
        found,
        "one line, exit 2 for both, nothing paid; then finished",
    )


@pytest.mark.long
@pytest.mark.parametrize("locks", ["ENOLCK", pytest.param("nothing", marks=pytest.mark.long)])
def test_a_run_there_can_be_read_and_salvaged_to_elsewhere(
    tmp_path: Path, shim: str, server: Server, locks: str
) -> None:
    made(server, tmp_path / "bad" / "run", Work(4))
    bad, there = tmp_path / "bad" / "run", _on(shim, locks, tmp_path / "bad")
    assert "another process" not in finish([*PROGRAM, "status", str(bad)], 0, **there)
    finish([*PROGRAM, "score", str(bad)], 0, **there)
    words = [*PROGRAM, "status", str(bad), "--salvage"]
    said = one_line(finish([*words, str(tmp_path / "bad" / "new")], code=2, **there))
    assert f"{tmp_path / 'bad' / 'new'}: this file system keeps no locks" in said
    with start([*words, str(tmp_path / "new")], **there) as process:
        told = "".join(process.communicate(timeout=120))
    assert ("its file system has no locks" in " ".join(told.split())) == (locks == "ENOLCK")
    verb("score", tmp_path / "new")


@pytest.mark.long
@pytest.mark.parametrize("locks", [pytest.param("ENOLCK", marks=pytest.mark.long), "nothing"])
def test_labels_are_not_gathered_there(tmp_path: Path, shim: str, server: Server, locks: str) -> None:
    made(server, tmp_path / "run", Work(4))
    there = _on(shim, locks, tmp_path / "bad")
    words = ["annotate", "new", str(tmp_path / "bad" / "a"), "--items", str(tmp_path / "run"), "--annotators", "a,b"]
    assert "keeps no locks" in one_line(finish([*PROGRAM, *words], code=2, **there))
    assert [*(tmp_path / "bad").iterdir()] == [], "nothing is left of the probe"
    verb(*words)
    said = one_line(finish([*PROGRAM, "annotate", "serve", words[2], "--port", "0"], code=2, **there))
    assert "keeps no locks" in said
