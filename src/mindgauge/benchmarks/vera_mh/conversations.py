"""The released transcripts as dialogues of a run, and as texts for an audit.

Who talks with whom stands in the names: `p_CLIENT__a_TARGET__…/ID_PERSONA_…_runN.txt`. A transcript has slots as dialogues of our
engine have them: one for each turn that is answered, and one for the whole; all of a persona are one cluster.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from mindgauge.benchmarks.persons import transcript_slots
from mindgauge.benchmarks.persons.transcript_slots import TranscriptFacts
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, Released, frame
from mindgauge.benchmarks.vera_mh import released, tree
from mindgauge.raters.window import Unit
from mindgauge.records import BASE, digest, transcripts
from mindgauge.records.errors import MissingDataError
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks.vera_mh.released import VeraRelease
    from mindgauge.records import Reply, Sample
    from mindgauge.records.transcripts import Transcript

_PAIR = re.compile(r"p_(?P<client>.+?)__a_(?P<target>.+?)__.*", re.DOTALL)
_NAMED = re.compile(r"(?P<ident>[0-9a-f]+)_(?P<persona>[^_]+)_.+_run(?P<run>\d+)")
UNNAMED = "unnamed"
"""A model that no folder names."""


class _Talk:
    """A transcript, and what its name says of it."""

    def __init__(self, transcript: Transcript, source: str) -> None:
        self.transcript, self.source = transcript, source
        place = PurePath(source)
        pair, named = _PAIR.fullmatch(place.parent.name), _NAMED.fullmatch(place.stem)
        self.client, self.target = (pair["client"], pair["target"]) if pair else (UNNAMED, UNNAMED)
        self.persona = named["persona"] if named else place.stem
        self.turns = [(turn.number, turn.before, turn.reply) for turn in transcript.turns if turn.reply is not None]

    def slots(self) -> Iterator[tuple[Sample, Reply]]:
        """Return its turns that are answered, and the whole, each with the reply."""
        origin = digest("vera_mh", self.client, self.persona, self.transcript.words)
        tags = {"persona": self.persona, "client": self.client, "language": "en", BASE: origin}
        provenance = {"source_file": self.source, "dialogue": origin}
        facts = TranscriptFacts(origin, self.target, self.persona, tags, provenance, self.client)
        yield from transcript_slots.slots(self.transcript, facts, (Unit.TURN, Unit.DIALOGUE))


def load(data: Path) -> Released:
    """Load the transcripts: a slot and a reply for each turn that is answered, and for each dialogue.

    Raises:
        MissingDataError: there is none.
        DataError: one cannot be read; the message names the file and the line.
    """
    files = released.find(data)
    talks = _talks(files)
    if not talks:
        raise MissingDataError(f"{data}: no transcripts here; {released.EXPECTED}")
    silent = [talk.source for talk in talks if not talk.turns]
    pairs = [pair for talk in talks if talk.turns for pair in talk.slots()]
    notes = [*files.notes, *(f"{source}: the bot never answers; left out" for source in silent)]
    ended = sum(bool(talk.transcript.ending) for talk in talks)
    if ended:
        notes.append(f"{plural(ended, 'transcript')} ended by the client; rated as far as they go, as the authors do")
    unanswered = sum(talk.transcript.unanswered for talk in talks)
    if unanswered:
        notes.append(f"{plural(unanswered, 'transcript')} ending with the person's message; that turn has no reply")
    empty = sum(not text.strip() for talk in talks for _, _, text in talk.turns)
    if empty:
        notes.append(f"{plural(empty, 'reply', 'replies')} without a word; unparsable as turns")
    notes.append("no verdict is released, so nothing of these is rated; rate them with --replies RUN --data DIR")
    notes.append("personas of transcripts are known by a first name alone, and are not those of personas.tsv")
    return Released([sample for sample, _ in pairs], [reply for _, reply in pairs], [], notes)


def _talks(files: VeraRelease) -> list[_Talk]:
    return [
        _Talk(transcript, file.source)
        for file in files.of("transcript")
        for transcript in transcripts.read(str(file.path)).transcripts
    ]


def material(data: Path) -> Material:
    """Read what people and models say in the transcripts, the personas and the tree's questions, for an audit.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    texts: list[tuple[object, ...]] = []
    notes = [*files.notes, *tree.notes(files)]
    if files.of("personas"):
        people = released.personas(files)
        notes += people.notes
        source = files.one("personas").source
        texts += [
            (source, number, "input", person.name, "\n".join(person.cells.values()), None, None, None, person.planned)
            for number, person in enumerate(people.personas)
        ]
    for talk in _talks(files):
        for number, message in enumerate(talk.transcript.messages):
            kind, system = ("input", talk.client) if message.role == "user" else ("reply", talk.target)
            ident = f"{talk.source}:{number}"
            texts.append((talk.source, number, kind, ident, message.content, system, None, None, None))
    if not texts:
        raise MissingDataError(f"{data}: no personas and no transcripts here; {released.EXPECTED}")
    return Material(frame(texts, TEXTS), frame([], RATINGS), {}, {}, tuple(notes))
