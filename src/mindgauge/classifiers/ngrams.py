"""Character and word n-grams of many texts at once, as numbers, without a loop over characters.

A text is an array of code points. The hash of an n-gram is Σ m(c_i) · B^i over 64 bits, where m mixes a code point
well; n-grams of length n follow from those of length n - 1 by one multiplication and addition for all positions.
Features are hashed n-grams in 2^20 buckets (the hashing trick, Weinberger et al. 2009).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Hashes = NDArray[np.uint64]

BITS = 20
CHARACTERS = (1, 2, 3)
WORDS = (1, 2)
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MASK = (1 << 64) - 1


class Counts(NamedTuple):
    """How often each feature occurs in each text, as three columns sorted by text and feature."""

    text: Codes
    feature: Codes
    times: Codes


def counts(texts: Sequence[str], salt: int = 0) -> Counts:
    """Count the n-grams of texts.

    Args:
        texts: n texts; letter case is ignored.
        salt: tells features of one field of a dialogue from the same n-grams in another.
    """
    joined = "\0".join(text.replace("\0", " ").casefold() for text in texts) + "\0"
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    text = np.cumsum(points == 0) - (points == 0)
    mixed = _mix(points.astype(np.uint64) * _BASE)
    hashed = [*_characters(mixed, points != 0, text, salt), *_words(mixed, points, text, salt)]
    owners = np.concatenate([owner for owner, _ in hashed])
    bucket = np.concatenate([hashes for _, hashes in hashed]) >> np.uint64(64 - BITS)
    keys = np.sort((owners << BITS) | bucket.astype(np.int64))
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    distinct = keys[starts]
    return Counts(distinct >> BITS, distinct & ((1 << BITS) - 1), np.diff(starts, append=len(keys)))


def _characters(mixed: Hashes, inside: NDArray[np.bool_], text: Codes, salt: int) -> list[tuple[Codes, Hashes]]:
    hashed = []
    hashes, within = mixed, inside
    for size in range(1, max(CHARACTERS) + 1):
        if size > 1:
            hashes = mixed[: len(hashes) - 1] + _BASE * hashes[1:]
            within = inside[: len(hashes)] & within[1:]
        if size in CHARACTERS:
            hashed.append((text[: len(hashes)][within], _finish(hashes[within], size, salt)))
    return hashed


def _words(mixed: Hashes, points: NDArray[np.uint32], text: Codes, salt: int) -> list[tuple[Codes, Hashes]]:
    """Hash runs of letters and digits, and pairs of such runs that follow each other in one text."""
    alphabet = np.flatnonzero(np.bincount(points))
    letters = np.zeros(int(alphabet[-1]) + 1, dtype=np.bool_)
    letters[alphabet] = [chr(point).isalnum() for point in alphabet.tolist()]
    letter = letters[points]
    first = letter & ~np.concatenate(([False], letter[:-1]))
    starts = np.flatnonzero(first)
    if not len(starts):
        return []
    owner = text[starts]
    positions = np.flatnonzero(letter)
    offset = positions - starts[np.cumsum(first)[positions] - 1]
    hashes = np.add.reduceat(mixed[positions] * _powers(int(offset.max()) + 1)[offset], np.flatnonzero(offset == 0))
    hashed = [(owner, _finish(hashes, 100, salt))] if 1 in WORDS else []
    if 2 in WORDS:
        same = owner[:-1] == owner[1:]
        pairs = (_mix(hashes[:-1]) + _BASE * hashes[1:])[same]
        hashed.append((owner[:-1][same], _finish(pairs, 200, salt)))
    return hashed


def _powers(count: int) -> Hashes:
    return np.cumprod(np.concatenate((np.ones(1, np.uint64), np.full(count - 1, _BASE))), dtype=np.uint64)


def _finish(hashes: Hashes, size: int, salt: int) -> Hashes:
    """Spread hashes over all bits, so that their leading bits can serve as bucket."""
    return _mix(hashes ^ np.uint64((size + 1000 * salt) * 0xD6E8FEB86659FD93 & _MASK))


def _mix(x: Hashes) -> Hashes:
    """Mix 64 bits so that each depends on all (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
