"""A classifier on disk: weights without pickle, the rubric it was trained on, and how it decides.

A folder holds `classifier.toml`, `rubric.toml`, `model.safetensors`, `seen.json` (digests of what it learned from), for
an encoder also its configuration and tokenizer, and for people `card.md` and `manifest.toml`.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np
import tomli_w
from scipy import special

from mindgauge.raters.classifiers import encoder, form
from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.raters.classifiers.form import Reads
from mindgauge.raters.classifiers.parts import TrainingDigests
from mindgauge.raters.classifiers.tfidf import WEIGHTS, Tfidf
from mindgauge.records import digest
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.rubric import Criterion, Rubric
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from mindgauge.records import Sample, Value

    Floats = NDArray[np.float64]

FILE = "classifier.toml"
FORM = 2
"""Of what is saved; classifiers of another form read dialogues in another way."""


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
    """An opened classifier.

    Attributes:
        path: its folder.
        rubric: with the one criterion it rates.
        decision: temperature and threshold.
        model: gives logits.
        seen: what it learned from; None where that is not known.
        labels: the values it gives, in the order of its probabilities.
    """

    def __init__(
        self, path: Path, rubric: Rubric, decision: Decision, model: Tfidf | Encoder, seen: TrainingDigests | None
    ) -> None:
        self.path = path
        self.rubric = rubric
        self.decision = decision
        self.model = model
        self.seen = seen
        self.labels: tuple[Value, ...] = self.criterion.values

    @property
    def criterion(self) -> Criterion:
        """What it rates."""
        return self.rubric.criteria[0]

    @cached_property
    def instrument(self) -> str:
        """Rubric, version, and the hash of weights, temperature and threshold, as ratings carry it."""
        words = digest(weights_hash(self.path), msgspec.to_builtins(self.decision))
        return f"{self.rubric.name}#{words[:12]}"

    def probabilities(self, samples: Sequence[Sample], progress: Callable[[int], None] | None = None) -> Floats:
        """Return calibrated probabilities of shape (n, q), in the samples' order.

        Args:
            samples: dialogues; the last message is what is classified.
            progress: hears how many are done.

        Raises:
            DataError: a dialogue is empty.
            MindgaugeError: the memory does not suffice.
            UsageError: the weights are damaged: they give no numbers.
        """
        logits = self.model.logits([form.dialogue(sample) for sample in samples], progress)
        if not np.isfinite(logits).all():
            raise UsageError(f"{self.path}: its weights give no numbers; copy the whole folder again, or train again")
        return np.asarray(special.softmax(logits / self.decision.temperature, axis=1))

    def decide(self, probabilities: Floats) -> list[Value | None]:
        """Return the likeliest value of each row; None where it abstains."""
        sure = probabilities.max(axis=1) >= (self.decision.threshold or 0.0)
        return [
            self.labels[i] if is_sure else None for i, is_sure in zip(probabilities.argmax(axis=1), sure, strict=True)
        ]

    def fit_for(self, rubric: Rubric) -> None:
        """See that it was trained on this rubric's criterion, word for word.

        Raises:
            UsageError: the rubric has another version, other words or another criterion.
        """
        own = next((c for c in rubric.criteria if c.name == self.criterion.name), None)
        if own is not None and rubric.only(own).hash == self.rubric.hash:
            return
        words = " (the same version, other words)" if rubric.name == self.rubric.name else ""
        raise UsageError(
            f"{self.path}: trained on {self.rubric.name}, criterion {self.criterion.name!r}, but this is rated by "
            f"{rubric.name}{words}; train it again with `{command_line('train', 'DATA', '--rubric', rubric.id)}`"
        )


def weights_hash(folder: Path) -> str:
    """Hash a folder's weights, in one file or several; empty where it has none, as for a name on the hub.

    Raises:
        UsageError: what is called so is no file, or larger than is read.
    """
    hashes = []
    for path in sorted(folder.glob("*.safetensors")):
        try:
            bounds.check(path, bounds.WEIGHTS)
            with path.open("rb") as file:
                hashes.append(hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest())
        except OSError as error:
            raise UsageError(f"{path}: not a file of weights ({error.strerror})") from error
    return hashes[0] if len(hashes) == 1 else digest(*hashes) if hashes else ""


def describe(folder: Path, rubric: Rubric, decision: Decision) -> None:
    """Write beside the weights which rubric they were trained on and how they decide."""
    rubric.write(folder / "rubric.toml")
    private.write(folder / FILE, tomli_w.dumps({"form": FORM, **known(msgspec.to_builtins(decision))}))


def known(content: Any) -> Any:
    """Leave out what is None, at any depth: TOML has no word for it."""
    if isinstance(content, dict):
        return {name: known(value) for name, value in content.items() if value is not None}
    return [known(value) for value in content] if isinstance(content, list | tuple) else content


def open_classifier(path: str | Path, device: str = "auto") -> Classifier:
    """Open a classifier that `mindgauge train` saved; nothing of it is executed.

    Args:
        path: its folder.
        device: of an encoder: `auto`, `cpu` or `cuda`.

    Raises:
        UsageError: it is none, a file is missing or was changed, or its weights are pickled.
    """
    folder = Path(path)
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
    _refuse_large(folder)
    if decision.kind == Tfidf.kind:
        model: Tfidf | Encoder = Tfidf.load(folder)
    else:
        with encoder.enough():
            model = Encoder.load(folder, decision.max_length, device)
    if model.outputs != len(rubric.criteria[0].values):
        raise UsageError(
            f"{folder}: its weights are for {model.outputs} labels, and its rubric has {len(rubric.criteria[0].values)}; "
            "copy the whole folder again, or train again"
        )
    return Classifier(folder, rubric, decision, model, TrainingDigests.load(folder))


def _refuse_large(folder: Path) -> None:
    """Refuse files that no trained classifier has, before anything of them is read."""
    for path in folder.iterdir():
        try:
            if path.suffix in {".json", ".txt", ".model"}:
                bounds.check(path)
            elif path.suffix == ".safetensors":
                bounds.check(path, bounds.WEIGHTS)
        except OSError as error:
            raise UsageError(f"{path}: not a part of a classifier ({error.strerror})") from error
