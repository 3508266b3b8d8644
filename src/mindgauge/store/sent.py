"""What was really sent with the calls of a run: parameters as asked for, less what a server does not take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.records.english import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mindgauge.store import Store

_LIMIT = "max_tokens"
_UNSUPPORTED = """
SELECT model, unsupported, count(*) FROM calls WHERE status != 'failed' GROUP BY model, unsupported"""


def sent(
    store: Store, requests: Iterable[tuple[str, str, Mapping[str, Any]]], recorded: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return what was sent to whom, for the manifest.

    Args:
        store: the run.
        requests: model under test, or rater; the model behind it; the parameters that it is asked with. One that is asked in
            several ways (anchors, several benchmarks) comes several times.
        recorded: what the manifest says so far.

    Returns:
        For each whose model answered: its `parameters`, of which `max_tokens` is a list where calls differ; of these,
        `without` counts the calls that were made without one that the server does not take, of so many `calls`. A parameter
        that no call had is not among the parameters.
    """
    raters: dict[str, tuple[str, dict[str, Any]]] = {}
    for rater, model, parameters in requests:
        _, noted = raters.get(rater, (model, recorded.get(rater, {}).get("parameters", {})))
        limits = sorted({*_limits(noted), *_limits(parameters)})
        longest = {_LIMIT: limits[0] if len(limits) == 1 else limits} if limits else {}
        raters[rater] = model, {**parameters, **longest}
    calls: dict[str, int] = {}
    without: dict[str, dict[str, int]] = {}
    for model, unsupported, count in store.select(_UNSUPPORTED):
        calls[model] = calls.get(model, 0) + count
        for name in filter(None, unsupported.split(",")):
            refused = without.setdefault(model, {})
            refused[name] = refused.get(name, 0) + count
    return {
        rater: {
            "parameters": {k: v for k, v in parameters.items() if without.get(model, {}).get(k, 0) < calls[model]},
            "without": without.get(model, {}),
            "calls": calls[model],
        }
        for rater, (model, parameters) in raters.items()
        if model in calls
    }


def _limits(parameters: Mapping[str, Any]) -> list[int]:
    """Return the longest answers that a model was asked for, in tokens."""
    limits = parameters.get(_LIMIT, [])
    return limits if isinstance(limits, list) else [limits]


def words(noted: Mapping[str, Any]) -> str:
    """Say what was sent: `temperature 0; without seed, which the server does not take`."""
    parameters = noted["parameters"]
    parts = [f"{name} {value}" for name, value in parameters.items() if name != _LIMIT]
    limits = [f"{limit:,}" for limit in _limits(parameters)]
    parts += [f"at most {named(limits, 'or', len(limits))} tokens"] if limits else []
    refused = [
        name if calls == noted["calls"] else f"{name} (in {calls:,} of {noted['calls']:,} calls)"
        for name, calls in sorted(noted["without"].items())
    ]
    return (", ".join(parts) or "the model's defaults") + (
        f"; without {named(refused, limit=len(refused))}, which the server does not take" if refused else ""
    )
