"""Any encoder of `transformers` as a classifier: dialogues as token ids, opened safely, fine-tuned by `training`, saved with its tokenizer.

Tags are real special tokens, one id each whatever stands beside them; what a person typed is never read as a tag.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from mindgauge.raters.classifiers import form, pretrained
from mindgauge.raters.classifiers import pretrained as memory
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import torch
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]

    Ids = list[int]

    Floats = NDArray[np.float64]


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


# Any encoder of `transformers` as a classifier: opened safely, fine-tuned by `training`, saved with its tokenizer.


BUDGETS = {"cpu": 2048, "cuda": 32768}
"""Tokens of one batch when classifying, padding included, by device; what does not fit a processor's cache is slower."""
SHORTEST = 16
"""Tokens that a dialogue must be allowed, so that of a reply and of what it answers something is left."""


class Encoder:
    """A pretrained encoder with a linear head: one logit per label."""

    kind: ClassVar[str] = "encoder"

    def __init__(self, model: Any, tokenizer: Any, max_length: int) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.budget = BUDGETS.get(model.device.type, BUDGETS["cpu"])

    @classmethod
    def start(cls, name: str, labels: Sequence[str], max_length: int, device: str = "auto") -> Encoder:
        """Open pretrained weights for training: tags added, embeddings resized, a new head from torch's seed.

        Args:
            name: a folder, or a name on the hub.
            labels: q names, in the order of the logits.
            max_length: tokens of a dialogue; at most what the encoder has positions for.
            device: `auto`, `cpu` or `cuda`.

        Raises:
            UsageError: there are no such weights, they are pickled, or the hub cannot be reached.
        """
        tokenizer, model = pretrained.fresh(name, labels)
        add_tags(tokenizer)
        with pretrained.quiet(), pretrained.explained(name):
            model.resize_token_embeddings(len(tokenizer))
        longest = int(min(max_length, tokenizer.model_max_length, pretrained.positions(model)))
        return cls(model.to(place(device)), tokenizer, longest)

    @classmethod
    def load(cls, folder: Path, max_length: int, device: str = "auto") -> Encoder:
        """Open a classifier that `save` wrote.

        Raises:
            UsageError: a file is missing or broken, or the encoder has no positions for `max_length` tokens.
        """
        tokenizer, model = pretrained.saved(folder)
        if not SHORTEST <= max_length <= pretrained.positions(model):
            raise UsageError(f"{folder}: its encoder was not trained on dialogues of {max_length} tokens; train again")
        return cls(model.to(place(device)), tokenizer, max_length)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), configuration and tokenizer."""
        with pretrained.quiet(), private.writing(folder):
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    @property
    def outputs(self) -> int:
        """How many labels its logits are of, q."""
        return int(self.model.config.num_labels)

    def encode(self, dialogues: Sequence[form.Dialogue]) -> Encoded:
        """Return the dialogues as token ids."""
        return encode(self.tokenizer, dialogues, self.max_length)

    def logits(self, dialogues: Sequence[form.Dialogue], progress: Callable[[int], None] | None = None) -> Floats:
        """Return logits of shape (n, q); `progress` hears how many dialogues are done.

        Raises:
            MindgaugeError: the memory does not suffice, even for batches of half the size.
        """
        return self.classify(self.encode(dialogues), progress)

    def classify(self, encoded: Encoded, progress: Callable[[int], None] | None = None) -> Floats:
        """Return the logits of encoded dialogues, in their order."""
        try:
            return self._classify(encoded, progress)
        except RuntimeError as error:
            if not memory.ran_out(error):
                raise
        self.budget //= 2
        try:
            return self._classify(encoded, progress)
        except RuntimeError as error:
            if not memory.ran_out(error):
                raise
            raise MindgaugeError(
                f"out of memory, also with batches of {self.budget} tokens; choose a smaller encoder, or free some memory"
            ) from error

    def _classify(self, encoded: Encoded, progress: Callable[[int], None] | None) -> Floats:
        import torch

        logits = np.empty((len(encoded.ids), self.outputs))
        self.model.eval()
        count = 0
        with torch.inference_mode(), self.precision():
            for batch in by_budget(encoded.lengths, self.budget):
                logits[batch] = self.model(**self.tensors(encoded, batch)).logits.float().cpu().numpy()
                count += len(batch)
                if progress is not None:
                    progress(count)
        return logits

    def tensors(self, encoded: Encoded, batch: NDArray[np.intp]) -> dict[str, torch.Tensor]:
        """Return a padded batch as the model takes it."""
        import torch

        arrays = padded(encoded, batch, self.tokenizer.pad_token_id)
        wanted = self.tokenizer.model_input_names
        return {name: torch.from_numpy(arrays[name]).to(self.model.device) for name in arrays if name in wanted}

    def precision(self) -> contextlib.AbstractContextManager[object]:
        """Compute in bfloat16 on a GPU, in float32 elsewhere."""
        import torch

        if self.model.device.type == "cuda":
            half: contextlib.AbstractContextManager[object] = torch.autocast("cuda", dtype=torch.bfloat16)
            return half
        return contextlib.nullcontext()


def place(device: str) -> str:
    """Return the device to compute on.

    Raises:
        UsageError: there is no such device, or no such GPU here.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, number = device.partition(":")
    if kind not in BUDGETS or (number and not number.isdecimal()):
        raise UsageError(f"--device {device}: there is no such device; it is auto, cpu or cuda")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        missing = f"GPU {number}" if torch.cuda.device_count() else "GPU"
        raise UsageError(f"--device {device}: torch sees no {missing} here; use --device cpu or auto")
    return device
