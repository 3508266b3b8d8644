"""What is counted while transcripts are read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts, and what is to be said, of all files together."""

    joined: int = 0
    omitted: int = 0
    parts: int = 0
    system: int = 0
    late_system: int = 0
    repeated: list[str] = field(default_factory=list)
    same_words: int = 0
    speakers: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Role and the name that it has in the files → transcripts."""
    labels: Counter[str] = field(default_factory=Counter)
    """Words that begin a line like a speaker's and were read as text → lines."""
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
