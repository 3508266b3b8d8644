"""Which module prints what a command returns: `show_NAME`, and where there are, `json_NAME` and `end_NAME`, its exit code.

The keyword parameters of `show_NAME` are options of the command, too: how its result is shown.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_MODULES = {
    "scores": ("run", "rate", "score", "demo", "clients_check"),
    "comparison": ("compare", "profile"),
    "judges": ("judges_compare", "judges_stress", "judges_panel", "judges_escalation"),
    "cards": ("reliability", "reliability_plan", "ratings"),
    "annotate": (
        "annotate_new",
        "annotate_serve",
        "annotate_status",
        "annotate_import",
        "annotate_export",
        "dataset_check",
    ),
    "papers": (
        "papers_load",
        "papers_reproduce",
        "papers_fetch",
        "papers_list",
        "dataset_build",
        "dataset_label",
        "dataset_gold",
        "dataset_transform",
        "dataset_release",
        "train",
    ),
    "status": ("status", "salvage", "gate", "gate_init", "gate_baseline"),
    "files": ("new", "export", "report", "reply", "view", "logs_show", "logs_sample", "logs_watch", "audit"),
    "list_": ("list",),
}


_LIKE = {"logs_sample": "logs_show", "dataset_check": "annotate_new"}
"""Function whose result is printed like that of another."""


def printer(name: str) -> tuple[str, str]:
    """Return the module that prints what a function returns, and whose result its own is printed like."""
    return module(name), _LIKE.get(name, name)


def module(name: str) -> str:
    """Return the module that prints what a function returns."""
    return next(f"mindgauge.cli.{module}" for module, names in _MODULES.items() if name in names)


def _of_suite(typed: dict[str, Any]) -> bool:
    """Whether runs are of a suite of benchmarks, and nothing else is asked than how models do over it."""
    from mindgauge.benchmarks import suite
    from mindgauge.store import manifest

    if typed.keys() & {"judge", "ranks", "resamples"}:
        return True
    runs = [Path(run) for run in typed.get("runs", ())]
    if "by" in typed or not all((run / "manifest.toml").is_file() for run in runs):
        return False
    return bool(suite.of(name for run in runs for name in manifest.read(run).get("plan", {}).get("benchmarks", ())))


AUTOMATIC: dict[str, Callable[[dict[str, Any]], bool]] = {
    "profile": _of_suite,
    "papers_list": lambda typed: "name" not in typed,
}
"""Step of a command that no option asks for → whether it is meant by what was typed."""
NEEDED = {
    "profile": "runs of a suite of benchmarks",
    "compare": "runs that are of no suite",
    "papers_list": "no name",
    "papers_fetch": "a name",
}
"""Such a step, and the command's own → what its options go with."""
