"""Labels and a disk that is full: an acknowledgement means that this label is on the disk."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event, text

from mindgauge.annotation import submissions, tasks
from mindgauge.annotation.database import DatabaseError
from mindgauge.annotation.page.serve import create_app
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answer, Answered, Person, Role
from mindgauge.annotation.schema import log
from mindgauge.annotation.tasks import Assignment
from tests.annotation.conftest import POSTGRES, begin, own_items
from tests.annotation.page.test_forms import typed_again
from tests.annotation.page.visiting import Browser
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    from mindgauge.annotation.database import Database
    from tests.faults.conftest import Disk

PEOPLE = 12
NAMES = [f"person {number:02}" for number in range(PEOPLE)]
NOTE = "She says that it has been a hard week. " * 250
"""As long as notes may be: three pages of the database."""
on_a_server = pytest.mark.parametrize("database_url", [pytest.param("postgresql", marks=POSTGRES)], indirect=True)


def team(folder: Path, database: str = "", items: int = 4) -> Annotation:
    people = (*(Person("", name, Role.ANNOTATOR) for name in NAMES), Person("", "olga", Role.OWNER))
    return begin(folder, database, items=own_items(items), people=people)


def at_the_same_moment(a: Annotation, what: Callable[[str], None]) -> None:
    """Let everybody do something so that all of them wait for their turn before the first one writes."""
    threads = [threading.Thread(target=what, args=(name,)) for name in NAMES]
    with a.database._turn:
        for thread in threads:
            thread.start()
        while a.database._waiting < PEOPLE:
            time.sleep(0.001)
    for thread in threads:
        thread.join()


def room_for(database: Database, pages: int) -> None:
    """Let the file grow by so many pages: what SQLite then says is what it says of a full disk."""
    most = pages + database.read(lambda c: int(c.exec_driver_sql("PRAGMA page_count").scalar_one()))
    database.close()

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {most}")

    event.listen(database._writers, "connect", limit)


def there(folder: Path) -> set[str]:
    """Return who has a label, as another program reads it."""
    with closing(sqlite3.connect(folder / "annotation.sqlite")) as db:
        return {name for (name,) in db.execute("SELECT name FROM labels JOIN people ON people.id = labels.person")}


def submit(a: Annotation, name: str, form: str, note: str = NOTE) -> None:
    at = tasks.current(a, a.named(name))
    assert isinstance(at, Assignment)
    said = [Answer("category", Answered.OK, "Safe Response")]
    submissions.submit(a, a.named(name), at.item.id, at.phase, at.turn, form, said, note=note)


@pytest.mark.parametrize("pages", [0, later(6), 12, later(24), 60])
def test_of_those_who_share_a_transaction_who_is_told_so_is_kept(tmp_path: Path, pages: int) -> None:
    with team(tmp_path / "project") as a:
        kept: set[str] = set()
        refused: dict[str, str] = {}

        def hand_in(name: str) -> None:
            try:
                submit(a, name, f"form of {name}")
                kept.add(name)
            except DatabaseError as error:
                refused[name] = str(error)

        room_for(a.database, pages)
        at_the_same_moment(a, hand_in)
        assert kept | refused.keys() == set(NAMES)
        assert there(tmp_path / "project") == kept
        assert all("database or disk is full" in said for said in refused.values())
        if pages:
            assert kept, "what there is room for is kept, also of those who shared a transaction that was not"
        if pages < 60:
            assert refused
        # and when there is room again, the same forms are taken, each once
        event.remove(a.database._writers, "connect", _limits(a.database))
        a.database.close()
        for name in sorted(refused):
            submit(a, name, f"form of {name}")
        assert there(tmp_path / "project") == set(NAMES)
        assert len(a.labels()) == PEOPLE


def _limits(database: Database) -> Callable[..., None]:
    return next(listener for listener in database._writers.pool.dispatch.connect if listener.__name__ == "limit")


def test_what_fails_alone_takes_its_transaction_with_it_and_nothing_else(tmp_path: Path) -> None:
    """A statement of one member ends the transaction of all: those before it and after it write again."""
    with team(tmp_path / "project") as a:
        ends = NAMES[5]
        turns: list[str] = []

        def hand_in(name: str) -> None:
            def write(c: Connection) -> str:
                turns.append(name)
                log(c, "", "test", name)
                if name == ends and turns.count(name) == 1:
                    c.exec_driver_sql("ROLLBACK")  # as SQLite does by itself
                return name

            told.append(a.database.write(write))

        told: list[str] = []
        at_the_same_moment(a, hand_in)
        assert sorted(told) == NAMES
        with closing(sqlite3.connect(tmp_path / "project/annotation.sqlite")) as db:
            about = [name for (name,) in db.execute("SELECT about FROM events WHERE what = 'test' ORDER BY about")]
        assert about == NAMES


def test_who_is_refused_finds_on_the_page_what_they_typed(tmp_path: Path) -> None:
    with team(tmp_path / "project") as a:
        app = create_app(a)
        seats = {name: Browser(app).come_in(a, name) for name in NAMES}
        forms = {name: _form(seat) for name, seat in seats.items()}
        status: dict[str, int] = {}
        again: dict[str, dict[str, str]] = {}

        def hand_in(name: str) -> None:
            answer = seats[name].hand_in("/item/decide", **forms[name], answer="Nonsense", note=NOTE)
            status[name] = answer.status_code
            again[name] = typed_again(answer.text)

        room_for(a.database, 20)
        at_the_same_moment(a, hand_in)
        kept = {name for name, code in status.items() if code == 303}
        refused = {name for name, code in status.items() if code == 503}
        assert kept | refused == set(NAMES)
        assert kept and refused
        assert there(tmp_path / "project") == kept
        for name in refused:
            sent = {"csrf": seats[name].csrf, **forms[name], "answer": "Nonsense", "note": NOTE.strip()}
            assert {field: value.strip() for field, value in again[name].items()} == sent
        event.remove(a.database._writers, "connect", _limits(a.database))
        a.database.close()
        for name in refused:
            assert seats[name].post("/item/decide", data=again[name]).status_code == 303
        assert there(tmp_path / "project") == set(NAMES)


def _form(seat: Browser) -> dict[str, str]:
    """Return what the page's form carries, its token aside."""
    html = seat.get("/item").text.partition('id="answer"')[2].partition("</form>")[0]
    names = ("item", "phase", "turn", "form", "criterion", "node")
    return {name: re.search(rf'name="{name}" value="([^"]*)"', html)[1] for name in names}  # type: ignore[index]


@pytest.mark.long
@pytest.mark.parametrize(("size", "items"), [(1_500, 16), pytest.param(8_000, 57, marks=pytest.mark.long)])
def test_a_disk_that_fills_while_people_label_loses_nothing(disk: Disk, size: int, items: int) -> None:
    disk.change(f"size={size}k")
    folder = disk.path / "project"
    with team(folder, items=items) as a:
        kept: list[tuple[str, str]] = []
        refused: list[str] = []

        def label(name: str) -> None:
            for number in range(items):
                at = tasks.current(a, a.named(name))
                if not isinstance(at, Assignment):
                    return
                form = f"form {number} of {name}"
                try:
                    submit(a, name, form)
                    kept.append((name, form))
                except DatabaseError:
                    refused.append(form)

        threads = [threading.Thread(target=label, args=(name,)) for name in NAMES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert refused, "the disk was full"
        assert len(kept) > PEOPLE
        disk.change("size=64m")
        with closing(sqlite3.connect(folder / "annotation.sqlite")) as db:
            query = "SELECT people.name, form FROM labels JOIN people ON people.id = labels.person"
            found = list(db.execute(query))
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert len(found) == len(set(found))
    assert set(found) == set(kept)


# -- on a server ---------------------------------------------------------------------------------------------------------

_FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN IF NEW.note LIKE 'full%%' THEN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END IF;
RETURN NEW; END $$"""
_AT_ONCE = "CREATE TRIGGER full_disk BEFORE INSERT ON labels FOR EACH ROW EXECUTE FUNCTION full_disk()"
_AT_COMMIT = """
CREATE CONSTRAINT TRIGGER full_disk AFTER INSERT ON labels DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION full_disk()"""


@on_a_server
@pytest.mark.parametrize("trigger", [_AT_ONCE, _AT_COMMIT])
def test_a_server_whose_disk_is_full_refuses_and_the_page_keeps_what_was_typed(
    tmp_path: Path, database_url: str, trigger: str
) -> None:
    with team(tmp_path / "project", database_url) as a:
        a.database.write(lambda c: [c.execute(text(statement)) for statement in (_FULL, trigger)])
        app = create_app(a)
        seats = {name: Browser(app).come_in(a, name) for name in NAMES}
        forms = {name: _form(seat) for name, seat in seats.items()}
        status: dict[str, int] = {}

        def hand_in(name: str) -> None:
            note = "full of worry" if int(name[-2:]) % 3 == 0 else "fine"
            answer = seats[name].hand_in("/item/decide", **forms[name], answer="Nonsense", note=note)
            status[name] = answer.status_code
            if answer.status_code == 503:
                assert typed_again(answer.text)["note"] == note

        threads = [threading.Thread(target=hand_in, args=(name,)) for name in NAMES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert status == {name: 503 if int(name[-2:]) % 3 == 0 else 303 for name in NAMES}
        names = {person.id: person.name for person in a.people()}
        with Annotation.open(tmp_path / "project") as other:
            assert {names[label.person] for label in other.labels()} == {n for n, code in status.items() if code == 303}
