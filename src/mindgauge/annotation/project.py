"""One annotation project: set up once, then read by everything else. What changes it stands in `submissions` and `rounds`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec
from sqlalchemy import func, inspect, select, update

from mindgauge.annotation import schema, setup
from mindgauge.annotation.labels import labels_of
from mindgauge.annotation.records import (
    Comment,
    Gate,
    Item,
    Label,
    Person,
    Phase,
    Project,
    Role,
)
from mindgauge.annotation.schema import handed_on_of, items_of, log, people_of, person_of, rubric_of
from mindgauge.benchmarks.persons.persona import PLAIN_TURN, plain_turn_on_page
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private
from mindgauge.records.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Row

    from mindgauge.annotation.database import Database


class Batch(NamedTuple):
    """So many items that meet the gate together; 0 is the training round. `rubric` is settled by its first label."""

    number: int
    phase: Phase
    rubric: int | None
    opened: float | None
    closed: float | None
    decided: str
    items: int


class Annotation:
    """One opened project. Reading methods see what is committed; each opens a connection of its own."""

    def __init__(self, folder: Path, database: Database) -> None:
        """Take the folder and its database, which is closed with this."""
        self.folder = folder
        self.database = database
        try:
            self.project = _read(database)
        except BaseException:
            database.close()
            raise
        self._rubrics: dict[int, Rubric] = {}
        self._items: dict[str, Item] = {}
        self._items_of: dict[int | None, list[Item]] = {}

    @property
    def secret(self) -> bytes:
        """Of the hosts under which people reach the page (`web.origin`); made where there is none."""
        return private.secret(self.folder / "page.key", "give out new links")

    @property
    def elsewhere(self) -> str:
        """Say where the labels are kept, if not in the folder: a project from somebody else may name their server."""
        return "" if self.database.sqlite else f"the labels are kept by {self.database.name}"

    @classmethod
    def create(
        cls,
        folder: Path,
        project: Project,
        rubric: Rubric,
        people: Sequence[Person],
        items: Sequence[Item],
        database: str = "",
    ) -> Annotation:
        """Set up a project: its file, its tables, and an order of work for every annotator.

        Args:
            folder: where `annotation.toml` and `rubric.toml` are written.
            project: what was asked for.
            rubric: the instrument.
            people: who takes part; their ids are given here.
            items: what is labelled, batch by batch in the order of work; batch 0 is the training round.
            database: a PostgreSQL URL; a file in the folder if empty.

        Raises:
            UsageError: there is a project already, in the folder or in the database.
            DatabaseError: the database cannot be written.
        """
        opened = setup.database(folder, database)
        try:
            setup.set_up(opened, project, rubric, people, items)
        except BaseException:
            opened.close()
            raise
        rubric.write(folder / setup.RUBRIC_FILE)
        setup.write(folder, database)
        return cls(folder, opened)

    @classmethod
    def open(cls, folder: Path) -> Annotation:
        """Open a project; a new version of its rubric is taken up for the batches that nobody has begun.

        Raises:
            UsageError: there is none, or `rubric.toml` was changed after labels were given without a new version.
            DatabaseError: the database cannot be reached.
        """
        opened = cls(folder, setup.read(folder))
        try:
            setup.take_up(opened.database, folder / setup.RUBRIC_FILE, opened.rubric())
        except BaseException:
            opened.close()
            raise
        return opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    # -- reading ----------------------------------------------------------------------------------------------------

    def rubric(self, number: int | None = None) -> Rubric:
        """Return a version of the rubric; the newest if no number is given."""
        if number in self._rubrics:
            return self._rubrics[number]
        query = select(schema.rubrics.c.number, schema.rubrics.c.body).order_by(schema.rubrics.c.number.desc())
        if number is not None:
            query = query.where(schema.rubrics.c.number == number)
        row = self.database.read(lambda c: c.execute(query).first())
        assert row is not None
        return self._rubrics.setdefault(row.number, msgspec.json.decode(row.body, type=Rubric))

    def rubric_of(self, batch: int) -> int | None:
        """Return the number of a batch's version of the rubric; None as long as nobody has begun it."""
        return self.database.read(lambda c: rubric_of(c, batch))

    def rubric_for(self, item: Item, number: int | None = None) -> Rubric:
        """Return as much of a version as is about an item, worded under its protocol, with the levels that it offers."""
        rubric = self.rubric(number).on(item.tags)
        criteria = tuple(plain_turn_on_page(c, item.turns) if c.name == PLAIN_TURN else c for c in rubric.criteria)
        rubric = msgspec.structs.replace(rubric, criteria=criteria)
        protocol = item.tags.get(self.project.protocol, "") if self.project.protocol else ""
        return rubric.under(protocol) if protocol else rubric

    def instrument(self, number: int) -> str:
        """Return how ratings name a version."""
        return setup.instrument(self.rubric(number))

    def people(self) -> list[Person]:
        """Return everybody, in the order in which they were named."""
        return self.database.read(people_of)

    def person(self, ident: str) -> Person | None:
        """Return one person by id."""
        query = select(schema.people).where(schema.people.c.id == ident)
        row = self.database.read(lambda c: c.execute(query).first())
        return None if row is None else person_of(row)

    def named(self, name: str) -> Person:
        """Return one person by name.

        Raises:
            UsageError: nobody has it.
        """
        people = self.people()
        match = next((person for person in people if person.name.casefold() == name.strip().casefold()), None)
        if match is None:
            raise UsageError(f"nobody here is called {name!r}; there are {', '.join(p.name for p in people)}")
        return match

    def annotators(self) -> list[Person]:
        """Return the annotators, active or not."""
        return [person for person in self.people() if person.role is Role.ANNOTATOR]

    def adjudicators(self) -> list[Person]:
        """Return who decides what is left: the adjudicators, or the owner where there is none."""
        active = [person for person in self.people() if person.active]
        named = [person for person in active if person.role is Role.ADJUDICATOR]
        return named or [person for person in active if person.role is Role.OWNER]

    def items(self, batch: int | None = None) -> list[Item]:
        """Return items in the order of work; of one batch, or all, the training round first. They never change."""
        if batch not in self._items_of:
            self._items_of[batch] = self.database.read(lambda c: items_of(c, batch))
        return list(self._items_of[batch])

    def item(self, ident: str) -> Item | None:
        """Return one item by id. Items never change, so each is read once."""
        if ident not in self._items:
            query = select(schema.items.c.body).where(schema.items.c.id == ident)
            body = self.database.read(lambda c: c.execute(query).scalar())
            if body is None:
                return None
            self._items[ident] = msgspec.json.decode(body, type=Item)
        return self._items[ident]

    def known_item(self, ident: str) -> Item:
        """Return an item that is known to be here.

        Raises:
            KeyError: it is not.
        """
        item = self.item(ident)
        if item is None:
            raise KeyError(ident)
        return item

    def labels(self, *, batch: int | None = None, item: str | None = None, person: str | None = None) -> list[Label]:
        """Return every label ever given, oldest first; of one batch, item or person, or all."""
        return self.database.read(lambda c: labels_of(c, batch=batch, item=item, person=person))

    def handed_on(self, batch: int | None = None, phase: Phase | None = None) -> set[tuple[str, str]]:
        """Return (person id, item id) of what somebody handed on; of one batch or phase, or all."""
        return self.database.read(lambda c: handed_on_of(c, batch, phase))

    def batches(self) -> list[Batch]:
        """Return the batches in order, the training round first."""
        items = select(func.count()).select_from(schema.items).where(schema.items.c.batch == schema.batches.c.number)
        query = select(schema.batches, items.scalar_subquery().label("items")).order_by(schema.batches.c.number)
        rows = self.database.read(lambda c: c.execute(query).all())
        return [Batch(r.number, Phase(r.phase), r.rubric, r.opened, r.closed, r.decided, r.items) for r in rows]

    def gates(self, batch: int) -> list[Gate]:
        """Return what the gate said of a batch, phase by phase."""
        query = select(schema.gates).where(schema.gates.c.batch == batch).order_by(schema.gates.c.number)
        rows = self.database.read(lambda c: c.execute(query).all())
        return [Gate(r.batch, Phase(r.phase), r.at, r.passed, msgspec.json.decode(r.figures)) for r in rows]

    def comments(self, item: str | None = None) -> list[Comment]:
        """Return what was said of an item, or of all, oldest first."""
        query = select(schema.comments).order_by(schema.comments.c.number)
        if item is not None:
            query = query.where(schema.comments.c.item == item)
        return [Comment(r.person, r.item, r.text, r.at) for r in self.database.read(lambda c: c.execute(query).all())]

    # -- small changes ----------------------------------------------------------------------------------------------

    def set_language(self, person: str, language: str) -> None:
        """Remember in which language a person wants the page."""
        change = update(schema.people).where(schema.people.c.id == person).values(language=language)
        self.database.write(lambda c: c.execute(change))

    def set_noticed(self, person: str) -> None:
        """Remember that a person has read the notice on the content."""

        def note(c: Connection) -> None:
            c.execute(update(schema.people).where(schema.people.c.id == person).values(noticed=True))
            log(c, person, "noticed")

        self.database.write(note)

    def log(self, person: str, event: str, about: str = "") -> None:
        """Keep that something happened; never a text."""
        self.database.write(lambda c: log(c, person, event, about))

    def add(self, person: Person) -> Person:
        """Add a person; an annotator gets an order of work of their own.

        Raises:
            UsageError: the name is taken, or labelling has begun: a batch has the same annotators from start to end.
        """
        items, named = self.items(), setup.identified(person)

        def add(c: Connection) -> Person:
            others = {other.name.casefold(): other for other in people_of(c)}
            before = others.get(named.name.casefold())
            if before is not None and before.id == named.id:  # the answer to the commit was lost
                return before
            if before is not None:
                raise UsageError(f"somebody is called {named.name!r} already; choose another name")
            begun = select(func.count()).select_from(schema.labels).where(schema.labels.c.phase != Phase.TRAINING)
            if named.role is Role.ANNOTATOR and c.execute(begun).scalar_one():
                raise UsageError(
                    "labelling has begun; all batches have the same annotators, so nobody can be added now"
                )
            setup.add_person(c, named, items)
            return named

        return self.database.write(add)


def _read(database: Database) -> Project:

    def about(c: Connection) -> Row[int, str] | None:
        exists = inspect(c).has_table("project")
        return c.execute(select(schema.project.c.version, schema.project.c.body)).first() if exists else None

    row = database.read(about)
    if row is None:
        raise UsageError(f"{database.name}: no annotation project in it; begin one with `mindgauge annotate new`")
    if row.version != schema.SCHEMA_VERSION:
        raise UsageError(
            f"{database.name}: written as version {row.version}, this Mindgauge reads {schema.SCHEMA_VERSION}; "
            "use the Mindgauge that wrote it"
        )
    return msgspec.json.decode(row.body, type=Project)
