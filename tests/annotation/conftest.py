"""A project of ours on SQLite and on PostgreSQL, and where its database is.

`database_url` gives each test a database of its own, on both. `project` is an open `Annotation` there: six items of our
own dialogue_safety samples in one batch, three annotators, an adjudicator and an owner. `begin(folder, …)` makes others.
`MINDGAUGE_POSTGRES` names a server on which databases may be created; where it is not set, only SQLite is tried.
"""

from __future__ import annotations

import os
import time
import uuid
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import ProgrammingError

from mindgauge import benchmarks
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Item, Person, Policy, Project, Role
from mindgauge.records import digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVER = os.environ.get("MINDGAUGE_POSTGRES", "")
POSTGRES = [pytest.mark.postgres, pytest.mark.skipif(not SERVER, reason="needs a server, named by MINDGAUGE_POSTGRES")]
DRIVER = "postgresql+pg8000"
PEOPLE = (
    Person("", "ana", Role.ANNOTATOR),
    Person("", "ben", Role.ANNOTATOR),
    Person("", "chi", Role.ANNOTATOR),
    Person("", "dana", Role.ADJUDICATOR),
    Person("", "olga", Role.OWNER),
)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Make a database once for a worker: making one for each test takes the server more than the tests take."""
    name = f"mindgauge_{uuid.uuid4().hex}"
    server = make_url(SERVER)
    engine = create_engine(server.set(drivername=DRIVER), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        # Whatever the server's own settings are: Chinese, and one order of letters.
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"))
        yield server.set(database=name).render_as_string(hide_password=False)
        for left in reversed(range(50)):
            try:
                connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
            except ProgrammingError:  # the server's own vacuum is at it, and a role like ours may not end that
                if not left:
                    raise
                time.sleep(0.1)
            else:
                break
    engine.dispose()


def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Name a database that holds nothing."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'labels.sqlite'}"
    url: str = request.getfixturevalue("postgres_url")
    _emptied(url)
    return url


database_url = pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=POSTGRES)])(empty_database)


def _emptied(url: str) -> None:
    """End what an earlier test left connected to a database, and drop all that is in it."""
    engine = create_engine(make_url(url).set(drivername=DRIVER), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
        ))  # fmt: skip
        connection.execute(text("DROP OWNED BY CURRENT_USER"))
    engine.dispose()


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Iterator[Annotation]:
    with begin(tmp_path / "annotation", database_url) as opened:
        yield opened


def begin(
    folder: Path,
    database: str = "",
    *,
    items: tuple[Item, ...] | None = None,
    people: tuple[Person, ...] = PEOPLE,
    instrument: str = "dialogue_safety",
    gate: float = 0.4,
    policy: Policy = Policy.ADJUDICATED,
    url: str = "http://127.0.0.1:8765",
) -> Annotation:
    """Make a project; items stand in batch 1 where they do not say otherwise."""
    chosen = benchmarks.find_one(instrument)
    items = items if items is not None else own_items(6)
    sizes = [item.batch for item in items]
    about = Project(
        name="test",
        benchmark=instrument,
        batch=max(map(sizes.count, sizes), default=1),
        gate=gate,
        training=sizes.count(0),
        seed=0,
        policy=policy,
        protocol=chosen.protocol,
        url=url,
    )
    return Annotation.create(folder, about, chosen.rubric, people, items, database)


def own_items(count: int, batch: int = 1, language: str = "en") -> tuple[Item, ...]:
    """Our own dialogues on the safety of a reply, in one language, in the file's order."""
    samples = [s for s in benchmarks.find_one("dialogue_safety").samples(None) if s.tags["language"] == language]
    return tuple(
        Item(
            sample.id,
            sample.messages[:-1],
            sample.messages[-1].content,
            dict(sample.tags),
            sample.cluster,
            batch=batch,
            id=_ident(sample.id),
        )
        for sample in samples[:count]
    )


def _ident(subject: str) -> str:
    """Return the id of an item, the same in every test, so that what one project exports another can import."""
    return f"i{digest('test', subject)[:16]}"
