"""Does it hold at scale? Every figure of `bench/results/scale.md`, and the model that they feed.

    python bench/scale.py [--only ray,ratings,kills] [--quick] [--json FILE]
    python bench/scale.py --model

ray       Calls per second through two Ray actors over those of the plain engine, in pairs (`scale_ray.py`).
ratings   A run of 1,000,000 ratings: its size, and each command's seconds and peak memory (`scale_ratings.py`).
kills     100 kills at random moments, each followed by the same command: what was lost, doubled, repeated (`scale_kills.py`).
--model   Lays out what 10⁵ to 10⁸ judgements take, from the constants of `mindgauge.runs.forecast` and those below.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records.rounding import duration
from mindgauge.runs.forecast import CALL_BYTES, FIRST_TOKEN, PER_PROCESS, TOKEN_BYTES, WRITTEN, clock

if TYPE_CHECKING:
    from mindgauge.records.request import Price

PARTS = ("ray", "ratings", "kills")
READ_TOKENS, WRITTEN_TOKENS = 1_400, 150
"""Of one judgement: rubric, dialogue and reply; and the verdict. `mindgauge run mentalbench --dry-run` counts its own."""
SERVER_WRITES = 4_000.0
"""Tokens per second that one GPU server writes for many judgements at once, with an 8B model. Assumed."""
SERVERS = 16
JUDGEMENTS = (10**5, 10**6, 10**7, 10**8)


class Way(NamedTuple):
    """A way to judge: seconds of a call, calls at once, what a judgement costs (None: by the hour of a server)."""

    name: str
    each: float
    at_once: int
    price: Price | None = None
    servers: int = 0


def ways() -> list[Way]:
    """Lay out the ways of the table."""
    each = FIRST_TOKEN + WRITTEN_TOKENS / WRITTEN
    price = open_model("openai/gpt-5-nano", Settings(sends=False)).price
    one = WRITTEN_TOKENS / (SERVER_WRITES / 256)
    return [
        Way("an API, 32 at once", each, 32, price),
        Way("an API, 500 at once", each, 500, price),
        Way("one GPU server, 256 at once", one, 256, servers=1),
        Way(f"{SERVERS} GPU servers", one, 256 * SERVERS, servers=SERVERS),
    ]


def model() -> None:
    """Print what so many judgements take, as the rows of a Markdown table."""
    print("| judgements | way | time | tokens in / out | money | run's file |")
    print("|---|---|---|---|---|---|")
    for count in JUDGEMENTS:
        for way in ways():
            seconds = clock(count, way.each, way.at_once)
            money = f"${way.price.of(count * READ_TOKENS, count * WRITTEN_TOKENS):,.0f}" if way.price else f"{way.servers * seconds / 3600:,.0f} server hours"  # fmt: skip
            room = count * (CALL_BYTES + WRITTEN_TOKENS * TOKEN_BYTES) / 1e9
            tokens = f"{count * READ_TOKENS / 1e9:,g} / {count * WRITTEN_TOKENS / 1e9:,g} billion"
            print(f"| {count:,} | {way.name} | {duration(seconds)} | {tokens} | {money} | {room:,.1f} GB |")
    print(f"\nOne process of ours carries {PER_PROCESS:,.0f} calls a second; {SERVERS} servers ask for {SERVERS * SERVER_WRITES / WRITTEN_TOKENS:,.0f}.")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    if asked.model:
        model()
        return
    figures = []
    for part in asked.only.split(","):
        for figure in importlib.import_module(f"scale_{part}").measure(quick=asked.quick):
            print(figure)
            figures.append(figure._asdict())
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
