"""How long people's own turns are, and how much of themselves they repeat: what a client's messages are compared with.

    MINDGAUGE_DATA=DIR python bench/client_turns.py

DIR holds copies of the released files: `trustmh/external/esconv` (emotional support between crowd workers, English; the
turns of who seeks it) and `dialogue_safety/test.json` (a Chinese text-counselling platform; the turns of the seeker).
Messages that one person sent in a row are one turn. Dialogues with at least two turns of the seeker count. Nothing of the
texts is written. The figures stand in `analysis/fidelity.toml`.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.benchmarks.persons.client import length, repetition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_PLACED = re.compile(r"^\S+ ([01]) (\d+) (.*)$", re.DOTALL)
_CHINESE = re.compile(r"\[(seeker|supporter)\](.*?)(?=\[(?:seeker|supporter)\]|$)", re.DOTALL)
SHARES = (0.5, 0.75, 0.9, 0.95, 0.99)


def turns(messages: Iterable[tuple[bool, str]]) -> list[str]:
    """Return the seeker's turns, from messages each with whether it is the seeker's."""
    grouped = itertools.groupby((m for m in messages if m[1].strip()), key=lambda message: message[0])
    return [" ".join(text.strip() for _, text in group) for seeker, group in grouped if seeker]


def english(folder: Path) -> Iterator[list[str]]:
    """Yield the seeker's turns of each English dialogue."""
    for dialogue in json.loads((folder / "FailedESConv.json").read_text(encoding="utf-8")):
        yield turns((m["speaker"] == "speaker", m["content"]) for m in dialogue["dialog"])
    for name in ("devWithStrategy_short.tsv", "testWithStrategy_short.tsv"):
        yield from _joined((folder / name).read_text(encoding="utf-8").splitlines())


def _joined(lines: Iterable[str]) -> Iterator[list[str]]:
    """Put windows of dialogues together: each message has its place in the dialogue, and a dialogue begins where it falls."""
    dialogue: dict[int, tuple[bool, str]] = {}
    for line in lines:
        window = {
            int(match[2]): (match[1] == "0", match[3])
            for part in line.split(" EOS")
            if (match := _PLACED.match(part.strip()))
        }
        if dialogue and (
            max(window) < max(dialogue)
            or any(dialogue[place] != window[place] for place in window.keys() & dialogue.keys())
        ):
            yield turns(message for _, message in sorted(dialogue.items()))
            dialogue = {}
        dialogue |= window
    yield turns(message for _, message in sorted(dialogue.items()))


def chinese(file: Path) -> Iterator[list[str]]:
    """Yield the seeker's turns of each Chinese dialogue; segments that another one begins with are left out."""
    contexts = {entry["context"] for entry in json.loads(file.read_text(encoding="utf-8"))}
    for context in sorted(contexts):
        if not any(other != context and other.startswith(context) for other in contexts):
            yield turns((match[1] == "seeker", match[2]) for match in _CHINESE.finditer(context))


def at(values: Sequence[float]) -> str:
    """Write the quantiles of some numbers."""
    ordered = sorted(values)
    listed = (f"{share:.0%} {ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.4g}" for share in SHARES)
    return f"mean {statistics.mean(ordered):.3g}, {', '.join(listed)}, most {ordered[-1]:.4g}"


def main() -> None:
    """Print the figures of each language."""
    if "MINDGAUGE_DATA" not in os.environ:
        sys.exit("set MINDGAUGE_DATA to the folder of the released files")
    data = Path(os.environ["MINDGAUGE_DATA"])
    sources = {
        "en": english(data / "trustmh" / "external" / "esconv"),
        "zh": chinese(data / "dialogue_safety" / "test.json"),
    }
    for language, source in sources.items():
        dialogues = [dialogue for dialogue in source if len(dialogue) > 1]
        lengths = [length(turn, language) for dialogue in dialogues for turn in dialogue]
        repeated = [
            share
            for dialogue in dialogues
            for number in range(1, len(dialogue))
            if (share := repetition(dialogue[number], dialogue[:number], language)) is not None
        ]
        print(f"{language}: {len(dialogues)} dialogues, {len(lengths)} turns of the seeker")
        print(f"  length in {'characters' if language == 'zh' else 'words'}: {at(lengths)}")
        print(f"  share of a turn's runs of three that an earlier one has: {at(repeated)}")


if __name__ == "__main__":
    main()
