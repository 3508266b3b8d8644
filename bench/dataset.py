"""500,000 posts through a whole recipe: seconds and peak memory of the process, and how many planted near duplicates it finds.

    python bench/dataset.py [--posts 500000]

Posts are put together of sentences of our own, with words in their slots. One in fifty is planted a second time: with a word
left out, put in or changed, a sentence behind it, or its sentences from the second on. Some hold an address, a link, hardly a
letter, or Chinese. A planted copy is found where one of the two is dropped as nearly the same; a post is falsely dropped where
it is so, and neither planted nor the post that was.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from mindgauge.analysis.dataset import duplicates

OPENINGS = [
    "Lately",
    "For weeks now",
    "Since the move",
    "Since autumn",
    "After the exam",
    "Most evenings",
    "On Sundays",
    "At work",
    "At home",
    "When it rains",
]
PEOPLE = [
    "my sister",
    "my brother",
    "my mother",
    "my father",
    "a friend",
    "my boss",
    "my neighbour",
    "my teacher",
    "my partner",
    "a colleague",
    "my aunt",
    "my cousin",
]
DOINGS = [
    "calls me",
    "does not call",
    "asks how I am",
    "looks away",
    "says I should rest",
    "forgets what I said",
    "leaves early",
    "waits outside",
    "writes long letters",
    "talks about money",
    "laughs it off",
    "cooks for everyone",
]
FEELINGS = [
    "tired",
    "numb",
    "angry",
    "ashamed",
    "lonely",
    "worried",
    "empty",
    "restless",
    "guilty",
    "afraid",
    "slow",
    "lost",
    "heavy",
    "tense",
    "invisible",
    "useless",
]
PLACES = [
    "in the kitchen",
    "on the bus",
    "at the station",
    "in bed",
    "by the river",
    "in the office",
    "at school",
    "in the car",
    "on the stairs",
    "at the table",
    "in the garden",
    "behind the house",
]
THINGS = [
    "the letter",
    "the phone",
    "a song",
    "the door",
    "an old photo",
    "the bill",
    "my coat",
    "the clock",
    "a dream",
    "the noise",
    "the window",
    "that sentence",
]
SENTENCES = (
    "{o}, I feel {f} and {f} whenever {p} {d}.", "I sat {l} for {n} minutes and thought of {t}.", "{p} {d}, and I stay {l} with {t}.",
    "It is number {n} on the list of what makes me {f}.", "Nobody {l} knows that {t} makes me {f}.", "I told {p} about {t}, {n} days ago.",
    "Then {p} {d} {l}, and I was {f} again.", "Is it normal to be {f} for {n} weeks?", "{o}, {t} is all that I can think of.",
    "I want to say it to {p}, but {t} stops me {l}.", "I wake at {n} and feel {f}.", "Even {t} {l} does not help when {p} {d}.",
)  # fmt: skip
CHINESE = (
    "我最近睡不着。",
    "我和{n}个朋友说过，没有人懂。",
    "我在学校的第{n}天又哭了。",
    "他们说会好的，我等了{n}个月。",
    "妈妈问了我{n}次，我没有说。",
)
RECIPE = """
name = "posts"
seed = 11
licence = "CC-BY-4.0"
[[source]]
name = "forum"
files = "forum.csv"
licence = "CC-BY-4.0"
columns = {id = "id", group = "author"}
[[source]]
name = "board"
files = "board.jsonl"
licence = "CC0-1.0"
columns = {id = "id", group = "author"}
"""
STEPS = (
    "person",
    "cut",
    "length\nleast = 20\nmost = 4000",
    'language\nkeep = ["en", "zh"]',
    "junk",
    "links\nmost = 1",
    "scrub",
    "exact",
    "near",
)
LATER = ("sample\nnumber = {forum = 200000}", "split\nparts = {train = 0.8, validation = 0.1, test = 0.1}")


def post(generator: random.Random) -> list[str]:
    """Write the sentences of a post."""
    chosen = generator.choices(CHINESE if generator.random() < 0.05 else SENTENCES, k=generator.randint(3, 8))
    slots = {"{o}": OPENINGS, "{p}": PEOPLE, "{d}": DOINGS, "{f}": FEELINGS, "{l}": PLACES, "{t}": THINGS}
    for place, text in enumerate(chosen):
        for slot, words in slots.items():
            while slot in text:
                text = text.replace(slot, generator.choice(words), 1)  # noqa: PLW2901
        chosen[place] = text.replace("{n}", str(generator.randint(2, 9999)))
    return chosen


def changed(sentences: list[str], generator: random.Random) -> str:
    """Change a post a little, and no more than a tenth of it."""
    text = " ".join(sentences)
    words = text.split(" ")
    place = generator.randrange(len(words))
    kind = generator.randrange(4)
    if kind == 0:
        del words[place]
    elif kind == 1:
        words.insert(place, "really")
    elif kind == 2:
        words[place] = "somehow"
    else:
        words.append("Thanks.")
    return " ".join(words)


def posts(number: int, seed: int = 5) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Write posts; return them, and the planted ones: id → that of the post."""
    generator = random.Random(seed)
    rows: list[dict[str, str]] = []
    planted: dict[str, str] = {}
    while len(rows) < number:
        sentences, ident, lot = post(generator), str(len(rows)), generator.random()
        text = " ".join(sentences)
        if lot < 0.05:
            text += f" Write to person{generator.randrange(10**6)}@mail.example or call 0151 {generator.randrange(10**6, 10**7)}."
        elif lot < 0.07:
            text += " See https://one.example/a and https://two.example/b"
        elif lot < 0.08:
            text = generator.choice(["[deleted]", "ok", "!!! ??? 12 34 56 78 ... --- !!! ???"])
        elif lot < 0.09 and rows:
            text = rows[generator.randrange(len(rows))]["text"]
        rows.append({"id": ident, "author": f"a{generator.randrange(number // 3 + 1)}", "text": text})
        if lot >= 0.98 and len(" ".join(sentences).encode()) > 200:
            planted[str(len(rows))] = ident
            rows.append({"id": str(len(rows)), "author": f"b{ident}", "text": changed(sentences, generator)})
    generator.shuffle(rows)
    return rows, planted


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--posts", type=int, default=500_000)
    number = parser.parse_args().posts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows, planted = posts(number)
        half = len(rows) // 2
        pl.DataFrame(rows[:half]).write_csv(folder / "forum.csv")
        (folder / "board.jsonl").write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows[half:]), encoding="utf-8"
        )
        characters = sum(len(row["text"]) for row in rows) / len(rows)
        print(f"{len(rows):,} posts of {characters:.0f} characters, {len(planted):,} planted")
        steps = "".join(
            f"[[step]]\ndo = {json.dumps(do)}\n{rest}\n"
            for do, _, rest in (step.partition("\n") for step in (*STEPS, *LATER))
        )
        (folder / "recipe.toml").write_text(RECIPE + steps, encoding="utf-8")
        begun = time.perf_counter()
        command = [
            sys.executable,
            "-c",
            "from mindgauge.cli import main; main()",
            "dataset",
            "build",
            str(folder / "recipe.toml"),
            "--out",
            str(folder / "out"),
        ]
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - begun
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{seconds:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processors, {used.ru_maxrss / 1024:,.0f} MB")
        report({row["id"]: row["text"] for row in rows}, planted, folder / "out")


def report(texts: dict[str, str], planted: dict[str, str], out: Path) -> None:
    """Say how many planted copies were found, what is dropped besides, and how alike what went wrong is."""
    items, dropped = (pl.read_parquet(out / f"{name}.parquet") for name in ("items", "dropped"))
    near = dropped.filter(pl.col("reason") == "nearly the same text")
    alike = {*near["origin"].to_list()}
    gone = {*dropped["origin"].to_list()} - alike
    pairs = [(copy, first) for copy, first in planted.items() if not {copy, first} & gone or {copy, first} & alike]
    missed = [pair for pair in pairs if not {*pair} & alike]
    wrong = near.filter(~pl.col("origin").is_in([*planted.keys(), *planted.values()]))
    origins = dict(pl.concat([dropped.select("id", "origin"), items.select("id", "origin")]).rows())
    false = [(origin, origins[ident]) for origin, ident in wrong.select("origin", "of").rows()]
    below, reached = (sum(similarity(texts, pair) < 0.8 for pair in listed) for listed in (missed, false))
    print(
        f"planted and not dropped before: {len(pairs):,}; found {1 - len(missed) / len(pairs):.4f}; missed {len(missed)}, of them {below} less alike than 0.8"
    )
    print(
        f"falsely dropped {len(false) / (len(texts) - 2 * len(planted)):.5f}: {len(false)}, of them {reached} less alike than 0.8"
    )


def similarity(texts: dict[str, str], pair: tuple[str, str]) -> float:
    """Return how alike two posts are, by the whole of their shingles."""
    plain = pl.DataFrame({"text": [texts[ident] for ident in pair]}).select(duplicates.plain()).to_series()
    return duplicates.jaccard(*map(duplicates.shingles, plain))


if __name__ == "__main__":
    main()
