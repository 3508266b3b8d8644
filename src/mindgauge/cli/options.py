"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.errors import UsageError

if TYPE_CHECKING:
    from mindgauge.models.spec import Settings

Names = Annotated[list[str], typer.Argument(help="Benchmarks, or families of them.")]
Name = Annotated[str, typer.Argument(help="A benchmark.")]
Judges = Annotated[
    list[str],
    typer.Option("--judge", help="Who rates: a model, classifier/FOLDER, or a rule (rule/refusal). May be repeated."),
]
Out = Annotated[Path | None, typer.Option(help="The run directory; if not given, one that follows from the plan.")]
Data = Annotated[Path | None, typer.Option(help="A copy of the authors' released files, whole or in part.")]
JudgeRuns = Annotated[int, typer.Option(help="Judgements per reply and judge.")]
Limit = Annotated[
    int | None, typer.Option(min=1, help="At most this many, each with its variants, spread evenly over the classes.")
]
Mode = Annotated[str, typer.Option(help="joint: all criteria in one call; split: one call each.")]
Method = Annotated[
    list[str],
    typer.Option(
        help="How replies are judged: general, rule, chain; several separated by commas, or the option repeated."
    ),
]
Protocol = Annotated[str, typer.Option(help="gold: by the sample's category; recognised: by the one the judge sees.")]
Concurrency = Annotated[int, typer.Option(min=1, help="Calls under way at once, per model.")]
MaxCost = Annotated[float | None, typer.Option(help="Stop before the run costs more, in US dollars.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds for one attempt of a call.")]
Tries = Annotated[int, typer.Option(min=1, help="Attempts per call.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="The longest answer asked for.")]
Context = Annotated[
    int | None,
    typer.Option(min=1, help="Tokens that question and answer may have together, so that longer ones are named first."),
]
Price = Annotated[
    str | None,
    typer.Option(help="IN:OUT, or IN:OUT:CACHED, US dollars per million tokens, where no list knows the model."),
]
Engine = Annotated[
    str,
    typer.Option(
        help="Where calls are made from: plain (this process), ray (actors on this machine, or on the cluster that RAY_ADDRESS names), or ray://HOST:PORT."
    ),
]
Actors = Annotated[
    int | None,
    typer.Option(
        min=1, help="With --engine ray, how many actors share a model's calls; one a node if not given, at least two."
    ),
]
Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Use the provider's batch service: cheaper, within a day. Stop and run the same command again at will.",
    ),
]
Wait = Annotated[
    float | None,
    typer.Option(
        min=0, help="Minutes to wait for batches, then stop and leave them under way; until they are done if not given."
    ),
]
NoText = Annotated[
    bool, typer.Option("--no-text", help="Keep hashes and places of quotes instead of what people and models said.")
]
LocalOnly = Annotated[bool, typer.Option("--local-only", help="Refuse every address but loopback.")]
Temperature = Annotated[float, typer.Option(help="Of the judges; an endpoint that takes none is asked without.")]
OwnFamily = Annotated[
    bool,
    typer.Option("--own-family", help="Let models judge their own family's replies, too; the report says so."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")]
Ask = Annotated[
    list[str],
    typer.Option(
        help="How a closed question is put to chat models: flat, unordered, few-shot, sequential, if the benchmark has it. May be repeated."
    ),
]
Shots = Annotated[int | None, typer.Option(min=1, help="Examples per label, with --ask few-shot; 1 if not given.")]
ShotSeed = Annotated[int | None, typer.Option(help="Of the choice of examples; 0 if not given.")]
Map = Annotated[
    list[str],
    typer.Option(
        "--map",
        help="NAME=COLUMN, where a column is called otherwise (reply=Antwort, user=#1), or how the file is read (sheet, header, encoding, separator); or FILE.toml.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def several(items: list[str]) -> list[str]:
    """Read an option that takes several values, repeated or separated by commas."""
    return [part.strip() for text in items for part in text.split(",") if part.strip()]


def mapping(items: list[str]) -> dict[str, str]:
    """Read `--map`: NAME=COLUMN, several separated by commas, or files of them; see `mindgauge.mapping`."""
    from mindgauge.mapping import parse

    return parse(items)


def scales(items: list[str]) -> dict[str, str]:
    """Read scales, `1:5` for all criteria (kept under `*`) or CRITERION=1:5."""
    found = {}
    for item in items:
        name, equals, value = item.partition("=")
        found[name.strip() if equals else "*"] = (value if equals else name).strip()
    return found


def where(items: list[str]) -> dict[str, tuple[str, ...]]:
    """Read TAG=VALUE options; a tag with several values, `made=released,ours`, or given twice allows each of them.

    Raises:
        UsageError: one has no equals sign, or no tag before it.
    """
    found: dict[str, tuple[str, ...]] = {}
    for item in items:
        tag = ""
        for part in item.split(","):
            before, equals, after = part.partition("=")
            tag, value = (before.strip(), after.strip()) if equals else (tag, before.strip())
            if not (tag and value):
                raise UsageError(f"--where {item!r}: write TAG=VALUE, or TAG=VALUE,VALUE")
            found[tag] = tuple(dict.fromkeys((*found.get(tag, ()), value)))
    return found


def settings(
    *,
    concurrency: int,
    timeout: float,
    tries: int,
    max_tokens: int | None,
    price: str | None,
    local_only: bool,
    context: int | None = None,
    engine: str = "plain",
    actors: int | None = None,
    batch: bool = False,
    wait: float | None = None,
) -> Settings:
    """Gather how endpoints are called.

    Raises:
        UsageError: the price is not IN:OUT or IN:OUT:CACHED, the engine is unknown, or options exclude each other.
    """
    from mindgauge.models.request import Price as PerToken
    from mindgauge.models.spec import Settings

    per_token = None
    if price is not None:
        try:
            read, written, *cached = (float(part) / 1e6 for part in price.split(":"))
            per_token = PerToken(read, written, *cached)
        except (ValueError, TypeError) as error:
            raise UsageError(
                f"--price {price!r}: write IN:OUT or IN:OUT:CACHED, US dollars per million tokens, for example 0.15:0.60"
            ) from error
    if engine not in {"plain", "ray"} and not engine.startswith("ray://"):
        raise UsageError(f"--engine is plain, ray or ray://HOST:PORT, not {engine!r}")
    if actors is not None and engine == "plain":
        raise UsageError("--actors goes with --engine ray")
    if batch and engine != "plain":
        raise UsageError("--batch and --engine ray exclude each other: a batch service needs no actors")
    if wait is not None and not batch:
        raise UsageError("--wait goes with --batch")
    return Settings(
        concurrency, timeout, tries, max_tokens, per_token, local_only, context,
        engine="" if engine == "plain" else engine, actors=actors, batch=batch, wait=wait,
    )  # fmt: skip
