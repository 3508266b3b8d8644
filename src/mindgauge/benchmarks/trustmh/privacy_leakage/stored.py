"""The stored replies of the authors' models about the stories, and what their own measures find in them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mindgauge.benchmarks import Released
from mindgauge.benchmarks.trustmh.privacy_leakage import readings, stories
from mindgauge.benchmarks.trustmh.released import outputs, privacy
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.records import RaterKind, Rating, Reply, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

THEIRS = "rule/substrings"
"""The authors' tests of substrings, as a rater."""
_CRITERIA = {
    ("free-response", "string-match"): "name_mention",
    ("info-accessibility", "no_y"): "missing_knower",
    ("info-accessibility", "has_z"): "outsider_listed",
    ("info-accessibility", "error"): "list_error",
    ("privacy-sharing", "no_y"): "missing_knower",
    ("privacy-sharing", "has_z"): "outsider_listed",
    ("privacy-sharing", "error"): "list_error",
    ("control", "error"): "control_error",
}
_LISTS = "lists were not asked for as JSON arrays, so only the authors' tests of substrings say something of them"


def load(data: Path) -> Released:
    """Read replies, the authors' measures of them, and what our rules read of those that no list was asked for.

    Raises:
        DataError: the stories are missing or broken.
    """
    files = TrustMHRelease.below(data)
    secrets, notes = privacy.secrets(files)
    stories_by_number = [stories.samples(secret) for secret in secrets]
    stored_replies, faults = outputs.replies(files)
    names, spelt = outputs.spellings(stored.model for stored in stored_replies)
    own = [
        stored
        for stored in stored_replies
        if stored.story < len(stories_by_number) and _same(stored, secrets[stored.story])
    ]
    released = Released(
        [reading for four in stories_by_number for reading in four.values()],
        [],
        [],
        [*notes, *files.broken, *spelt, *faults.values()],
    )
    runs: Counter[tuple[str, str]] = Counter()
    for stored in own:
        sample, model = stories_by_number[stored.story][outputs.KINDS[stored.kind]], names[stored.model]
        status = Status.OK if stored.text.strip() else Status.UNPARSABLE
        source, run = outputs.origin(files, stored.source), runs[model, sample.id]
        runs[model, sample.id] += 1
        reply = Reply.of(sample.id, model, run, status, stored.text, provenance=source)
        released.replies.append(reply)
        released.ratings += _theirs(reply, stored, source)
        own_readings = (readings.NAME_MENTION, readings.CONTROL_ERROR)
        released.ratings += [
            reading.rate(sample, reply) for reading in own_readings if reading.criterion.about(sample.tags)
        ]
    if len(own) < len(stored_replies):
        released.notes.append(f"{len(stored_replies) - len(own)} stored replies are about stories that are not here")
    released.notes += [_LISTS] * bool(own)
    return released


def _same(stored: outputs.StoryOutput, secret: privacy.Secret) -> bool:
    return (stored.client, stored.counsellor, stored.asker) == (secret.client, secret.counsellor, secret.asker)


def _theirs(reply: Reply, stored: outputs.StoryOutput, source: dict[str, str]) -> Iterator[Rating]:
    for measure, hit in outputs.their_measures(stored).items():
        criterion = _CRITERIA[stored.kind, measure]
        words = (readings.NAMED, readings.UNNAMED) if criterion == "name_mention" else (readings.YES, readings.NO)
        value = words[0] if hit else words[1]
        origin = {**source, "measure": f"{stored.kind} {measure}"}
        yield Rating(reply.id, criterion, THEIRS, RaterKind.RULE, 0, Status.OK, value, provenance=origin)
