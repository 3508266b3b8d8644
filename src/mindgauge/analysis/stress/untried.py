"""What a stress test could not try, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.stress import probes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.stress.design import Attempts, Languages, Pairs


def untried(
    pairs: Sequence[Pairs], languages: Sequence[Languages], attempts: Attempts | None, spoken: set[str]
) -> Iterator[str]:
    """Name the probes that nothing was tried of; self-preference has a note of its own.

    Args:
        pairs: comparisons of versions.
        languages: comparisons between languages.
        attempts: of the battery.
        spoken: the languages of the replies.
    """
    there = {pair.probe for pair in pairs} | {probes.LANGUAGE for _ in languages}
    there |= {probes.INJECTION} if attempts else set()
    elsewhere = {probes.SELF, probes.REPEAT}
    yield from (f"{probe}: nothing of it was tried" for probe in probes.NAMES if probe not in there | elsewhere)
    missing = sorted(spoken - {*attempts.facts["language"].tolist()}) if attempts else []
    if missing:
        yield f"{probes.INJECTION}: nothing of it was tried on replies in {', '.join(missing)}"
