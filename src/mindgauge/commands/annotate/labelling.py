"""How people label in a project: the options of `annotate new`, with their bounds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypedDict

import msgspec

from mindgauge.annotation.records import Policy
from mindgauge.commands.command import CommandOption, Count, FromZero
from mindgauge.raters.window import Unit
from mindgauge.records.errors import UsageError
from mindgauge.records.files.texts import Frame

LANGUAGES = ("en", "zh")
URL = "http://127.0.0.1:8765"
"""Where `annotate serve` listens if nothing else is said."""


class Labelling(msgspec.Struct, frozen=True, kw_only=True):
    """How items come to people and when their labels count; see `annotate_new`."""

    batch: int = 200
    gate: float = 0.4
    training: int = 10
    policy: str = Policy.ADJUDICATED.value
    order: str | Path | Frame | None = None
    anchors: str | Path | None = None
    language: str | None = None
    url: str = URL
    columns: Mapping[str, str] | None = None
    limit: int | None = None
    draw: int | str | None = None
    random: int | None = None
    seed: int = 0
    unit: str | None = None
    write_items: str | Path | None = None

    def __post_init__(self) -> None:
        if self.batch < 1 or (self.limit is not None and self.limit < 1):
            raise UsageError("--batch and --limit must be at least 1")
        if self.draw is not None and (self.order is not None or self.limit is not None):
            raise UsageError("--draw chooses what is labelled; it has no use with --order or --limit")
        if self.draw is None and self.random is not None:
            raise UsageError("--random says how many of what --draw NUMBER draws come from the rest; give --draw, too")
        if self.training < 0:
            raise UsageError("--training must be 0 or more")
        if not (math.isfinite(self.gate) and 0 <= self.gate <= 1):
            raise UsageError("--gate is an agreement from 0 (no better than chance) to 1 (perfect), for example 0.4")
        if self.unit is not None and self.unit not in set(Unit):
            raise UsageError(f"--unit is {', '.join(Unit)}, not {self.unit!r}")
        if self.policy not in set(Policy):
            raise UsageError(f"--policy is {' or '.join(Policy)}, not {self.policy!r}")
        if self.language is not None and self.language not in LANGUAGES:
            raise UsageError(f"--language is {' or '.join(LANGUAGES)}, not {self.language!r}")
        if not re.fullmatch(r"https?://([^\s/?#@\[\]:]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?(/\S*)?", self.url):
            raise UsageError(
                f"--url {self.url!r}: write http://HOST:PORT or https://HOST, as people will reach the page"
            )


class LabellingOptions(TypedDict, total=False):
    """`Labelling` as keyword arguments."""

    batch: Count
    gate: float
    training: FromZero
    policy: str
    order: str | Path | Frame | None
    anchors: str | Path | None
    language: str | None
    url: str
    columns: Mapping[str, str] | None
    limit: Count | None
    draw: Annotated[int | str | None, CommandOption(metavar="N")]
    random: Count | None
    seed: FromZero
    unit: str | None
    write_items: str | Path | None
