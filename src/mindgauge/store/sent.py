"""What was really sent with the calls of a run: parameters as asked for, less what a server does not take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.records.english import named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.store import Store

_UNSUPPORTED = """
SELECT model, unsupported, count(*) FROM calls WHERE status != 'failed' GROUP BY model, unsupported"""


def sent(store: Store, raters: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return what was sent to whom, for the manifest.

    Args:
        store: the run.
        raters: model under test, or rater → the model behind it, and the parameters that it is asked with.

    Returns:
        For each whose model answered: its `parameters`; of these, `without` counts the calls that were made without one
        that the server does not take, of so many `calls`. A parameter that no call had is not among the parameters.
    """
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


def words(noted: Mapping[str, Any]) -> str:
    """Say what was sent: `temperature 0; without seed, which the server does not take`."""
    parameters = ", ".join(f"{name} {value}" for name, value in noted["parameters"].items()) or "the model's defaults"
    refused = [
        name if calls == noted["calls"] else f"{name} (in {calls:,} of {noted['calls']:,} calls)"
        for name, calls in sorted(noted["without"].items())
    ]
    return parameters + (
        f"; without {named(refused, limit=len(refused))}, which the server does not take" if refused else ""
    )
