"""What `rate` is given: a file of replies, of dialogues of several turns, of dialogues to classify, or a run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge import manifest
from mindgauge.errors import DataError
from mindgauge.records import Status, digest
from mindgauge.store import Store
from mindgauge.verbs import dialogues as multi_turn
from mindgauge.verbs import directory, plan
from mindgauge.verbs.replies import read_dialogues, read_replies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mindgauge.benchmark import Benchmark
    from mindgauge.records import Reply, Sample
    from mindgauge.tables import Frame

_BY_MODEL = "SELECT model, count(*) FROM replies WHERE benchmark = ? AND status = 'ok' GROUP BY model ORDER BY model"


class Given(NamedTuple):
    """Samples, and replies where the benchmark is open. Of a run that is there, replies stay in it: they may be many."""

    benchmark: Benchmark
    samples: list[Sample]
    replies: list[Reply]
    named: dict[str, Any]
    """What the plan of a new run says of them."""
    source: str
    note: str = ""
    run: Path | None = None
    """The run, where it is one that is there."""

    def subjects(self) -> Iterator[tuple[Sample, Reply]]:
        """Return every reply with its sample."""
        if self.run is None:
            samples = {sample.id: sample for sample in self.samples}
            yield from ((samples[reply.sample], reply) for reply in self.replies)
            return
        with Store(self.run) as store:
            for reply in store.replies(self.benchmark.name):
                yield store.sample(self.benchmark.name, reply.sample), reply

    def written(self) -> Counter[str]:
        """Count the replies by each model, as far as it is known."""
        if self.benchmark.closed:
            return Counter(sample.tags["model"] for sample in self.samples if "model" in sample.tags)
        if self.run is None:
            return Counter(reply.model for reply in self.replies if reply.status is Status.OK)
        with Store(self.run) as store:
            return Counter(dict(store.select(_BY_MODEL, (self.benchmark.name,)).fetchall()))

    def kept(
        self,
        folder: Path,
        whole: dict[str, Any],
        command: str,
        *,
        text: bool = True,
        notice: Callable[[str], None] | None = None,
    ) -> Store:
        """Open the run that is there, or put all this into the one of a plan; see `directory.begun`.

        Raises:
            UsageError: the folder holds a run with another plan.
        """
        if self.run is not None:
            return Store(self.run, write=True)
        store = directory.begun(folder, whole, command, text=text, notice=notice)
        if self.note:
            manifest.write(folder, {**manifest.read(folder), "notes": [self.note]})
        directory.keep_samples(store, self.benchmark, self.samples)
        for reply in self.replies:
            store.add_reply(self.benchmark.name, reply)
        store.flush()
        return store


def run(folder: Path, benchmark: Benchmark) -> Given:
    """Take a run whose replies, or dialogues, are to be rated by more.

    Raises:
        UsageError: it keeps no text.
        DataError: it has none to this benchmark.
    """
    directory.need_text(folder)
    with Store(folder) as there:
        samples = list(there.samples(benchmark.name)) if benchmark.closed else []
        if not (samples or there.count_replies(benchmark.name)):
            raise DataError(f"{folder}: no replies to {benchmark.name} in this run")
    return Given(benchmark, samples, [], {}, str(folder), run=folder)


def replies(source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str], limit: int | None) -> Given:
    """Read a file of replies.

    Raises:
        DataError: it cannot be read.
    """
    samples, found = read_replies(source, benchmark, columns, limit)
    return Given(benchmark, samples, found, _identified(found), _name(source))


def several_turns(
    source: str | Path | Frame,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    unit: str | None,
    limit: int | None,
    judges: plan.Raters,
    asked: plan.Asked,
) -> Given:
    """Read a file of dialogues that are rated turn by turn or as a whole.

    Raises:
        UsageError: somebody cannot rate what is rated at once.
        DataError: the file cannot be read.
    """
    units = multi_turn.units_of(unit)
    multi_turn.only_models_rate_whole(judges, units)
    found = multi_turn.read(source, benchmark, columns, units, limit)
    left = f"{found.unanswered} dialogues end with a turn by the person that has no reply; that turn is not rated"
    named = {**_identified(found.replies), **multi_turn.plan_of(benchmark, units, asked)}
    return Given(benchmark, found.samples, found.replies, named, _name(source), left if found.unanswered else "")


def classified(
    source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str], limit: int | None
) -> Given:
    """Read a file of dialogues whose last reply a closed question is about.

    Raises:
        DataError: it cannot be read.
    """
    found = read_dialogues(source, benchmark, columns, limit)
    twice = f"{found.repeated} rows repeat a dialogue and its reply word for word; each counts once"
    return Given(benchmark, found.samples, [], {"rate": True}, _name(source), twice if found.repeated else "")


def need_a_protocol(given: Given, judges: plan.Raters, asked: plan.Asked) -> None:
    """Check that judges can be told by which protocol to rate; a run that is there may say so of some of its samples.

    Raises:
        DataError: no reply has a tag that says so.
    """
    tag = given.benchmark.protocol
    if given.run is not None or not (judges.models and asked.protocol == plan.GOLD and tag):
        return
    if not any(tag in sample.tags for sample in given.samples):
        raise DataError(
            f"{given.source}: no reply has a {tag}, which chooses its protocol; add a column `{tag}` (or name it with "
            "--map), or let the judge find it with --protocol recognised"
        )


def _name(source: str | Path | Frame) -> str:
    return str(source) if isinstance(source, str | Path) else "the table"


def _identified(found: list[Reply]) -> dict[str, Any]:
    return {"replies": digest(sorted(reply.id for reply in found)), "rate": True}
