"""`mindgauge annotate`: people label in the browser, alone, in batches, under a gate."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.records.english import ranges
from mindgauge.records.rounding import bounded, percent, plural
from mindgauge.records.shell import command_line
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from mindgauge.commands.annotate.new import NewProject
    from mindgauge.commands.annotate.serve import Served
    from mindgauge.commands.annotate.status import BatchStatus, PersonStatus, ProjectStatus

_WHO = options.under("Who takes part")
_ROUNDS = options.under("Rounds")
_WHAT = options.under("What is labelled of it")


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder, which is a run directory, too.")],
    items: Annotated[
        Path,
        typer.Option(help=f"What is labelled: a table of dialogues ({options.TABLE}), or a run directory."),
    ],
    annotators: Annotated[list[str], typer.Option(help="Who labels: names, separated by commas.")],
    benchmark: Annotated[str | None, typer.Option(help="Whose rubric is used; a run knows its own.")] = None,
    rubric: Annotated[Path | None, typer.Option(help="A rubric file, in place of a benchmark.")] = None,
    adjudicator: Annotated[
        str | None, _WHO(help="Who decides what is left after discussion; the owner if not given.")
    ] = None,
    owner: Annotated[str, _WHO(help="Who sees how far the work is and gives out links.")] = "owner",
    batch: Annotated[int, _ROUNDS(min=1, help="Items that meet the gate together.")] = 200,
    gate: Annotated[float, _ROUNDS(help="The least agreement with which a batch closes, 0 to 1.")] = 0.4,
    training: Annotated[int, _ROUNDS(min=0, help="Anchors that everybody labels first; 0 for none.")] = 10,
    policy: Annotated[str, _ROUNDS(help="How gold is read off the labels: adjudicated or majority.")] = "adjudicated",
    order: Annotated[
        Path | None,
        _WHAT(
            help="What comes first: review.csv of `export --to review`, or a table with `subject` or `id`; with a column `probability`, just that is labelled."
        ),
    ] = None,
    anchors: Annotated[
        Path | None, _ROUNDS(help="Texts with known levels for the training round, like an anchors.jsonl.")
    ] = None,
    language: Annotated[
        str | None, _ROUNDS(help="en or zh: of the page at first, and of items that name none.")
    ] = None,
    url: Annotated[str, _WHO(help="Under which people reach the page.")] = "http://127.0.0.1:8765",
    database: Annotated[
        str | None, _WHO(help="postgresql://USER@HOST/NAME, for a team; a file in DIR if not given.")
    ] = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    limit: Annotated[
        int | None, _WHAT(min=1, help="At most this many items: the first of --order, then at random.")
    ] = None,
    draw: Annotated[
        str | None,
        _WHAT(
            metavar="N",
            help="Of a run: label so many replies, drawn with known probabilities: those that need people most, and --random of the rest. Or blocks of that order: 100=60,400=40,rest=50.",
        ),
    ] = None,
    random: Annotated[
        int | None, _WHAT(min=1, help="With --draw: how many come from the rest by lot; 50 if not given.")
    ] = None,
    unit: Annotated[
        str | None,
        _WHAT(
            help="Of a run of dialogues: label each whole `dialogue` (if not given), each `turn`, or each message of the person (`client`); of a file: it holds transcripts, which are cut into these."
        ),
    ] = None,
    write_items: Annotated[
        Path | None,
        _WHAT(
            metavar="FILE", help="Write the items that transcripts are cut into by --unit: .csv, .jsonl or .parquet."
        ),
    ] = None,
    seed: Annotated[int, _ROUNDS(min=0, help="Of the gate's resamples, and of --draw.")] = 0,
    json: options.Json = False,
) -> None:
    """Set up a project in which people label, and print one invitation link for each of them."""
    from mindgauge.commands.annotate.new import annotate_new

    result = annotate_new(
        folder, items=items, annotators=options.several(annotators), benchmark=benchmark, rubric=rubric,
        adjudicator=adjudicator, owner=owner, batch=batch, gate=gate, training=training, policy=policy, order=order,
        anchors=anchors, language=language, url=url, database=database, columns=options.mapping(map_),
        limit=limit, draw=draw, random=random, unit=unit, write_items=write_items, seed=seed, command=render.command(),
    )  # fmt: skip
    if json:
        render.as_json(result)
        return
    made(result)


def made(result: "NewProject") -> None:
    """Print what was set up, and the links."""
    crisis = f", {result.crisis} of them with a sign of risk" if result.crisis else ""
    sizes = ", ".join(
        f"{plural(count, 'batch', 'batches')} of {size}" for size, count in Counter(result.batches).items()
    )
    print(f"{result.folder}: {result.items} items{crisis}; {sizes}; {result.training} anchors to train on")
    print(f"{result.rubric}, gate {result.gate:g}, gold {result.policy}, labels in {result.database}")
    render.table(
        "Links, each for one person and good once; send each to its own person only", ["person", "role", "link"],
        [[link.name, link.role, link.link] for link in result.links],
    )  # fmt: skip
    if result.needed:
        print(f"How many to label: {result.needed}")
    for note in result.notes:
        print(f"Note: {note}")
    print(f"Go on: {command_line('annotate', 'serve', result.folder)}")


# `mindgauge annotate serve`.


def serve(
    folder: Annotated[Path, typer.Argument(help="The project's folder.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any port that is free.")] = 8765,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on. Anything but 127.0.0.1 lets others in the network try to come in."
        ),
    ] = "127.0.0.1",
    invite: Annotated[
        str | None, typer.Option(metavar="NAME", help="Print a new link for this person, who has lost theirs.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Serve the page on which people label, until Ctrl-C."""
    from mindgauge.commands.annotate.serve import annotate_serve as function

    def ready(served: "Served") -> None:
        if json:
            render.as_json(served)
        else:
            for note in served.notes:
                render.notice(note)
            print(f"The page runs at {served.url} (for Chrome, Edge or Firefox; Ctrl-C stops it)")
            if served.link:
                print(f"New link for {invite}: {served.link}")
        sys.stdout.flush()

    function(folder, host=host, port=port, invite=invite, ready=ready)


# `mindgauge annotate status`.


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")], json: options.Json = False
) -> None:
    """Say how far the work is, what the gate said, and who is awaited."""
    from mindgauge.commands.annotate.status import annotate_status

    result = annotate_status(folder)
    if json:
        render.as_json(result)
        return
    _batches(result)
    _gates(result)
    _people(result)
    for note in result.notes:
        print(f"Note: {note}")
    if result.in_run:
        print(f"In the run: people's ratings of batch {ranges(result.in_run)}")
    print(result.next)


def _batches(result: "ProjectStatus") -> None:
    names = list(dict.fromkeys(part.person for batch in result.batches for part in batch.people))
    rows = [
        [
            str(batch.batch or "training"), batch.decided or _phase(batch), str(batch.items),
            *(_done(batch, name) for name in names),
        ]
        for batch in result.batches
    ]  # fmt: skip
    print(f"{result.folder}: {result.rubric}, gate {result.gate:g}, gold {result.policy}")
    render.table("Finished", ["batch", "state", "items", *names], rows)


def _phase(batch: "BatchStatus") -> str:
    return str(batch.phase) if batch.opened or batch.batch == 0 else "waiting"


def _done(batch: "BatchStatus", name: str) -> str:
    """Write how many items a person has finished in the phase that the batch is in, or was in last with them."""
    parts = [part for part in batch.people if part.person == name]
    running = [part for part in parts if part.phase == batch.phase] or parts[-1:]
    if not running:
        return ""
    part = running[0]
    return f"{part.of - part.left} of {part.of}" + (f" ({part.handed_on} handed on)" if part.handed_on else "")


def _gates(result: "ProjectStatus") -> None:
    rows = []
    for batch in result.batches:
        for gate in batch.gates:
            for f in (figure for figure in gate.figures if not figure.label):
                coefficients = [
                    bounded(value, low, high)
                    for value, low, high in (
                        (f.fleiss, f.fleiss_low, f.fleiss_high),
                        (f.alpha, f.alpha_low, f.alpha_high),
                    )
                ]
                coefficients[1] += f" {f.alpha_level}"
                rows.append(
                    [
                        str(batch.batch), str(gate.phase) if gate.phase.alone else f"{gate.phase}*", f.criterion, *coefficients, percent(f.agreement),
                        str(f.n), str(f.missing), "reached" if gate.passed else "below",
                    ]
                )  # fmt: skip
    if rows:
        columns = [
            "batch",
            "after",
            "criterion",
            with_level("fleiss"),
            f"{with_level('alpha')} or nominal",
            "agree",
            "n",
            "missing",
            "gate",
        ]
        render.table("The gate, with 95 % intervals", columns, rows)
    if any(not gate.phase.alone for batch in result.batches for gate in batch.gates):
        print(
            "* People had seen each other's labels by then: how far they agree on their own is what stands after labelling."
        )


def _people(result: "ProjectStatus") -> None:
    rows = [
        [
            person.name,
            str(person.role),
            "" if person.active else "no",
            str(person.labels),
            _training(person),
            person.seen or "–",
        ]
        for person in result.people
    ]
    render.table("People", ["person", "role", "active", "labels", "right on anchors", "last seen (UTC)"], rows)


def _training(person: "PersonStatus") -> str:
    """Write the share of anchors that a person placed as they were written, by criterion where there are several."""
    with_criterion = len(person.training) > 1
    return "; ".join(
        f"{f'{a.criterion} ' if with_criterion else ''}{percent(a.right)} of {a.n}" for a in person.training
    )


# `mindgauge annotate export`.


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")],
    to: Annotated[str, typer.Option(help="csv, parquet, label-studio or potato.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="The folder to write; DIR/export-FORMAT if not given.")] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Also batches that are not closed; people who see those labels are no longer blind."
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Write people's labels, their history and the gold for other tools."""
    from mindgauge.commands.annotate.export import annotate_export

    result = annotate_export(folder, to=to, out=out, everything=everything)
    if json:
        render.as_json(result)
        return
    for note in result.notes:
        print(f"note: {note}")
    batches = f"batch {ranges(result.batches)}" if result.batches else "no batch"
    print(f"{result.labels} labels of {batches}: {', '.join(w.file for w in result.files)}")
    print(result.path)


# `mindgauge annotate import`.


@options.takes_shape
def import_(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")],
    file: Annotated[
        Path,
        typer.Argument(
            help=f"Ratings ({options.TABLE}; also folders) in any shape, Label Studio's JSON, or Potato's annotations.jsonl."
        ),
    ],
    form: Annotated[
        str, typer.Option("--from", help="csv, parquet, label-studio or potato; told from the file if not given.")
    ] = "",
    names: options.Map = [],  # noqa: B006 - how typer spells an empty list
    shape: options.Shape = {},  # noqa: B006 - stands for several options
    supersede: Annotated[
        bool, typer.Option("--supersede", help="Add labels that contradict those that are there; both are kept.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Take labels that people gave elsewhere into the labelling phase: all of a file, or nothing."""
    from mindgauge.commands.annotate.import_ import annotate_import

    layout = options.layout(shape)
    result = annotate_import(folder, file, form=form, names=options.mapping(names), supersede=supersede, layout=layout)
    if json:
        render.as_json(result)
        return
    for note in result.notes:
        print(f"note: {note}")
    replaced = f", {result.superseded} of them in place of others" if result.superseded else ""
    print(
        f"{result.labels} labels taken in{replaced}, {result.handed_on} items handed on, {result.same} were there already "
        f"({result.form})"
    )
    if result.closed:
        print(f"closed: batch {ranges(result.closed)}")


# `mindgauge annotate`: people label in the browser, alone, in batches, under a gate.


app = options.group("People rate, too: blind rounds with a gate, in the browser.", "annotate")
app.command(cls=options.Command)(new)
app.command(cls=options.Command)(serve)
app.command(cls=options.Command)(status)
app.command(cls=options.Command)(export)
app.command("import", cls=options.Command)(import_)
