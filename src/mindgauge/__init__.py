"""Mindgauge measures how safely language models talk with people in distress, and how far each number can be trusted.

Every command of the command line is a function here, with the same name and arguments, that returns a small result.
They are loaded when first used, so that `import mindgauge` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what `typing` would say: it takes longer to load than this file
if TYPE_CHECKING:
    from mindgauge.benchmarks.metrics import metric
    from mindgauge.commands.annotate.export import annotate_export
    from mindgauge.commands.annotate.import_ import annotate_import
    from mindgauge.commands.annotate.new import annotate_new
    from mindgauge.commands.annotate.serve import annotate_serve
    from mindgauge.commands.annotate.status import annotate_status
    from mindgauge.commands.audit import audit
    from mindgauge.commands.clients.check import clients_check
    from mindgauge.commands.compare import compare
    from mindgauge.commands.data.fetch import data_fetch
    from mindgauge.commands.data.released import data_list
    from mindgauge.commands.dataset.build import dataset_build
    from mindgauge.commands.dataset.check import dataset_check
    from mindgauge.commands.dataset.gold import dataset_gold
    from mindgauge.commands.dataset.label import dataset_label
    from mindgauge.commands.dataset.release import dataset_release
    from mindgauge.commands.dataset.transform import dataset_transform
    from mindgauge.commands.demo import demo
    from mindgauge.commands.export import export
    from mindgauge.commands.gate import gate, gate_baseline, gate_init
    from mindgauge.commands.judges.compare import compare as judges_compare
    from mindgauge.commands.judges.escalation import escalation as judges_escalation
    from mindgauge.commands.judges.panel import panel as judges_panel
    from mindgauge.commands.judges.rationales import rationales as judges_rationales
    from mindgauge.commands.judges.rationales import rationales_export as judges_rationales_export
    from mindgauge.commands.judges.rationales import rationales_import as judges_rationales_import
    from mindgauge.commands.judges.stress import stress as judges_stress
    from mindgauge.commands.list import list  # noqa: A004 - the command's name
    from mindgauge.commands.load import load
    from mindgauge.commands.logs.logs import logs
    from mindgauge.commands.new import new
    from mindgauge.commands.profile import profile
    from mindgauge.commands.rate import rate
    from mindgauge.commands.ratings import ratings
    from mindgauge.commands.reliability import reliability
    from mindgauge.commands.reliability_plan import reliability_plan
    from mindgauge.commands.report import report
    from mindgauge.commands.reproduce import reproduce
    from mindgauge.commands.run import run
    from mindgauge.commands.salvage import salvage
    from mindgauge.commands.score import score
    from mindgauge.commands.status import status
    from mindgauge.commands.train import train
    from mindgauge.commands.view import view
    from mindgauge.commands.watch.watch import watch
    from mindgauge.models.bots.function import Function
    from mindgauge.models.scripted import Scripted
    from mindgauge.models.settings import Settings
    from mindgauge.records import Message, Rating, Reply, Sample, Status
    from mindgauge.records.errors import MindgaugeError
    from mindgauge.records.ratings import RatingLayout

__all__ = [
    "Function",
    "Message",
    "MindgaugeError",
    "Rating",
    "RatingLayout",
    "Reply",
    "Sample",
    "Scripted",
    "Settings",
    "Status",
    "annotate_export",
    "annotate_import",
    "annotate_new",
    "annotate_serve",
    "annotate_status",
    "audit",
    "clients_check",
    "compare",
    "data_fetch",
    "data_list",
    "dataset_build",
    "dataset_check",
    "dataset_gold",
    "dataset_label",
    "dataset_release",
    "dataset_transform",
    "demo",
    "export",
    "gate",
    "gate_baseline",
    "gate_init",
    "judges_compare",
    "judges_escalation",
    "judges_panel",
    "judges_rationales",
    "judges_rationales_export",
    "judges_rationales_import",
    "judges_stress",
    "list",
    "load",
    "logs",
    "metric",
    "new",
    "profile",
    "rate",
    "ratings",
    "reliability",
    "reliability_plan",
    "report",
    "reproduce",
    "run",
    "salvage",
    "score",
    "status",
    "train",
    "view",
    "watch",
]
_WHERE = {
    **{name: f"mindgauge.commands.{name}" for name in __all__},
    "annotate_export": "mindgauge.commands.annotate.export",
    "annotate_import": "mindgauge.commands.annotate.import_",
    "annotate_new": "mindgauge.commands.annotate.new",
    "annotate_serve": "mindgauge.commands.annotate.serve",
    "annotate_status": "mindgauge.commands.annotate.status",
    "clients_check": "mindgauge.commands.clients.check",
    "data_fetch": "mindgauge.commands.data.fetch",
    "data_list": "mindgauge.commands.data.released",
    "dataset_build": "mindgauge.commands.dataset.build",
    "dataset_check": "mindgauge.commands.dataset.check",
    "dataset_gold": "mindgauge.commands.dataset.gold",
    "dataset_label": "mindgauge.commands.dataset.label",
    "dataset_release": "mindgauge.commands.dataset.release",
    "dataset_transform": "mindgauge.commands.dataset.transform",
    "gate_baseline": "mindgauge.commands.gate",
    "gate_init": "mindgauge.commands.gate",
    "judges_compare": "mindgauge.commands.judges.compare:compare",
    "judges_escalation": "mindgauge.commands.judges.escalation:escalation",
    "judges_panel": "mindgauge.commands.judges.panel:panel",
    "judges_rationales": "mindgauge.commands.judges.rationales:rationales",
    "judges_rationales_export": "mindgauge.commands.judges.rationales:rationales_export",
    "judges_rationales_import": "mindgauge.commands.judges.rationales:rationales_import",
    "judges_stress": "mindgauge.commands.judges.stress:stress",
    "logs": "mindgauge.commands.logs.logs",
    "watch": "mindgauge.commands.watch.watch",
    **dict.fromkeys(("Message", "Rating", "Reply", "Sample", "Status"), "mindgauge.records"),
    "Function": "mindgauge.models.bots.function",
    "MindgaugeError": "mindgauge.records.errors",
    "metric": "mindgauge.benchmarks.metrics",
    "RatingLayout": "mindgauge.records.ratings",
    "Scripted": "mindgauge.models.scripted",
    "Settings": "mindgauge.models.settings",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'mindgauge' has no attribute {name!r}")
    import importlib

    module, _, function = _WHERE[name].partition(":")
    return getattr(importlib.import_module(module), function or name)


def __dir__() -> list[str]:  # type: ignore[valid-type]  # the builtin, not the command
    """Name everything that is here, also what is not loaded yet, so that a notebook completes it."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
