"""How often a cue of risk is found: `raters/risk_cues.py` on the messages of Between Help and Harm and on PsyCrisis samples.

    python bench/cues.py [--data DIR] [--split validation|test] [--json FILE]

DIR is a copy of the released files of Between Help and Harm; else `$MINDGAUGE_DATA/help_or_harm` is read. Without either,
our own samples are measured alone. People labelled the validation part, a model the test part; each label is
taken as it stands. The words were chosen on the validation part; of the test part only such figures were looked at. The
PsyCrisis samples are our own and were known to whoever chose the words. Texts, and what was found in them, are not written.
"""

from __future__ import annotations

import argparse
import json
import os
import zipfile
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from mindgauge import benchmarks
from mindgauge.raters.risk_cues import cue, hint
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from mindgauge.records import Sample

HELP_OR_HARM, PSYCRISIS = "help_or_harm/crisis_type", "psycrisis"


class Share(NamedTuple):
    """Messages of one kind in which a cue was found, with exact 95 % bounds of their share.

    `grade` is `plain` for a plain cue, `any` for that or a hint.
    """

    kind: str
    grade: str
    found: int
    n: int
    share: float
    low: float
    high: float


def shares(samples: list[Sample], *tags: str) -> list[Share]:
    """Count the samples with a cue, for each value of the tags together."""
    texts: dict[str, list[str]] = defaultdict(list)
    for sample in samples:
        texts[", ".join(sample.tags.get(tag, "no label") for tag in tags)].append(sample.messages[-1].content)
    grades = {"plain": lambda text: bool(cue(text)), "any": lambda text: bool(cue(text) or hint(text))}
    return [
        _share(kind, grade, sum(map(found, said)), len(said))
        for kind, said in sorted(texts.items())
        for grade, found in grades.items()
    ]


def _share(kind: str, grade: str, found: int, n: int) -> Share:
    bounds = clopper_pearson(found, n)
    assert bounds.low is not None
    assert bounds.high is not None
    return Share(kind, grade, found, n, found / n, bounds.low, bounds.high)


def released(given: Path | None, split: str) -> list[Sample]:
    """Read the authors' messages of one part; none where there is no copy of their files."""
    at_hand = Path(os.environ.get("MINDGAUGE_DATA", Path(__file__).parents[2] / "shared" / "data")) / "help_or_harm"
    folder = given or at_hand
    if not folder.is_dir():
        return []
    with TemporaryDirectory() as unpacked:
        for archive in folder.glob("*.zip"):
            zipfile.ZipFile(archive).extractall(unpacked)
        data = Path(unpacked) if any(Path(unpacked).iterdir()) else folder
        return benchmarks.find_one(HELP_OR_HARM).samples(data, {"split": (split,)})


def main() -> None:
    """Measure, and print one line for each kind of message."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="a copy of the released files")
    parser.add_argument("--split", choices=("validation", "test"), default="test", help="whose messages are measured")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    given = parser.parse_args()
    measured = {
        f"help_or_harm, {given.split}": shares(released(given.data, given.split), "category"),
        "psycrisis, our own samples": shares(
            benchmarks.find_one(PSYCRISIS).samples(None),
            benchmarks.find_one(PSYCRISIS).protocol or "category",
            "language",
        ),
    }
    for name, rows in measured.items():
        print(f"\n{name}" + (":" if rows else ": no copy of the released files at hand"))
        for row in rows:
            bounds = f"{row.low:6.1%} to {row.high:6.1%}"
            print(f"  {row.kind:32} {row.grade:5} {row.found:4} of {row.n:4}  {row.share:6.1%}  ({bounds})")
    if given.json:
        given.json.write_text(
            json.dumps({name: [row._asdict() for row in rows] for name, rows in measured.items()}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
