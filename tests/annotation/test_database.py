"""Many write at once: nothing is lost, a failure is its own, and they wait for the disk together."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import insert, select

from mindgauge.annotation import schema
from mindgauge.annotation.database import Database, DatabaseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    opened.write(schema.metadata.create_all)
    yield opened
    opened.close()


def at_once(count: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def written(database: Database) -> list[str]:
    return database.read(lambda c: sorted(c.execute(select(schema.events.c.about)).scalars()))


def add(database: Database, about: str) -> None:
    row = insert(schema.events).values(at=0.0, person="", what="test", about=about, form="")
    database.write(lambda c: c.execute(row))


def test_what_many_write_at_once_is_all_there(database: Database) -> None:
    def write(number: int) -> None:
        for step in range(5):
            add(database, f"{number:02}-{step}")

    at_once(40, write)
    assert written(database) == [f"{n:02}-{step}" for n in range(40) for step in range(5)]


def test_one_that_fails_takes_nothing_of_the_others_with_it(database: Database) -> None:
    failed: list[int] = []

    def write(number: int) -> None:
        row = insert(schema.events).values(at=0.0, person="", what="test", about=f"{number:02}", form="")

        def add_or_give_up(c: Connection) -> None:
            c.execute(row)
            if number % 3 == 0:
                raise LookupError(number)

        try:
            database.write(add_or_give_up)
        except LookupError:
            failed.append(number)

    at_once(30, write)
    assert sorted(failed) == list(range(0, 30, 3))
    assert written(database) == [f"{n:02}" for n in range(30) if n % 3]


def test_who_is_told_that_it_is_kept_finds_it_kept(database: Database) -> None:
    missing: list[str] = []

    def write(number: int) -> None:
        add(database, f"{number:02}")
        if f"{number:02}" not in written(database):
            missing.append(f"{number:02}")

    at_once(30, write)
    assert not missing


def test_those_who_share_a_failed_commit_are_all_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy import RootTransaction

    opened = Database(f"sqlite:///{tmp_path / 'labels.sqlite'}")
    opened.write(schema.metadata.create_all)
    told: list[int] = []

    def full(transaction: RootTransaction) -> None:
        transaction.rollback()
        raise OSError(28, "No space left on device")

    def write(number: int) -> None:
        try:
            add(opened, str(number))
        except DatabaseError as error:
            assert "No space left" in str(error)  # noqa: PT017 - each thread has its own
            told.append(number)

    with monkeypatch.context() as patch:
        patch.setattr(RootTransaction, "commit", full)
        at_once(10, write)
    assert sorted(told) == list(range(10))
    assert not written(opened)
    add(opened, "later")
    assert written(opened) == ["later"]
    opened.close()


def test_a_file_that_is_taken_away_or_replaced_is_not_written_to(tmp_path: Path) -> None:
    path, aside = tmp_path / "labels.sqlite", tmp_path / "aside.sqlite"
    opened = Database(f"sqlite:///{path}")
    opened.write(schema.metadata.create_all)
    add(opened, "before")
    path.rename(aside)
    for use in (add, lambda database, _: written(database)):
        with pytest.raises(DatabaseError, match="the file is gone; put it back"):
            use(opened, "lost")
    path.write_bytes(aside.read_bytes())
    with pytest.raises(DatabaseError, match="another file was put in its place"):
        add(opened, "lost")
    path.unlink()
    aside.rename(path)
    add(opened, "after")
    assert written(opened) == ["after", "before"]
    opened.close()
