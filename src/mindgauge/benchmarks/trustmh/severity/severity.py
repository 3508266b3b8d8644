"""How near to suicide a forum user's posts are, on five levels.

C-SSRS labels of Gaur et al., WWW 2019; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import (
    STATUS_RATES,
    accuracy,
    accuracy_of_read,
    fleiss_kappa,
    levels_off,
    levels_off_of_read,
    macro_f1,
    over_triage_rate,
    quadratic_kappa,
    quadratic_kappa_of_read,
    recall,
    under_triage_rate,
    within_one,
)
from mindgauge.benchmarks.metrics.decisions import severe_miss_rate
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.benchmarks.trustmh.released.severity import users
from mindgauge.records import Message, Sample

if TYPE_CHECKING:
    from collections.abc import Sequence


BUDGET = 12_000
"""Characters of posts that are shown of one user."""


def read(data: Path) -> list[Sample]:
    """Read the users; tags say whether their cell was cut off, and how many posts are left out of the message.

    Raises:
        MissingDataError: the file is not there.
        DataError: it is broken.
    """
    people, _ = users(TrustMHRelease.below(data))
    samples = []
    for user in people:
        text, omitted = message(user.posts)
        tags = {"language": "en", "truncated": "yes" if user.truncated else "no", "omitted": str(omitted)}
        sample = Sample.of((Message("user", text),), target=user.level.lower(), tags=tags, cluster=user.name)
        samples.append(sample)
    return samples


def message(posts: Sequence[str]) -> tuple[str, int]:
    """Number posts, oldest first, within the budget; return them, and how many of the oldest are left out.

    The newest post stays whole, however long it is.
    """
    count, budget_left = 1, BUDGET - len(posts[-1])
    while count < len(posts) and len(posts[-count - 1]) <= budget_left:
        count, budget_left = count + 1, budget_left - len(posts[-count - 1])
    omitted = len(posts) - count
    remark = f" The oldest {omitted} of {len(posts)} are left out." if omitted else ""
    numbered = (f"Post {number}: {post.strip()}" for number, post in enumerate(posts[omitted:], omitted + 1))
    return "\n\n".join((f"Posts by one person in a forum, oldest first.{remark}", *numbered)), omitted


# How near to suicide a forum user's posts are, on five levels.


LEVELS = ("supportive", "indicator", "ideation", "behavior", "attempt")

severity = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    notes=notes_of(users),
    metrics=(
        quadratic_kappa,
        macro_f1,
        accuracy,
        accuracy_of_read,
        levels_off,
        within_one,
        under_triage_rate,
        over_triage_rate,
        severe_miss_rate(severe=LEVELS[3:], mild=LEVELS[:2]),
        quadratic_kappa_of_read,
        levels_off_of_read,
        *(recall(level) for level in LEVELS),
        fleiss_kappa,
        *STATUS_RATES,
    ),
    headline=("quadratic_kappa", "accuracy", "severe_miss_rate"),
    slices=("truncated",),
    baselines=("attempt",),
)
