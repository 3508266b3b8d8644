"""A user's posts as one message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.benchmarks.trustmh.released.severity import users
from mindgauge.records import Message, Sample

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
