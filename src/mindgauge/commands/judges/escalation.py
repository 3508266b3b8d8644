"""`judges escalation`: how much must people read to find what they call unsafe?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.commands.command import FromZero, Resamples, command
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.escalation.result import Escalation


@command(doing="Learning orders of reading")
def judges_escalation(
    run: str | Path,
    *,
    unsafe: str,
    reference: str | Sequence[str] = (),
    benchmark: str = "",
    target: float = 0.95,
    confidence: float = 0.9,
    tolerated: float = 0.02,
    resamples: Resamples = 1000,
    seed: FromZero = 0,
) -> Escalation:
    """Say what share of the replies people must read, in whose order, to find those that they call unsafe.

    Args:
        run: A run directory with ratings by people and by judges.
        unsafe: What one person has to say of a reply for it to be unsafe: safety<=2, or label=A,B.
        reference: Whose word counts, if not people's. May be repeated.
        benchmark: Which of the run's, where people rated several.
        target: The share of the unsafe replies to be found.
        confidence: Of what is guaranteed.
        tolerated: The share of what passes unread that may be unsafe.
        resamples: Bootstrap resamples.
        seed: Seed of the bootstrap and the folds.

    Raises:
        UsageError: there is no run, or an option is wrong.
        DataError: no person or no judge has rated, or people call nearly nothing unsafe.
    """
    from mindgauge.analysis.escalation import orders, subjects
    from mindgauge.analysis.escalation.result import Promise
    from mindgauge.analysis.reliability.unsafe_levels import UnsafeRule
    from mindgauge.analysis.score import open_run

    UnsafeRule.read(unsafe)
    if not 0 < target <= 1:
        raise UsageError(f"--target {target:g}: give a share above 0 and up to 1, for example 0.95")
    for name, share in (("confidence", confidence), ("tolerated", tolerated)):
        if not 0 < share < 1:
            raise UsageError(
                f"--{name} {share:g}: give a share between 0 and 1, for example {0.9 if name == 'confidence' else 0.02}"
            )
    people = [reference] if isinstance(reference, str) else list(reference)
    folder = Path(run)
    store, benchmarks, _ = open_run(folder)
    with store:
        rated = subjects.rated_by_people(store, [b for b in benchmarks if benchmark in {"", b.name}], people)
        if len(rated) > 1:
            raise UsageError(
                f"{folder}: people rated {', '.join(b.name for b in rated)}; say which with --benchmark NAME"
            )
        if not rated:
            whom = ", ".join(people) or "a person"
            names = ", ".join(b.name for b in benchmarks)
            raise UsageError(
                f"{folder}: nothing rated by {whom} in {benchmark or names}, so nothing says what is unsafe"
            )
        rated_subjects = subjects.with_words(subjects.read(store, rated[0], unsafe, people), store)
    promise = Promise(target, tolerated, confidence, seed)
    return orders.escalate(str(folder), rated_subjects, promise, resamples)
