"""A project is set up once, opened often, and says in one line what is wrong with it."""

from __future__ import annotations

import sqlite3
import stat
from typing import TYPE_CHECKING

import msgspec
import pytest
import sqlalchemy

from mindgauge.annotation import database, setup, submissions, tasks
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answer, Answered, Person, Role
from mindgauge.annotation.tasks import Assignment
from mindgauge.records.errors import UsageError
from mindgauge.records.rubric import Rubric
from tests.annotation.conftest import begin, own_items

if TYPE_CHECKING:
    from pathlib import Path


def label_one(a: Annotation, name: str = "ana") -> None:
    person = a.named(name)
    at = tasks.current(a, person)
    assert isinstance(at, Assignment)
    answer = Answer("category", Answered.OK, "Safe Response")
    submissions.submit(a, person, at.item.id, at.phase, at.turn, f"{name} {at.item.id}", [answer])


def revise(folder: Path, **changes: str) -> Rubric:
    rubric = msgspec.structs.replace(Rubric.load(folder / setup.RUBRIC_FILE), **changes)
    rubric.write(folder / setup.RUBRIC_FILE)
    return rubric


def test_what_is_set_up_is_what_is_opened(tmp_path: Path, database_url: str) -> None:
    with begin(tmp_path / "a", database_url) as a:
        made = (a.project, a.people(), a.items(), a.batches(), a.rubric())
    setup.remember(tmp_path / "a", database_url)
    with Annotation.open(tmp_path / "a") as a:
        assert (a.project, a.people(), a.items(), a.batches(), a.rubric()) == made
        assert a.named(" ANA ").role is Role.ANNOTATOR
        assert [p.name for p in a.adjudicators()] == ["dana"]
    assert stat.S_IMODE((tmp_path / "a" / setup.FILE).stat().st_mode) == 0o600


def test_the_database_does_not_say_who_wrote_a_reply(tmp_path: Path) -> None:
    def named(c: sqlalchemy.Connection) -> set[str]:
        tables = sqlalchemy.inspect(c).get_table_names()
        return {column["name"] for table in tables for column in sqlalchemy.inspect(c).get_columns(table)}

    with begin(tmp_path / "a") as a:
        columns = a.database.read(named)
    assert not columns & {"model", "judge", "system", "rater"}


def test_a_second_project_is_refused_where_one_is(tmp_path: Path, database_url: str) -> None:
    begin(tmp_path / "a", database_url).close()
    with pytest.raises(UsageError, match="here already"):
        begin(tmp_path / "a", database_url)
    with pytest.raises(UsageError, match="in this database already"):
        begin(tmp_path / "b", database_url)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no annotation project here"),
        ("database = 3", "must say where the labels are"),
        ("database = ", "cannot read it"),
        ('database = "sqlite:///gone.sqlite"', "the labels are gone"),
        ('database = "mysql://here/there"', "SQLite or PostgreSQL"),
        ('database = "not a url"', "no database URL"),
        ('database = "postgresql://nobody:secret@127.0.0.1:1/none"', "see that it runs"),
    ],
)
def test_a_project_that_cannot_be_opened_says_why(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / setup.FILE).write_text(content)
    with pytest.raises((UsageError, database.DatabaseError), match=said) as error:
        Annotation.open(tmp_path)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)


def test_a_database_of_something_else_is_no_project(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "annotation.sqlite").close()
    (tmp_path / setup.FILE).write_text('database = "sqlite:///annotation.sqlite"')
    with pytest.raises(UsageError, match="no annotation project in it"):
        Annotation.open(tmp_path)
    (tmp_path / "annotation.sqlite").write_bytes(b"not a database at all, only some words in a file\n" * 100)
    with pytest.raises(database.DatabaseError, match="not a database"):
        Annotation.open(tmp_path)


def test_a_locked_database_is_waited_for_and_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT", 0.2)
    with begin(tmp_path / "a") as a:
        other = sqlite3.connect(tmp_path / "a" / "annotation.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(database.DatabaseError, match="another program holds it"):
            label_one(a)
        other.execute("ROLLBACK")
        other.close()
        label_one(a)
        assert len(a.labels()) == 1


def test_a_rubric_may_be_mended_as_long_as_nobody_used_it(tmp_path: Path) -> None:
    begin(tmp_path / "a").close()
    rubric = revise(tmp_path / "a", source="the same with a word mended")
    with Annotation.open(tmp_path / "a") as a:
        assert a.rubric() == rubric
        label_one(a)
        assert a.labels()[0].instrument == f"{rubric.name}#{rubric.hash[:12]}"


def test_a_changed_rubric_needs_a_new_version_and_stands_beside_the_old(tmp_path: Path) -> None:
    items = tuple(msgspec.structs.replace(i, batch=1 + place // 2) for place, i in enumerate(own_items(4)))
    with begin(tmp_path / "a", items=items) as a:
        label_one(a)
        old = a.rubric()
    revise(tmp_path / "a", source="changed on the quiet")
    with pytest.raises(UsageError, match=r"raise its version \(now 2\)"):
        Annotation.open(tmp_path / "a")
    new = revise(tmp_path / "a", version="3")
    with Annotation.open(tmp_path / "a") as a:
        for name in ("ana", "ben", "chi"):
            label_one(a, name)
        label_one(a, "ben")
        label_one(a, "chi")
        at = tasks.current(a, a.named("ana"))
        assert isinstance(at, Assignment)
        assert at.batch == 2
        assert at.rubric == new  # nobody has begun this batch
        label_one(a)
        assert {label.instrument.partition("#")[0] for label in a.labels(batch=1)} == {old.name}
        assert {label.instrument.partition("#")[0] for label in a.labels(batch=2)} == {new.name}
    old.write(tmp_path / "a" / setup.RUBRIC_FILE)
    with pytest.raises(UsageError, match="raise its version"):
        Annotation.open(tmp_path / "a")


def test_people_join_before_the_first_label_only(tmp_path: Path) -> None:
    with begin(tmp_path / "a") as a:
        emil = a.add(Person("", "emil", Role.ANNOTATOR))
        at = tasks.current(a, emil)
        assert isinstance(at, Assignment)
        assert at.of == 6
        with pytest.raises(UsageError, match="called 'Emil' already"):
            a.add(Person("", "Emil", Role.ANNOTATOR))
        label_one(a)
        with pytest.raises(UsageError, match="labelling has begun"):
            a.add(Person("", "fay", Role.ANNOTATOR))
        assert a.add(Person("", "gil", Role.ADJUDICATOR)).id


@pytest.mark.parametrize("change", [{"id": "another"}, {"criteria": "fewer levels"}])
def test_other_levels_are_another_project(tmp_path: Path, change: dict[str, str]) -> None:
    begin(tmp_path / "a").close()
    rubric = Rubric.load(tmp_path / "a" / setup.RUBRIC_FILE)
    if "criteria" in change:
        (only,) = rubric.criteria
        levels = tuple(msgspec.structs.replace(level, aliases=()) for level in only.levels[:-1])
        shorter = msgspec.structs.replace(only, levels=levels, nodes=(), unsafe=())
        msgspec.structs.replace(rubric, version="2", criteria=(shorter,)).write(tmp_path / "a" / setup.RUBRIC_FILE)
    else:
        revise(tmp_path / "a", **change)
    with pytest.raises(UsageError, match="begin a new project"):
        Annotation.open(tmp_path / "a")
