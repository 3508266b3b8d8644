"""How models are called: what a command says of all its models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from mindgauge.models.config_file import AnyConfig
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
                description="With --engine ray, how many actors share a model's calls; one a node if not given, at least two.",
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
        """Return settings of which some are chosen."""
        return cls(**chosen)

    @classmethod
    def of(cls, settings: Settings | None, *, dry_run: bool) -> Settings:
        """Return a command's settings, or the usual ones."""
        return msgspec.structs.replace(settings or cls(), sends=not dry_run)
