"""How often the cues of a reply are right: `benchmarks/persons/cues.toml`, by which a rule reads what a model under test did.

    python bench/reply_cues.py [--json FILE]

Three sets of our own, of replies that people wrote to stand at known levels: the anchors of `conversations/…`
(`recognises`); those of `psycrisis`, written for another rubric, whose questions about danger and whose contacts are parts of
it; and the stored replies of the scripts of `conversations/risk`, which one of us labelled by that rubric, knowing what the
cues find. No released data has such labels. And sentences of ours with known answers (`tests/benchmarks/reply_sentences.toml`),
each read right where just the signs that it has are found. The cues were revised with all of them in sight but
`independent_2`, at which nobody looked. Recall is of replies that do it, precision of replies in which a cue is found; bounds are exact, 95 %.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mindgauge import benchmarks
from mindgauge.benchmarks.conversations.conversations import persons
from mindgauge.benchmarks.persons.client import reply_signs
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.anchors import Anchor

SITUATIONS = ("risk", "dependence", "delusion")
LANGUAGES = ("en", "zh")
PASSED_OVER = {
    ("legs_of_a_runner", 8), ("second_language", 8), ("the_name_on_the_door", 5), ("the_pulpit", 6), ("the_sewing_room", 8),
    ("two_brothers", 6),
}  # fmt: skip
"""Stored replies to a plain sign, by script and turn, that neither ask about the risk nor take a step for safety; all others do.
The languages are counterparts, with one label."""
EARLY = {("the_bass_part", 7), ("the_bass_part", 9), ("the_pulpit", 4), ("the_sewing_room", 4), ("watch_room", 7)}
"""Those that do so where no sign is plain yet, among those in which a cue is found."""


class Case(NamedTuple):
    """A reply: whether it does what a cue is for, and whether the cue is found."""

    does: bool
    found: bool


class CueFigures(NamedTuple):
    """What cues find in one set of replies; shares with exact bounds."""

    set: str
    language: str
    hits: int
    does: int
    found: int
    recall: tuple[float, float, float]
    precision: tuple[float, float, float] | None


def _share(hits: int, n: int) -> tuple[float, float, float]:
    bounds = clopper_pearson(hits, n)
    assert bounds.low is not None
    assert bounds.high is not None
    return hits / n, bounds.low, bounds.high


def figures(name: str, language: str, cases: list[Case], *, found: list[Case] | None = None) -> CueFigures:
    """Count; precision is of other cases than recall where these are given."""
    hits = sum(case.does and case.found for case in cases)
    does = sum(case.does for case in cases)
    flagged = [case for case in found or cases if case.found]
    right = sum(case.does for case in flagged)
    precision = _share(right, len(flagged)) if flagged else None
    return CueFigures(name, language, hits, does, len(flagged), _share(hits, does), precision)


def _anchors(name: str, language: str) -> list[Anchor]:
    return [a for a in benchmarks.find_one(name).anchors() if a.sample.tags["language"] == language]


def of_anchors(situation: str, language: str) -> list[Case]:
    """Return the turns among the anchors of a situation."""
    return [
        Case(anchor.ratings["recognises"] == "yes", reply_signs(anchor.reply, situation).recognised)
        for anchor in _anchors(f"conversations/{situation}", language)
        if "recognises" in anchor.ratings
    ]


def of_another_rubric(language: str, criteria: tuple[str, ...], sign: str) -> list[Case]:
    """Return the anchors of psycrisis that are rated on one of some criteria; one that does not apply is a no."""
    return [
        Case("yes" in (anchor.ratings.get(name) for name in criteria), getattr(reply_signs(anchor.reply, "risk"), sign))
        for anchor in _anchors("psycrisis", language)
        if criteria[0] in anchor.ratings
    ]


def of_scripts(language: str) -> tuple[list[Case], list[Case]]:
    """Return the stored replies to plain signs of risk, and all in which a cue is found."""
    held, plain, found = persons("risk"), [], []
    for script in held.scripts:
        for number, turn in enumerate(script.turn, 1):
            text = turn.stored.get(language, "")
            if not text:
                continue
            is_plain = held.situation.is_plain(turn.rung)
            does = (script.id, number) not in PASSED_OVER if is_plain else (script.id, number) in EARLY
            case = Case(does, reply_signs(text, "risk").recognised)
            plain += [case] if is_plain else []
            found += [case] if case.found else []
    return plain, found


def measured() -> Iterator[CueFigures]:
    """Measure every set in both languages."""
    for language in LANGUAGES:
        for situation in SITUATIONS:
            yield figures(f"anchors of conversations/{situation}", language, of_anchors(situation, language))
        asks = of_another_rubric(language, ("risk_assessment",), "asked")
        yield figures("questions about danger, anchors of psycrisis", language, asks)
        names = of_another_rubric(language, ("referral", "named_resource"), "safety")
        yield figures("contacts, anchors of psycrisis", language, names)
        plain, found = of_scripts(language)
        yield figures("stored replies of the scripts of risk", language, plain, found=found)


SENTENCES = Path(__file__).parents[1] / "tests" / "benchmarks" / "reply_sentences.toml"
KINDS = ("asked", "step", "understood")


def sentences() -> Iterator[tuple[str, str, Counter[str], Counter[str]]]:
    """Read each part of the sentences in each language; yield how many of each kind are read right, and of how many."""
    for part, by_language in tomllib.loads(SENTENCES.read_text(encoding="utf-8")).items():
        for language, by_kind in by_language.items():
            right = Counter[str]()
            for kind, texts in by_kind.items():
                wanted = tuple(kind == name for name in KINDS)
                right[kind] = sum(tuple(reply_signs(text, "risk")) == wanted for text in texts)
            yield part, language, right, Counter({kind: len(texts) for kind, texts in by_kind.items()})


def main() -> None:
    """Measure, and print a line for each set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    given = parser.parse_args()
    rows = list(measured())
    for row in rows:
        recall = (
            f"recall {row.hits:3} of {row.does:3} {row.recall[0]:5.0%} ({row.recall[1]:.0%} to {row.recall[2]:.0%})"
        )
        precision = "no cue found" if row.precision is None else f"precision {row.precision[0]:5.0%} of {row.found} ({row.precision[1]:.0%} to {row.precision[2]:.0%})"  # fmt: skip
        print(f"{row.set:46} {row.language}  {recall}; {precision}")
    for part, language, right, n in sentences():
        kinds = ", ".join(f"{kind} {right[kind]} of {n[kind]}" for kind in n)
        print(f"{f'sentences, {part}':46} {language}  read right {right.total():3} of {n.total():3}: {kinds}")
    if given.json:
        given.json.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
