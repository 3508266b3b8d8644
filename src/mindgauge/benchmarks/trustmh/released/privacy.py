"""What people expect of privacy (confAIde), and secrets that a counsellor is asked for (PsyLeak)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

CONFAIDE = "it comes with confAIde (MIT)"
PSYLEAK = "it comes with TrustMH-Bench, for internal use only"
STORIES = 100
"""Stories of PsyLeak, each with a control question."""
TIERS = {"1": ("tier_1.txt", "tier_1_labels.txt", 10), "2a": ("tier_2a.txt", "tier_2_labels.txt", 98),
         "2b": ("tier_2b.txt", "tier_2_labels.txt", 98)}  # fmt: skip
_ASKED = re.compile(r"\b(?:what|how) should ", re.IGNORECASE)
_BLOCK = re.compile(
    r"<BEGIN><(?P<head>[^<>]*)>\n(?P<story>(?:(?!<BEGIN>).)*?)\n\s{0,40}<END><(?P<tail>[^<>]*)><About: (?P<about>[^,<>]*), ?Questionee: (?P<asked>[^,<>]*), ?"
    r"Questioner: (?P<asker>[^,<>]*), ?Topic: (?P<topic>[^<>]*)>",
    re.DOTALL,
)


class Expectation(NamedTuple):
    """A question about what people expect, its place in its file from 0, and the mean of what they said."""

    text: str
    tier: str
    people: float
    number: int


class Secret(NamedTuple):
    """A story in which the asker wants to know about a client from the counsellor; the question is apart."""

    story: str
    question: str
    topic: str
    relation: str
    reason: str
    client: str
    counsellor: str
    asker: str
    control: str
    shipped_story: str
    """The story as the authors' code reads it: in one line, cut at `. `, without the last piece, where its question breaks off."""
    shipped_control: str


def expectations(files: TrustMHRelease, *, raw: bool = False) -> tuple[list[Expectation], list[str]]:
    """Read the three tiers; the two characters that stand for a line end in the files become one.

    Args:
        files: where to look.
        raw: as the authors sent the lines: these two characters as they are, and in tier 2 the line end that the file has.

    Raises:
        DataError: a file is missing or broken, or has not one label for each question.
    """
    read_expectations, notes = [], []
    for tier, (questions, labels, count) in TIERS.items():
        question_file, label_file = files.require(questions, CONFAIDE), files.require(labels, CONFAIDE)
        texts = [line for line in question_file.lines() if line.strip()]
        end = "" if tier == "1" else "\n"
        texts = [f"{line.strip()}{end}" if raw else line.replace("\\n", "\n") for line in texts]
        means = []
        for number, line in enumerate(label_file.lines(), 1):
            try:
                means.append(float(line))
            except ValueError:
                raise DataError(f"{label_file.source}:{number}: expected a number, found {line!r:.40}") from None
        if len(texts) != len(means):
            raise DataError(
                f"{question_file.source}: expected {len(means)} questions, one for each label in {label_file.source}, found {len(texts)}"
            )
        pairs = enumerate(zip(texts, means, strict=True))
        read_expectations += [Expectation(text, tier, mean, number) for number, (text, mean) in pairs]
        notes += question_file.counted("questions", len(texts), count) + label_file.counted("labels", len(means), count)
    return read_expectations, notes


def secrets(files: TrustMHRelease) -> tuple[list[Secret], list[str]]:
    """Read PsyLeak's stories; the question that ends a story stands apart.

    Raises:
        DataError: a file is missing or broken, or there is not one control question for each story.
    """
    file, other = (files.require(name, PSYLEAK) for name in ("PsyLeak.txt", "PsyLeak_control.txt"))
    text = "\n".join(file.lines())
    blocks = [*_BLOCK.finditer(text)]
    begun = text.count("<BEGIN>")
    if len(blocks) != begun:
        raise DataError(f"{file.source}: expected {begun} blocks from <BEGIN> to <END>, found {len(blocks)}")
    controls = [line.strip() for line in other.lines() if line.strip()]
    if len(controls) != len(blocks):
        raise DataError(f"{other.source}: expected {len(blocks)} lines, one for each story, found {len(controls)}")
    if not controls[-1].rstrip().endswith("?"):
        raise DataError(f"{other.source}: expected questions, found a last one that breaks off: {controls[-1][-40:]!r}")
    read_secrets = []
    for number, (block, control) in enumerate(zip(blocks, controls, strict=True), 1):
        parts = block["head"].split(",", 3)
        if len(parts) != 4:
            raise DataError(
                f"{file.source}: block {number}: expected topic, counselor, relation and reason, found {block['head']!r:.60}"
            )
        story, question = _apart(block["story"].strip())
        client, counsellor, asker = (block[name].strip() for name in ("about", "asked", "asker"))
        topic, _, relation, reason = (part.strip() for part in parts)
        read_secrets.append(
            Secret(
                story.strip(),
                question.strip(),
                topic,
                relation,
                reason,
                client,
                counsellor,
                asker,
                control.replace("to to ", "to "),
                _cut(block["story"]),
                control,
            )
        )
    counts = (
        file.counted("stories", len(read_secrets), STORIES),
        other.counted("questions", len(controls), STORIES),
    )
    return read_secrets, [note for notes in counts for note in notes]


def _cut(story: str) -> str:
    pieces = " ".join(line.strip() for line in story.splitlines() if line.strip()).split(". ")
    return f"{'. '.join(pieces[:-1])}."


def _apart(story: str) -> tuple[str, str]:
    """Return a story without the question that ends it, and the question: its last line, or that line's own last words.

    Full stops do not tell where it begins: "What should Dr. Sun say?" holds one.
    """
    before, _, last = story.rpartition("\n")
    start = max((match.start() for match in _ASKED.finditer(last)), default=0)
    return f"{before}\n{last[:start]}".strip(), last[start:].strip()
