"""Posts of Reddit users with a C-SSRS level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from mindgauge.benchmarks.trustmh.released import files as lists
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

NAME = "500_Reddit_users_posts_labels.csv"
Level = Literal["Supportive", "Indicator", "Ideation", "Behavior", "Attempt"]


class User(NamedTuple):
    """A user's posts, oldest first, and the level; `truncated` where a spreadsheet cut the cell off."""

    name: str
    posts: list[str]
    level: str
    truncated: bool


class _UserRow(msgspec.Struct, frozen=True):
    User: str
    Post: str
    Label: Level


def users(files: TrustMHRelease) -> tuple[list[User], list[str]]:
    """Read all users, also those whose cell was cut off.

    Raises:
        MissingDataError: the file is not there.
        DataError: it is broken, or a label is none of the five.
    """
    file = files.require(NAME, "it stands with the C-SSRS set of Gaur et al. 2019 (Zenodo 2667859)")
    people = []
    for number, row in file.records(_UserRow):
        try:
            posts, truncated = lists.read(row.Post)
        except ValueError as error:
            raise DataError(f"{file.source}:{number}: expected a list of posts, found {error}") from None
        if not posts:
            raise DataError(f"{file.source}:{number}: expected a post, found an empty list")
        people.append(User(row.User, posts, row.Label, truncated))
    cut = sum(user.truncated for user in people)
    notes = [f"{file.source}: {cut} of {len(people)} cells are cut off; they are read as far as they go"] if cut else []
    return people, [*file.counted("users", len(people), 500), *notes]
