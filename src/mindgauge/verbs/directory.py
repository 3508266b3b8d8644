"""The directory of a run: the plan that it follows from, the samples that it holds, and whether it keeps their texts."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge import benchmark as benchmarks
from mindgauge import manifest, private
from mindgauge.engine import put_gold
from mindgauge.errors import UsageError
from mindgauge.records import digest
from mindgauge.rubric import Method
from mindgauge.store import Store
from mindgauge.store.failures import PENDING
from mindgauge.store.textless import TextlessStore
from mindgauge.verbs import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.records import Sample
    from mindgauge.verbs.plan import Asked


def whole_plan(
    benchmarks: Sequence[Benchmark],
    samples: Sequence[Sequence[Sample]],
    asked: Asked,
    *,
    text: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """Write down what decides whether a later command continues this run: everything that changes what is asked."""
    written = {
        "benchmarks": [b.name for b in benchmarks],
        "instruments": [b.instrument(asked.mode).name for b in benchmarks],
        "samples": [plan.samples_hash(found) for found in samples],
        "runs": asked.runs,
        "judge_runs": asked.judge_runs,
        "mode": asked.mode.value,
        "protocol": asked.protocol,
        "temperature": asked.temperature,
        "judge_temperature": asked.judge_temperature,
        "max_tokens": asked.settings.max_tokens,
        **_methods(benchmarks, asked),
        "text": None if text else False,
        **more,
    }
    return {key: value for key, value in written.items() if value is not None}


def _methods(benchmarks: Sequence[Benchmark], asked: Asked) -> dict[str, Any]:
    """Write down by which methods replies are judged, where it is not the usual one alone."""
    if asked.methods == (Method.RULE,):
        return {}
    judged_with = [[instrument.name for instrument in plan.instruments(b, asked)] for b in benchmarks if not b.closed]
    if not judged_with:
        raise UsageError(f"--method is for judges of replies, and {benchmarks[0].name} is a closed question")
    return {"methods": [str(method) for method in asked.methods], "judged_with": judged_with}


def folder_for(whole: dict[str, Any]) -> Path:
    """Return where a run goes if the user does not say: the same command always finds the same folder."""
    name = "+".join(whole["benchmarks"]).replace("/", "-")
    return Path("runs") / f"{name[:60]}-{digest(whole)[:8]}"


def begun(
    folder: Path,
    whole: dict[str, Any],
    command: str,
    *,
    text: bool = True,
    notice: Callable[[str], None] | None = None,
) -> Store:
    """Open a run for its plan, new or to go on with.

    Args:
        folder: where it is, or will be.
        whole: its plan.
        command: what the user typed.
        text: whether the run keeps what people and models said.
        notice: told where texts wait, if it does not.

    Raises:
        UsageError: the folder holds a run with another plan, or the other of two runs with and without text.
    """
    there = manifest.read(folder)
    if there and keeps_text(folder) != text:
        kept, how = ("no text", "add") if text else ("its texts", "leave out")
        raise UsageError(
            f"{folder} holds a run that keeps {kept}; {how} --no-text to continue it, or choose another --out"
        )
    with contextlib.suppress(OSError):  # opening it says what is wrong
        private.folder(folder)  # what people said is nobody else's to read
    store = Store(folder, write=True) if text else TextlessStore(folder)
    try:
        manifest.begin(folder, whole, command)
    except UsageError:
        store.close()
        raise
    if notice is not None and not text:
        notice(f"texts that are still needed wait in {folder / PENDING}, which is removed when the command is done")
    return store


def keeps_text(folder: Path) -> bool:
    """Say whether a run keeps what people and models said."""
    return bool(manifest.read(folder).get("plan", {}).get("text", True))


def need_text(folder: Path) -> None:
    """Check that a run keeps its texts, for what cannot be done without them.

    Raises:
        UsageError: it keeps none.
    """
    if not keeps_text(folder):
        raise UsageError(f"{folder}: kept without text, and this needs what was said; run again without --no-text")


def keep_samples(store: Store, benchmark: Benchmark, samples: Sequence[Sample]) -> int:
    """Put a benchmark's samples into a run, with their gold ratings; returns how many were duplicates.

    Samples that are there already take over what is now known of them: a target that was corrected, a tag. The manifest
    remembers the folder of a benchmark that is found by no name.
    """
    if folders := benchmarks.outside([benchmark]):
        known = manifest.read(store.folder)
        manifest.write(store.folder, {**known, "folders": {**known.get("folders", {}), **folders}})
    there = store.count_samples(benchmark.name)
    if there:
        store.update_samples(benchmark.name, {s.id: s for s in reversed(samples)}.values())
    doubled = 0
    if there < len({s.id for s in samples}):  # also after a salvage, which may have lost some
        doubled = store.put_samples(benchmark.name, samples) - there
    if benchmark.closed:
        put_gold(store, benchmark)
    return doubled
