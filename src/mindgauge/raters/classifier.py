"""A trained classifier: on disk without pickle, and as a rater that keeps probabilities and abstains where it is not sure.

`classifier/PATH` names the folder that `mindgauge train` wrote. It holds `classifier.toml`, `rubric.toml`,
`model.safetensors`, `seen.json` (digests of what it learned from), for an encoder also its configuration and tokenizer,
and for people `card.md` and `manifest.toml`.
"""

from __future__ import annotations

import copy
import hashlib
import time
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np
import tomli_w
from scipy import special

from mindgauge.raters.classifiers import dialogues, encoder
from mindgauge.raters.classifiers.dialogues import Reads, TrainingDigests
from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.raters.classifiers.tfidf import WEIGHTS, Tfidf
from mindgauge.raters.window import status_alone
from mindgauge.records import RaterKind, Rating, Reply, Sample, Status, digest
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.rubric import Rubric
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from mindgauge.records import Value

    Floats = NDArray[np.float64]

PREFIX = "classifier/"
FILE = "classifier.toml"
FORM = 2
"""Of what is saved; classifiers of another form read dialogues in another way."""
BLOCK = 512
"""Subjects that are sorted by length together; a kill costs at most so many."""

Subject = tuple[Sample, Reply | None]


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a classifier comes from logits to a value; what `classifier.toml` holds.

    Below `threshold` it abstains, so that at most a share `risk` of what it decides is wrong; without one it never
    does. It `reads` dialogues that end as those it learned from: with the supporter's `reply`, or with the person's
    `message`.
    """

    kind: Literal["tfidf", "encoder"]
    rubric: str
    rubric_hash: str
    temperature: Annotated[float, msgspec.Meta(gt=0, le=100)]
    max_length: Annotated[int, msgspec.Meta(ge=0, le=1 << 20)] = 0
    threshold: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    risk: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    reads: Reads = "reply"


class Classifier:
    """A rater that puts the label it finds likeliest, or none; it is deterministic, so it rates a subject once.

    An abstention is a declined verdict: its status is `refused`, its provenance says `abstained`. How the classifier has
    `seen` a dialogue when it learned stands there too, where it is known (`parts.How`).

    Attributes:
        name: as ratings carry it.
        path: its folder.
        rubric: with the one criterion it was trained on.
        criterion: what it rates, under the name that its ratings have.
        decision: temperature and threshold.
        model: gives logits.
        seen: what it learned from; None where that is not known.
        labels: the values it gives, in the order of its probabilities.
    """

    def __init__(
        self, path: Path, rubric: Rubric, decision: Decision, model: Tfidf | Encoder, seen: TrainingDigests | None
    ) -> None:
        self.name = f"{PREFIX}{path}"
        self.path = path
        self.rubric = rubric
        self.criterion = rubric.criteria[0]
        self.decision = decision
        self.model = model
        self.seen = seen
        self.labels: tuple[Value, ...] = self.criterion.values

    @cached_property
    def instrument(self) -> str:
        """Rubric, version, and the hash of weights, temperature and threshold, as ratings carry it."""
        words = digest(weights_hash(self.path), msgspec.to_builtins(self.decision))
        return f"{self.rubric.name}#{words[:12]}"

    def probabilities(self, samples: Sequence[Sample]) -> Floats:
        """Return calibrated probabilities of shape (n, q), in the samples' order.

        Args:
            samples: dialogues; the last message is what is classified.

        Raises:
            DataError: a dialogue is empty.
            UsageError: the weights are damaged: they give no numbers.
        """
        logits = self.model.logits([dialogues.dialogue(sample) for sample in samples])
        if not np.isfinite(logits).all():
            raise UsageError(f"{self.path}: its weights give no numbers; copy the whole folder again, or train again")
        return np.asarray(special.softmax(logits / self.decision.temperature, axis=1))

    def decide(self, probabilities: Floats) -> list[Value | None]:
        """Return the likeliest value of each row; None where it abstains."""
        sure = probabilities.max(axis=1) >= (self.decision.threshold or 0.0)
        likeliest = probabilities.argmax(axis=1)
        return [self.labels[i] if is_sure else None for i, is_sure in zip(likeliest, sure, strict=True)]

    def answering(self, rubric: Rubric, *, about_reply: bool) -> Classifier:
        """Return it as a rater of samples, whose last message is the reply that is asked about, or the person's.

        Raises:
            UsageError: it was trained on dialogues that end otherwise, or on a rubric with other words.
        """
        wanted, learned = "reply" if about_reply else "message", self.rubric.criteria[0].name
        if self.decision.reads != wanted:
            raise UsageError(
                f"{self.name}: the dialogues it was trained on end with the {self.decision.reads}, and here they end "
                f"with the {wanted}; train one on such dialogues"
            )
        own = next((c for c in rubric.criteria if c.name == learned), None)
        if own is None or rubric.only(own).hash != self.rubric.hash:
            words = " (the same version, other words)" if rubric.name == self.rubric.name else ""
            raise UsageError(
                f"{self.path}: trained on {self.rubric.name}, criterion {learned!r}, but this is rated by "
                f"{rubric.name}{words}; train it again with `{command_line('train', 'DATA', '--rubric', rubric.id)}`"
            )
        return self

    def judging(self, rubric: Rubric) -> Classifier:
        """Return it as a rater of replies: on the rubric's criterion, or on one of its own where the rubric has none.

        A criterion of its own is named after the rubric it was trained on, `RUBRIC/CRITERION`.

        Raises:
            UsageError: it reads what a person says, or the rubric's criterion of that name is another.
        """
        own = self.rubric.criteria[0]
        if own.name in {criterion.name for criterion in rubric.criteria}:
            return self.answering(rubric, about_reply=True)
        renamed = copy.copy(self.answering(self.rubric, about_reply=True))
        renamed.criterion = msgspec.structs.replace(own, name=f"{self.rubric.id}/{own.name}")
        return renamed

    def rate(self, subjects: Iterable[Subject], progress: Callable[[int], None] | None = None) -> Iterator[Rating]:
        """Rate replies, or samples themselves where there is none; a reply that never came keeps its status.

        It is about no whole dialogue and no person's message.

        Args:
            subjects: samples with their replies.
            progress: hears how many are done, after each block.

        Raises:
            DataError: a dialogue is empty.
        """
        waiting, count = iter(subjects), 0
        while block := list(islice(waiting, BLOCK)):
            yield from self._block(block)
            count += len(block)
            if progress is not None:
                progress(count)

    def _block(self, block: list[Subject]) -> Iterator[Rating]:
        statuses = [Status.OK if reply is None else status_alone(reply) for _, reply in block]
        answered = [subject for subject, status in zip(block, statuses, strict=True) if status is Status.OK]
        read = [dialogues.with_reply(sample, reply) if reply is not None else sample for sample, reply in answered]
        began = time.perf_counter()
        predicted = self.probabilities(read)
        seconds = (time.perf_counter() - began) / max(1, len(answered))
        decided = iter(zip(read, predicted.tolist(), self.decide(predicted), strict=True))
        for (sample, reply), status in zip(block, statuses, strict=True):
            if status is not Status.OK:
                yield self._rating(sample, reply, status)
                continue
            dialogue, probabilities, value = next(decided)
            named = zip(map(str, self.labels), (round(p, 4) for p in probabilities), strict=True)
            provenance: dict[str, object] = {"probabilities": dict(named), "seconds": round(seconds, 9)}
            if self.seen is not None:
                provenance["seen"] = self.seen.how(dialogue)
            if value is None:
                yield self._rating(sample, reply, Status.REFUSED, provenance={**provenance, "abstained": True})
            else:
                yield self._rating(sample, reply, Status.OK, value=value, provenance=provenance)

    def _rating(self, sample: Sample, reply: Reply | None, status: Status, **fields: object) -> Rating:
        return Rating(
            (reply or sample).id, self.criterion.name, self.name, RaterKind.CLASSIFIER, 0, status,
            instrument=self.instrument, **fields,  # type: ignore[arg-type]  # value and provenance
        )  # fmt: skip


def is_classifier(spec: object) -> bool:
    """Whether a name is one of a classifier, `classifier/PATH`."""
    return isinstance(spec, str) and spec.startswith(PREFIX)


def weights_hash(folder: Path) -> str:
    """Hash a folder's weights, in one file or several; empty where it has none, as for a name on the hub.

    Raises:
        UsageError: what is called so is no file, or larger than is read.
    """
    hashes = []
    for path in sorted(folder.glob("*.safetensors")):
        _refuse_large(path)
        with path.open("rb") as file:
            hashes.append(hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest())
    return hashes[0] if len(hashes) == 1 else digest(*hashes) if hashes else ""


def describe(folder: Path, rubric: Rubric, decision: Decision) -> None:
    """Write beside the weights which rubric they were trained on and how they decide."""
    rubric.write(folder / "rubric.toml")
    fields = {name: value for name, value in msgspec.structs.asdict(decision).items() if value is not None}
    private.write(folder / FILE, tomli_w.dumps({"form": FORM, **fields}))


def open_classifier(path: str | Path) -> Classifier:
    """Open a classifier that `mindgauge train` saved; nothing of it is executed.

    Args:
        path: its folder, or `classifier/` and its folder.

    Raises:
        UsageError: it is none, a file is missing or was changed, or its weights are pickled.
    """
    folder = Path(str(path).removeprefix(PREFIX))
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; give one that `mindgauge train --out` wrote")
    encoder.refuse_pickle(folder)
    for name in (FILE, WEIGHTS):
        if not (folder / name).is_file():
            raise UsageError(f"{folder}: no {name} in it; copy all that `mindgauge train --out` wrote, or train again")
    try:
        stated = bounds.toml(folder / FILE)
        if stated.pop("form", 1) != FORM:
            raise UsageError(
                f"{folder}: another version of mindgauge trained it, and reads dialogues otherwise; train again"
            )
        decision = msgspec.convert(stated, Decision)
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / FILE}: not a classifier ({error})") from error
    rubric = Rubric.load(folder / "rubric.toml")
    if rubric.hash != decision.rubric_hash:
        raise UsageError(f"{folder}: rubric.toml is not the one it was trained on; restore it, or train again")
    for part in folder.iterdir():
        if part.suffix in {".json", ".txt", ".model", ".safetensors"}:
            _refuse_large(part)
    model = Tfidf.load(folder) if decision.kind == "tfidf" else Encoder.load(folder, decision.max_length)
    if model.outputs != len(rubric.criteria[0].values):
        raise UsageError(
            f"{folder}: its weights are for {model.outputs} labels, and its rubric has {len(rubric.criteria[0].values)}; "
            "copy the whole folder again, or train again"
        )
    return Classifier(folder, rubric, decision, model, TrainingDigests.load(folder))


def _refuse_large(path: Path) -> None:
    """Refuse a file that no trained classifier has, before anything of it is read."""
    try:
        bounds.check(path, bounds.WEIGHTS if path.suffix == ".safetensors" else bounds.FILE)
    except OSError as error:
        raise UsageError(f"{path}: not a part of a classifier ({error.strerror})") from error
