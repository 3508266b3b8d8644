"""From dialogues to token ids: a tag before each turn, whole old turns left out first, batches sorted by length.

Tags are real special tokens, one id each whatever stands beside them; what a person typed is never read as a tag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mindgauge.raters.classifiers import form

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Ids = list[int]


class Encoded(NamedTuple):
    """n dialogues as ids and segment types, how many of them lost old turns, and how many even words of the newest."""

    ids: list[Ids]
    types: list[Ids]
    shortened: int = 0
    cut: int = 0

    @property
    def lengths(self) -> Codes:
        """Tokens of each dialogue."""
        return np.array([len(ids) for ids in self.ids], dtype=np.intp)


class TokenTemplate(NamedTuple):
    """What a tokenizer puts before, between and after one or two segments, and their types."""

    before: Ids
    between: Ids
    after: Ids
    types: tuple[Ids, int, Ids, int, Ids]


def add_tags(tokenizer: Any) -> None:
    """Make the role tags special tokens of the tokenizer, as far as they are not."""
    vocabulary = tokenizer.get_vocab()
    missing = [tag for tag in form.TAGS.values() if tag not in vocabulary]
    tokenizer.add_special_tokens({"additional_special_tokens": missing}, replace_extra_special_tokens=False)


def encode(tokenizer: Any, dialogues: Sequence[form.Dialogue], max_length: int) -> Encoded:
    """Encode dialogues; a reply is a segment of its own, behind the turns it answers.

    Where a dialogue is longer than `max_length`, its oldest turns are left out, whole, until it fits; the reply and the
    person's last turn stay. Only if these two alone are too long, words of theirs are cut.
    """
    texts = list(dict.fromkeys(turn.content for turns in dialogues for turn in turns))
    encodings = (
        tokenizer(texts, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
        if texts
        else []
    )
    words = dict(zip(texts, encodings, strict=True))
    tags = dict(zip(form.TAGS, tokenizer.convert_tokens_to_ids(list(form.TAGS.values())), strict=True))
    single, paired = _template(tokenizer, 1), _template(tokenizer, 2)
    result = Encoded([], [])
    shortened = cut = 0
    for turns in dialogues:
        parts = [[tags[turn.role], *words[turn.content]] for turn in turns]
        template = paired if turns[-1].role == "assistant" and len(turns) > 1 else single
        room = max_length - len(template.before) - len(template.between) - len(template.after)
        fitted, lost = _fit(parts, form.needed(turns), room)
        shortened += len(fitted) < len(parts)
        cut += lost
        ids, types = _join(template, fitted)
        result.ids.append(ids)
        result.types.append(types)
    return result._replace(shortened=shortened, cut=cut)


def _fit(parts: list[Ids], needed: int, room: int) -> tuple[list[Ids], bool]:
    """Leave out the oldest parts until the rest fits, then cut what must stay."""
    total = sum(map(len, parts))
    first = 0
    while total > room and len(parts) - first > needed:
        total -= len(parts[first])
        first += 1
    remaining = parts[first:]
    return (remaining, False) if total <= room else (_cut(remaining, room), True)


def _cut(parts: list[Ids], room: int) -> list[Ids]:
    """Cut what must stay: the reply at its end, to half the room at most, and before it all but the newest words."""
    *before, last = parts
    context = [token for part in before for token in part]
    if not context:
        return [_newest(last, room)]
    reply = last[: max(room - len(context), room // 2)]
    return [_newest(context, room - len(reply)), reply]


def _newest(part: Ids, room: int) -> Ids:
    """Keep the tag and as many words from the end as there is room for."""
    return part if len(part) <= room else [part[0], *part[len(part) - room + 1 :]]


def _join(template: TokenTemplate, parts: list[Ids]) -> tuple[Ids, Ids]:
    before, first, between, second, after = template.types
    if not template.between:
        ids = [token for part in parts for token in part]
        return [*template.before, *ids, *template.after], [*before, *[first] * len(ids), *after]
    ids = [token for part in parts[:-1] for token in part]
    return (
        [*template.before, *ids, *template.between, *parts[-1], *template.after],
        [*before, *[first] * len(ids), *between, *[second] * len(parts[-1]), *after],
    )


def _template(tokenizer: Any, segments: int) -> TokenTemplate:
    """See what the tokenizer itself does with one or two words."""
    coded = tokenizer(*["a", "a"][:segments], return_token_type_ids=True)
    owner = coded.sequence_ids()
    ids, types = coded["input_ids"], coded["token_type_ids"]
    start, end = owner.index(0), len(owner) - owner[::-1].index(segments - 1)
    if segments == 1:
        return TokenTemplate(ids[:start], [], ids[end:], (types[:start], types[start], [], 0, types[end:]))
    middle, second = len(owner) - owner[::-1].index(0), owner.index(1)
    return TokenTemplate(
        ids[:start], ids[middle:second], ids[end:],
        (types[:start], types[start], types[middle:second], types[second], types[end:]),
    )  # fmt: skip


def by_budget(lengths: Codes, tokens: int) -> Iterator[Codes]:
    """Cut rows into batches of like length, the longest first, so that padding costs little.

    A batch holds at most `tokens` tokens, padding included, and at least one row.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, tokens // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size


def shuffled(lengths: Codes, size: int, generator: np.random.Generator) -> list[Codes]:
    """Cut rows into batches of `size` for training: random, yet rows of like length together.

    Rows are shuffled, sorted by length within blocks of fifty batches, and the batches shuffled again.
    """
    rows = generator.permutation(len(lengths))
    blocks = [rows[i : i + 50 * size] for i in range(0, len(rows), 50 * size)]
    ordered = [block[np.argsort(lengths[block], kind="stable")] for block in blocks]
    batches = [block[i : i + size] for block in ordered for i in range(0, len(block), size)]
    return [batches[i] for i in generator.permutation(len(batches))]


def padded(encoded: Encoded, rows: Codes, padding: int) -> dict[str, NDArray[np.int64]]:
    """Return the arrays that a model reads: ids, attention mask and segment types, each of shape (rows, longest)."""
    longest = max(len(encoded.ids[i]) for i in rows)
    arrays = {
        name: np.zeros((len(rows), longest), dtype=np.int64)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    arrays["input_ids"][:] = padding
    for place, row in enumerate(rows):
        n = len(encoded.ids[row])
        arrays["input_ids"][place, :n] = encoded.ids[row]
        arrays["attention_mask"][place, :n] = 1
        arrays["token_type_ids"][place, :n] = encoded.types[row]
    return arrays
