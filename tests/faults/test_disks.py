"""A disk that is full, and one that cannot be written."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from mindgauge.store import Store
from tests.faults.campaign import BENCHMARK, CONCURRENCY, Work, account, command, finish, one_line, record, start, verb
from tests.faults.server import Server

if TYPE_CHECKING:
    from tests.faults.conftest import Disk

SHORT, LONG = Work(30), Work(112, 2)


@pytest.mark.parametrize(("work", "size"), [(SHORT, "200k"), pytest.param(LONG, "400k", marks=pytest.mark.long)])
def test_what_was_finished_before_a_disk_was_full_is_kept(disk: Disk, work: Work, size: str) -> None:
    disk.change(f"size={size}")
    run = disk.path / "run"
    with Server() as server:
        arguments = command(server, run, work)
        said = one_line(finish(arguments, code=1))
        assert "run.sqlite" in said
        assert "free some space" in said
        paid = sum(server.paid.values())
        assert 0 < paid < work.questions
        disk.change("size=64m")
        finish(arguments)
        found = account(server, run, work)
    assert found.sound, found
    assert found.repeated <= CONCURRENCY, found
    if work == LONG:
        record(
            "A full disk",
            f"a disk of {size}, given room after the command ended",
            found,
            "one line, exit 1; then finished",
        )


@pytest.mark.long
def test_a_disk_that_is_full_from_the_start_is_named(disk: Disk) -> None:
    disk.change("size=8k")
    (disk.path / "filled").write_bytes(bytes(4096))
    with Server() as server:
        said = one_line(finish(command(server, disk.path / "run", SHORT), code=1))
        assert str(disk.path) in said
        assert not server.calls


def test_a_folder_that_cannot_be_written_is_named_and_can_be_read(disk: Disk) -> None:
    run, work = disk.path / "run", Work(4)
    with Server(latency=0.2) as server:
        arguments = command(server, run, work)
        with start(arguments) as process:
            while server.calls < 6:
                assert process.poll() is None
                time.sleep(0.002)
            process.kill()
        disk.change("ro")
        said = one_line(finish(arguments, code=2))
        assert f"{run}: cannot write here" in said
        verb("score", run)
        with Store(run) as store:  # what the killed process left in the log is read, too
            assert store.count_samples(BENCHMARK) == 4
        disk.change("rw")
        finish(arguments)
        found = account(server, run, work)
    assert found.sound, found
    assert found.repeated <= CONCURRENCY, found
    record(
        "A folder that cannot be written",
        "mounted read-only between two commands",
        found,
        "one line, exit 2; readers read",
    )
