"""A stratified sample of dialogues, each with the probability with which it was drawn."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from mindgauge.raters import risk_cues
from mindgauge.records import digest, languages
from mindgauge.records.drawn import Drawn
from mindgauge.records.errors import UsageError
from mindgauge.stats.jackknife import effective
from mindgauge.stats.sampling import draw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mindgauge.records.transcripts.transcript import Transcript

_LENGTHS = ((1, "1 turn"), (4, "2 to 4 turns"), (9, "5 to 9 turns"))


def _length(transcript: Transcript) -> str:
    turns = sum(message.role == "user" for message in transcript.messages)
    return next((name for most, name in _LENGTHS if turns <= most), "10 turns or more")


def _risk(transcript: Transcript) -> str:
    """Say whether the person says that they are at risk, by the words alone."""
    texts = [message.content for message in transcript.messages if message.role == "user"]
    return "plain cue" if any(map(risk_cues.cue, texts)) else "hint" if any(map(risk_cues.hint, texts)) else "no cue"


def _language(transcript: Transcript) -> str:
    tag = languages.named(transcript.tags.get(languages.LANGUAGE, ""))
    seen = languages.written(message.content for message in transcript.messages)
    return tag or (seen if seen == "zh" else OTHER)


OTHER = "en or other"
"""The language of what is not Chinese, where the log does not say it: letters alone do not tell English from German."""
BY: dict[str, Callable[[Transcript], str]] = {
    "model": lambda transcript: transcript.model, "month": lambda transcript: transcript.tags.get("month", ""),
    "language": _language, "length": _length, "risk": _risk,
}  # fmt: skip
"""What dialogues may be told apart by; any tag, too."""


class Stratum(NamedTuple):
    """Dialogues that are alike, and how many of them are drawn."""

    name: str
    size: int
    drawn: int


class LogSample(NamedTuple):
    """The dialogues that were drawn, with what is known of their draw, and the strata."""

    transcripts: list[Transcript]
    strata: list[Stratum]


def stratum(transcript: Transcript, by: Sequence[str]) -> str:
    """Name what a dialogue is alike in with others.

    Raises:
        UsageError: there is nothing of that name to tell dialogues apart by.
    """
    return ", ".join(_value(transcript, name) or f"no {name}" for name in by)


def _value(transcript: Transcript, name: str) -> str:
    return BY[name](transcript) if name in BY else transcript.tags.get(name, "")


def check(transcripts: Sequence[Transcript], by: Sequence[str]) -> None:
    """See that dialogues can be told apart as is asked.

    Raises:
        UsageError: they cannot.
    """
    tags = {tag for transcript in transcripts for tag in transcript.tags}
    for name in by:
        if name not in {*BY, *tags}:
            raise UsageError(f"--by {name}: dialogues can be told apart by {', '.join(sorted({*BY, *tags}))}")


def sampled(transcripts: Sequence[Transcript], number: int, by: Sequence[str], seed: int) -> LogSample:
    """Draw so many dialogues, as many of each stratum as of any other as far as it has them.

    Args:
        transcripts: the frame.
        number: of dialogues.
        by: what strata differ in; none for one stratum.
        seed: of the lot.

    Raises:
        UsageError: there are more strata than dialogues to draw, or none is to be drawn.
    """
    check(transcripts, by)
    groups: dict[str, list[Transcript]] = {}
    for transcript in sorted(transcripts, key=lambda t: (t.id, t.model, t.run, t.words)):
        groups.setdefault(stratum(transcript, by) if by else "all", []).append(transcript)
    names = sorted(groups)
    if number < len(names):
        raise UsageError(f"--sample {number}: there are {len(names)} strata, and each needs one dialogue at least")
    sizes = [len(groups[name]) for name in names]
    numbers = _shared(number, sizes)
    persons = Counter(transcript.cluster or transcript.words for transcript in transcripts)
    about = (
        len(transcripts),
        effective(np.array([*persons.values()], dtype=np.float64)),
        digest("logs", sizes, numbers, seed)[:8],
    )
    drawn = []
    for name, size, places in zip(names, sizes, draw(sizes, numbers, seed), strict=True):
        facts = Drawn(len(places) / size, name, size, *about)
        drawn += [msgspec.structs.replace(groups[name][place], drawn=facts) for place in places.tolist()]
    strata = [
        Stratum(*row)
        for row in zip(names, sizes, (min(pair) for pair in zip(numbers, sizes, strict=True)), strict=True)
    ]
    return LogSample(drawn, strata)


def _shared(number: int, sizes: Sequence[int]) -> list[int]:
    """Share a number among strata: the same for each, and what one does not have among the others."""
    shares = [0] * len(sizes)
    remaining = min(number, sum(sizes))
    while remaining:
        room = [place for place, size in enumerate(sizes) if shares[place] < size]
        equal = max(remaining // len(room), 1)
        for place in room:
            more = min(equal, sizes[place] - shares[place], remaining)
            shares[place] += more
            remaining -= more
    return shares
