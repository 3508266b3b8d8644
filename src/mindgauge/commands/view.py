"""`view`: the reader of a run on this machine, in which a person answers, until it is stopped."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from mindgauge.commands.command import CommandOption, Count, FromZero, command
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import count, plural
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.reports.export.worklist import Lot
    from mindgauge.reports.runs import OpenRun
    from mindgauge.reports.view.content import KeptDraw

HOST = "127.0.0.1"
BLIND_TITLE = "Replies drawn by lot"


class ViewServed(msgspec.Struct, frozen=True):
    """Where the reader runs, who answers in it, and how far they are."""

    run: str
    link: str
    """It lets one browser in, or another; who has it can read the run and answer."""
    who: str
    lines: int
    answered: int
    read: int
    notes: list[str]

    def summary(self) -> list[str]:
        """Say what is served to whom."""
        done = f"{count(self.answered)} of {plural(self.lines, 'line')} answered, {count(self.read)} read"
        return [
            f"The reader of {self.run}, answers as {self.who}: {done} (for Chrome, Edge or Firefox; Ctrl-C stops it)",
            self.link,
        ]


@command()
def view(
    run: str | Path,
    *,
    name: Annotated[str | None, CommandOption(flag="--as", metavar="NAME")] = None,
    port: Annotated[int, Meta(ge=0, le=65535)] = 8766,
    draw: Annotated[int | str | None, CommandOption(metavar="N")] = None,
    random: Count | None = None,
    seed: FromZero = 0,
    show_texts: bool = False,
    ready: Callable[[ViewServed], None] = lambda _: None,
) -> None:
    """Read every reply of a run in the browser, on this machine alone, and answer: your ratings stand in the run.

    Args:
        run: A run directory.
        name: Under which name you answer; that of your account if not given.
        port: Where to listen; 0 takes any port that is free.
        draw: Answer N replies, drawn with known probabilities, blind: no model's name and no verdict until you have
            answered. As in export --to review.
        random: With --draw: how many are drawn at random from the rest; 50 if not given.
        seed: Seed of --draw.
        show_texts: Show the restricted texts of the authors' files, which stand by their ids otherwise.
        ready: called once with where it runs.

    Raises:
        UsageError: there is no run, another rater has the name, the run keeps no text, or the port cannot be had.
        DataError: there is no reply and no answer, or nothing is left to draw from.
    """
    from mindgauge.annotation.web import serving
    from mindgauge.reports import page
    from mindgauge.reports import runs as opened
    from mindgauge.reports.export.worklist import Lot
    from mindgauge.reports.view import content
    from mindgauge.reports.view.answers import AnswerBook, ViewAccess, create_app, free_name
    from mindgauge.store import Store, manifest
    from mindgauge.store.locks import writer

    folder, lot = Path(run), Lot.read(draw, random, seed)
    if not manifest.read(folder).get("plan", {}).get("text", True):
        raise UsageError(f"{folder}: this run keeps no text, so there is nothing to read")
    with Store(folder) as store:
        who = free_name(store, name if name is not None else _account())
    listener = serving.listen(HOST, port)
    with listener:
        open_run = opened.read(folder, 0, show_texts=show_texts)
        with open_run.store:
            systems = opened.systems([open_run])
            title = page.title([system.label for system in systems]) if lot is None else BLIND_TITLE
            draws = {} if lot is None else _draws(open_run, lot)
            served = (
                content.open_reader(title, open_run, systems, who)
                if lot is None
                else content.blind_reader(title, open_run, systems, who, draws)
            )
            if not served.lines:
                raise DataError(f"{folder}: there is nothing to read here, no reply and no answer")
            benchmarks = {section.benchmark.name: section.benchmark for section in open_run.sections}
            book = AnswerBook(folder, who, benchmarks, served, open_run.store)
        del open_run
        access = ViewAccess(book, listener.getsockname()[1])
        notes = [note for kept_draw in draws.values() for note in kept_draw.notes]
        if process := writer(folder):
            notes.append(
                f"process {process} is writing this run now: what it adds is not shown, and answers wait for it"
            )
        announced = ViewServed(
            str(folder), access.link, who, len(served.lines), len(book.answered()), len(book.read()), notes
        )
        serving.serve(create_app(access), listener, lambda: ready(announced))


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:
        raise UsageError("--as NAME: say under which name you answer; this account has none") from error


def _draws(run: OpenRun, lot: Lot) -> dict[str, KeptDraw]:
    """Draw from every benchmark with replies."""
    from mindgauge.reports.view.content import draw_view as draw

    draws = {}
    for section in run.sections:
        if not section.benchmark.closed:
            hidden = {s for s in run.store.sample_ids(section.benchmark.name) if section.hides(s)}
            draws[section.benchmark.name] = draw(run.store, section.benchmark, lot, hidden)
    if not draws:
        raise UsageError(
            f"{run.folder}: --draw draws replies, and here are answers to closed questions; leave it out, or use `{command_line('export', run.folder, '--to', 'review', '--draw', lot.plan.text)}`"
        )
    return draws
