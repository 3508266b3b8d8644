"""What is odd about released files, from the readers that find it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Reader: TypeAlias = Callable[[TrustMHRelease], tuple[object, list[str]]]
    """Reads something of a folder's files, and says what is odd about them, one line each."""


def notes_of(*readers: Reader) -> Callable[[Path], list[str]]:
    """Return what says of a folder all that some readers find odd about its files.

    Raises (when called):
        DataError: a file is missing or broken.
    """

    def noted(data: Path) -> list[str]:
        files = TrustMHRelease.below(data)
        return [note for reader in readers for note in reader(files)[1]]

    return noted
