"""What it costs to read transcripts: `python bench/transcripts.py [TRANSCRIPTS] [MESSAGES]`.

Writes the same dialogues (1,000 of 20 messages if not said) in several shapes and prints a Markdown table: seconds of wall
time, the least of three, of our reader, of a bare loop that only splits the messages, and their ratio. The loop is
`json.loads`, a regular expression for the speakers of texts, or the `csv` module. Each pair is measured one after the other,
so that other work on the machine weighs on both.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.records.transcripts import read

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES = 3
LABEL = re.compile(r"^(user|chatbot): ", re.MULTILINE)
WORDS = "I have slept badly for days, and it wears me out.\nWhat do you do when nothing helps? Note: it is not the first time. "


def dialogue(number: int, length: int) -> list[dict[str, str]]:
    """Return a dialogue whose messages have some 350 characters."""
    return [{"role": ("user", "assistant")[at % 2], "content": WORDS * 3 + f"({number}, {at})"} for at in range(length)]


def written(folder: Path, transcripts: int, length: int) -> dict[str, Path]:
    """Write them in each shape."""
    dialogues = [dialogue(number, length) for number in range(transcripts)]
    places = {
        "JSON lines": folder / "lists.jsonl",
        "a message a row, CSV": folder / "rows.csv",
        "a folder of texts": folder / "texts",
        "a zip of texts": folder / "texts.zip",
    }
    rows = [{"id": f"d{number}", "messages": spoken} for number, spoken in enumerate(dialogues)]
    places["JSON lines"].write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with places["a message a row, CSV"].open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("conversation", "role", "content"))
        table.writerows((f"d{n}", m["role"], m["content"]) for n, spoken in enumerate(dialogues) for m in spoken)
    places["a folder of texts"].mkdir()
    with zipfile.ZipFile(places["a zip of texts"], "w") as packed:
        for number, spoken in enumerate(dialogues):
            names = {"user": "user", "assistant": "chatbot"}
            text = "\n\n".join(f"{names[message['role']]}: {message['content']}" for message in spoken) + "\n"
            (places["a folder of texts"] / f"d{number}.txt").write_text(text, encoding="utf-8")
            packed.writestr(f"d{number}.txt", text)
    return places


def bare(path: Path) -> int:
    """Split the messages and look at nothing; return how many there are."""
    if path.suffix == ".jsonl":
        with path.open(encoding="utf-8") as file:
            return sum(len(json.loads(line)["messages"]) for line in file)
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return sum(1 for _ in csv.DictReader(file))
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            return sum(len(LABEL.split(packed.read(name).decode())) // 2 for name in packed.namelist())
    return sum(len(LABEL.split(file.read_text(encoding="utf-8"))) // 2 for file in sorted(path.iterdir()))


def least(work: Callable[[], object]) -> float:
    """Return the least wall time of some tries, in seconds."""
    times = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def main() -> None:
    """Write the files, read each in both ways, and print the table."""
    transcripts = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    length = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory() as name:
        print(
            f"| {transcripts:,} transcripts of {length} messages | ours, s | bare loop, s | ratio |\n|---|---|---|---|"
        )
        for shape, path in written(Path(name), transcripts, length).items():
            account = read(path).account
            if not account.messages == bare(path) == transcripts * length:
                raise SystemExit(f"{shape}: {account.messages:,} messages read, {bare(path):,} by the bare loop")
            ours, loop = least(lambda path=path: read(path)), least(lambda path=path: bare(path))  # type: ignore[misc]
            print(f"| {shape} | {ours:.2f} | {loop:.2f} | {ours / loop:.1f} |")


if __name__ == "__main__":
    main()
