"""The step in which a model writes samples in another form; whoever checks it rates its replies like any others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.benchmarks.forms import written
from mindgauge.records.prompt import Nonces
from mindgauge.records.request import Request, seeded
from mindgauge.runs.plan import single_replies
from mindgauge.runs.steps import PlannedSubject, ReplyStep
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.forms.written import WrittenForm
    from mindgauge.records import Sample
    from mindgauge.runs.steps import Planned


class FormStep(ReplyStep, frozen=True, kw_only=True):
    """A model writes every sample in a form. The run calls it `M (story)`: what it wrote in several forms stands side by side."""

    form: WrittenForm
    draw_seed: int = 0
    """Of the lot by which a story's people get their names."""
    nonces: Nonces = msgspec.field(default_factory=Nonces)

    @property
    def asked_as(self) -> str:
        """What the run calls the model where it writes this form."""
        return written_by(self.model.name, self.form)

    def request(self, sample: Sample, run: int) -> Request:
        """Put a sample to the model, inside a fence."""
        messages, nonce = written.asked(self.form, sample, self.nonces, self.draw_seed)
        return Request(messages, run, seeded(self.parameters, run), nonces=(nonce,), sample=sample)


def written_by(model: str, form: WrittenForm) -> str:
    """Return what a run calls a model where it writes a form."""
    return f"{model} ({form})"


def to_check(folder: Path, benchmark: Benchmark, samples: Sequence[Sample], names: frozenset[str]) -> Planned:
    """Return a reader of what these have written, and will."""

    def read() -> Iterator[PlannedSubject]:
        with Store.begun(folder) as store:
            yield from single_replies(store, benchmark, samples, names, 1)

    return read
