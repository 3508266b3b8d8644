"""What the rule of stock replies finds in the released files, and how long it takes.

    MINDGAUGE_DATA=DIR python bench/stock.py [--seconds]

On Between Help and Harm: how many replies of each model are stock, what two clinicians gave them and the others, and how the
rule fares beside a reading. For that, 80 replies of up to 900 bytes were drawn by script and read, without the rule's word,
by its author, a large language model: is this a referral or refusal that could stand unchanged under another person's
message, and that says nothing of this one? On the human-written Chinese replies of the dialogue safety test set: how many it
finds. Texts are not written. With `--seconds`, CPU seconds for 100,000 made-up short replies.
"""

from __future__ import annotations

import os
import random
import sys
import time
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import polars as pl

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis import stock
from mindgauge.store import Store

NAME, READ, LONGEST_READ, SEED = "help_or_harm/response", 80, 900, 41
READ_AS_STOCK = {
    0, 2, 4, 5, 6, 7, 9, 11, 13, 14, 15, 22, 24, 25, 26, 28, 29, 31, 33, 35, 36, 39, 42, 43, 44, 47, 54, 56, 59, 60, 61, 62, 63,
    64, 65, 66, 67, 70, 71, 73, 74, 76, 77,
}  # fmt: skip
"""The places in the draw of what was read as stock."""


def english(data: Path) -> None:
    """Measure on the replies of Between Help and Harm."""
    benchmark = benchmarks.find_one(NAME)
    with TemporaryDirectory() as folder:
        zipfile.ZipFile(data / "help_or_harm" / "data.zip").extractall(folder)
        run = Path(folder) / "run"
        mindgauge.papers_load("help_or_harm", data=Path(folder) / "data", out=run)
        with Store(run) as store:
            found = stock.found(store, benchmark)
            replies = sorted(store.replies(NAME), key=lambda reply: reply.id)
            people = [r for r in store.ratings(NAME) if r.rater_kind == "person" and r.value is not None]
    is_stock = dict(found.select("subject", pl.col("stock").is_not_null()).rows())
    counted = found.filter(status="ok").group_by("model").agg(n=pl.len(), stock=pl.col("stock").count()).sort("model")
    for model, n, number in counted.iter_rows():
        print(f"{model:32} {number:4} of {n:4} replies are stock")
    levels: dict[str, list[float]] = {}
    for rating in people:
        levels.setdefault(rating.subject, []).append(float(str(rating.value)))
    both = {subject: sum(values) / 2 for subject, values in levels.items() if len(values) == 2}
    for kind in (True, False):
        means = [mean for subject, mean in both.items() if is_stock.get(subject, False) is kind]
        unsafe = sum(mean <= 2 for mean in means)
        print(
            f"{'stock' if kind else 'others':6} rated by both clinicians: {len(means):3}, mean {sum(means) / len(means):.2f}, unsafe {unsafe}"
        )
    short = [r for r in replies if r.status == "ok" and len(r.text.encode()) <= LONGEST_READ]
    drawn = random.Random(SEED).sample(short, READ)
    marked = {place for place, reply in enumerate(drawn) if is_stock.get(reply.id, False)}
    right = len(marked & READ_AS_STOCK)
    print(
        f"of {READ} read: {len(READ_AS_STOCK)} read as stock; the rule marks {len(marked)}, {right} of them read as stock"
    )
    missed = [drawn[place] for place in READ_AS_STOCK - marked]
    too_long = sum(len(reply.text.encode()) > stock.LONGEST for reply in missed)
    print(f"   not marked: {len(missed)}, of which {too_long} are longer than {stock.LONGEST} bytes")


def chinese(data: Path) -> None:
    """Count what is found among replies that people wrote."""
    rows = msgspec.json.decode((data / "dialogue_safety" / "test.json").read_bytes())
    said = [row["context"] for row in rows]
    texts = [row["response"].removeprefix("[supporter]") for row in rows]
    found = stock.find(_table(said, texts), said)
    print(f"Chinese replies by people: {len(found)} of {len(texts)} are stock, {found['stock'].n_unique()} texts")


def seconds(n: int = 100_000) -> None:
    """Time made-up short replies that are fitted, one text, or nearly one text."""
    chosen = random.Random(SEED)
    words = [f"w{number:04d}" for number in range(5000)]
    said = [" ".join(chosen.choices(words, k=60)) for _ in range(n)]
    text = [f"stock{number}" for number in range(28)]
    kinds = {
        "fitted": [" ".join(chosen.choices(words, k=28)) for _ in range(n)],
        "one text": [" ".join(text)] * n,
        "nearly one text, all different": [
            " ".join([*text[:25], *chosen.choices(words, k=3)]) for _ in range(n)
        ],
    }  # fmt: skip
    for kind, texts in kinds.items():
        began = time.process_time()
        stock.find(_table(said, texts), said)
        print(f"{n:,} short replies, {kind}: {time.process_time() - began:.0f} s of CPU")


def _table(said: list[str], texts: list[str]) -> pl.DataFrame:
    places = [str(place) for place in range(len(texts))]
    return pl.DataFrame({"subject": places, "model": "m", "cluster": places, "message": said, "text": texts})


if __name__ == "__main__":
    if "MINDGAUGE_DATA" not in os.environ:
        sys.exit("set MINDGAUGE_DATA to the folder of the released files")
    english(Path(os.environ["MINDGAUGE_DATA"]))
    chinese(Path(os.environ["MINDGAUGE_DATA"]))
    if "--seconds" in sys.argv:
        seconds()
