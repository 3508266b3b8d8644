"""Options that several commands share."""

from __future__ import annotations

import inspect
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

    from mindgauge.records.ratings import RatingLayout

Names = Annotated[
    list[str] | None, typer.Argument(help="Benchmarks, or families of them; none with --rubric.", show_default=False)
]
Name = Annotated[str, typer.Argument(help="A benchmark.")]
NameIfAny = Annotated[
    str | None, typer.Argument(help="A benchmark; leave it out with --rubric, or with a run that has but one.")
]
Rubric = Annotated[
    Path | None,
    typer.Option(
        help="A rubric file of your own, in place of a benchmark (docs/tasks/own_rubric.md), or a variant of a benchmark's by name: psycrisis/likert."
    ),
]
Instrument = Annotated[
    Path | None,
    typer.Option(
        help="A folder with prompts and a rubric in the place of a benchmark's own, such as its authors'; see docs/tasks/own_prompts.md."
    ),
]
Judges = Annotated[
    list[str],
    typer.Option(
        "--judge",
        help="Who rates: a model, files/DIR (answers by hand), classifier/FOLDER, or a rule (rule/refusal). May be repeated.",
    ),
]
AsPublished = Annotated[
    bool,
    typer.Option(
        "--as-published",
        help="Set everything of the paper's protocol that is no wording, and say what is still to be brought.",
    ),
]
Out = Annotated[Path | None, typer.Option(help="The run directory; if not given, one that follows from the plan.")]
Data = Annotated[
    Path | None,
    typer.Option(
        help="A copy of the authors' released files, whole or in part, or, for run, texts of your own: a table with a column user or messages (or --map), or a folder of them."
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="At most this many, each with its variants, spread evenly over the classes; of dialogues each with another person.",
    ),
]
Where = Annotated[
    list[str],
    typer.Option(
        help="Keep samples whose tag has a value: language=zh, or one of several: made=released,ours. May be repeated."
    ),
]
NoText = Annotated[
    bool, typer.Option("--no-text", help="Keep hashes and places of quotes instead of what people and models said.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")]
ShowRequests = Annotated[
    int, typer.Option(min=0, help="With --dry-run: print this many requests to each model as they would be sent.")
]
Map = Annotated[
    list[str],
    typer.Option(
        "--map",
        help="NAME=COLUMN, where a column has another name (reply=Antwort, user=#1), or how the file is read (sheet, header, encoding, separator); or FILE.toml.",
    ),
]
TABLE = "CSV, Excel, JSON, JSONL, Parquet"
"""What a table of the user's may be, in words; `docs/reference/files.md` has it in full."""
Full = Annotated[bool, typer.Option("--full", help="Everything: every table, every row, every note.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


def under(heading: str) -> Callable[..., Any]:
    """Return what makes options that help shows under a heading."""
    return partial(typer.Option, rich_help_panel=heading)


KINDS = {
    "str": "TEXT", "list[str]": "TEXT", "path": "PATH", "list[Path]": "PATH", "int": "N", "int range": "N", "float": "NUMBER",
    "float range": "NUMBER",
}  # fmt: skip
"""What Typer calls the kind of a value → what help calls it."""
_KIND = re.compile(r"<([a-z]+(?:\[[A-Za-z]+\]| range)?)>")


class Command(TyperCommand):
    """A command whose help shows options under headings: those of a `rich_help_panel` after all others.

    Typer shows such panels through Rich alone, whose help takes longer to load than a small run takes to score.
    """

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write arguments, then options heading by heading."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            record = (_KIND.sub(lambda kind: KINDS.get(kind[1], kind[0]), record[0]), record[1])
            own = "Options" if param.param_type_name == "option" else "Arguments"
            heading = (param.rich_help_panel if isinstance(param, TyperOption) else None) or own
            sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class CommandGroup(TyperGroup):
    """A group of commands whose help says in full what each is for."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the commands, each with the first paragraph of its help."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, (command.help or "").partition("\n\n")[0]) for name, command in commands if command is not None]
            )


def group(about: str, name: str | None = None, cls: type[TyperGroup] = CommandGroup) -> typer.Typer:
    """Return an application for commands that belong together."""
    return typer.Typer(
        cls=cls, name=name, help=about, no_args_is_help=True, add_completion=False, rich_markup_mode=None
    )


def several(items: list[str]) -> list[str]:
    """Read an option that takes several values, repeated or separated by commas."""
    return [part.strip() for text in items for part in text.split(",") if part.strip()]


def mapping(items: list[str]) -> dict[str, str]:
    """Read `--map`: NAME=COLUMN, several separated by commas, or files of them; see `mindgauge.records.files.mapping`."""
    from mindgauge.records.files.mapping import parse

    return parse(items)


def spread(
    command: Callable[..., object],
    name: str,
    built: Sequence[inspect.Parameter],
    read: Callable[[dict[str, Any]], object],
) -> Callable[..., object]:
    """Give a command several options in the place of one parameter.

    Args:
        command: the command's function.
        name: of the parameter that stands for them.
        built: the options.
        read: from what the user typed, by option, to the parameter's value.
    """
    names = {parameter.name for parameter in built}

    def called(**values: Any) -> object:
        own = {option: value for option, value in values.items() if option not in names}
        return command(**own, **{name: read({option: values[option] for option in names})})

    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        plain = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
        parameters += built if parameter.name == name else plain
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # where inspect looks for it
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    called.__name__, called.__doc__, called.__module__ = command.__name__, command.__doc__, command.__module__
    return called


Shape: TypeAlias = dict[str, Any]
"""How ratings stand in tables, as the user types it: a field of `RatingLayout` → text."""
_SHAPE = {
    "subject": "Columns that together say what a row rates: A,B; or row.",
    "rater": "The column with who rated; file (or sheet: each is one); columns (each is one).",
    "criteria": "Columns with values, or criteria: a,b.",
    "levels": "Words for levels, worst,…,best; other words for one: low|niedrig,high|hoch.",
    "not_applicable": 'Answers that say that a criterion does not apply: "Not Relevant",N/A.',
    "drop": "Columns, criteria, raters, files to leave out: a,b.",
}


def takes_shape(command: Callable[..., object]) -> Callable[..., object]:
    """Give a command the options that say how ratings stand in tables: its parameter `shape` stands for all of them."""
    built = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default="",
            annotation=Annotated[
                str, typer.Option(help=sentence, rich_help_panel="How ratings stand in the files (else seen from them)")
            ],
        )
        for name, sentence in _SHAPE.items()
    ]
    return spread(command, "shape", built, lambda typed: typed)


def layout(shape: Shape, columns: Sequence[str] = ()) -> RatingLayout:
    """Put together what is said of the shape of tables of ratings, and of their columns."""
    from mindgauge.records.ratings import RatingLayout

    said = shape | {"rater": "file"} if shape["rater"] == "sheet" else shape
    return RatingLayout(**said, columns=mapping([*columns]))


def scales(items: list[str]) -> dict[str, str]:
    """Read scales, `1:5` for all criteria (kept under `*`) or CRITERION=1:5."""
    result = {}
    for item in items:
        name, equals, value = item.partition("=")
        result[name.strip() if equals else "*"] = (value if equals else name).strip()
    return result


def numbers(items: list[str], option: str) -> dict[str, float]:
    """Read NAME=NUMBER options, several in one with commas.

    Raises:
        UsageError: one has no name or no number.
    """
    result = {}
    for part in (part for item in items for part in item.split(",") if part.strip()):
        name, _, value = part.partition("=")
        try:
            result[name.strip()] = float(value)
        except ValueError as error:
            raise UsageError(f"{option} {part.strip()!r}: write NAME=NUMBER, or several with commas") from error
    return result


def where(items: list[str]) -> dict[str, tuple[str, ...]]:
    """Read TAG=VALUE options; a tag with several values, `made=released,ours`, or given twice allows each of them.

    Raises:
        UsageError: one has no equals sign, or no tag before it.
    """
    result: dict[str, tuple[str, ...]] = {}
    for item in items:
        tag = ""
        for part in item.split(","):
            before, equals, remainder = part.partition("=")
            tag, value = (before.strip(), remainder.strip()) if equals else (tag, before.strip())
            if not (tag and value):
                raise UsageError(f"--where {item!r}: write TAG=VALUE, or TAG=VALUE,VALUE")
            result[tag] = tuple(dict.fromkeys((*result.get(tag, ()), value)))
    return result
