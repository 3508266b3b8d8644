"""A stratified sample of dialogues, each with the probability with which it was drawn."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from mindgauge.raters import risk_cues
from mindgauge.records import digest, languages
from mindgauge.records.drawn import Drawn
from mindgauge.records.errors import UsageError
from mindgauge.stats.jackknife import effective

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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


class LogStratum(msgspec.Struct, frozen=True):
    """Dialogues that are alike: how many there are, and how many of them were drawn."""

    stratum: str
    dialogues: int
    drawn: int


def lot(keys: Iterable[str], number: int, seed: int) -> list[str]:
    """Draw so many keys, each as likely as any other, by the seed and the keys alone: what else there is moves none of them.

    Whoever draws more, or again with others beside, draws those that were first again.
    """
    return sorted(keys, key=lambda key: digest("draw", seed, key))[:number]


def stratum(transcript: Transcript, by: Sequence[str]) -> str:
    """Name what a dialogue is alike in with others."""
    values = (BY[name](transcript) if name in BY else transcript.tags.get(name, "") for name in by)
    return ", ".join(value or f"no {name}" for value, name in zip(values, by, strict=True))


def sampled(
    transcripts: Sequence[Transcript], number: int, by: Sequence[str], seed: int
) -> tuple[list[Transcript], list[LogStratum]]:
    """Draw so many dialogues, as many of each stratum as of any other as far as it has them, with what is known of their draw.

    Args:
        transcripts: the frame.
        number: of dialogues.
        by: what strata differ in; none for one stratum.
        seed: of the lot.

    Raises:
        UsageError: dialogues cannot be told apart as is asked, there are more strata than dialogues to draw, or none is to be drawn.
    """
    known = {*BY, *(tag for transcript in transcripts for tag in transcript.tags)}
    for name in by:
        if name not in known:
            raise UsageError(f"--by {name}: dialogues can be told apart by {', '.join(sorted(known))}")
    groups: dict[str, dict[str, Transcript]] = {}
    for transcript in sorted(transcripts, key=lambda t: (t.id, t.model, t.run, t.words)):
        group = groups.setdefault(stratum(transcript, by) if by else "all", {})
        key = digest("logs", transcript.id, transcript.model, transcript.run, transcript.words)
        while key in group:  # the same dialogue is there twice
            key = digest("logs", key)
        group[key] = transcript
    names = sorted(groups)
    if number < len(names):
        raise UsageError(f"--sample {number}: there are {len(names)} strata, and each needs one dialogue at least")
    sizes = [len(groups[name]) for name in names]
    # Strata take turns, so that each gives as many as any other, as far as it has them.
    turns = sorted((turn, place) for place, size in enumerate(sizes) for turn in range(min(size, number)))[:number]
    shares = Counter(place for _, place in turns)
    numbers = [shares[place] for place in range(len(names))]
    persons = Counter(transcript.cluster or transcript.words for transcript in transcripts)
    about = (
        len(transcripts),
        effective(np.array([*persons.values()], dtype=np.float64)),
        digest("logs", sizes, numbers, seed)[:8],
    )
    drawn = []
    for name, size, share in zip(names, sizes, numbers, strict=True):
        facts, chosen = Drawn(share / size, name, size, *about), {*lot(groups[name], share, seed)}
        drawn += [msgspec.structs.replace(t, drawn=facts) for key, t in groups[name].items() if key in chosen]
    return drawn, [LogStratum(*row) for row in zip(names, sizes, numbers, strict=True)]
