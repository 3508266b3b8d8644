"""How models are called: what a command says of all its models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta

from mindgauge.models.config_file import FILE, AnyConfig, run_defaults
from mindgauge.records.errors import UsageError
from mindgauge.records.request import Price

if TYPE_CHECKING:
    from collections.abc import Mapping


class Settings(msgspec.Struct, frozen=True):
    """How models are called; the same for all of a command, but where the configuration says otherwise of one."""

    concurrency: Annotated[int, Meta(ge=1, le=1_000_000, description="Calls under way at once, per model.")] = 32
    timeout: Annotated[
        float,
        Meta(
            ge=0.001,
            le=86_400,
            description="Seconds for one attempt of a call; a call that takes longer is not sent again.",
            extra={"unit": " seconds, a day"},
        ),
    ] = 120.0
    tries: Annotated[int, Meta(ge=1, description="Attempts per call.")] = 5
    max_tokens: int | None = None
    """The longest answer asked for, where the command says none for models under test or for judges."""
    price: Annotated[
        Price | None,
        Meta(
            description="IN:OUT, or IN:OUT:CACHED, US dollars per million tokens, where no list knows the model.",
        ),
    ] = None
    local_only: Annotated[bool, Meta(description="Refuse every address but loopback.")] = False
    context: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="Tokens that question and answer may have together, so that longer ones are named first.",
            ),
        ]
        | None
    ) = None
    config: (
        Annotated[
            str,
            Meta(
                description="Where models are set up under short names: system prompts, headers, parameters; mindgauge.toml in the working folder if not given."
            ),
        ]
        | None
    ) = None
    models: dict[str, AnyConfig] = {}
    """Models that are set up otherwise than by that file, by the name that a command calls them."""
    sends: bool = True
    """Whether anything will be sent; a dry run needs no key."""
    engine: Annotated[
        str,
        Meta(
            description="Where calls are made from: plain (this process), ray (actors on this machine, or on the cluster that RAY_ADDRESS names), or ray://HOST:PORT."
        ),
    ] = ""
    actors: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="With the engine ray, how many actors share a model's calls; one a node if not given, at least two.",
            ),
        ]
        | None
    ) = None
    batch: Annotated[
        bool,
        Meta(
            description="Use the provider's batch service: cheaper, within a day. Stop and run the same command again at will."
        ),
    ] = False
    wait: (
        Annotated[
            float,
            Meta(
                ge=0,
                description="Minutes to wait for batches, then stop and leave them under way; until they are done if not given.",
            ),
        ]
        | None
    ) = None

    @classmethod
    def of_file(cls, chosen: Mapping[str, Any]) -> Settings:
        """Return settings: what is chosen, else what `[run]` of the configuration says, else the usual.

        Raises:
            UsageError: the configuration cannot be read, or has a value of another kind.
        """
        path = chosen.get("config")
        hints = get_type_hints(cls)
        table = run_defaults(path)
        kept = {name: from_file(name, value, hints[name], path) for name, value in table.items() if name in hints}
        return cls(**{**kept, **chosen})

    @classmethod
    def of(cls, settings: Settings | None, *, dry_run: bool) -> Settings:
        """Return a command's settings, or those of the configuration."""
        return msgspec.structs.replace(settings or cls.of_file({}), sends=not dry_run)


def from_file(name: str, value: Any, kind: Any, path: str | None) -> Any:
    """Return what `[run]` says of an option.

    Raises:
        UsageError: it is of another kind than the option.
    """
    try:
        if (name, value) == ("engine", "plain"):
            return ""
        return Price.parse(value) if name == "price" else msgspec.convert(value, kind)
    except (ValueError, AttributeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path or FILE}: [run] {name}: {error}") from error
