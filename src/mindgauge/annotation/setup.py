"""How a project is set up: where its labels are, its tables, its items in batches, an order of work for every annotator; and its rubric.

All versions of the rubric are kept; a batch has that of its first label.
"""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import tomli_w
from sqlalchemy import func, insert, inspect, select

from mindgauge.annotation import schema
from mindgauge.annotation.database import Database
from mindgauge.annotation.records import Item, Person, Phase, Project, Role
from mindgauge.annotation.schema import people_of
from mindgauge.records import digest, encode
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.files import private as sealed
from mindgauge.records.files import private as state
from mindgauge.records.rubric import Rubric
from mindgauge.store import locks
from mindgauge.store.opening import names_another

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection


FILE = "annotation.toml"
_SQLITE = "sqlite:///"
_OWN = "annotation.sqlite"
_ELSEWHERE = "labels-elsewhere.json"


def database(folder: Path, url: str) -> Database:
    """Return the database of a new project; a file in its folder if no URL is given.

    Raises:
        UsageError: a project is in the folder already, the URL is none, or a file in it would be locked by nothing.
    """
    if (folder / FILE).exists():
        raise UsageError(f"{folder}: an annotation project is here already; choose another folder, or serve this one")
    private.folder(folder)
    if not url:  # SQLite gives its log and its index the mode of the file
        locks.check(folder)
        private.new(folder / _OWN)
    return Database(_address(folder, url or f"{_SQLITE}{_OWN}"))


def write(folder: Path, url: str) -> None:
    """Write where the labels are, readable for its owner only: a URL may hold a password."""
    private.write(folder / FILE, tomli_w.dumps({"database": url or f"{_SQLITE}{_OWN}"}))


def remember(folder: Path, url: str) -> None:
    """Note that the owner of a project keeps its labels in a file elsewhere on this machine; call it when the folder stands.

    Without the note, the project is not opened: no file that somebody hands over may lead to another.
    """
    if url.startswith("sqlite:"):
        state.write_state(_ELSEWHERE, sorted({*_noted(), _mark(folder, url)}))


def _mark(folder: Path, url: str) -> str:
    return digest("labels", str(folder.resolve()), url)


def _noted() -> list[str]:
    """Return the marks of the projects whose owner put the labels elsewhere on this machine."""
    return state.read_state(_ELSEWHERE, list[str]) or []


def read(folder: Path) -> Database:
    """Return the database of the project in a folder.

    Raises:
        UsageError: there is none, its file is damaged, the labels are gone, or nothing would lock them.
    """
    path = folder / FILE
    try:
        content = bounds.toml(path)
    except FileNotFoundError as error:
        raise UsageError(f"{folder}: no annotation project here; begin one with `mindgauge annotate new`") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot read it ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{path}: cannot read it ({error})") from error
    url = content.get("database")
    if not isinstance(url, str):
        raise UsageError(f'{path}: it must say where the labels are (database = "{_SQLITE}{_OWN}")')
    if url.startswith("sqlite:"):
        _check_file(folder, url)
    return Database(_address(folder, url))


def _check_file(folder: Path, url: str) -> None:
    """Check the file that holds the labels.

    Raises:
        UsageError: it lies elsewhere and nobody noted so here, is gone, or would be locked by nothing; or a journal beside
            it names another file.
    """
    if url != f"{_SQLITE}{Path(url).name}" and _mark(folder, url) not in _noted():
        raise UsageError(
            f"{folder / FILE}: the labels of a project lie in its own folder, and this names another file; "
            f'put the file there and write its name alone (database = "{_SQLITE}{_OWN}")'
        )
    if not url.startswith(_SQLITE):
        return
    labels = folder / url.removeprefix(_SQLITE)
    if not labels.is_file():
        raise UsageError(f"{labels}: the labels are gone; put the file back from a copy")
    private.folder(folder)
    locks.check(folder)
    private.refuse_link(labels)
    if journal := names_another(labels):
        raise UsageError(
            f"{journal}: it names another file, which SQLite would remove; nothing of ours writes such a journal: remove it"
        )


def _address(folder: Path, url: str) -> str:
    """Return a URL that holds wherever we are; a file's name is meant within the folder."""
    return f"{_SQLITE}{folder.resolve() / url.removeprefix(_SQLITE)}" if url.startswith(_SQLITE) else url


# How a project is set up: its tables, its items in batches, and an order of work for every annotator; and its rubric.


def set_up(
    database: Database, project: Project, rubric: Rubric, people: Sequence[Person], items: Sequence[Item]
) -> None:
    """Make the tables and fill them, all or nothing.

    Raises:
        UsageError: a project is in the database already, or tables of another program are.
    """
    identities = [identified(person) for person in people]

    def fill(c: Connection) -> None:
        tables = inspect(c).get_table_names()
        if schema.metadata.tables.keys() <= set(tables) and c.execute(select(schema.project.c.id)).first() is not None:
            if {person.id for person in people_of(c)} == {person.id for person in identities}:
                return  # the answer to the commit was lost
            raise UsageError(f"{database.name}: a project is in this database already; give each one of its own")
        if tables:
            raise UsageError(
                f"{database.name}: this database is not empty, it has {named(tables)}; give the project a new one"
            )
        schema.metadata.create_all(c)
        c.execute(insert(schema.project).values(id=1, version=schema.SCHEMA_VERSION, body=_json(project)))
        add_rubric(c, rubric)
        _add_items(c, items)
        for person in identities:
            add_person(c, person, items)

    database.write(fill)


def _add_items(c: Connection, items: Sequence[Item]) -> None:
    numbers = sorted({item.batch for item in items})
    c.execute(
        insert(schema.batches),
        [{"number": n, "phase": Phase.LABELLING if n else Phase.TRAINING, "decided": ""} for n in numbers],
    )
    c.execute(
        insert(schema.items),
        [
            {
                "id": item.id, "subject": item.subject, "position": position, "batch": item.batch, "tier": item.tier, "crisis": item.crisis,
                "graphic": item.graphic, "body": _json(item),
            }
            for position, item in enumerate(items)
        ],
    )  # fmt: skip


def identified(person: Person) -> Person:
    """Give a person an id, drawn by lot."""
    return msgspec.structs.replace(person, id=secrets.token_hex(8))


def add_person(c: Connection, person: Person, items: Sequence[Item]) -> None:
    """Add a person; an annotator's tasks stand in an order of their own, within the tiers of each batch."""
    position = c.execute(select(func.count()).select_from(schema.people)).scalar_one()
    c.execute(insert(schema.people).values(position=position, **msgspec.structs.asdict(person)))
    if person.role is Role.ANNOTATOR:
        for batch in sorted({item.batch for item in items}):
            phase = Phase.LABELLING if batch else Phase.TRAINING
            put_before(c, person, batch, phase, [item for item in items if item.batch == batch])


def put_before(c: Connection, person: Person, batch: int, phase: Phase, items: Sequence[Item]) -> None:
    """Put items before a person, in an order of their own within tiers; of anchors, which have none, over all.

    Parts of one dialogue come together, in the order of its turns. The order hangs on ids that were drawn by lot and are not shown, so that nobody can reckon back from it to another.
    """
    order = sorted(
        items,
        key=lambda item: (
            item.tier if batch else 0,
            digest("order", person.id, phase, item.dialogue or item.id),
            item.turn,
        ),
    )
    tasks = [
        {
            "person": person.id, "item": item.id, "phase": phase, "batch": batch, "place": place, "state": "open",
            "turn": 0,
        }
        for place, item in enumerate(order)
    ]  # fmt: skip
    if tasks:
        c.execute(insert(schema.tasks), tasks)


def _json(record: object) -> str:
    return encode(record).decode()


RUBRIC_FILE = "rubric.toml"
"""The copy in the project's folder, which its owner may revise."""


def instrument(rubric: Rubric) -> str:
    """Return how ratings name a rubric: its id, its version and the hash of its words."""
    return f"{rubric.name}#{rubric.hash[:12]}"


def add_rubric(c: Connection, rubric: Rubric) -> None:
    """Add a version, as the newest."""
    row = {"instrument": instrument(rubric), "body": encode(rubric).decode(), "at": time.time()}
    c.execute(insert(schema.rubrics).values(**row))


def take_up(database: Database, path: Path, newest: Rubric) -> None:
    """Take up the file, if it was revised, for the batches that nobody has begun; write it, if it is gone.

    Raises:
        UsageError: it was changed after labels were given without a new version, or other things than words were.
    """
    if not path.exists():
        newest.write(path)
        return
    revised = Rubric.load(path)
    if revised.hash == newest.hash:
        _seal(path)
        return
    if _frame(revised) != _frame(newest):
        raise UsageError(
            f"{path}: its id, a criterion or a level differs from this project's; only words may change: otherwise begin "
            "a new project"
        )

    def take(c: Connection) -> None:
        versions = list(c.execute(select(schema.rubrics.c.instrument).order_by(schema.rubrics.c.number)).scalars())
        if versions[-1] == instrument(revised):  # the answer to the commit was lost
            return
        labels = c.execute(select(func.count()).select_from(schema.labels)).scalar_one()
        if labels and revised.name in {version.partition("#")[0] for version in versions}:
            raise UsageError(
                f"{path}: changed after {labels} labels were given; raise its version (now {revised.version}), and the "
                "batches that nobody has begun use it, or put the old file back"
            )
        if instrument(revised) in versions:
            raise UsageError(
                f"{path}: an earlier version of the rubric; put the newest back, or raise this one's version"
            )
        add_rubric(c, revised)

    database.write(take)
    _seal(path)


def _seal(path: Path) -> None:
    """Give the owner's file its checksum, once it is known to be what they mean: runs are scored by its levels."""
    content = path.read_bytes()
    if sealed.seal(content) != content:
        private.write(path, sealed.seal(content))


def _frame(rubric: Rubric) -> object:
    """Return what labels hang on: another version has other words, not other names or levels."""
    return rubric.id, [(criterion.name, criterion.scale, criterion.values) for criterion in rubric.criteria]
