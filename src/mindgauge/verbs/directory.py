"""The directory of a run: the plan that it follows from, and the samples that it holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge import manifest
from mindgauge.engine import put_gold
from mindgauge.errors import UsageError
from mindgauge.records import digest
from mindgauge.rubric import Method
from mindgauge.store import Store
from mindgauge.verbs import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.records import Sample
    from mindgauge.verbs.plan import Asked


def whole_plan(
    benchmarks: Sequence[Benchmark], samples: Sequence[Sequence[Sample]], asked: Asked, **more: Any
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


def begun(folder: Path, whole: dict[str, Any], command: str) -> Store:
    """Open a run for its plan, new or to go on with.

    Raises:
        UsageError: the folder holds a run with another plan.
    """
    store = Store(folder, write=True)
    try:
        manifest.begin(folder, whole, command)
    except UsageError:
        store.close()
        raise
    return store


def keep_samples(store: Store, benchmark: Benchmark, samples: Sequence[Sample]) -> int:
    """Put a benchmark's samples into a run, with their gold ratings; returns how many were duplicates.

    Samples that are there already take over what is now known of them: a target that was corrected, a tag.
    """
    if store.count_samples(benchmark.name):
        doubled = 0
        store.update_samples(benchmark.name, {s.id: s for s in reversed(samples)}.values())
    else:
        doubled = store.put_samples(benchmark.name, samples)
    if benchmark.closed:
        put_gold(store, benchmark)
    return doubled
